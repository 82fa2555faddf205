"""Facts in the store, and the entities that people made. Apart from the store that a search opens."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from memoria.model import Entity, Fact, Field, Link
from memoria.store.store import Store
from memoria.text import sanitize_fts_query

_ROWS = 2_000  # in one transaction


class Named(NamedTuple):
    """A source, as far as names and facts need it."""

    id: int
    path: str
    relpath: str
    title: str
    aliases: tuple[str, ...]
    date: str | None
    ingested: int
    origin: str


class FactStore:
    """A store, as facts see it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._engine = store._engine  # noqa: SLF001 - another view of the same thing

    # Reading

    def about(self, subjects: Iterable[str]) -> list[Fact]:
        """Return what is said about these."""
        return [Fact(*row) for row in self._engine.read("query/facts", subjects=list(subjects))]

    def leading_to(self, objects: Iterable[str], *, most: int) -> list[tuple[str, str, str]]:
        """Return (object, subject, key) of the facts that lead to these."""
        rows = self._engine.read("query/facts_to", objects=list(objects), most=most)
        return [(target, subject, key) for target, subject, key in rows]

    def named_objects(self, objects: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Return (basis, key) of a fact that shows that these are somebody or something; people first."""
        rows = self._engine.read("query/named_objects", objects=list(objects))
        return {target: (basis, key) for target, basis, key in reversed(rows)}

    def keyed(self, keys: Iterable[str]) -> list[Fact]:
        """Return the facts with these keys."""
        pairs = [(subject, key) for key in keys for subject in self.with_prefix(key).values()]
        return self.at(pairs) if pairs else []

    def relationships(
        self, predicates: Iterable[str], bounds: Sequence[int | None], *, everything: bool, most: int
    ) -> list[Fact]:
        """Return relationships of these types, or all; `bounds` are least and most of attitude, and of proximity."""
        rows = self._engine.read(
            "query/relationships",
            predicates=list(predicates),
            all=everything,
            attitude=_bounds(*bounds[:2]),
            proximity=_bounds(*bounds[2:]),
            most=most,
        )
        return self.at((subject, key) for subject, key in rows) if rows else []

    def saliences(self, nodes: Iterable[int]) -> dict[int, float]:
        """Return how central these nodes are, as far as dreams know."""
        return dict(self._engine.read("query/saliences", nodes=list(nodes)))

    def most_named(self, most: int) -> list[str]:
        """Return the names to which most relations, relationships and facts by hand lead."""
        return [row[1] for row in self._engine.read("query/most_named", most=most)]

    def at(self, pairs: Iterable[tuple[str, str]]) -> list[Fact]:
        """Return the facts with these (subject, key)."""
        return [Fact(*row) for row in self._engine.read("query/facts_at", pairs=[list(pair) for pair in pairs])]

    def all(self) -> list[Fact]:
        """Return all facts."""
        return [Fact(*row) for row in self._engine.read("query/all_facts")]

    def of_notes(self, sources: Iterable[int]) -> list[Fact]:
        """Return what these notes say."""
        return [Fact(*row) for row in self._engine.read("query/note_facts", sources=list(sources))]

    def with_prefix(self, prefix: str, most: int = 12) -> dict[str, str]:
        """Return the facts' keys that begin so, with their subjects."""
        whole = len(prefix) == 12  # noqa: PLR2004 - of a whole key, what comes after it is another's
        between = {"from": prefix[:-1] if whole else prefix, "to": prefix + "g"}
        rows = self._engine.read("query/fact_subjects", **between, most=most + 16 * whole)
        return {key: subject for key, subject in rows if key.startswith(prefix)}

    def states(self, keys: Iterable[str]) -> dict[str, str]:
        """Return what people decided about these facts."""
        return {key: status for key, status, _ in self._engine.read("query/fact_states", keys=list(keys))}

    def uses(self, keys: Iterable[str]) -> dict[str, tuple[float, int, int]]:
        """Return (value, when, how often) of what has been used."""
        rows = self._engine.read("query/uses", keys=list(keys))
        return {key: (value, at, count) for key, value, at, count in rows}

    def named(self, sources: Iterable[int]) -> dict[int, Named]:
        """Return where these sources are, and what they are called."""
        rows = self._engine.read("query/source_names", sources=list(sources))
        return {row[0]: Named(*row)._replace(aliases=tuple(row[4])) for row in rows}

    def all_fields(self) -> list[tuple[int, Field]]:
        """Return the named values of all nodes."""
        return [(row[0], Field(*row[2:])) for row in self._engine.read("query/all_fields")]

    def all_relations(self) -> list[tuple[int, Link]]:
        """Return the relation lines of all atoms."""
        return [(row[0], Link(*row[1:])) for row in self._engine.read("query/all_relations")]

    def relations(self, atoms: Iterable[int]) -> list[tuple[int, Link]]:
        """Return the relation lines of these atoms."""
        rows = self._engine.read("query/relations", atoms=list(atoms))
        return [(row[0], Link(*row[1:])) for row in rows]

    def entities_called(self, names: Iterable[str]) -> dict[str, list[int]]:
        """Return the entities that have these names, folded."""
        found: dict[str, list[int]] = {}
        for name, node in self._engine.read("query/entity_names", names=list(names)):
            found.setdefault(name, []).append(node)
        return found

    def entities_with_words(self, words: Iterable[str], *, most: int) -> list[tuple[str, int]]:
        """Return (name, entity) of the names that hold one of these words."""
        query = sanitize_fts_query(" ".join(words))
        rows = self._engine.read("query/find_entities", query=query, most=most) if query else []
        return [(name, node) for name, node, _ in rows]

    def entity_names(self) -> list[str]:
        """Return what the stored entities are called, folded."""
        return [row[0] for row in self._engine.read("query/entity_keys")]

    def typed_titles(self) -> list[str]:
        """Return the titles of the notes that say of which type they are."""
        return [row[0] for row in self._engine.read("query/typed_titles")]

    def dates(self) -> dict[int, str]:
        """Return the days of the notes that have one."""
        return dict(self._engine.read("query/dates"))

    # Writing: the caller holds the lock, and has a StoreWriter

    def put(
        self,
        gone: Iterable[Fact] = (),
        new: Iterable[Fact] = (),
        *,
        gone_notes: Iterable[int] = (),
        notes: Mapping[int, str] | None = None,
        states: Iterable[tuple[str, str, int]] = (),
        gone_states: Iterable[str] = (),
        entities: Iterable[Entity] = (),
        gone_entities: Iterable[int] = (),
        names: Iterable[tuple[str, int]] = (),
        gone_names: Iterable[tuple[str, int]] = (),
    ) -> None:
        """Write and remove facts, decisions about them, and entities."""
        removed, put = list(gone), list(new)
        rest: dict[str, list[Any]] = {
            "gone_notes": [[source] for source in gone_notes],
            "notes": [list(row) for row in (notes or {}).items()],
            "states": [list(row) for row in states],
            "gone_states": [[key] for key in gone_states],
            "entities": [[*entity[:3], list(entity.aliases), *entity[4:]] for entity in entities],
            "gone_entities": [[node] for node in gone_entities],
            "names": [list(row) for row in names],
            "gone_names": [list(row) for row in gone_names],
        }
        nothing: dict[str, list[Any]] = {name: [] for name in rest}
        # A note's facts are found again by `fact_note`: it changes after the old ones went, and before the new come.
        for start in range(0, len(removed), _ROWS):
            self._write(removed[start : start + _ROWS], [], nothing)
        first = rest
        for start in range(0, len(put), _ROWS):
            self._write([], put[start : start + _ROWS], first)
            first = nothing
        if first is rest and any(rest.values()):
            self._write([], [], rest)

    def _write(self, gone: list[Fact], new: list[Fact], rest: dict[str, list[Any]]) -> None:
        self._engine.write(
            "query/put_facts",
            gone=[list(fact[:4]) for fact in gone],
            gone_objects=[[fact.object, fact.subject, fact.key] for fact in gone],
            facts=[list(fact) for fact in new],
            **rest,
        )


def _bounds(least: int | None, most: int | None) -> list[int]:
    """Return (over, below, what an unknown value counts as): unknown is outside of any bounds."""
    over, below = (least or 1) - 1, (most or 5) + 1
    return [over, below, below if least or most else over + 1]
