"""Questions to the store and answers in our own words; no logic besides."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from memoria.errors import StoreBusyError
from memoria.model import Edge, Entity, Field, Label, Link, Outline, Root, Source, StoredAtom, source_node, source_of
from memoria.store.engine import Engine
from memoria.store.packing import unpack_ids, unpack_mentions, unpack_outline, unpack_postings
from memoria.store.phrases import MENTION_BUCKETS, phrase_hash
from memoria.store.version import VERSION, version_of
from memoria.text import sanitize_fts_query, terms

_LOOKS = 40  # a writer commits some ten times a second at most, and a search takes some milliseconds

SPREAD_WAITS = tuple(
    0.05 * 2**attempt for attempt in range(7)
)  # seconds: activation asks a busy store again after each

Seen = TypeVar("Seen")


class Found(NamedTuple):
    """The postings of some terms, and the totals of the same state."""

    atoms: int
    sources: int
    dead: frozenset[int]
    postings: dict[str, list[tuple[Sequence[int], Sequence[int]]]]  # term -> (ids, shapes) of each segment
    bytes_read: int


class Shown(NamedTuple):
    """What is shown of some atoms, of one state."""

    atoms: dict[int, StoredAtom]
    sources: dict[int, Source]
    outlines: dict[int, list[Outline]]
    labels: dict[int, list[Label]]  # node -> its labels


class Spread(NamedTuple):
    """What one level of activation reads of its frontier, of one state."""

    edges: list[tuple[Edge, float]]  # and its tag_sim: what can pass on enough
    degrees: dict[int, int]
    open: set[int]  # nodes with an edge to what was not visited
    outlines: dict[int, list[Outline]]  # source -> the order of its atoms
    tags: dict[int, list[str]]  # source -> its tags
    paths: dict[int, str]  # of the sources, and of those that the edges lead to


class Place(NamedTuple):
    """Where a source is, and what it is called."""

    id: int
    path: str
    root: str
    relpath: str
    title: str
    aliases: tuple[str, ...]


class Content(NamedTuple):
    """All that is mirrored of a source, of one state."""

    source: Source
    places: list[Outline]
    labels: dict[int, list[Label]]  # node -> its labels
    targets: list[str]  # what its links name
    atoms: dict[int, StoredAtom]  # empty where only the rest was asked for


class SourceState(NamedTuple):
    """What is needed to see whether a source changed."""

    id: int
    path: str
    root: str
    hash: str
    size: int
    mtime: int
    given: str


class Store:
    """A brain's store, open to be read."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @classmethod
    def open(cls, path: str) -> "Store":
        """Open a store to read it. Never makes one, and never writes but to bring an old one up to date.

        Raises:
            StoreMissingError: there is none, or it is empty.

        """
        engine = Engine(path)
        if version_of(engine) < VERSION:
            engine.close()
            from memoria.store.migrate import bring_up_to_date

            bring_up_to_date(path)
            engine = Engine(path)
        return cls(engine)

    def close(self) -> None:
        """Close the store."""
        self._engine.close()

    def of_one_state(self, look: Callable[[], Seen]) -> Seen:
        """Return what `look` sees by one or more reads; where a writer committed in between, look again.

        Raises:
            StoreBusyError: every look was disturbed.

        """
        after = self.generation()
        for _ in range(_LOOKS):
            before = after
            try:
                seen = look()
            except Exception:
                # What is half of one state and half of another may look impossible.
                after = self.generation()
                if after == before:
                    raise
            else:
                after = self.generation()
                if after == before:
                    return seen
        raise StoreBusyError(self._engine.path, "another process, again and again")

    # Totals

    def generation(self) -> int:
        """Return how often the store was changed."""
        return int(self._engine.read("query/generation")[0][0])

    def meta(self) -> dict[str, Any]:
        """Return what holds for the whole store."""
        return dict(self._engine.read("query/meta"))

    def sizes(self) -> dict[str, int]:
        """Return how much is in the store."""
        return dict(self._engine.read("query/sizes"))

    def graph_sizes(self) -> dict[str, int]:
        """Return how large the graph is, and how much dreams made."""
        found = {what: int(count) for what, count in self._engine.read("query/graph_sizes")}
        counts = {what: found.get(what, 0) for what in ("connected", "entities", "dream_tags", "storylines", "macros")}
        halves = {what: found.get(f"{what[:-1]} ends", 0) // 2 for what in ("edges", "duplicates")}
        return {**halves, **counts}

    def disagreements(self) -> list[tuple[str, int]]:
        """Return what is kept twice and does not agree, with counts."""
        return [(what, count) for what, count in self._engine.read("query/disagreements")]

    # Sources

    def roots(self) -> list[Root]:
        """Return the folders that were ingested."""
        rows = self._engine.read("query/roots")
        return [Root(path, bucket, tuple(tags), tuple(globs)) for path, bucket, tags, globs in rows]

    def source_states(self) -> list[SourceState]:
        """Return what is needed to see which sources changed."""
        return [SourceState(*row) for row in self._engine.read("query/source_states")]

    def sources(self) -> list[Source]:
        """Return all sources, by path."""
        return [_source(row[0], row[1:]) for row in self._engine.read("query/sources")]

    def source_ids(self, paths: Iterable[str]) -> dict[str, int]:
        """Return the sources that have these paths."""
        return dict(self._engine.read("query/paths", paths=list(paths)))

    # Atoms

    def taken_keys(self, keys: Iterable[str]) -> dict[str, int]:
        """Return those of the keys that are in use, and their atoms."""
        return dict(self._engine.read("query/keys", keys=list(keys)))

    def show(self, atoms: Iterable[int], sources: Iterable[int] = ()) -> Shown:
        """Return what is shown of these atoms and sources, of one state."""
        ids = list(atoms)
        source_ids = sorted({*map(source_of, ids), *sources})
        nodes = [*ids, *map(source_node, source_ids)]
        rows = self._engine.read("query/hits", atoms=ids, sources=source_ids, nodes=nodes)
        shown = Shown({}, {}, {}, {})
        for what, number, row in rows:
            if what == "atom":
                shown.atoms[number] = _atom(number, row)
            elif what == "source":
                shown.sources[number] = _source(number, row)
            elif what == "outline":
                shown.outlines[number] = unpack_outline(row[0])
            else:
                shown.labels.setdefault(number, []).append(Label(*row))
        return shown

    def outlines(self, sources: Iterable[int]) -> dict[int, list[Outline]]:
        """Return the order of these sources' atoms."""
        rows = self._engine.read("query/outlines", sources=list(sources))
        return {source: unpack_outline(data) for source, data in rows}

    def phrases(self, atoms: Iterable[int]) -> dict[int, tuple[str, ...]]:
        """Return what these atoms name."""
        return {atom: _lines(phrases) for atom, phrases in self._engine.read("query/phrases", atoms=list(atoms))}

    def texts(self, atoms: Iterable[int]) -> dict[int, str]:
        """Return the texts of these atoms."""
        return dict(self._engine.read("query/texts", atoms=list(atoms)))

    def show_source(self, source: int) -> tuple[Shown, list[StoredAtom]]:
        """Return a source with all its atoms, in the order of the note."""
        outline = self.show((), [source]).outlines.get(source, [])
        ids = [source_node(source) + place.ordinal for place in outline]
        shown = self.show(ids, [source])
        return shown, [shown.atoms[number] for number in ids if number in shown.atoms]

    def keys_with_prefix(self, prefix: str, most: int = 12) -> list[tuple[str, int]]:
        """Return keys (and their atoms) that begin with `prefix`."""
        if len(prefix) == 12:  # noqa: PLR2004 - a whole key
            return list(self.taken_keys([prefix]).items())
        rows = self._engine.read("query/key_prefix", **{"from": prefix, "to": prefix + "g", "most": most})
        return [(key, atom) for key, atom in rows]

    # For the mirror

    def mirror_sources(self) -> list[tuple[int, str, str, str, int, int, str | None]]:
        """Return (id, root, relpath, hash, next, ingested, date) of all sources, by id."""
        return [tuple(row) for row in self._engine.read("query/mirror_sources")]

    def later_labels(self) -> list[tuple[int, Label]]:
        """Return (node, label) of the labels that came neither with a note nor with its ingest, by node."""
        return [(row[0], Label(*row[1:])) for row in self._engine.read("query/later_labels")]

    def contents(self, first: int, last: int, *, texts: bool) -> list[Content]:
        """Return the sources from `first` to `last`, with the atoms if `texts`."""
        rows = self._engine.read(
            "query/mirror_content",
            after=first - 1,
            before=last + 1,
            first=source_node(first) - 1,
            last=source_node(last + 1),
            texts=texts,
        )
        found: dict[int, Content] = {}
        rest = []
        for row in rows:
            if row[0] == "source":
                found[row[1]] = Content(_source(row[1], row[2]), [], {}, [], {})
            else:
                rest.append(row)
        for what, number, row in rest:
            content = found.get(number if what == "outline" else source_of(number))
            if content is None:
                continue  # of a note that is being removed
            if what == "outline":
                content.places.extend(unpack_outline(row[0]))
            elif what == "label":
                content.labels.setdefault(number, []).append(Label(*row))
            elif what == "link":
                content.targets.append(row[0])
            else:
                content.atoms[number] = _atom(number, row)
        return list(found.values())

    # Labels, names, links, fields

    def labels(self, kind: str) -> list[tuple[str, int, str]]:
        """Return (name, node, origin) of all labels of a kind."""
        return [(name, node, origin) for name, node, origin in self._engine.read("query/labels", kind=kind)]

    def nodes_with(self, kind: str, name: str, *, dreamed: bool = True) -> set[int]:
        """Return the nodes that carry a label; a tag also stands for the tags below it."""
        rows = self._engine.read("query/labeled", kind=kind, name=name, below=name + "/", after=name + "0")
        return {node for node, origin in rows if dreamed or origin != "dream"}

    def find_labels(self, words: Iterable[str], *, most: int) -> list[tuple[str, str]]:
        """Return (kind, name) of the tags and buckets that hold one of these terms."""
        wanted = dict.fromkeys(words)
        asked = list(wanted)
        rows = []
        for start in range(0, len(asked), 64):
            query = " OR ".join(f'"{term}"' for term in asked[start : start + 64])
            rows += self._engine.read("query/find_labels", query=query, most=most)
        # The guard cuts words at what it does not know (node.js), so the terms have the last word.
        return [(kind, name) for kind, name, text in rows if not wanted.keys().isdisjoint(text.split())]

    def human_nodes(self, labels: Iterable[tuple[str, str]]) -> set[int]:
        """Return the nodes to which people gave one of these labels."""
        return {row[0] for row in self._engine.read("query/human_nodes", labels=[list(label) for label in labels])}

    def harvest(self, anchors: Iterable[int], *, dreamed: bool = False) -> list[tuple[str, str, int, list[int]]]:
        """Return (kind, name, how many notes have it, the anchors that have it) of these nodes' labels."""
        name = "query/harvest_all" if dreamed else "query/harvest"
        rows = self._engine.read(name, anchors=[[node] for node in anchors])
        return [(kind, name, notes, nodes) for kind, name, notes, nodes in rows]

    def walk(
        self, bridges: Iterable[tuple[str, str, float]], *, dreamed: bool = False
    ) -> list[tuple[int, float, str, str]]:
        """Return (node, weight, kind, name) of what these bridges lead to."""
        rows = self._engine.read("query/walk", bridges=[list(bridge) for bridge in bridges], dreamed=dreamed)
        return [(node, weight, kind, name) for node, weight, kind, name in rows]

    def source_sizes(self) -> dict[int, int]:
        """Return how many atoms each source has."""
        return dict(self._engine.read("query/source_sizes"))

    def find_names(self, text: str, *, most: int = 20, prefix: bool = False) -> list[tuple[str, str, int]]:
        """Return (kind, name, source) of the names that `text` mentions, best first."""
        query = sanitize_fts_query(" ".join(terms(text)), prefix=prefix)
        if not query:
            return []
        rows = self._engine.read("query/find_names", query=query, most=most)
        return [(kind, name, source) for kind, name, source, _ in rows]

    def titles(self) -> list[tuple[str, str, int]]:
        """Return (kind, name, source) of all titles and aliases."""
        return [(kind, name, source) for kind, name, source in self._engine.read("query/titles")]

    def links(self, atoms: Iterable[int]) -> list[tuple[int, Link]]:
        """Return what these atoms point to."""
        rows = self._engine.read("query/links", atoms=list(atoms))
        return [(row[0], Link(row[2], *row[4:])) for row in rows]

    def link_counts(self, atoms: Iterable[int]) -> dict[int, int]:
        """Return how many links these atoms have, if any."""
        return dict(self._engine.read("query/link_counts", atoms=list(atoms)))

    def all_links(self) -> list[tuple[int, Link]]:
        """Return what all atoms point to."""
        return [(row[0], Link(*row[1:])) for row in self._engine.read("query/all_links")]

    def linking(self, names: Iterable[str]) -> list[tuple[str, int]]:
        """Return (name, atom) of the atoms with a link to one of these names, given as `text.name_key`."""
        rows = self._engine.read("query/linked", names=list(names))
        return [(row[0], row[1]) for row in rows]

    # The graph

    def edges(self, nodes: Iterable[int]) -> list[Edge]:
        """Return the edges of these nodes, the strongest of each first."""
        return [edge_of(row) for row in self._engine.read("query/edges", nodes=list(nodes))]

    def strongest_edges(self, nodes: Iterable[int], most: int) -> list[Edge]:
        """Return the strongest edges of these nodes, so many of each."""
        return [edge_of(row) for row in self._engine.read("query/strongest_edges", nodes=list(nodes), most=most)]

    def meant_edges(self) -> list[Edge]:
        """Return all edges that people wrote, from where they wrote them."""
        return [edge_of(row) for row in self._engine.read("query/meant_edges")]

    def places(self) -> list[Place]:
        """Return where all sources are, and their names."""
        rows = self._engine.read("query/places")
        return [Place(*row)._replace(aliases=tuple(row[-1])) for row in rows]

    def node_tags(self, nodes: Iterable[int]) -> dict[int, list[str]]:
        """Return the tags that came with the notes."""
        found: dict[int, list[str]] = {}
        for node, name in self._engine.read("query/node_tags", nodes=list(nodes)):
            found.setdefault(node, []).append(name)
        return found

    def degrees(self, nodes: Iterable[int]) -> dict[int, int]:
        """Return how many edges these nodes have, if any; what places in a note imply is not counted."""
        return dict(self._engine.read("query/degrees", nodes=list(nodes)))

    def spread(
        self,
        frontier: Iterable[tuple[int, float]],
        visited: Iterable[int],
        sources: Iterable[int],
        tags: Iterable[str],
        *,
        floor: float,
        least: float,
        wide: int,
    ) -> Spread:
        """Return what these (node, energy) can pass on to nodes not visited, and what is needed of these sources.

        Nodes with more than `wide` edges are left out: `strongest` reads them.
        """
        rows = self._engine.read(
            "query/spread",
            SPREAD_WAITS,
            frontier=[list(pair) for pair in frontier],
            visited=[[node] for node in visited],
            sources=list(sources),
            tags=list(tags),
            floor=floor,
            least=least,
            wide=wide,
        )
        found = Spread([], {}, set(), {}, {}, {})
        for what, node, row in rows:
            if what == "edge":
                end, kind, weight, similarity, edge_tags, way, type_ = row
                edge = Edge(node, end, kind, weight, way, tuple(edge_tags), "", "", type=type_)
                found.edges.append((edge, similarity))
            elif what == "degree":
                found.degrees[node] = row[0]
            elif what == "open":
                found.open.add(node)
            elif what == "path":
                found.paths[node] = row[0]
            elif what == "outline":
                found.outlines[node] = unpack_outline(row[0])
                found.paths[node] = row[1]
            else:
                found.tags.setdefault(node, []).append(row[0])
        return found

    def strongest(self, node: int, most: int) -> list[Edge]:
        """Return the strongest edges of a node that has very many."""
        rows = self._engine.read("query/strongest", SPREAD_WAITS, node=node, most=most)
        return [
            Edge(node, end, kind, weight, way, tuple(tags), "", "", type=type_)
            for _, end, kind, weight, tags, way, type_ in rows
        ]

    def linked_sources(self) -> set[int]:
        """Return the sources that links lead from or to."""
        return {row[0] for row in self._engine.read("query/linked_sources")}

    def entities(self, nodes: Iterable[int]) -> dict[int, Entity]:
        """Return the entities that these nodes stand for."""
        rows = self._engine.read("query/entities", nodes=list(nodes))
        return {row[0]: Entity(row[0], row[1], row[2], tuple(row[3]), row[4], row[5]) for row in rows}

    def unsettled(self) -> dict[int, list[str]]:
        """Return the sources whose links are to be resolved, with names that may mean another note now."""
        return dict(self._engine.read("query/unsettled"))

    def fields(self, nodes: Iterable[int]) -> list[tuple[int, Field]]:
        """Return the named values of these nodes."""
        return [(row[0], Field(*row[2:])) for row in self._engine.read("query/fields", nodes=list(nodes))]

    # The text index

    def postings(self, wanted: Iterable[str]) -> Found:
        """Return the postings of some terms, and the totals of the same state."""
        meta: dict[str, Any] = {}
        found: dict[str, list[tuple[Sequence[int], Sequence[int]]]] = {}
        size = 0
        for what, name, _, data in self._engine.read("query/postings", terms=list(wanted)):
            if what == "meta":
                meta[name] = data
            else:
                size += len(data)
                found.setdefault(name, []).append(unpack_postings(data))
        return Found(meta["atoms"], meta["sources"], frozenset(unpack_ids(meta["dead"])), found, size)

    def mentions(self, keys: Iterable[str]) -> dict[str, list[int]]:
        """Return the atoms that mention each of these phrases (`text.phrase_keys`); some of them may be dead."""
        hashes = {key: phrase_hash(key) for key in keys}
        buckets = sorted({hashed % MENTION_BUCKETS for hashed in hashes.values()})
        found: dict[str, list[int]] = {key: [] for key in hashes}
        by_bucket: dict[int, list[tuple[str, int]]] = {}
        for key, hashed in hashes.items():
            by_bucket.setdefault(hashed % MENTION_BUCKETS, []).append((key, hashed))
        for bucket, _, data in self._engine.read("query/mentions", buckets=buckets) if buckets else ():
            listed, atoms = unpack_mentions(data)
            for key, hashed in by_bucket[bucket]:
                place = bisect_left(listed, hashed)
                while place < len(listed) and listed[place] == hashed:
                    found[key].append(atoms[place])
                    place += 1
        return found

    def called(self, names: Iterable[str]) -> dict[str, list[tuple[str, int]]]:
        """Return (kind, source) of the sources that have these names (`text.name_key`)."""
        found: dict[str, list[tuple[str, int]]] = {}
        for name, kind, source in self._engine.read("query/called", names=list(names)):
            found.setdefault(name, []).append((kind, source))
        return found

    def terms_from(self, initial: str) -> set[str]:
        """Return the index's terms that begin with a character; some may be left only in dead atoms."""
        return {term for row in self._engine.read("query/lexicon", initial=initial) for term in row[0]}

    def all_postings(self) -> Iterator[tuple[str, bytes]]:
        """Yield (term, data) of the whole index, a segment at a time."""
        for segment, _, _ in self.segments():
            yield from ((term, data) for term, data in self._engine.read("query/segment_rows", segment=segment))

    def all_mentions(self) -> Iterator[tuple[int, int]]:
        """Yield (phrase hash, atom) of the whole index."""
        for segment, _, _ in self.segments():
            for _, _, data in self._engine.read("query/segment_mentions", segments=[segment]):
                yield from zip(*unpack_mentions(data), strict=True)

    def segments(self) -> list[tuple[int, int, int]]:
        """Return the index's segments: number, atoms, postings."""
        return [(row[0], row[1], row[2]) for row in self._engine.read("query/segments")]


def _source(number: int, row: list[Any]) -> Source:
    source = Source(number, *row)
    return source._replace(aliases=tuple(source.aliases))


def _atom(number: int, row: list[Any]) -> StoredAtom:
    key, heading, text, kind, speaker, phrases = row
    return StoredAtom(number, key, _lines(heading), text, kind, speaker, _lines(phrases))


def edge_of(row: list[Any]) -> Edge:
    """Return an edge from a row of the store."""
    start, _, end, kind, weight, way, tags, *rest = row
    return Edge(start, end, kind, weight, way, tuple(tags), *rest)


def _lines(text: str) -> tuple[str, ...]:
    return tuple(text.split("\n")) if text else ()
