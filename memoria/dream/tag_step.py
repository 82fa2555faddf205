"""The step of a dream that tags what people left untagged."""

from collections.abc import Iterable, Mapping

from memoria.dream import coldstart, tagging, tagmodel
from memoria.dream.context import Dream, DreamNote, freeze
from memoria.dream.tagwords import TagNote
from memoria.model import StepReport
from memoria.store.dreams import Found

TAG_CHARS = 6_000


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
