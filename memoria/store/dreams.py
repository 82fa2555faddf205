"""What dreams read and write. Apart from the store that a search opens, which needs none of it."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from memoria.model import Edge, Entity, Macro, Storyline
from memoria.store.store import Store, edge_of


class DreamSource(NamedTuple):
    """A source, as far as dreams need it."""

    id: int
    path: str
    root: str
    relpath: str
    title: str
    aliases: tuple[str, ...]
    date: str | None
    hash: str
    given: str

    @property
    def stamp(self) -> str:
        """What changes whenever there is something new to dream about."""
        return stamp_of(self.hash, self.relpath, self.given)


def stamp_of(hashed: str, relpath: str, given: str) -> str:
    """Return the stamp of a source in a certain state."""
    return f"{hashed[:16]}:{relpath}:{given}"


class Passage(NamedTuple):
    """What an atom says."""

    atom: int
    heading: tuple[str, ...]
    kind: str
    text: str


class Found(NamedTuple):
    """What a step found about some notes, ready to be written."""

    gone: Sequence[Edge] = ()
    edges: Sequence[Edge] = ()
    gone_tags: Sequence[tuple[int, str]] = ()
    tags: Sequence[tuple[int, str, float, str]] = ()
    entities: Sequence[Entity] = ()
    entity_names: Sequence[tuple[str, int]] = ()
    gone_names: Sequence[tuple[str, int]] = ()

    @property
    def empty(self) -> bool:
        """Whether there is nothing to write."""
        return not any(self)


class Stories(NamedTuple):
    """What takes the place of what: storylines, macros, duplicates, centralities."""

    gone_storylines: Sequence[str] = ()
    storylines: Sequence[Storyline] = ()
    gone_macros: Sequence[str] = ()
    macros: Sequence[Macro] = ()
    gone_duplicates: Sequence[tuple[int, int]] = ()
    duplicates: Sequence[tuple[int, int, float]] = ()
    gone_salience: Sequence[int] = ()
    salience: Sequence[tuple[int, float]] = ()


class DreamStore:
    """A store, as dreams see it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._engine = store._engine  # noqa: SLF001 - another view of the same thing

    # Reading

    def sources(self) -> dict[int, DreamSource]:
        """Return all sources, by root and path."""
        rows = self._engine.read("query/dream_sources")
        return {row[0]: DreamSource(*row)._replace(aliases=tuple(row[5])) for row in rows}

    def stamps(self, sources: Iterable[int]) -> dict[int, str]:
        """Return the stamps that these sources have right now; those that are gone are left out."""
        rows = self._engine.read("query/stamps", sources=list(sources))
        return {row[0]: stamp_of(row[1], row[2], row[3]) for row in rows}

    def passages(self, atoms: Iterable[int]) -> dict[int, Passage]:
        """Return what these atoms say."""
        rows = self._engine.read("query/passages", atoms=list(atoms))
        return {row[0]: Passage(row[0], tuple(row[1].split("\n")) if row[1] else (), row[2], row[3]) for row in rows}

    def dreamed(self, step: str) -> dict[int, str]:
        """Return the stamps of the sources that a step has seen."""
        return dict(self._engine.read("query/dreamed", step=step))

    def frozen(self, name: str) -> Any:
        """Return a figure that holds since the last full dream, or None."""
        rows = self._engine.read("query/frozen", name=name)
        return rows[0][1] if rows else None

    def frozen_below(self, prefix: str) -> dict[str, Any]:
        """Return the figures whose names begin so and go on."""
        return dict(self._engine.read("query/frozen_between", **{"from": prefix, "to": prefix + "\uffff"}))

    def tags(self) -> dict[int, list[tuple[str, float, str]]]:
        """Return (name, score, reason) of the tags that dreams gave to each source, best first."""
        found: dict[int, list[tuple[str, float, str]]] = {}
        for source, name, score, reason in self._engine.read("query/dream_tags"):
            found.setdefault(source, []).append((name, score, reason))
        return found

    def verdicts(self) -> list[tuple[int, str, str]]:
        """Return (source or 0, tag, accepted | rejected)."""
        return [(source, name, verdict) for source, name, verdict in self._engine.read("query/verdicts")]

    def edges(self, kinds: Iterable[str]) -> list[Edge]:
        """Return the edges of these kinds that dreams made, as they were meant."""
        return [edge_of(row) for row in self._engine.read("query/dream_edges", kinds=list(kinds))]

    def note_links(self) -> list[tuple[int, int]]:
        """Return which notes link to which."""
        return [(one, other) for one, other in self._engine.read("query/note_links")]

    def note_entities(self) -> list[tuple[int, int]]:
        """Return which notes name which entities."""
        return [(source, entity) for source, entity in self._engine.read("query/note_entities")]

    def note_edges(self) -> list[tuple[int, int, float]]:
        """Return what leads from which note (its number) or entity (its node) to which."""
        return [(one, other, weight) for one, other, weight in self._engine.read("query/note_edges")]

    def entities(self) -> list[tuple[Entity, int]]:
        """Return all entities, and how many edges each has."""
        rows = self._engine.read("query/all_entities")
        return [(Entity(*row[:6])._replace(aliases=tuple(row[3])), row[6]) for row in rows]

    def entities_called(self, names: Iterable[str]) -> dict[str, list[int]]:
        """Return the entities that have these names, folded."""
        found: dict[str, list[int]] = {}
        for name, node in self._engine.read("query/entity_names", names=list(names)):
            found.setdefault(name, []).append(node)
        return found

    def storylines(self) -> list[Storyline]:
        """Return the storylines, the newest first."""
        rows = self._engine.read("query/storylines")
        return [Storyline(*row)._replace(aliases=tuple(row[2]), sources=tuple(row[7])) for row in rows]

    def macros(self) -> list[Macro]:
        """Return the macros, the newest first."""
        return [Macro(*row)._replace(storylines=tuple(row[6])) for row in self._engine.read("query/macros")]

    def duplicates(self) -> list[tuple[int, int, float]]:
        """Return the pairs of atoms that say nearly the same, the surest first."""
        return [(one, other, similarity) for one, other, similarity in self._engine.read("query/duplicates")]

    def centralities(self) -> dict[int, float]:
        """Return how central the nodes are."""
        return dict(self._engine.read("query/centralities"))

    def diary(self, most: int) -> list[tuple[int, int, str]]:
        """Return (n, seconds since the epoch, report) of the last dreams, the newest first."""
        return [(n, at, report) for n, at, report in self._engine.read("query/diary", most=most)]

    def uses(self, keys: Iterable[str]) -> dict[str, tuple[float, int, int]]:
        """Return (value, when, how often) of what has been used."""
        rows = self._engine.read("query/uses", keys=list(keys))
        return {key: (value, at, count) for key, value, at, count in rows}

    def births(self, keys: Iterable[str]) -> dict[str, int]:
        """Return when the notes of these atoms were ingested; those that are gone are left out."""
        return dict(self._engine.read("query/births", keys=list(keys)))

    # Writing: the caller holds the lock, and has a StoreWriter

    def put(
        self,
        found: Found,
        *,
        dreamed: Iterable[tuple[str, int, str]] = (),
        frozen: Iterable[tuple[str, Any]] = (),
        thawed: Iterable[str] = (),
    ) -> None:
        """Write what a step found, and which notes (step, source, stamp) it has seen."""
        self._engine.write(
            "query/put_dream",
            gone=[
                [half.start, half.rank, half.end, half.kind] for edge in found.gone for half in (edge, edge.turned())
            ],
            edges=[
                [half.start, half.rank, half.end, half.kind, *half[3:]]
                for edge in found.edges
                for half in (edge, edge.turned())
            ],
            gone_tags=[list(row) for row in found.gone_tags],
            tags=[list(row) for row in found.tags],
            entities=[[*entity[:3], list(entity.aliases), *entity[4:]] for entity in found.entities],
            entity_names=[list(row) for row in found.entity_names],
            gone_names=[list(row) for row in found.gone_names],
            dreamed=[list(row) for row in dreamed],
            frozen=[list(row) for row in frozen],
            thawed=[[name] for name in thawed],
        )

    def put_stories(
        self,
        stories: Stories,
        *,
        dreamed: Iterable[tuple[str, int, str]] = (),
        frozen: Iterable[tuple[str, Any]] = (),
        diary: Iterable[tuple[int, int, str]] = (),
    ) -> None:
        """Put storylines, macros, duplicates and centralities in the place of others."""
        self._engine.write(
            "query/put_stories",
            gone_storylines=[[number] for number in stories.gone_storylines],
            storylines=[_listed(row) for row in stories.storylines],
            gone_macros=[[number] for number in stories.gone_macros],
            macros=[_listed(row) for row in stories.macros],
            gone_duplicates=[half for one, other in stories.gone_duplicates for half in ([one, other], [other, one])],
            duplicates=[half for one, two, same in stories.duplicates for half in ([one, two, same], [two, one, same])],
            gone_salience=[[node] for node in stories.gone_salience],
            salience=[list(row) for row in stories.salience],
            dreamed=[list(row) for row in dreamed],
            frozen=[list(row) for row in frozen],
            diary=[list(row) for row in diary],
        )

    def put_uses(self, uses: Iterable[tuple[str, float, int, int]], log: str) -> None:
        """Write how much atoms have been used, as a log tells it."""
        self._engine.write("query/put_use", uses=[list(row) for row in uses], meta=[["used", log]])

    def put_verdict(
        self,
        verdicts: Iterable[tuple[int, str, str, int]],
        gone: Iterable[tuple[int, str]],
        labels: Iterable[tuple[int, str]],
        label_names: Iterable[tuple[str, str]],
    ) -> None:
        """Take tags over from dreams (`labels`: node, name), or take them away for good."""
        self._engine.write(
            "query/put_verdict",
            verdicts=[list(row) for row in verdicts],
            gone=[list(row) for row in gone],
            labels=[list(row) for row in labels],
            label_names=[list(row) for row in label_names],
        )

    def undo(self) -> None:
        """Remove all that dreams made."""
        self._engine.write("query/undo_dreams")


def _listed(row: tuple[Any, ...]) -> list[Any]:
    return [list(value) if isinstance(value, tuple) else value for value in row]
