"""Fitting hits into a budget of characters."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

MISSES = 8  # so many that did not fit in a row of ranks: the rest will hardly fit better

_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’)\]]*(?=\s|\Z)|\n")


class Fitted(NamedTuple):
    """An atom that fits, and its text: cut only where the atom alone is larger than the whole budget."""

    atom: int
    score: float
    text: str
    cut: bool


def fit(
    ranked: Iterable[tuple[int, float]], text_of: Callable[[int], str], budget: int | None, limit: int | None
) -> Iterator[Fitted]:
    """Take atoms by rank while they fit; what does not is skipped, not cut.

    A budget that not even the best atom fits into still gets the beginning of that one.
    """
    used = count = misses = 0
    first: tuple[int, float] | None = None
    for atom, score in ranked:
        if limit is not None and count >= limit:
            return
        text = text_of(atom)
        if budget is not None and used + len(text) > budget:
            first = first or (atom, score)
            misses += 1
            if misses >= MISSES:
                break
            continue
        used += len(text)
        count += 1
        yield Fitted(atom, score, text, cut=False)
    if count == 0 and first and budget:
        yield Fitted(*first, cut_at_sentence(text_of(first[0]), budget), cut=True)


def cut_at_sentence(text: str, budget: int) -> str:
    """Return the beginning of `text`: whole sentences if there are any, else whole words, within `budget`."""
    head = text[:budget]
    ends = [match.end() for match in _SENTENCE_END.finditer(text) if match.end() <= budget]
    if ends:
        return head[: ends[-1]].rstrip() or head
    space = head.rfind(" ")
    return head[:space] if space > 0 else head
