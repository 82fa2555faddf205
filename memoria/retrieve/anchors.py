"""Phase 1, anchors: the atoms that a query finds by its words, scored in their context."""

from collections.abc import Callable, Iterable, Sequence
from heapq import nlargest
from typing import NamedTuple

from memoria.model import ORDINAL_BITS, Outline, source_node, source_of
from memoria.retrieve.filters import Filters, allowed
from memoria.retrieve.nearest import near_terms
from memoria.retrieve.query import Query, stands
from memoria.scoring import CONTEXT_REACH, SPEAKER_FACTOR, Bm25, Saturation, context, idf, title_bonus
from memoria.store import Found, Store
from memoria.store.phrases import SPEAKER
from memoria.text import MAX_NAME_WORDS, STOP_WORDS, terms, terms_of_word

CANDIDATES = 200
NEAR_WEIGHTS = {1: 0.8, 2: 0.5}  # what a near word counts for an unknown one, by letters that differ
_MOST_LABELS = 200
_NO_BUCKET = ("bucket", "inbox")  # where a note is that nobody put anywhere: says nothing about it
_PHRASE_PAGE = 400


class Part(NamedTuple):
    """What became of one atom's score on the way."""

    words: dict[str, float]  # term -> what it adds, text, title and context together
    labels: float = 1.0
    speaker: float = 1.0
    title: float = 0.0


class Anchors(NamedTuple):
    """All atoms that match, and how they came to their scores."""

    atoms: int
    sources: int
    dead: frozenset[int]
    scores: dict[int, float]  # 0 to 1, the best has 1
    matching: int
    best: float  # the score that became 1
    idfs: dict[str, float]
    holding: dict[str, int]  # term -> in how many atoms
    near: dict[str, list[tuple[str, float]]]  # unknown word -> what was asked for instead, with weights
    explain: Callable[[int], Part]
    passes: Callable[[int], bool]
    outlines: dict[int, list[Outline]]

    @classmethod
    def none(cls, totals: Found, passes: Callable[[int], bool]) -> "Anchors":
        """Return no anchors, in a store with these totals."""
        return cls(
            atoms=totals.atoms,
            sources=totals.sources,
            dead=totals.dead,
            scores={},
            matching=0,
            best=0.0,
            idfs={},
            holding={},
            near={},
            explain=lambda _: Part({}),
            passes=passes,
            outlines={},
        )


def find_anchors(
    store: Store, query: Query, filters: Filters, bm25: Bm25, *, boost: float, in_context: bool = True
) -> Anchors:
    """Find and score the anchors of a query."""
    speakers = [SPEAKER + term for term in query.terms]
    found = store.postings([*query.terms, *query.excluded, *speakers])
    asked, near = _with_near_words(store, query, found)
    found = _with_postings_of(store, found, asked)
    shapes = {term: _live(found, term) for term in asked}
    idfs = {term: idf(found.atoms, len(shapes[term])) for term in asked if shapes[term]}
    excluded = _holders(found, query.excluded)
    passes = _gate(store, query, filters, found, excluded)
    saturation = Saturation(bm25)
    first: dict[int, float] = {}
    for term, rarity in idfs.items():
        factor = rarity * asked[term]
        for atom, shape in shapes[term].items():
            first[atom] = first.get(atom, 0.0) + factor * saturation[shape]
    if passes is not _everything:
        first = {atom: value for atom, value in first.items() if passes(atom)}
    factors = _Factors(store, query, found, boost)
    weights = {term: idfs[term] * asked[term] for term in idfs}
    if in_context:
        scored = _in_context(store, first, shapes, weights, bm25, passes)
    else:
        scored = _Scored(
            first, {}, lambda atom: {t: w * saturation[s] for t, w in weights.items() if (s := shapes[t].get(atom))}
        )
    scores = {atom: value * factors.of(atom) for atom, value in scored.scores.items()}
    bonus: dict[int, float] = {}
    if in_context and scores:
        bonus = _named_titles(store, query, scores, idfs, found, scored.outlines, passes)
        for atom, more in bonus.items():
            scores[atom] = scores.get(atom, 0.0) + more
    best = max(scores.values(), default=0.0)

    def explain(atom: int) -> Part:
        return Part(scored.parts(atom), factors.label(atom), factors.speaker(atom), bonus.get(atom, 0.0))

    return Anchors(
        atoms=found.atoms,
        sources=found.sources,
        dead=found.dead,
        scores={atom: value / best for atom, value in scores.items() if value > 0} if best else {},
        matching=len(first),
        best=best,
        idfs=idfs,
        holding={term: len(shapes[term]) for term in idfs},
        near=near,
        explain=explain,
        passes=passes,
        outlines=scored.outlines,
    )


