"""The steps of a dream: each reads what is due, thinks, and writes what changed."""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from typing import Any

from memoria.dream import coldstart, mentions, storylines, tagging, tagmodel
from memoria.dream.centrality import centralities
from memoria.dream.context import Dream, DreamNote, Due, Tags, changed_edges, freeze
from memoria.dream.duplicates import find_duplicates
from memoria.dream.entities import Naming, gather, name_of, namings
from memoria.dream.likeness import Likeness, LikeNote, rarities, vector
from memoria.dream.tagwords import TagNote, read
from memoria.graph.explicit import edge_tags
from memoria.graph.resolver import Resolver
from memoria.model import Edge, Entity, Field, Link, Macro, StepReport, Storyline, source_node, source_of
from memoria.scoring import LINK_WEIGHT, SURE_WEIGHT, mention_weight
from memoria.store.dreams import DreamSource, Found, Stories

TAG_CHARS = 6_000
STORY_CHARS = 1_500
STORIES_AT_ONCE = 2_000  # dated notes: with more of them, storylines wait for a full dream
_READ = 3_000


# Tags


def tag_notes(
    notes: Iterable[DreamNote], evidence: Mapping[int, Iterable[str]], links: Mapping[int, set[int]]
) -> list[TagNote]:
    """Return notes as the tagger sees them."""
    return [
        TagNote(
            note.source.id,
            note.source.title,
            note.name,
            note.folders,
            tuple(dict.fromkeys(heading for passage in note.passages for heading in passage.heading)),
            note.text(TAG_CHARS),
            tuple(sorted(evidence.get(note.source.id, ()))),
            tuple(sorted(links.get(note.source.id, ()))),
        )
        for note in notes
    ]


def both_ways(pairs: Iterable[tuple[int, int]]) -> dict[int, set[int]]:
    """Return with which notes each is linked."""
    found: dict[int, set[int]] = {}
    for one, other in pairs:
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return found


def dream_tags(dream: Dream) -> StepReport:
    """Tag what people left untagged, from the tags that they gave; where they gave none, by phrases."""
    tags = dream.tags()
    learned = any(tags.own.values())
    mode = "human" if learned else "cold"
    due = dream.due("tags", renew=(dream.thaw("tags/mode") or mode) != mode)
    if due.nothing:
        return StepReport("tags")
    banned, rejected = _rejected(dream)
    links = both_ways(dream.store.note_links())
    notes = tag_notes(dream.notes(due.sources), tags.human, links)
    untagged = [note for note in notes if not tags.own.get(note.id)]
    frozen: dict[str, bytes] = {}
    if learned:
        if due.full:
            model = tagging.fit(notes)
            frozen["tags/model"] = tagmodel.dumps(model)
        else:
            model = tagmodel.loads(dream.store.frozen("tags/model"))
        given = tagging.predict(model, untagged, rejected=rejected, banned=banned)
    else:
        if due.full:
            vocabulary, _ = coldstart.fit(notes)
            frozen["tags/model"] = freeze(vocabulary)
        else:
            kept, phrases = dream.thaw("tags/model")
            vocabulary = coldstart.Vocabulary(kept, {key: (name, weight) for key, (name, weight) in phrases.items()})
        given = coldstart.predict(vocabulary, untagged, rejected=rejected, banned=banned)
    frozen["tags/mode"] = freeze(mode)
    had = dream.store.tags()
    found: dict[int, Found] = {}
    changes: list[str] = []
    for number in due.sources:
        old = set(had.get(number, ()))
        new = {(tag.tag, round(tag.score, 4), tag.reason) for tag in given.get(number, ())}
        names = {name for name, _, _ in new}
        found[number] = Found(
            gone_tags=[(number, name) for name, _, _ in sorted(old) if name not in names],
            tags=[(number, *tag) for tag in sorted(new - old)],
        )
        path = dream.sources[number].relpath
        changes += (f"- #{name}  {path}" for _, name in found[number].gone_tags)
        changes += (f"+ #{name}  {path}  ({score:.2f}, {why})" for _, name, score, why in found[number].tags)
    added, removed = dream.write("tags", found, due)
    dream.finish("tags", due, frozen)
    count = len({number for number, one in found.items() if one.tags})
    how = "phrases, for want of tags" if not learned else ""
    text = ", ".join(filter(None, (f"{added:,} tags given to {count:,} notes" if added else "",
                                   f"{removed:,} taken back" if removed else "", how if added else "")))  # fmt: skip
    return StepReport("tags", 0.0, len(due.sources), due.full, added, removed, text, tuple(changes))


def _rejected(dream: Dream) -> tuple[set[str], dict[int, set[str]]]:
    banned: set[str] = set()
    rejected: dict[int, set[str]] = {}
    for source, name, verdict in dream.store.verdicts():
        if verdict == "rejected":
            if source:
                rejected.setdefault(source, set()).add(name)
            else:
                banned.add(name)
    return banned, rejected


# Mentions and entities


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
    changes = [_edge_line(dream, edge, entities) for one in found.values() for edge in one.edges]
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


def _edge_line(dream: Dream, edge: Edge, entities: Mapping[int, Entity]) -> str:
    def called(node: int) -> str:
        if node < 0:
            return f"{entities[node].name} ({entities[node].kind})" if node in entities else str(node)
        return dream.sources[source_of(node)].relpath

    return f"+ {called(edge.start)} - {called(edge.end)}  ({edge.kind} {edge.weight:.2f}, {edge.why})"


