"""Notes that belong together though nobody linked them: by words, citations, entities and tags; a few per note."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import nlargest, nsmallest
from typing import NamedTuple

from memoria.scoring import KEPT_WEIGHT, cited_weight, combined_weight, entities_weight, tags_weight, text_weight

VECTOR_TERMS = 30  # of a note: its most telling words
COMMON, COMMON_LEAST = 0.05, 50  # a word in more of the notes than both tells nothing
MOST_HOLDERS = 300  # notes in which a word weighs most: the others are not looked at
PER_KIND = 6
PER_NOTE = 10
BROAD, BROAD_LEAST = 0.1, 5  # a tag on more of the notes than both is ignored
RARE_NOTES = 100  # a tag on more notes supports other kinds, and leads nowhere by itself
MOST_CITING = 200  # notes that link to a note
MOST_CITED = 100  # notes that one of them links to: an index cites all and says nothing

Vector = dict[str, float]


class LikeNote(NamedTuple):
    """A note, as it is compared."""

    id: int
    vector: Mapping[str, float]  # of length 1
    cites: Collection[int]
    entities: Collection[int]
    tags: Mapping[str, float]  # 1 for a human tag, a dream tag's score


class Near(NamedTuple):
    """Two notes that belong together."""

    one: int
    other: int
    weight: float
    why: str
    tags: tuple[str, ...]  # shared ones


def rarities(counts: Iterable[Mapping[str, int]]) -> tuple[int, dict[str, int]]:
    """Return how many notes there are, and in how many of them each word is that more than one has."""
    holding: Counter[str] = Counter()
    notes = 0
    for words in counts:
        holding.update(words.keys())
        notes += 1
    return notes, {term: number for term, number in sorted(holding.items()) if number > 1}


def vector(counts: Mapping[str, int], notes: int, holding: Mapping[str, int]) -> Vector:
    """Return a note's most telling words, as a vector of length 1."""
    most = max(COMMON_LEAST, COMMON * notes)
    weights = (
        ((1 + math.log(count)) * math.log(notes / number), term)
        for term, count in counts.items()
        if 1 < (number := holding.get(term, 0)) <= most and number < notes
    )
    best = nsmallest(VECTOR_TERMS, weights, key=lambda pair: (-pair[0], pair[1]))
    length = math.sqrt(sum(weight * weight for weight, _ in best))
    return {term: round(weight / length, 4) for weight, term in best} if length else {}


