"""Looking at the graph: what an atom or a note is tied to."""

from collections.abc import Iterable, Sequence

from memoria.links import Resolver
from memoria.model import Edge, Link, Outline, Source, Tie, source_node, source_of
from memoria.scoring import NEAR_REACH, near_weight, part_weight
from memoria.store import Store
from memoria.store.store import Shown


def implied(node: int, outline: Sequence[Outline], tags: Iterable[str] = ()) -> list[Edge]:
    """Return the edges that follow from places in a note, and that no row is spent on.

    An atom is tied to those up to three before and after it, and to its note; a note to its atoms. The note's tags
    stand on them. How many there are counts as degree, besides the store's.
    """
    home = source_node(source_of(node))
    shared = tuple(tags)
    if node == home:
        return [
            Edge(node, home + here.ordinal, "part", part_weight(position), "both", shared, "note", "")
            for position, here in enumerate(outline)
        ]
    position = next((place for place, here in enumerate(outline) if home + here.ordinal == node), None)
    if position is None:
        return []
    found = [Edge(node, home, "part", part_weight(position), "both", shared, "note", "")]
    for distance in range(1, NEAR_REACH + 1):
        for other in (position - distance, position + distance):
            if 0 <= other < len(outline):
                end = home + outline[other].ordinal
                found.append(Edge(node, end, "next", near_weight(distance), "both", shared, "note", ""))
    return sorted(found, key=lambda edge: (edge.rank, edge.end))


def ties(store: Store, sources: Iterable[Source], atom: int | None) -> list[Tie]:
    """Return what an atom, or these notes with all their atoms, are tied to, the strongest first."""
    outlines = store.outlines([source.id for source in sources])
    nodes = [atom] if atom is not None else [*map(source_node, outlines), *_atoms(outlines)]
    edges = store.edges(nodes)
    if atom is not None:
        edges += implied(atom, outlines.get(source_of(atom), ()))
    ends = {edge.end for edge in edges} | set(nodes)
    positive = {node for node in ends if node > 0}
    shown = store.show(
        [node for node in positive if node != source_node(source_of(node))], {source_of(node) for node in positive}
    )
    entities = store.entities([node for node in ends if node < 0])
    links: dict[int, list[Link]] = {}
    for start, link in store.links([node for node in nodes if node != source_node(source_of(node))]):
        links.setdefault(start, []).append(link)
    found = []
    for edge in edges:
        from_key, _, _, from_line, _ = _end(shown, edge.start)
        if edge.end < 0:
            entity = entities[edge.end]
            end: _End = (entity.key, "", "", None, entity.name)
        else:
            end = _end(shown, edge.end)
        if edge.kind in ("link", "relation") and edge.line is not None:
            from_line, end = _written(edge, from_line, end)
        why = "; ".join(filter(None, (edge.type, edge.why)))
        found.append(
            Tie(edge.way, edge.kind, edge.weight, edge.tags, why, edge.origin, from_key, from_line, *end)
        )  # fmt: skip
    found += _unresolved(store, shown, links)
    order = {"out": 0, "in": 1, "both": 2}
    return sorted(found, key=lambda tie: (order[tie.way], -(tie.weight or 0), tie.path, tie.line or 0, tie.title))


_End = tuple[str, str, str, int | None, str]  # key, path, relpath, line, title


def _written(edge: Edge, from_line: int | None, end: _End) -> tuple[int | None, _End]:
    """Return the lines of both ends: the link's own where it is written, and not its atom's first."""
    if edge.way == "in":
        return from_line, (end[0], end[1], end[2], (end[3] or 1) + (edge.line or 0), end[4])
    return (from_line or 1) + (edge.line or 0), end


def _end(shown: Shown, node: int) -> _End:
    source = shown.sources[source_of(node)]
    ordinal = node - source_node(source.id)
    if not ordinal:
        return "", source.path, source.relpath, None, source.title
    line = next(here.line for here in shown.outlines[source.id] if here.ordinal == ordinal)
    return shown.atoms[node].key, source.path, source.relpath, line, source.title


def _unresolved(store: Store, shown: Shown, links: dict[int, list[Link]]) -> list[Tie]:
    if not links:
        return []
    resolver = Resolver(store.places())
    found = []
    for atom, written in links.items():
        key, _, _, line, _ = _end(shown, atom)
        for link in written:
            if link.kind != "person" and resolver.resolve(link.target, shown.sources[source_of(atom)]) is None:
                at = (line or 1) + link.line
                found.append(Tie("out", "unresolved", None, (), "", "note", key, at, "", "", "", None, link.target))
    return found


def _atoms(outlines: dict[int, list[Outline]]) -> list[int]:
    return [source_node(source) + here.ordinal for source, outline in outlines.items() for here in outline]
