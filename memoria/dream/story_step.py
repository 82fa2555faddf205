"""The steps of a dream that look at many notes at once: storylines and macros, duplicates; and the index."""

import json
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

from memoria.dream import storylines
from memoria.dream.context import Dream
from memoria.dream.duplicates import find_duplicates
from memoria.model import Macro, StepReport, Storyline
from memoria.store.dreams import Stories

STORY_CHARS = 1_500
STORIES_AT_ONCE = 2_000  # dated notes: with more of them, storylines wait for a full dream
_READ = 3_000  # pairs at once


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
    """Merge the segments of the text index where there are many, or many dead atoms in them."""
    with dream.writing() as writer:
        merged = writer.merge_segments()
    return StepReport("index", 0.0, 0, text=f"{merged:,} segments merged" if merged else "", added=merged)
