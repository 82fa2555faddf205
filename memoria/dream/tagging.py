"""Tags for notes that people left untagged, learned from the tags that people gave.

`fit` reads all notes once (a full dream); its Model is kept, and `predict` then tags some notes against it.
"""

import math
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest, nsmallest
from typing import NamedTuple

from memoria.dream.tagmodel import Known, Matrix, Model, dumps, loads
from memoria.dream.tagwords import PLACES, Phrases, TagNote, read
from memoria.scoring import idf

__all__ = ["DreamTag", "Model", "Signals", "TagNote", "dumps", "fit", "loads", "predict", "score"]

MAX_TAGS = 5

QUERY_TERMS = 25  # by which a note's neighbours are looked for
NEIGHBORS = 10
COMMON = 0.05  # a word in a larger share of the notes is no evidence ...
COMMON_LEAST = 50  # ... unless it is in fewer notes than this
K1, B = 1.2, 0.75
CENTROID_TERMS = 100  # of a note, its most telling ones

MATCH_PRIOR = 3.0  # notes' worth of what is true of all tags
FOLDER_PRIOR = 2.0  # notes' worth of what is true of the folder above
FOLDER_SHARE = 0.1  # of a folder's notes have a tag that the folder alone may suggest
LINK_DOUBT = 0.3

PRECISION = 0.6  # asked for of the tags that are given
DOUBT = 5  # wrong tags, taken as seen: a small sample is not to be trusted
THRESHOLD_RANGE = (0.20, 0.60)
THRESHOLD_UNSURE = 0.25
SAMPLE = 400
SURE_NOTES = 30  # tagged notes below which a threshold can't be measured
FEW_TAGGED = 0.2  # of the notes: below, a second pass learns from the first one's tags, too


class DreamTag(NamedTuple):
    """A tag that a dream gives."""

    tag: str
    score: float  # 0..1
    reason: str  # "like 6 of 10 nearest notes, words in title"


class Signals(NamedTuple):
    """What speaks for a tag, each from 0 to 1."""

    neighbors: float
    match: float
    folder: float
    links: float
    centroid: float

    def parts(self) -> tuple[float, ...]:
        """Return what each adds to the odds of the tag. Measured on 14 vaults."""
        k, m, f, l, c = self  # noqa: E741
        return (
            1.5 * k + 1.1 * math.sqrt(k),
            1.4 * m + 1.9 * math.sqrt(m),
            1.8 * f + 1.1 * math.sqrt(f),
            0.8 * l,
            1.6 * c**4,
        )


BIAS = 4.1


def score(signals: Signals) -> float:
    """Return how likely a tag is right, from 0 to 1; no signal lowers it."""
    return 1 / (1 + math.exp(BIAS - sum(signals.parts())))


class _Folders:
    """How often each tag occurs below each folder."""

    def __init__(self, model: Model) -> None:
        self.notes: Counter[str] = Counter()
        self.tags: dict[str, Counter[int]] = {}
        for known in model.known:
            for folder in _levels(known.folder):
                self.notes[folder] += 1
                self.tags.setdefault(folder, Counter()).update(known.tags)
        self._likely = {
            folder: [tag for tag, count in tags.items() if count >= FOLDER_SHARE * self.notes[folder]]
            for folder, tags in self.tags.items()
        }

    def likely(self, folder: str) -> Iterator[int]:
        """Yield tags that a folder may suggest by itself."""
        for level in _levels(folder):
            yield from self._likely.get(level, ())

    def share(self, tag: int, folder: str, own: Known | None) -> float:
        """Return P(tag | folder), each level smoothed to the one above; `own` is left out."""
        left_out = _levels(own.folder) if own else ()
        has = own is not None and tag in own.tags
        share = 0.0
        for depth, level in enumerate(_levels(folder)):
            out = level in left_out
            notes = self.notes[level] - out
            count = self.tags[level][tag] - (out and has) if level in self.tags else 0
            prior = FOLDER_PRIOR if depth else 0.0
            if notes + prior > 0:
                share = (count + prior * share) / (notes + prior)
        return share


def _levels(folder: str) -> list[str]:
    """Return a folder and those above it, the root "" first."""
    found = [""]
    if folder:
        parts = folder.split("/")
        found += ["/".join(parts[: depth + 1]) for depth in range(len(parts))]
    return found


