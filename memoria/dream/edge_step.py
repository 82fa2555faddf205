"""The steps of a dream that look at the graph: which notes belong together, and how central each is."""

from memoria.dream.centrality import centralities
from memoria.dream.context import Dream, Due, changed_edges, edge_line, freeze
from memoria.dream.likeness import Likeness, LikeNote, rarities, vector
from memoria.dream.tag_step import tag_notes
from memoria.dream.tagwords import read
from memoria.graph.explicit import edge_tags
from memoria.model import Edge, StepReport, source_node
from memoria.store.dreams import Stories


def dream_edges(dream: Dream) -> StepReport:
    """Find the notes that belong together, a few for each."""
    due = dream.due("edges")
    if due.nothing:
        return StepReport("edges")
    tags = dream.tags()
    vectors, frozen = _vectors(dream, due)
    cites: dict[int, set[int]] = {}
    for one, other in dream.store.note_links():
        cites.setdefault(one, set()).add(other)
    named: dict[int, set[int]] = {}
    for number, entity in dream.store.note_entities():
        named.setdefault(number, set()).add(entity)
    notes = [
        LikeNote(number, vectors.get(number, {}), cites.get(number, ()), named.get(number, ()), tags.weighed(number))
        for number in dream.sources
    ]
    dream.check_stopped()
    near = Likeness(notes).near(due.sources)
    want = {
        Edge(
            start=source_node(min(one, other)),
            end=source_node(max(one, other)),
            kind="near",
            weight=weight,
            way="both",
            tags=shared or edge_tags(tags.weighed(one), tags.weighed(other)),
            origin="dream",
            why=why,
        )
        for one, other, weight, why, shared in near
    }
    if due.full:
        have = set(dream.store.edges(["near"]))
    else:
        nodes = set(map(source_node, due.sources))
        have = {_forward(edge) for edge in dream.store.store.edges(nodes) if edge.kind == "near"}
    found = changed_edges(have, want)
    inside = set(due.sources)
    changes = [edge_line(dream, edge, {}) for one in found.values() for edge in one.edges]
    outside = [number for number in found if number not in inside and number in dream.sources]
    added, removed = dream.write("edges", found, due._replace(sources=[*due.sources, *outside]))
    dream.finish("edges", due, frozen)
    text = ", ".join(filter(None, (f"{added:,} edges" if added else "", f"{removed:,} gone" if removed else "")))
    return StepReport("edges", 0.0, len(due.sources), due.full, added, removed, text, tuple(changes))


def _forward(edge: Edge) -> Edge:
    return edge if edge.start < edge.end else edge.turned()


def _vectors(dream: Dream, due: Due) -> tuple[dict[int, dict[str, float]], dict[str, bytes]]:
    """Return the notes' words as vectors, and what is to be frozen of them."""
    counts = {note.id: read(note).counts for note in tag_notes(dream.notes(due.sources), {}, {})}
    if due.full:
        total, holding = rarities(counts[number] for number in sorted(counts, key=lambda n: dream.sources[n].path))
        vectors = {number: vector(words, total, holding) for number, words in counts.items()}
        return vectors, {"edges/words": freeze([total, holding]), "edges/vectors": freeze(vectors)}
    total, holding = dream.thaw("edges/words")
    vectors = {int(number): words for number, words in dream.thaw("edges/vectors").items()}
    vectors |= {number: vector(words, total, holding) for number, words in counts.items()}
    vectors = {number: words for number, words in vectors.items() if number in dream.sources}
    return vectors, {"edges/vectors": freeze(vectors)}


def dream_salience(dream: Dream) -> StepReport:
    """Find how central notes and entities are."""
    entities = [entity.node for entity, _ in dream.store.entities()]
    edges: dict[int, dict[int, float]] = {}
    for one, other, weight in dream.store.note_edges():
        edges.setdefault(one, {})[other] = weight
    order = [*dream.sources, *sorted(entities)]
    values = centralities(order, edges) if order else {}
    want = {source_node(node) if node > 0 else node: value for node, value in values.items()}
    have = dream.store.centralities()
    gone = sorted(have.keys() - want.keys())
    new = sorted((node, value) for node, value in want.items() if have.get(node) != value)
    if gone or new:
        with dream.writing() as writer:
            type(dream.store)(writer).put_stories(Stories(gone_salience=gone, salience=new))
    text = f"{len(new):,} nodes" if new else ""
    return StepReport("salience", 0.0, len(dream.sources), full=True, added=len(new), removed=len(gone), text=text)
