"""The step of a dream that finds names: of notes in running text, and of whom and what notes speak."""

from collections.abc import Iterable, Mapping

from memoria.dream import mentions
from memoria.dream.context import Dream, DreamNote, Due, Tags, changed_edges, edge_line, freeze
from memoria.graph.entities import Naming, gather, name_of, namings
from memoria.graph.explicit import edge_tags
from memoria.links import Resolver
from memoria.model import Edge, Entity, Field, Link, StepReport, source_node, source_of
from memoria.scoring import LINK_WEIGHT, SURE_WEIGHT, mention_weight
from memoria.store.dreams import DreamSource, Found

_READ = 3_000  # nodes at once


def dream_mentions(dream: Dream) -> StepReport:
    """Find the names of notes in other notes' text, and whom and what notes name."""
    due = dream.due("mentions")
    if due.nothing:
        return StepReport("mentions")
    notes = dream.notes(due.sources)
    tags = dream.tags()
    model, found_mentions = _mentions(dream, due, notes)
    linked, have = _edges_of(dream, due)
    want = {
        Edge(
            start=one.atom,
            end=source_node(one.owner),
            kind="mention",
            weight=round(mention_weight(one.linkiness, safe=one.safe), 4),
            way="out",
            tags=edge_tags(tags.weighed(one.note), tags.weighed(one.owner)),
            origin="dream",
            why=f'"{one.name}"',
        )
        for one in found_mentions
        if (one.atom, source_node(one.owner)) not in linked
    }
    entities, named = _entities(dream, due, tags)
    found = changed_edges(have, want | {edge for edge, _ in named})
    found = _with_entities(dream, due, found, entities)
    changes = [edge_line(dream, edge, entities) for one in found.values() for edge in one.edges]
    # The edges of notes that mention a changed one are written with the changed one.
    inside = set(due.sources)
    outside = [number for number in found if number not in inside]
    added, removed = dream.write("mentions", found, due._replace(sources=[*due.sources, *outside]))
    dream.finish("mentions", due, {"mentions/model": freeze(model)})
    mentioned = sum(edge.kind == "mention" for one in found.values() for edge in one.edges)
    text = ", ".join(filter(None, (f"{mentioned:,} mentions" if mentioned else "",
                                   f"{added - mentioned:,} namings of entities" if added > mentioned else "",
                                   f"{removed:,} gone" if removed else "")))  # fmt: skip
    return StepReport("mentions", 0.0, len(due.sources), due.full, added, removed, text, tuple(changes))


def _mentions(
    dream: Dream, due: Due, notes: Iterable[DreamNote]
) -> tuple[mentions.MentionModel, list[mentions.Mention]]:
    passages = [
        mentions.Passage(passage.atom, note.source.id, passage.text)
        for note in notes
        for passage in note.passages
        if passage.kind != "code"
    ]
    if due.full:
        links: dict[int, set[int]] = {number: set() for number in dream.sources}
        for one, other in dream.store.note_links():
            links.setdefault(one, set()).add(other)
        return mentions.fit(_names(dream.sources.values()), passages, links)
    kept, linking, names, shared = dream.thaw("mentions/model")
    before = mentions.MentionModel(kept, linking, {key: mentions.Named(*named) for key, named in names.items()}, shared)
    changed = set(due.sources) | {named.owner for named in before.names.values()} - dream.sources.keys()
    model = mentions.renamed(before, changed, _names(dream.sources[number] for number in due.sources))
    found = mentions.scan(model, passages)
    # Notes that mentioned a changed one lost that edge with its old state: they are looked at again, for it alone.
    owned = {key: named for key, named in model.names.items() if named.owner in changed and named.mentions}
    again = {note for named in owned.values() for note in named.mentions} - set(due.sources)
    more = [
        mentions.Passage(passage.atom, note.source.id, passage.text)
        for note in dream.notes(sorted(again))
        for passage in note.passages
        if passage.kind != "code"
    ]
    return model, [*found, *mentions.scan(model._replace(names=owned), more)]


def _names(sources: Iterable[DreamSource]) -> list[tuple[int, str]]:
    return [(source.id, name) for source in sources for name in (source.title, *source.aliases)]


