"""Phrases as tags, where no note has a human tag."""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from heapq import nsmallest
from itertools import groupby, pairwise
from typing import NamedTuple

from memoria.dream.tagging import DreamTag
from memoria.dream.tagwords import ADDRESS, BODY_CHARS, FENCED, TagNote
from memoria.text import STOP_WORDS, fold, is_unspaced, label_name, stem

TITLE, NAME, HEADING, BODY = 4, 3, 2, 1  # what a phrase counts there
LEAST_COUNT = 2
LEAST_NOTES = 3  # that a phrase is in, and that it is given to
MOST_SHARE = 0.05  # of the notes; what more of them say is no topic ...
MOST_LEAST = 10  # ... unless it is in fewer notes than this
LONGEST = 3  # words
SEVERAL_WORDS = 1.2
IS_TITLE = 1.5
CONSIDERED = 12  # phrases a note
GIVEN = 3
ROUNDS = 3
EVEN_ODDS = 10.0  # the weight that is a score of one half

_NOISE = re.compile(
    rf"{FENCED}|{ADDRESS}"
    r"|\$\$.*?\$\$|\$[^$\n]{1,200}\$|\\[a-zA-Z]+"  # LaTeX
    r"|%%.*?%%|&#?\w{1,10};",
    re.DOTALL | re.MULTILINE,
)
_EXCALIDRAW = re.compile(r"^(?:==⚠.*|# Excalidraw Data|## (?:Text Elements|Drawing))$.*", re.DOTALL | re.MULTILINE)
_CLAUSE = re.compile(r"[.,;:!?()\[\]{}\"“”…|/\\<>=+*_`~#@&^%—–\n\r，。、；：！？「」『』（）《》]+|\s-+\s")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
# Chinese and Japanese words of grammar: a phrase does not reach across them.
_GRAMMAR = re.compile("[的了是在和有我你他她它不这那与及等就也都而或被把让从到为以于之\u3040-\u309f]+")

_Token = tuple[str, str]  # as compared, as written; of a stop word ("", word)


class Vocabulary(NamedTuple):
    """The phrases that are tags, frozen until the next full dream."""

    notes: int  # in how many notes they were counted
    phrases: dict[str, tuple[str, float]]  # as compared -> the tag, and its weight


class _Phrases(NamedTuple):
    """A note's phrases: what each counts, and how it is written."""

    counts: dict[str, int]
    title: frozenset[str]
    tokens: list[tuple[list[_Token], int]]


class _Words(dict[str, _Token]):
    """Word -> its token, remembered."""

    def __missing__(self, word: str) -> _Token:
        folded = fold(word).replace("’", "'")
        plain = folded in STOP_WORDS or folded in _FILLERS or folded.isdigit() or len(folded) < 2  # noqa: PLR2004
        token = self[word] = ("" if plain else stem(folded), word)
        return token


# Words of every text, besides the stop words that a search skips: none of them is a topic.
_FILLERS = frozenset(
    """
    use used using uses make makes made way ways want need needs like get gets got see new one two first last many much
    may might must shall let lets even still well via etc thing things lot let's i'm it's don't doesn't can't
    """.split()
)


def _tokens(clause: str, words: _Words) -> Iterator[list[_Token]]:
    """Yield the runs of words in a clause; of scripts without spaces, the pairs of characters."""
    run: list[_Token] = []
    for word in _WORD.findall(clause):
        if word.isascii() or not any(map(is_unspaced, word)):
            run.append(words[word])
            continue
        if run:
            yield run
            run = []
        for part in _GRAMMAR.split(word):
            for unspaced, chars in groupby(part, is_unspaced):
                if unspaced and (pairs := list(map("".join, pairwise(chars)))):
                    yield [(pair, pair) for pair in pairs]
    if run:
        yield run


def _join(words: Iterable[str]) -> str:
    """Return words as a phrase; overlapping pairs of characters as the text that they came from."""
    first, *rest = words
    if is_unspaced(first[0]):
        return first + "".join(pair[1:] for pair in rest)
    return " ".join((first, *rest))