def _with_near_words(
    store: Store, query: Query, found: Found
) -> tuple[dict[str, float], dict[str, list[tuple[str, float]]]]:
    """Return the terms to ask for; a word that no atom has is replaced by up to three near ones."""
    known = {term for term in query.terms if _is_live(found, term)}
    asked = {term: weight for term, weight in query.terms.items() if term in known}
    near: dict[str, list[tuple[str, float]]] = {}
    for word, its_terms in query.unknown_words(known):
        near[word] = [(term, NEAR_WEIGHTS[distance]) for term, distance in near_terms(store, word)]
        weight = max(query.terms[term] for term in its_terms)
        for term, share in near[word]:
            asked[term] = asked.get(term, 0.0) + weight * share
    return asked, near


def _with_postings_of(store: Store, found: Found, asked: Iterable[str]) -> Found:
    """Return the postings with those of more terms."""
    missing = [term for term in asked if term not in found.postings]
    if not missing:
        return found
    more = store.postings(missing)
    return found._replace(postings={**found.postings, **more.postings})


def _is_live(found: Found, term: str) -> bool:
    rows = found.postings.get(term, ())
    return any(not found.dead or not found.dead.issuperset(ids) for ids, _ in rows)


def _live(found: Found, term: str) -> dict[int, int]:
    """Return atom -> shape of a term, without the dead."""
    shapes: dict[int, int] = {}
    for ids, packed in found.postings.get(term, ()):
        shapes.update(zip(ids, packed, strict=True))
    if found.dead:
        for atom in found.dead.intersection(shapes):
            del shapes[atom]
    return shapes


def _holders(found: Found, wanted: Iterable[str]) -> set[int]:
    return {atom for term in wanted for ids, _ in found.postings.get(term, ()) for atom in ids}


def _everything(_: int) -> bool:
    return True


def _gate(store: Store, query: Query, filters: Filters, found: Found, excluded: set[int]) -> Callable[[int], bool]:
    """Return the test that every hit must pass: filters, phrases that must stand, words that must not."""
    tests: list[Callable[[int], bool]] = []
    within = allowed(store, filters)
    if within:
        tests.append(within)
    for phrase in query.phrases:
        standing = _with_phrase(store, phrase, found)
        tests.append(standing.__contains__)
    for phrase in query.excluded_phrases:
        excluded = excluded | _with_phrase(store, phrase, store.postings(terms(" ".join(phrase))))
    if excluded:
        tests.append(lambda atom: atom not in excluded)
    if not tests:
        return _everything
    return lambda atom: all(test(atom) for test in tests)


def _with_phrase(store: Store, phrase: tuple[str, ...], found: Found) -> set[int]:
    """Return the atoms in whose text the words of a phrase stand together."""
    wanted = terms(" ".join(phrase))
    if not wanted:
        return set()  # nothing but common words: they are not indexed
    holding: set[int] | None = None
    for term in wanted:
        atoms = set(_live(found, term))
        holding = atoms if holding is None else holding & atoms
    ordered = sorted(holding or ())
    standing = set()
    for start in range(0, len(ordered), _PHRASE_PAGE):
        texts = store.texts(ordered[start : start + _PHRASE_PAGE])
        standing |= {atom for atom, text in texts.items() if stands(phrase, text)}
    return standing


class _Factors:
    """What a score is multiplied by: a label that holds a word of the query, a speaker that the query names."""

    def __init__(self, store: Store, query: Query, found: Found, boost: float) -> None:
        self._boost = boost
        self._labeled: set[int] = set()
        if boost != 1 and query.terms:
            labels = [label for label in store.find_labels(query.terms, most=_MOST_LABELS) if label != _NO_BUCKET]
            self._labeled = store.human_nodes(labels) if labels else set()
        self._spoken = _spoken(query, found)

    def of(self, atom: int) -> float:
        return self.label(atom) * self.speaker(atom)

    def label(self, atom: int) -> float:
        if atom in self._labeled or source_node(source_of(atom)) in self._labeled:
            return self._boost
        return 1.0

    def speaker(self, atom: int) -> float:
        return SPEAKER_FACTOR if atom in self._spoken else 1.0


def _spoken(query: Query, found: Found) -> set[int]:
    """Return the chat turns all of whose speaker's names are in the query."""
    named: dict[int, int] = {}
    wanted: dict[int, int] = {}
    for term in query.terms:
        for ids, shapes in found.postings.get(SPEAKER + term, ()):
            for atom, shape in zip(ids, shapes, strict=True):
                named[atom] = named.get(atom, 0) + 1
                wanted[atom] = shape >> 24
    return {atom for atom, count in named.items() if count == wanted[atom]}


class _Scored(NamedTuple):
    scores: dict[int, float]
    outlines: dict[int, list[Outline]]
    parts: Callable[[int], dict[str, float]]