class Likeness:
    """All notes, ready to be asked which are near one."""

    def __init__(self, notes: Sequence[LikeNote]) -> None:
        """Take the notes in an order that does not depend on their numbers: it breaks ties."""
        self._notes = notes
        self._place = {note.id: place for place, note in enumerate(notes)}
        holders: dict[str, list[tuple[float, int]]] = {}
        tagged: dict[str, list[int]] = {}
        naming: dict[int, list[int]] = {}
        self._citing: list[list[int]] = [[] for _ in notes]
        for place, note in enumerate(notes):
            for term, weight in note.vector.items():
                holders.setdefault(term, []).append((weight, -place))
            for tag in note.tags:
                tagged.setdefault(tag, []).append(place)
            for entity in note.entities:
                naming.setdefault(entity, []).append(place)
            for other in note.cites:
                cited = self._place.get(other)
                if cited is not None and cited != place:
                    self._citing[cited].append(place)
        self._holders = {
            term: found if len(found) <= MOST_HOLDERS else nlargest(MOST_HOLDERS, found)
            for term, found in holders.items()
            if len(found) > 1
        }
        broad = max(BROAD_LEAST, BROAD * len(notes))
        self._tagged = {tag: places for tag, places in tagged.items() if 1 < len(places) <= broad}
        self._rarity = {tag: math.log(len(notes) / len(places)) for tag, places in self._tagged.items()}
        self._naming = {entity: places for entity, places in naming.items() if 1 < len(places) <= broad}
        self._entity_rarity = {entity: math.log(len(notes) / len(places)) for entity, places in self._naming.items()}
        self._entity_length = [
            math.sqrt(sum(self._entity_rarity.get(entity, 0.0) ** 2 for entity in sorted(note.entities)))
            for note in notes
        ]

    def near(self, wanted: Iterable[int]) -> list[Near]:
        """Return the pairs of which at least one is among `wanted`, by place; each once."""
        pairs: dict[tuple[int, int], dict[str, float]] = {}
        for number in wanted:
            place = self._place[number]
            for kind, found in self._kinds(place).items():
                for weight, other in found:
                    kinds = pairs.setdefault((min(place, other), max(place, other)), {})
                    kinds[kind] = max(kinds.get(kind, 0.0), weight)
        kept = []
        for (one, other), kinds in pairs.items():
            shared, weight = self._shared_tags(one, other)
            if weight:
                kinds["tags"] = weight
            total = combined_weight([kinds[kind] for kind in sorted(kinds)])
            if total >= KEPT_WEIGHT:
                kept.append((round(total, 4), one, other, kinds, shared))
        return [
            Near(self._notes[one].id, self._notes[other].id, weight, _why(kinds), shared)
            for weight, one, other, kinds, shared in self._best(kept)
        ]

    def _best(
        self, pairs: list[tuple[float, int, int, dict[str, float], tuple[str, ...]]]
    ) -> list[tuple[float, int, int, dict[str, float], tuple[str, ...]]]:
        """Return the pairs that are among the strongest of one of their ends."""
        room: Counter[int] = Counter()
        kept = []
        for pair in sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2])):
            _, one, other, _, _ = pair
            if room[one] < PER_NOTE or room[other] < PER_NOTE:
                kept.append(pair)
            room[one] += 1
            room[other] += 1
        return sorted(kept, key=lambda pair: (pair[1], pair[2]))

    def _kinds(self, place: int) -> dict[str, list[tuple[float, int]]]:
        return {
            "text": _top(((text_weight(cosine), other) for other, cosine in self._by_text(place).items())),
            "citations": _top(((cited_weight(value), other) for other, value in self._by_citations(place).items())),
            "entities": _top(((entities_weight(value), other) for other, value in self._by_entities(place).items())),
            "tags": _top(((tags_weight(value), other) for other, value in self._by_tags(place).items())),
        }

    def _by_text(self, place: int) -> dict[int, float]:
        found: dict[int, float] = {}
        get = found.get
        for term, weight in self._notes[place].vector.items():
            for theirs, other in self._holders.get(term, ()):
                found[other] = get(other, 0.0) + weight * theirs
        return {-other: value for other, value in found.items() if -other != place}

    def _by_citations(self, place: int) -> dict[int, float]:
        """Adamic-Adar: who is linked from the same notes; a note that links to few says more."""
        found: dict[int, float] = {}
        for citing in self._citing[place][:MOST_CITING]:
            cited = self._notes[citing].cites
            if 1 < len(cited) <= MOST_CITED:
                value = 1 / math.log(len(cited) + 1)
                for number in cited:
                    other = self._place.get(number)
                    if other is not None and other not in (place, citing):
                        found[other] = found.get(other, 0.0) + value
        return found

    def _by_entities(self, place: int) -> dict[int, float]:
        length = self._entity_length[place]
        found: dict[int, float] = {}
        for entity in sorted(self._notes[place].entities):
            square = self._entity_rarity.get(entity, 0.0) ** 2
            if square:
                for other in self._naming[entity][:MOST_HOLDERS]:
                    if other != place:
                        found[other] = found.get(other, 0.0) + square
        return {other: value / (length * self._entity_length[other]) for other, value in found.items()}

    def _by_tags(self, place: int) -> dict[int, float]:
        found: dict[int, float] = {}
        ours = self._notes[place].tags
        for tag in sorted(ours):
            holders = self._tagged.get(tag, ())
            if len(holders) <= RARE_NOTES:
                for other in holders:
                    if other != place:
                        value = self._rarity[tag] * min(ours[tag], self._notes[other].tags[tag])
                        found[other] = found.get(other, 0.0) + value
        return found

    def _shared_tags(self, one: int, other: int) -> tuple[tuple[str, ...], float]:
        ours, theirs = self._notes[one].tags, self._notes[other].tags
        shared = sorted(ours.keys() & theirs.keys())
        information = sum(self._rarity.get(tag, 0.0) * min(ours[tag], theirs[tag]) for tag in shared)
        return tuple(shared), tags_weight(information)


def _top(found: Iterable[tuple[float, int]]) -> list[tuple[float, int]]:
    return nsmallest(PER_KIND, (pair for pair in found if pair[0]), key=lambda pair: (-pair[0], pair[1]))


_SAID = {
    "text": "alike in words",
    "citations": "linked from the same notes",
    "entities": "name the same",
    "tags": "share tags",
}


def _why(kinds: Mapping[str, float]) -> str:
    ordered = sorted(kinds, key=lambda kind: (-kinds[kind], kind))
    return ", ".join(f"{_SAID[kind]} {kinds[kind]:.2f}" for kind in ordered)
