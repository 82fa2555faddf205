"""Storylines: what many notes of a stretch of time are about; macros: storylines that belong together."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from hashlib import blake2b
from typing import NamedTuple

from memoria.dream.profiles import Profile, Profiler, StoryNote, cosine, key_words, summary

__all__ = ["Macro", "StoryNote", "Storyline", "find"]

LEAST_NOTES = 5
MOST_NOTES, MOST_SHARE = 60, 0.10  # an anchor of more notes than both is too broad for a story
GAP_DAYS = 60
LEAST_DAYS = 3  # different ones
OVER_DAYS = 3
SAME = 0.5  # Jaccard of two storylines' notes over which they are one
INSIDE = 0.8  # share of a storyline's notes that another one has

MACRO_STORYLINES = 2
MACRO_DAYS = 30
NEAREST = 4
ALIKE = 0.25
ROUNDS = 20
KEY_WORDS = 3

# They say what is done with a note, and not what it is about.
STRUCTURAL = frozenset(
    """
    todo to-do done task tasks inbox draft drafts daily daily-note daily-notes dailynote weekly monthly yearly journal
    diary log moc index template templates note notes meta archive archived status readme private public evergreen
    seedling seed budding fleeting literature permanent reference ref misc untagged new wip review clippings
    """.split()
)
_YEAR = re.compile(r"(?:(?:19|20)\d\d|[\d/._-]+|q[1-4]|\d{4}-?[qw]\d+)(?:[/-]\d+)*\Z")
_MONTHS = ("", "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class Storyline(NamedTuple):
    """Notes of one stretch of time about one thing, oldest first."""

    id: str  # 12 hex of (anchor, first day): a growing one keeps it
    anchor: str
    aliases: tuple[str, ...]  # anchors of (nearly) the same notes
    name: str
    summary: str
    first: str
    last: str
    notes: tuple[int, ...]  # by (date, path)


class Macro(NamedTuple):
    """Storylines that belong together, oldest first."""

    id: str
    kind: str  # anchor: one thing at several times | theme: the same words
    name: str
    summary: str
    first: str
    last: str
    storylines: tuple[str, ...]


def find(notes: Iterable[StoryNote], today: str) -> tuple[list[Storyline], list[Macro]]:
    """Return the storylines and the macros, newest first; notes dated after `today` are left out."""
    dated = sorted((note for note in notes if note.date <= today), key=lambda note: (note.date, note.path, note.id))
    stretches = _deduped(_stretches(dated))
    if not stretches:
        return [], []
    profiler = Profiler(dated)
    profiles: dict[str, Profile] = {}
    storylines = []
    members = {}
    for anchor, found, aliases in stretches:
        first, last = found[0].date, found[-1].date
        number = _hash(anchor, first)
        profiles[number] = profile = profiler.profile(found)
        members[number] = found
        words = key_words(profile, found, (anchor, *aliases), KEY_WORDS)
        name = _name(anchor, words, first, last)
        shown = summary(profile, found)
        storylines.append(
            Storyline(number, anchor, aliases, name, shown, first, last, tuple(note.id for note in found))
        )
    storylines.sort(key=lambda line: (line.last, line.first, line.anchor), reverse=True)
    return storylines, _macros(storylines, profiles, members)


def _hash(*parts: str) -> str:
    return blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=6).hexdigest()


def is_topic(anchor: str) -> bool:
    """Tell whether an anchor says what a note is about: no year, and no word of housekeeping."""
    return not _YEAR.match(anchor) and STRUCTURAL.isdisjoint((anchor.lower(), anchor.lower().split("/")[0]))


def _stretches(dated: Sequence[StoryNote]) -> Iterator[tuple[str, list[StoryNote]]]:
    """Yield each anchor's notes, cut where nothing was written for a while."""
    by_anchor: dict[str, list[StoryNote]] = {}
    for note in dated:
        for anchor in dict.fromkeys(note.anchors):
            by_anchor.setdefault(anchor, []).append(note)
    most = max(MOST_NOTES, MOST_SHARE * len(dated))
    for anchor, notes in by_anchor.items():
        if LEAST_NOTES <= len(notes) <= most and is_topic(anchor):
            start = 0
            for place in range(1, len(notes) + 1):
                if place == len(notes) or _days(notes[place - 1].date, notes[place].date) > GAP_DAYS:
                    stretch = notes[start:place]
                    if _is_story(stretch):
                        yield anchor, stretch
                    start = place


def _is_story(notes: list[StoryNote]) -> bool:
    return (
        len(notes) >= LEAST_NOTES
        and len({note.date for note in notes}) >= LEAST_DAYS
        and _days(notes[0].date, notes[-1].date) > OVER_DAYS
    )


def _days(one: str, other: str) -> int:
    return (date.fromisoformat(other) - date.fromisoformat(one)).days