def _edges_of(dream: Dream, due: Due) -> tuple[set[tuple[int, int]], list[Edge]]:
    """Return which atoms link to which notes, and the mentions and namings that the store has, of what is due."""
    store = dream.store.store
    if due.full:
        linked = {(edge.start, edge.end) for edge in store.meant_edges()}
        return linked, dream.store.edges(["mention", "about", "named"])
    nodes = [*map(source_node, due.sources), *(p.atom for note in dream.notes(due.sources) for p in note.passages)]
    edges = [edge for start in range(0, len(nodes), _READ) for edge in store.edges(nodes[start : start + _READ])]
    linked = {(edge.start, edge.end) for edge in edges if edge.origin == "note" and edge.way == "out"}
    linked |= {(edge.end, edge.start) for edge in edges if edge.origin == "note" and edge.way == "in"}
    return linked, [edge for edge in edges if edge.origin == "dream" and edge.way == "out"]


def _entities(dream: Dream, due: Due, tags: Tags) -> tuple[dict[int, Entity], list[tuple[Edge, Naming]]]:
    fields, links = _fields(dream, due), _unresolved(dream, due)
    found = [
        (naming, source.date)
        for number in due.sources
        for source in [dream.sources[number]]
        for naming in namings(
            source_node(number), source.title, source.aliases, fields.get(number, ()), links.get(number, ())
        )
    ]
    stored = {entity.node: entity for entity, _ in dream.store.entities()}
    known = {node: entity for node, entity in stored.items() if not due.full or entity.origin != "dream"}
    called = dream.store.entities_called({name_of(naming.name) for naming, _ in found})
    called = {name: [node for node in nodes if node in known] for name, nodes in called.items()}
    entities, placed = gather(found, known, called)
    edges: dict[tuple[int, int], tuple[Edge, Naming]] = {}
    for naming, node in placed:
        number = source_of(naming.node)
        edge = Edge(
            start=naming.node,
            end=node,
            kind="about" if naming.about else "named",
            weight=SURE_WEIGHT if naming.about else LINK_WEIGHT,
            way="out",
            tags=edge_tags(tags.weighed(number), ()),
            origin="dream",
            why=naming.name,
            line=naming.line,
        )
        before = edges.get((naming.node, node))
        if before is None or (not naming.about, naming.line or 0, naming.name) < (
            not before[1].about, before[1].line or 0, before[1].name
        ):  # fmt: skip
            edges[naming.node, node] = (edge, naming)
    return entities, list(edges.values())


def _fields(dream: Dream, due: Due) -> dict[int, list[tuple[int, Field]]]:
    nodes = [*map(source_node, due.sources), *(p.atom for note in dream.notes(due.sources) for p in note.passages)]
    found: dict[int, list[tuple[int, Field]]] = {}
    for start in range(0, len(nodes), _READ):
        for node, field in dream.store.store.fields(nodes[start : start + _READ]):
            found.setdefault(source_of(node), []).append((node, field))
    return found


def _unresolved(dream: Dream, due: Due) -> dict[int, list[tuple[int, Link]]]:
    """Return the links that lead to no note, and the persons, by source."""
    store = dream.store.store
    if due.full:
        links = store.all_links()
    else:
        atoms = [passage.atom for note in dream.notes(due.sources) for passage in note.passages]
        links = [pair for start in range(0, len(atoms), _READ) for pair in store.links(atoms[start : start + _READ])]
    resolver = Resolver(dream.sources.values())
    found: dict[int, list[tuple[int, Link]]] = {}
    for atom, link in links:
        origin = dream.sources.get(source_of(atom))
        if origin and (link.kind == "person" or resolver.resolve(link.target, origin) is None):
            found.setdefault(origin.id, []).append((atom, link))
    return found


def _with_entities(dream: Dream, due: Due, found: dict[int, Found], entities: Mapping[int, Entity]) -> dict[int, Found]:
    """Put the entities that are new or changed beside an edge that leads to them."""
    stored = {entity.node: entity for entity, _ in dream.store.entities()}
    for node, entity in sorted(entities.items()):
        if stored.get(node) == entity:
            continue
        names = {(name_of(name), node) for name in (entity.name, *entity.aliases)}
        old = stored.get(node)
        had = {(name_of(name), node) for name in (old.name, *old.aliases)} if old else set()
        home = next((number for number, one in found.items() if any(edge.end == node for edge in one.edges)), None)
        if home is not None:
            one = found[home]
            found[home] = one._replace(
                entities=[*one.entities, entity],
                entity_names=[*one.entity_names, *sorted(names)],
                gone_names=[*one.gone_names, *sorted(had - names)],
            )
        elif old and due.full:
            changed = Found(entities=[entity], entity_names=sorted(names), gone_names=sorted(had - names))
            with dream.writing() as writer:
                type(dream.store)(writer).put(changed)
    return found