def _in_context(
    store: Store,
    first: dict[int, float],
    shapes: dict[str, dict[int, int]],
    weights: dict[str, float],
    bm25: Bm25,
    passes: Callable[[int], bool],
) -> _Scored:
    """Score the best atoms and what stands around them again, with what stands around each."""
    top = list(first)
    if len(first) > CANDIDATES:
        least = nlargest(CANDIDATES, first.values())[-1]
        top = [atom for atom, value in first.items() if value >= least]
    outlines = store.outlines({source_of(atom) for atom in top})
    scores: dict[int, float] = {}
    around: dict[int, list[tuple[int, float]]] = {}  # atom -> (place, gain) of what counts for it
    ids: dict[int, list[int]] = {}  # source -> its atoms, in order
    norms: dict[int, float] = {}
    by_source: dict[int, list[int]] = {}
    for atom in top:
        by_source.setdefault(source_of(atom), []).append(atom)
    for source, atoms in by_source.items():
        outline = outlines[source]
        node = source_node(source)
        ids[source] = [node + here.ordinal for here in outline]
        for place in _near_places(outline, [atom - node for atom in atoms]):
            here = outline[place]
            atom = node + here.ordinal
            if not passes(atom):
                continue
            counted = around[atom] = context(outline, place)
            length = bm25.title_weight * here.title_words + here.words
            length += sum(gain * outline[other].words for other, gain in counted)
            norms[atom] = bm25.norm(length)
    title = bm25.title_weight
    gain_of = bm25.k1 + 1

    def count(term_shapes: dict[int, int], atom: int) -> float:
        shape = term_shapes.get(atom)
        tf = (shape >> 24) + title * (shape >> 20 & 15) if shape else 0.0
        order = ids[atom >> ORDINAL_BITS]
        for other, gain in around[atom]:
            shape = term_shapes.get(order[other])
            if shape:
                tf += gain * (shape >> 24)
        return tf

    for term, weight in weights.items():
        term_shapes = shapes[term]
        for atom, norm in norms.items():
            tf = count(term_shapes, atom)
            if tf:
                scores[atom] = scores.get(atom, 0.0) + weight * tf * gain_of / (tf + norm)

    def parts(atom: int) -> dict[str, float]:
        if atom not in norms:
            return {}
        counts = {term: count(shapes[term], atom) for term in weights}
        return {term: weights[term] * tf * gain_of / (tf + norms[atom]) for term, tf in counts.items() if tf}

    return _Scored(scores, outlines, parts)


def _near_places(outline: Sequence[Outline], ordinals: list[int]) -> Iterable[int]:
    """Return the places of some atoms and of those within reach, in order."""
    wanted = set(ordinals)
    places = [place for place, here in enumerate(outline) if here.ordinal in wanted]
    near: set[int] = set()
    for place in places:
        near.update(range(max(0, place - CONTEXT_REACH), min(len(outline), place + CONTEXT_REACH + 1)))
    return sorted(near)


def _named_titles(
    store: Store,
    query: Query,
    scores: dict[int, float],
    idfs: dict[str, float],
    found: Found,
    outlines: dict[int, list[Outline]],
    passes: Callable[[int], bool],
) -> dict[int, float]:
    """Return what the atoms of notes gain whose titles the query names, the longest name at each place."""
    names = store.called(grams(query.plain))
    best = max(scores.values())
    bonus: dict[int, float] = {}
    for name in longest_matches(query.plain, names):
        sources = {source for kind, source in names[name] if kind != "file"}
        words = name.split(" ")
        rarities = [idfs.get(term, 0.0) for word in words if word not in STOP_WORDS for term in terms_of_word(word)]
        more = title_bonus(best, rarities, len(words), found.atoms)
        missing = sources - outlines.keys()
        outlines.update(store.outlines(missing) if missing else {})
        for source in sources:
            for here in outlines.get(source, ()):
                atom = source_node(source) + here.ordinal
                if passes(atom):
                    bonus[atom] = bonus.get(atom, 0.0) + more
    return bonus


def grams(words: list[str], most: int = 3_000) -> list[str]:
    """Return all runs of up to eight words, each once."""
    runs = (
        " ".join(words[start:end])
        for start in range(len(words))
        for end in range(start + 1, min(len(words), start + MAX_NAME_WORDS) + 1)
    )
    return list(dict.fromkeys(runs))[:most]


def longest_matches(words: list[str], names: dict[str, list[tuple[str, int]]]) -> list[str]:
    """Return the names in a text, from left to right; where several begin, the longest."""
    found = []
    place = 0
    while place < len(words):
        for size in range(min(MAX_NAME_WORDS, len(words) - place), 0, -1):
            name = " ".join(words[place : place + size])
            if any(kind != "file" for kind, _ in names.get(name, ())) and name not in STOP_WORDS:
                found.append(name)
                place += size - 1
                break
        place += 1
    return list(dict.fromkeys(found))