def _deduped(
    stretches: Iterable[tuple[str, list[StoryNote]]],
) -> list[tuple[str, list[StoryNote], tuple[str, ...]]]:
    """Keep one of several stretches with nearly the same notes, the longest; the others' anchors are its aliases."""
    kept: list[tuple[str, list[StoryNote], list[str]]] = []
    holding: dict[int, list[int]] = {}  # note -> which of the kept ones have it
    for anchor, notes in sorted(stretches, key=lambda found: (-len(found[1]), found[1][0].date, found[0])):
        shared = Counter(place for note in notes for place in holding.get(note.id, ()))
        same = [
            place
            for place, both in shared.items()
            if both > SAME * (len(notes) + len(kept[place][1]) - both) or both > INSIDE * len(notes)
        ]
        if same:
            aliases = kept[min(same, key=lambda place: (-shared[place], place))][2]
            if anchor not in aliases:
                aliases.append(anchor)
            continue
        for note in notes:
            holding.setdefault(note.id, []).append(len(kept))
        kept.append((anchor, notes, []))
    return [(anchor, notes, tuple(sorted(set(aliases) - {anchor}))) for anchor, notes, aliases in kept]


def _name(subject: str, words: Sequence[str], first: str, last: str) -> str:
    about = f"{subject}: {', '.join(words)}" if words else subject
    return f"{about} ({_span(first, last)})"


def _span(first: str, last: str) -> str:
    """Return two days as months: "Mar 2024", "Mar–May 2024", "Nov 2023–Feb 2024"."""
    year, month = first[:4], _MONTHS[int(first[5:7])]
    end_year, end_month = last[:4], _MONTHS[int(last[5:7])]
    if year != end_year:
        return f"{month} {year}–{end_month} {end_year}"
    return f"{month} {year}" if month == end_month else f"{month}–{end_month} {year}"


def _macros(
    storylines: Sequence[Storyline], profiles: Mapping[str, Profile], members: Mapping[str, list[StoryNote]]
) -> list[Macro]:
    by_anchor: dict[str, list[Storyline]] = {}
    for line in storylines:
        by_anchor.setdefault(line.anchor, []).append(line)
    found = []
    for anchor, lines in sorted(by_anchor.items()):
        if len(lines) >= MACRO_STORYLINES and _days(*_bounds(lines)) >= MACRO_DAYS:
            found.append(_macro("anchor", anchor, anchor, (), lines))
    for lines in _themes(storylines, profiles):
        if len(lines) >= MACRO_STORYLINES and len({line.anchor for line in lines}) > 1:
            together: dict[str, float] = {}
            for line in lines:
                for term, weight in profiles[line.id].items():
                    together[term] = together.get(term, 0.0) + weight
            profile = dict(sorted(together.items(), key=lambda item: (-item[1], item[0])))
            anchors = list(dict.fromkeys(line.anchor for line in sorted(lines, key=lambda line: -len(line.notes))))
            notes = [note for line in lines for note in members[line.id]]
            oldest = min(lines, key=lambda line: (line.first, line.id))
            words = key_words(profile, notes, anchors, KEY_WORDS - 1)
            found.append(_macro("theme", oldest.id, " and ".join(anchors[:2]), words, lines))
    return sorted(found, key=lambda macro: (macro.last, macro.first, macro.id), reverse=True)


def _bounds(lines: Iterable[Storyline]) -> tuple[str, str]:
    spans = [(line.first, line.last) for line in lines]
    return min(first for first, _ in spans), max(last for _, last in spans)


def _macro(kind: str, identity: str, subject: str, words: Sequence[str], lines: Sequence[Storyline]) -> Macro:
    ordered = sorted(lines, key=lambda line: (line.first, line.id))
    first, last = _bounds(ordered)
    notes = len({note for line in ordered for note in line.notes})
    told = f"{len(ordered)} storylines, {notes} notes: {'; '.join(line.name for line in ordered)}."
    name = _name(subject, words, first, last)
    return Macro(_hash(kind, identity), kind, name, told, first, last, tuple(line.id for line in ordered))


def _themes(storylines: Sequence[Storyline], profiles: Mapping[str, Profile]) -> Iterator[list[Storyline]]:
    """Yield groups of storylines with the same words, by label propagation."""
    edges = _likeness(sorted(line.id for line in storylines), profiles)
    labels = {number: number for number in edges}
    order = sorted(edges, key=lambda number: (-len(edges[number]), number))
    for _ in range(ROUNDS):
        changed = False
        for number in order:
            votes: dict[str, float] = {}
            for other, weight in sorted(edges[number].items()):
                vote = weight / math.sqrt(len(edges[other]))
                votes[labels[other]] = votes.get(labels[other], 0.0) + vote
            if votes:
                best = max(votes.values())
                winners = sorted(label for label, vote in votes.items() if vote == best)
                if labels[number] not in winners:
                    labels[number] = winners[0]
                    changed = True
        if not changed:
            break
    groups: dict[str, list[Storyline]] = {}
    for line in storylines:
        groups.setdefault(labels[line.id], []).append(line)
    for label in sorted(groups):
        yield groups[label]


def _likeness(numbers: Sequence[str], profiles: Mapping[str, Profile]) -> dict[str, dict[str, float]]:
    """Join each storyline with those that are most like it."""
    having: dict[str, list[str]] = {}
    for number in numbers:
        for term in profiles[number]:
            having.setdefault(term, []).append(number)
    edges: dict[str, dict[str, float]] = {number: {} for number in numbers}
    for number in numbers:
        others = sorted({other for term in profiles[number] for other in having[term]} - {number})
        alike = sorted((-cosine(profiles[number], profiles[other]), other) for other in others)[:NEAREST]
        for negative, other in alike:
            if -negative >= ALIKE:
                edges[number][other] = edges[other][number] = -negative
    return edges