class _Tagger:
    """A model, laid out for predicting."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.terms = {term: number for number, term in enumerate(model.terms)}
        self.idf = [idf(model.notes, holding) for holding in model.holding]
        self.place = {known.id: place for place, known in enumerate(model.known)}
        average = sum(known.length for known in model.known) / max(1, len(model.known)) or 1.0
        self.norms = [K1 * (1 - B + B * known.length / average) for known in model.known]
        self.phrases = Phrases(model.tags)
        self.folders = _Folders(model)
        self.holders: list[list[int]] = [[] for _ in model.tags]
        self.matched: Counter[tuple[int, int]] = Counter()
        self.hit: Counter[tuple[int, int]] = Counter()
        for place, known in enumerate(model.known):
            for tag in known.tags:
                self.holders[tag].append(place)
            for tag, where in known.places:
                self.matched[tag, where] += 1
                self.hit[tag, where] += tag in known.tags
        self.all_matched, self.all_hit = [0] * len(PLACES), [0] * len(PLACES)
        for (tag, where), number in self.matched.items():
            self.all_matched[where] += number
            self.all_hit[where] += self.hit[tag, where]
        self._vectors: dict[int, dict[int, float]] = {}
        self._centroids: dict[int, tuple[dict[int, float], float]] = {}
        self._weights: dict[int, list[tuple[int, float]]] = {}

    def candidates(self, note: TagNote) -> list[tuple[int, Signals, int, int, int | None]]:
        """Return (tag, signals, neighbours with it, neighbours, place of its words) of all that may be given."""
        own_place = self.place.get(note.id)
        own = None if own_place is None else self.model.known[own_place]
        words = read(note)
        counts = {self.terms[term]: count for term, count in words.counts.items() if term in self.terms}
        votes, alike, nearest = self._neighbors(counts, own_place)
        places = dict(self.phrases.places(words))
        folder = "/".join(note.folders)
        links = self._links(note, own_place)
        tags = sorted({*votes, *places, *links, *self.folders.likely(folder)})
        cosines = self._cosines(_unit(counts, self.idf), tags, own_place)
        return [
            (
                tag,
                Signals(
                    votes.get(tag, 0.0),
                    self._match(tag, places[tag], own) if tag in places else 0.0,
                    self.folders.share(tag, folder, own),
                    links.get(tag, 0.0),
                    cosines[tag],
                ),
                alike.get(tag, 0),
                nearest,
                places.get(tag),
            )
            for tag in tags
        ]

    def _neighbors(self, counts: dict[int, int], own: int | None) -> tuple[dict[int, float], Counter[int], int]:
        """Return each tag's share of the nearest notes' votes, how many of them have it, and how many they are."""
        rarity = self.idf
        most, holding = _most(self.model.notes), self.model.holding
        telling = ((count * rarity[term], -term) for term, count in counts.items() if holding[term] <= most)
        query = nlargest(QUERY_TERMS, telling)
        scores: dict[int, float] = {}
        get = scores.get
        for _, term in query:
            for place, weight in self._weighted(-term):
                scores[place] = get(place, 0.0) + weight
        scores.pop(-1 if own is None else own, None)
        nearest = nsmallest(NEIGHBORS, ((-value, place) for place, value in scores.items()))
        votes: dict[int, float] = {}
        alike: Counter[int] = Counter()
        total = 0.0
        for value, place in nearest:
            vote = (value / nearest[0][0]) ** 2
            total += vote
            for tag in self.model.known[place].tags:
                votes[tag] = votes.get(tag, 0.0) + vote
                alike[tag] += 1
        return {tag: vote / total for tag, vote in votes.items()}, alike, len(nearest)

    def _weighted(self, term: int) -> list[tuple[int, float]]:
        found = self._weights.get(term)
        if found is None:
            square, norms = self.idf[term] ** 2, self.norms
            found = self._weights[term] = [
                (place, square * count * (K1 + 1) / (count + norms[place]))
                for place, count in self.model.postings.row(term)
            ]
        return found

    def _match(self, tag: int, where: int, own: Known | None) -> float:
        """Return how often notes with the tag's words in this place have the tag, smoothed; `own` is left out."""
        matched, hit = self.matched[tag, where], self.hit[tag, where]
        all_matched, all_hit = self.all_matched[where], self.all_hit[where]
        for other, place in own.places if own else ():
            if place == where:
                has = other in own.tags if own else False
                all_matched, all_hit = all_matched - 1, all_hit - has
                if other == tag:
                    matched, hit = matched - 1, hit - has
        usual = all_hit / all_matched if all_matched else 0.0
        return (hit + MATCH_PRIOR * usual) / (matched + MATCH_PRIOR)

    def _links(self, note: TagNote, own: int | None) -> dict[int, float]:
        weights: dict[int, float] = {}
        total = 0.0
        for other in sorted(set(note.links)):
            place = self.place.get(other)
            if place is None or place == own:
                continue
            known = self.model.known[place]
            weight = 1 / math.sqrt(max(1, known.degree))
            total += weight
            for tag in known.tags:
                weights[tag] = weights.get(tag, 0.0) + weight
        return {tag: weight / (total + LINK_DOUBT) for tag, weight in weights.items()}

    def _cosines(self, vector: dict[int, float], tags: list[int], own: int | None) -> dict[int, float]:
        """Return the note's likeness to each tag's notes, as a share of the best."""
        found = {}
        for tag in tags:
            centroid, square = self._centroid(tag)
            get = centroid.get
            dot = sum([weight * get(term, 0.0) for term, weight in vector.items()])
            if own is not None and tag in self.model.known[own].tags:
                mine = self._vector(own)
                dot -= sum([weight * mine.get(term, 0.0) for term, weight in vector.items()])
                square -= 2 * sum([weight * get(term, 0.0) for term, weight in mine.items()]) - _dot(mine, mine)
            found[tag] = max(0.0, dot) / math.sqrt(square) if square > 1e-9 else 0.0  # noqa: PLR2004
        best = max(found.values(), default=0.0)
        return {tag: cosine / best if best > 0 else 0.0 for tag, cosine in found.items()}

    def _vector(self, place: int) -> dict[int, float]:
        vector = self._vectors.get(place)
        if vector is None:
            vector = self._vectors[place] = _unit(dict(self.model.words.row(place)), self.idf)
        return vector

    def _centroid(self, tag: int) -> tuple[dict[int, float], float]:
        found = self._centroids.get(tag)
        if found is None:
            total: dict[int, float] = {}
            for place in self.holders[tag]:
                for term, weight in self._vector(place).items():
                    total[term] = total.get(term, 0.0) + weight
            found = self._centroids[tag] = total, _dot(total, total)
        return found


