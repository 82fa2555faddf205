"""Atoms that say nearly the same.

Likeness is the Jaccard index of the texts' shingles (runs of words). Two texts that are alike enough share one of their
rarest shingles, so only those are looked up; every pair is then compared exactly.
"""

import math
from array import array
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from memoria.text import is_unspaced, plain_words

SHINGLE = 3  # words; of a script without spaces, characters
ALIKE = 0.7
LEAST_WORDS = 8  # a shorter text ("See also", a table's head) is alike by chance
SAME_SHINGLE = (
    20  # texts that are looked at for one shingle: a template with a thousand copies is no thousand finds each
)
_BITS = 21  # of a word's number: two million words
_MASK = (1 << 64) - 1
_TALLIES = 1 << 20


class Duplicate(NamedTuple):
    """Two atoms with nearly the same words."""

    atom: int  # the smaller number
    other: int
    similarity: float  # Jaccard of their shingles, 1 for the same words


def find_duplicates(atoms: Iterable[tuple[int, str]]) -> list[Duplicate]:
    """Return the pairs of (id, text) that are nearly the same, by (atom, other).

    Of more than two with the same words, each is paired with the first of them.
    """
    words = sorted((_words(text), number) for number, text in atoms)
    found = []
    distinct: list[tuple[int, list[str]]] = []
    for text, group in groupby((row for row in words if len(row[0]) >= LEAST_WORDS), key=lambda row: row[0]):
        first, *others = (number for _, number in group)
        distinct.append((first, text))
        found += [Duplicate(first, other, 1.0) for other in others]
    distinct.sort(key=lambda row: (len(row[1]), row[1]))
    found += _alike(distinct)
    return sorted(found)


def _words(text: str) -> list[str]:
    words = plain_words(text)
    if text.isascii():
        return words
    return [part for word in words for part in (word if is_unspaced(word[0]) else (word,))]


def _alike(texts: Sequence[tuple[int, list[str]]]) -> Iterable[Duplicate]:
    numbers: dict[str, int] = {}
    shingles = [_shingles([numbers.setdefault(word, len(numbers)) for word in words]) for _, words in texts]
    tallies = array("I", bytes(4 * _TALLIES))  # how often a shingle occurs, near enough to tell which are rare
    for row in shingles:
        for shingle in row:
            tallies[shingle % _TALLIES] += 1
    by_shingle: dict[int, list[int]] = {}
    for place, row in enumerate(shingles):
        rarest = sorted(row, key=lambda shingle: (tallies[shingle % _TALLIES], shingle))
        near: set[int] = set()
        for shingle in rarest[: len(row) - math.ceil(ALIKE * len(row)) + 1]:
            others = by_shingle.setdefault(shingle, [])
            near.update(others)
            if len(others) < SAME_SHINGLE:
                others.append(place)
        whole = set(row)
        for other in sorted(near):
            theirs = shingles[other]
            if ALIKE * len(row) <= len(theirs) <= len(row) / ALIKE:
                both = len(whole.intersection(theirs))
                similarity = both / (len(row) + len(theirs) - both)
                if similarity >= ALIKE:
                    one, two = sorted((texts[place][0], texts[other][0]))
                    yield Duplicate(one, two, similarity)


def _shingles(words: list[int]) -> "array[int]":
    """Return a text's shingles, each once: three numbers of words in one."""
    found = {
        (one << 2 * _BITS | two << _BITS | three) & _MASK
        for one, two, three in zip(words, words[1:], words[2:], strict=False)
    }
    return array("Q", sorted(found))
