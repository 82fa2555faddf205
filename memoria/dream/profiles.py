"""What a group of notes is about: its telling words, and the sentences that say most of them."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from memoria.dream.tagwords import ADDRESS, FENCED
from memoria.scoring import idf
from memoria.text import STOP_WORDS, fold, is_unspaced, raw_words, terms, terms_of_word

PROFILE_CHARS = 1_500  # of a note: what it is about stands at its beginning
SHARED = 0.3  # of the notes have a word of their profile
MOST_WORDS = 40
SENTENCES = 2
SENTENCE_WORDS = (5, 45)
LEAST_LETTERS = 3  # of a word in a name; of a script without spaces, 2 characters
LENGTH_PRIOR = 4  # words
LATER = 0.15  # what a sentence loses by each one before it in its note
CONSIDERED = 8  # sentences of a note

_NO_PROSE = re.compile(
    rf"{FENCED}|{ADDRESS}"
    r"|^(?: {4}|\t|[ >]*\||[ ]{0,3}#)[^\n]*$",  # indented code, tables, headings
    re.MULTILINE | re.DOTALL,
)
_SENTENCE = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+|(?<=[。！？])|\n\s*\n|\n(?=[ \t>]*(?:[-*+]|\d+[.)])\s)")
_BULLET = re.compile(r"^[ \t>]*(?:[-*+]|\d+[.)])\s+(?:\[.\]\s+)?")
_WIKILINK = re.compile(r"!?\[\[(?:[^\[\]|\n]*\|)?([^\[\]|\n]+)\]\]")
_LINK = re.compile(r"!?\[([^\[\]\n]*)\]")
_MARKS = re.compile(r"\*\*|__|==|`|(?<!\w)[*_]|[*_](?!\w)|\s\^[\w-]+$")
_LOOSE = re.compile(r" ([.,;:!?)])")


class StoryNote(NamedTuple):
    """A dated note, as storylines see it."""

    id: int
    path: str  # breaks ties, so that the order of ingest does not matter
    date: str  # ISO day
    anchors: tuple[str, ...]  # its tags (human and dream), entities or cold-start phrases
    title: str
    text: str  # the first 1,500 characters count; code and tables in them do not


Profile = dict[str, float]  # term -> weight


class Profiler:
    """Knows how rare words are among all notes."""

    def __init__(self, notes: Iterable[StoryNote]) -> None:
        self._terms: dict[int, frozenset[str]] = {}
        holding: Counter[str] = Counter()
        for note in notes:
            found = frozenset(terms(f"{note.title}\n{_prose(note)}"))
            self._terms[note.id] = found
            holding.update(found)
        self._rarity = {term: idf(len(self._terms), number) for term, number in holding.items()}

    def profile(self, notes: Sequence[StoryNote]) -> Profile:
        """Return the words that many of the notes have, heavier the more and the rarer elsewhere."""
        holding = Counter(term for note in notes for term in self._terms[note.id])
        weights = (
            (number / len(notes) * self._rarity[term], term)
            for term, number in holding.items()
            if number >= SHARED * len(notes) and number > 1 and not term.isdigit()
        )
        best = sorted(weights, key=lambda weight: (-weight[0], weight[1]))[:MOST_WORDS]
        return {term: weight for weight, term in best}


def cosine(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Return how alike two profiles are, from 0 to 1."""
    dot = sum(weight * other.get(term, 0.0) for term, weight in sorted(one.items()))
    square = math.fsum(w * w for w in one.values()) * math.fsum(w * w for w in other.values())
    return min(1.0, dot / math.sqrt(square)) if square > 0 else 0.0


def key_words(profile: Profile, notes: Iterable[StoryNote], without: Iterable[str], most: int) -> list[str]:
    """Return the profile's best words as they are mostly written, those of `without` left out."""
    hidden = {term for text in without for term in terms(text)}
    wanted = [
        term for term in profile if term not in hidden and len(term) >= (2 if is_unspaced(term[0]) else LEAST_LETTERS)
    ][: 2 * most]
    forms: dict[str, Counter[str]] = {term: Counter() for term in wanted}
    for note in notes:
        for word in raw_words(f"{note.title}\n{_prose(note)}"):
            for term in terms_of_word(word)[:1]:
                if term in forms and fold(word) not in STOP_WORDS and word.isalnum():
                    forms[term][word.lower() if word[:1].isupper() and word[1:].islower() else word] += 1
    written = (min(forms[term].items(), key=lambda form: (-form[1], form[0]))[0] for term in wanted if forms[term])
    return list(dict.fromkeys(written))[:most]


def _is_word(term: str) -> bool:
    return len(term) >= (2 if is_unspaced(term[0]) else LEAST_LETTERS)


def summary(profile: Profile, notes: Sequence[StoryNote]) -> str:
    """Return the sentences that say most about the notes, in the notes' order, each from another note."""
    found = []
    for place, note in enumerate(notes):
        sentences = [_plain(text) for text in _SENTENCE.split(_prose(note)) if text.strip()]
        rated = [
            (-_rating(sentence, profile) / (1 + LATER * number), place, sentence)
            for number, sentence in enumerate(sentences[:CONSIDERED])
            if SENTENCE_WORDS[0] <= len(raw_words(sentence)) <= SENTENCE_WORDS[1] and not sentence.endswith(":")
        ]
        found += sorted(rated)[:1]
    best = sorted(found)[: 2 * SENTENCES]
    chosen: dict[str, int] = {}
    for _, place, sentence in best:
        if len(chosen) < SENTENCES:
            chosen.setdefault(sentence, place)
    if chosen:
        return " ".join(sorted(chosen, key=lambda sentence: (chosen[sentence], sentence)))
    first, last = notes[0].title, notes[-1].title
    return f"From “{first}” to “{last}”." if first != last else f"Notes called “{first}”."


def _rating(sentence: str, profile: Profile) -> float:
    words = terms(sentence)
    return sum(profile.get(term, 0.0) for term in dict.fromkeys(words)) / math.sqrt(len(words) + LENGTH_PRIOR)


def _prose(note: StoryNote) -> str:
    return _NO_PROSE.sub("\n", note.text[:PROFILE_CHARS])


def _plain(sentence: str) -> str:
    """Return a sentence without its marks, on one line."""
    text = _LINK.sub(r"\1", _WIKILINK.sub(r"\1", _BULLET.sub("", sentence.strip())))
    text = _LOOSE.sub(r"\1", " ".join(_MARKS.sub("", text).split()))
    return text if text.endswith((".", "!", "?", "…", "。", "！", "？", ":")) else f"{text}."