def _unit(counts: dict[int, int], rarity: list[float]) -> dict[int, float]:
    """Return a note's most telling terms as a vector of length 1."""
    weights = nlargest(
        CENTROID_TERMS, (((1 + math.log(count)) * rarity[term], -term) for term, count in counts.items())
    )
    length = math.sqrt(sum(weight * weight for weight, _ in weights)) or 1.0
    return {-term: weight / length for weight, term in weights}


def _most(notes: int) -> float:
    """Return in how many notes a word may be that is evidence."""
    return max(COMMON_LEAST, COMMON * notes)


def _dot(one: dict[int, float], other: dict[int, float]) -> float:
    return sum([weight * other.get(term, 0.0) for term, weight in one.items()])


def fit(notes: Iterable[TagNote]) -> Model:
    """Learn from all notes: rarity of words, which tags go with what, and from which score on a tag is given."""
    ordered = sorted(notes, key=lambda note: (note.folders, note.name, note.title, note.id))
    linked: dict[int, set[int]] = {note.id: set() for note in ordered}
    for note in ordered:
        for other in note.links:
            if other in linked and other != note.id:
                linked[note.id].add(other)
                linked[other].add(note.id)
    ordered = [note._replace(links=tuple(sorted(linked[note.id]))) for note in ordered]
    human = [note for note in ordered if note.tags]
    model = _learn(ordered, {note.id: note.tags for note in human})
    model = model._replace(threshold=_threshold(model, human))
    if 0 < len(human) < FEW_TAGGED * len(ordered):
        given = predict(model, (note for note in ordered if not note.tags))
        evidence = {note: tuple(tag.tag for tag in tags) for note, tags in given.items() if tags}
        model = _learn(ordered, evidence | {note.id: note.tags for note in human})
        model = model._replace(threshold=_threshold(model, human))
    return model