def _grams(run: list[_Token], wanted: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the phrases of a run whose words are all wanted, stop words inside aside: as compared, as written."""
    for start, (key, word) in enumerate(run):
        if key not in wanted:
            continue
        yield key, word
        for end in range(start + 2, min(start + LONGEST, len(run)) + 1):
            last = run[end - 1][0]
            if not last:
                continue
            if last not in wanted:
                break
            part = run[start:end]
            yield _join(k or fold(w) for k, w in part), _join(w for _, w in part)


def _read(note: TagNote, words: _Words) -> _Phrases:
    text = note.text[:BODY_CHARS]
    if "xcalidraw" in text:
        text = _EXCALIDRAW.sub(" ", text)
    name = note.name.replace("-", " ").replace("_", " ")
    fields = ((note.title, TITLE), (name, NAME), ("\n".join(note.headings), HEADING), (_NOISE.sub(" \n ", text), BODY))
    tokens = [
        (run, weight) for field, weight in fields for clause in _CLAUSE.split(field) for run in _tokens(clause, words)
    ]
    single: Counter[str] = Counter()
    for run, weight in tokens:
        for key, _ in run:
            single[key] += weight
    often = {key for key, count in single.items() if key and count >= LEAST_COUNT}
    counts: Counter[str] = Counter()
    title: set[str] = set()
    for run, weight in tokens:
        for key, _ in _grams(run, often):
            counts[key] += weight
            if weight == TITLE:
                title.add(key)
    return _Phrases({key: count for key, count in counts.items() if count >= LEAST_COUNT}, frozenset(title), tokens)


def fit(notes: Iterable[TagNote]) -> tuple[Vocabulary, dict[int, list[DreamTag]]]:
    """Choose phrases that at least 3 notes are about; return them, and the tags of all notes."""
    words = _Words()
    read = {note.id: _read(note, words) for note in notes}
    often = Counter(key for phrases in read.values() for key in phrases.counts)
    weights, written = _weights(read, {key for key, number in often.items() if number >= LEAST_NOTES})
    considered = {number: _best(phrases.counts, weights, CONSIDERED) for number, phrases in read.items()}
    shared = Counter(key for best in considered.values() for key, _ in best)
    chosen = {key: weights[key] for key, number in shared.items() if number >= LEAST_NOTES}
    for _ in range(ROUNDS):
        given = Counter(key for phrases in read.values() for key, _ in _apart(phrases.counts, chosen))
        rare = [key for key in chosen if given[key] < LEAST_NOTES]
        if not rare:
            break
        for key in rare:
            del chosen[key]
    given = Counter(key for phrases in read.values() for key, _ in _apart(phrases.counts, chosen))
    tags = {number: _tags(phrases, chosen, written) for number, phrases in read.items()}
    kept = {key: (written[key], weight) for key, weight in sorted(chosen.items()) if given[key] >= LEAST_NOTES}
    names = {name for name, _ in kept.values()}
    return Vocabulary(len(read), kept), {
        number: [tag for tag in found if tag.tag in names] for number, found in sorted(tags.items())
    }


def _weights(read: Mapping[int, _Phrases], candidates: set[str]) -> tuple[dict[str, float], dict[str, str]]:
    """Return what a phrase weighs, and how it is mostly written."""
    words = {word for key in candidates for word in key.split(" ")} | candidates
    holding: Counter[str] = Counter()
    forms: dict[str, Counter[str]] = {}
    titles = set()
    for phrases in read.values():
        found = set()
        for run, weight in phrases.tokens:
            for key, word in _grams(run, words):
                if key in candidates:
                    found.add(key)
                    forms.setdefault(key, Counter())[label_name(word)] += 1
            if weight == TITLE and len(run) <= LONGEST:
                titles.add(_join(key or fold(word) for key, word in run))
        holding.update(found)
    most = max(MOST_LEAST, MOST_SHARE * len(read))
    weights = {}
    written = {}
    for key, number in holding.items():
        if LEAST_NOTES <= number <= most and (rarity := math.log(len(read) / number)) > 0:
            several = SEVERAL_WORDS if " " in key or (is_unspaced(key[0]) and len(key) > 2) else 1.0  # noqa: PLR2004
            weights[key] = rarity * several * (IS_TITLE if key in titles else 1.0)
            written[key] = min(forms[key].items(), key=lambda form: (-form[1], form[0]))[0]
    return weights, written


def _best(counts: Mapping[str, int], weights: Mapping[str, float], most: int) -> list[tuple[str, float]]:
    found = ((key, (1 + math.log(count)) * weights[key]) for key, count in counts.items() if key in weights)
    return nsmallest(most, found, key=lambda phrase: (-phrase[1], -len(phrase[0]), phrase[0]))


def _apart(counts: Mapping[str, int], weights: Mapping[str, float]) -> list[tuple[str, float]]:
    """Return the phrases that a note is given: the best ones, and none that is a part of a better one."""
    chosen: list[tuple[str, float]] = []
    for key, weight in _best(counts, weights, CONSIDERED):
        if len(chosen) < GIVEN and not any(_overlap(key, other) for other, _ in chosen):
            chosen.append((key, weight))
    return chosen


def _overlap(one: str, other: str) -> bool:
    """Tell whether a phrase is a part of another, or goes on where the other ends."""
    if is_unspaced(one[0]):
        return not {*pairwise(one)}.isdisjoint(pairwise(other))
    ends, others = one.split(" "), other.split(" ")
    return f" {one} " in f" {other} " or f" {other} " in f" {one} " or ends[-1] == others[0] or others[-1] == ends[0]


def _tags(phrases: _Phrases, weights: Mapping[str, float], written: Mapping[str, str]) -> list[DreamTag]:
    return [
        DreamTag(
            written[key],
            weight / (weight + EVEN_ODDS),
            "phrase in title" if key in phrases.title else f"phrase, counts {phrases.counts[key]}",
        )
        for key, weight in _apart(phrases.counts, weights)
    ]


def predict(
    vocabulary: Vocabulary,
    notes: Iterable[TagNote],
    *,
    rejected: Mapping[int, Collection[str]] | None = None,
    banned: Collection[str] = (),
) -> dict[int, list[DreamTag]]:
    """Return at most 3 tags from the vocabulary for each note, best first."""
    words = _Words()
    written = {key: name for key, (name, _) in vocabulary.phrases.items()}
    found = {}
    for note in notes:
        never = {*banned, *((rejected or {}).get(note.id, ()))}
        weights = {key: weight for key, (name, weight) in vocabulary.phrases.items() if name not in never}
        found[note.id] = _tags(_read(note, words), weights, written)
    return found