# Edges between notes


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
    changes = [_edge_line(dream, edge, {}) for one in found.values() for edge in one.edges]
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


# Salience


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


# Storylines and macros


def dream_storylines(dream: Dream) -> StepReport:
    """Find what many notes of a stretch of time are about, and which of these stretches belong together."""
    tags = dream.tags()
    named: dict[int, set[str]] = {}
    names = {entity.node: entity.name for entity, _ in dream.store.entities() if entity.kind != "artifact"}
    for number, entity in dream.store.note_entities():
        if entity in names:
            named.setdefault(number, set()).add(names[entity])
    dated = [source for source in dream.sources.values() if source.date and source.date <= dream.today]
    anchors = {source.id: tuple(sorted({*tags.weighed(source.id), *named.get(source.id, ())})) for source in dated}
    digest = _digest((source.path, source.stamp, source.date, anchors[source.id]) for source in dated)
    if digest == dream.store.frozen("storylines/digest"):
        return StepReport("storylines")
    if len(dated) > STORIES_AT_ONCE and not dream.ran_full and dream.store.frozen("storylines/digest"):
        return StepReport("storylines")
    texts = {
        note.source.id: note.text(STORY_CHARS)
        for note in dream.notes([source.id for source in dated if anchors[source.id]], most=STORY_CHARS)
    }
    found, groups = storylines.find(
        (
            storylines.StoryNote(
                source.id, source.relpath, source.date or "", anchors[source.id], source.title, texts[source.id]
            )
            for source in dated
            if source.id in texts
        ),
        dream.today,
    )
    lines = {one.id: Storyline(*one[:7], tuple(one.notes)) for one in found}
    macros = {one.id: Macro(*one) for one in groups}
    had, had_macros = {one.id: one for one in dream.store.storylines()}, {one.id: one for one in dream.store.macros()}
    stories = Stories(
        gone_storylines=sorted(had.keys() - lines.keys()),
        storylines=[one for number, one in sorted(lines.items()) if had.get(number) != one],
        gone_macros=sorted(had_macros.keys() - macros.keys()),
        macros=[one for number, one in sorted(macros.items()) if had_macros.get(number) != one],
    )
    with dream.writing() as writer:
        type(dream.store)(writer).put_stories(stories, frozen=[("storylines/digest", digest)])
    added = len(stories.storylines) + len(stories.macros)
    removed = len(stories.gone_storylines) + len(stories.gone_macros)
    text = f"{len(lines):,} storylines, {len(macros):,} macros" if added or removed else ""
    changes = tuple(
        f"+ {name}" for name in [one.name for one in stories.storylines] + [one.name for one in stories.macros]
    )
    return StepReport("storylines", 0.0, len(dated), dream.ran_full, added, removed, text, changes)


def _digest(rows: Iterable[Any]) -> bytes:
    return blake2b(json.dumps(list(rows), ensure_ascii=True).encode(), digest_size=16).digest()


# Duplicates, index


def dream_duplicates(dream: Dream) -> StepReport:
    """Find the atoms that say nearly the same."""
    texts = [(passage.atom, passage.text) for note in dream.notes(dream.sources) for passage in note.passages]
    want = {(one.atom, one.other): round(one.similarity, 4) for one in find_duplicates(texts)}
    have = {(one, other): similarity for one, other, similarity in dream.store.duplicates()}
    gone = sorted(have.keys() - want.keys())
    new = [(*pair, similarity) for pair, similarity in sorted(want.items()) if have.get(pair) != similarity]
    for start in range(0, max(len(gone), len(new)), _READ):
        part = slice(start, start + _READ)
        with dream.writing() as writer:
            alive = writer.texts({atom for one in new[part] for atom in one[:2]})
            kept = [one for one in new[part] if one[0] in alive and one[1] in alive]
            type(dream.store)(writer).put_stories(Stories(gone_duplicates=gone[part], duplicates=kept))
    text = f"{len(want):,} pairs of atoms say nearly the same" if gone or new else ""
    return StepReport("duplicates", 0.0, len(dream.sources), full=True, added=len(new), removed=len(gone), text=text)


def dream_index(dream: Dream) -> StepReport:
    """Merge the segments of the text index."""
    with dream.writing() as writer:
        merged = writer.merge_segments(everything=dream.ran_full)
    return StepReport("index", 0.0, 0, text=f"{merged:,} segments merged" if merged else "", added=merged)


STEPS: dict[str, Callable[[Dream], StepReport]] = {
    "tags": dream_tags,
    "mentions": dream_mentions,
    "edges": dream_edges,
    "salience": dream_salience,
    "storylines": dream_storylines,
    "duplicates": dream_duplicates,
    "index": dream_index,
}
ONLY_FULL = ("salience", "duplicates")  # of a whole brain: they wait for a full dream, unless they are asked for


def run(dream: Dream, step: str, *, asked: bool) -> StepReport:
    """Run a step; `asked` where it was named."""
    if step in ONLY_FULL and not (dream.ran_full or asked):
        return StepReport(step)
    started = time.perf_counter()
    report = STEPS[step](dream)
    return report._replace(seconds=time.perf_counter() - started)