def _learn(notes: list[TagNote], evidence: Mapping[int, Sequence[str]]) -> Model:
    tags = sorted({tag for given in evidence.values() for tag in given})
    numbers = {tag: number for number, tag in enumerate(tags)}
    phrases = Phrases(tags)
    holding: Counter[str] = Counter()
    tagged: list[tuple[TagNote, dict[str, int], list[list[int]]]] = []
    for note in notes:
        words = read(note)
        holding.update(words.counts.keys())
        if note.id in evidence:
            tagged.append((note, words.counts, [list(found) for found in phrases.places(words)]))
    vocabulary = sorted({term for _, counts, _ in tagged for term in counts})
    places = {term: number for number, term in enumerate(vocabulary)}
    rows = [sorted((places[term], count) for term, count in counts.items()) for _, counts, _ in tagged]
    postings: list[list[tuple[int, int]]] = [[] for _ in vocabulary]
    for place, row in enumerate(rows):
        for term, count in row:
            postings[term].append((place, count))
    known = [
        Known(
            note.id,
            sorted({numbers[tag] for tag in evidence[note.id]}),
            "/".join(note.folders),
            len(note.links),
            sum(counts.values()),
            sorted(found),
        )
        for note, counts, found in tagged
    ]
    return Model(
        len(notes),
        THRESHOLD_UNSURE,
        tags,
        vocabulary,
        [holding[term] for term in vocabulary],
        known,
        Matrix.of(rows),
        Matrix.of(postings),
    )


def _threshold(model: Model, human: list[TagNote]) -> float:
    """Return the lowest score from which on enough tags are right, measured on tagged notes, each left out."""
    if len(human) < SURE_NOTES:
        return THRESHOLD_UNSURE
    tagger = _Tagger(model)
    judged = []
    for note in _sample(human):
        found = ((score(signals), tag) for tag, signals, *_ in tagger.candidates(note))
        judged += [(value, model.tags[tag] in note.tags) for value, tag in nlargest(MAX_TAGS, found)]
    judged.sort(reverse=True)
    lowest, right = THRESHOLD_RANGE[1], 0
    for number, (value, correct) in enumerate(judged, 1):
        right += correct
        whole = number == len(judged) or judged[number][0] < value  # of equal scores, all are given or none
        if whole and right >= PRECISION * (number + DOUBT):
            lowest = value
    return min(max(lowest, THRESHOLD_RANGE[0]), THRESHOLD_RANGE[1])


def _sample(notes: list[TagNote]) -> list[TagNote]:
    """Return some notes, the same ones whatever their order and numbers."""

    def draw(note: TagNote) -> tuple[int, TagNote]:
        return zlib.crc32("/".join((*note.folders, note.name, note.title)).encode("utf-8", "replace")), note

    return [note for _, note in nsmallest(SAMPLE, map(draw, notes))]


def predict(
    model: Model,
    notes: Iterable[TagNote],
    *,
    rejected: Mapping[int, Collection[str]] | None = None,
    banned: Collection[str] = (),
) -> dict[int, list[DreamTag]]:
    """Return at most MAX_TAGS tags for each note, best first, its own human tags and rejected ones left out.

    `rejected` are tags per note, `banned` tags everywhere. A note that the model knows is left out of its evidence.
    """
    tagger = _Tagger(model)
    found = {}
    for note in notes:
        never = {*note.tags, *banned, *((rejected or {}).get(note.id, ()))}
        tags = [
            DreamTag(model.tags[tag], value, _reason(signals, alike, nearest, place, note))
            for tag, signals, alike, nearest, place in tagger.candidates(note)
            if (value := score(signals)) >= model.threshold and model.tags[tag] not in never
        ]
        found[note.id] = nsmallest(MAX_TAGS, tags, key=lambda tag: (-tag.score, tag.tag))
    return found


def _reason(signals: Signals, alike: int, nearest: int, place: int | None, note: TagNote) -> str:
    """Say what speaks most for a tag, at most two things."""
    said = (
        f"like {alike} of {nearest} nearest notes",
        f"words in {PLACES[place]}" if place is not None else "",
        f"folder {'/'.join(note.folders)}" if note.folders else "many notes have it",
        "linked notes",
        "words of its notes",
    )
    parts = sorted(zip(signals.parts(), said, strict=True), key=lambda part: -part[0])
    best = parts[0][0]
    return ", ".join(text for part, text in parts[:2] if part > 0 and part >= best / 2)
