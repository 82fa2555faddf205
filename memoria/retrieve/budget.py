"""Fitting atoms into a budget of characters."""

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from memoria.model import source_of

MISSES = 8  # so many that did not fit: what follows will hardly fit better
GAP = "\n\n"  # between two atoms that touch and are shown as one

_SENTENCE_END = r"[.!?…。！？][\"'”’)\]]*(?=\s|\Z)|\n"


class Ranked(NamedTuple):
    """An atom in the ranking."""

    atom: int
    score: float
    neighbor: bool


class Shares(NamedTuple):
    """How much of the budget neighbors may use; where that is less, one atom each of so many notes."""

    neighbors: float = 0.3
    least: int = 3


class Fitted(NamedTuple):
    """What was taken, in the order of the ranking; cut only where the best atom alone is larger than the budget."""

    taken: list[Ranked]
    cut: str | None = None
    used: int = 0
    by_neighbors: int = 0


def fit(
    ranked: Iterable[Ranked],
    text_of: Callable[[int], str],
    touching: Callable[[int, set[int]], bool],
    *,
    budget: int | None,
    limit: int | None,
    shares: Shares,
    overhead: Callable[[int], int] = lambda _: 0,
) -> Fitted:
    """Take atoms by rank while they fit; what does not is skipped, not cut.

    Atoms that touch are shown together, so `limit` atoms are at most as many hits. `overhead` is what is printed
    around a hit, and counts as well.
    """
    taken: list[Ranked] = []
    chosen: set[int] = set()
    used = by_neighbors = misses = 0
    notes: set[int] = set()  # of neighbors
    first: Ranked | None = None
    for item in ranked:
        touches = touching(item.atom, chosen)
        if limit is not None and len(taken) >= limit:
            break
        size = len(text_of(item.atom)) + (0 if touches else overhead(item.atom)) + (len(GAP) if taken else 0)
        if budget is not None:
            room = shares.neighbors * budget
            one_more = source_of(item.atom) not in notes and len(notes) < shares.least
            if item.neighbor and not one_more and by_neighbors + size > room:
                continue
            if used + size > budget:
                first = first or item
                misses += 1
                if misses >= MISSES:
                    break
                continue
        taken.append(item)
        chosen.add(item.atom)
        used += size
        if item.neighbor:
            notes.add(source_of(item.atom))
            by_neighbors += size
    if not taken and first and budget:
        room = budget - overhead(first.atom)
        if room <= 0:
            return Fitted([])
        cut = cut_at_sentence(text_of(first.atom), room)
        return Fitted([first], cut, len(cut), len(cut) if first.neighbor else 0)
    return Fitted(taken, None, used, by_neighbors)


def fit_both(
    anchors: Iterable[Ranked],
    neighbors: Iterable[Ranked],
    text_of: Callable[[int], str],
    touching: Callable[[int, set[int]], bool],
    *,
    budget: int | None,
    limit: int | None,
    shares: Shares,
    overhead: Callable[[int], int] = lambda _: 0,
) -> Fitted:
    """Give anchors and neighbors each their share, and nothing of it to the other."""
    part = shares.neighbors
    theirs = round(limit * part) if limit is not None else None
    whole = Shares(1.0)
    first = fit(
        anchors, text_of, touching,
        budget=None if budget is None else int(budget * (1 - part)),
        limit=None if limit is None else limit - (theirs or 0),
        shares=whole, overhead=overhead,
    )  # fmt: skip
    if first.cut is not None:
        return first
    room = None if budget is None else max(0, int(budget * part) - len(GAP))
    second = fit(
        neighbors, text_of, touching, budget=room, limit=theirs, shares=whole, overhead=overhead
    )  # fmt: skip
    if second.cut is not None:
        return first
    return Fitted([*first.taken, *second.taken], None, first.used + second.used, second.used)


def cut_at_sentence(text: str, budget: int) -> str:
    """Return the beginning of `text`: whole sentences if there are any, else whole words, within `budget`."""
    head = text[:budget]
    ends = [match.end() for match in re.finditer(_SENTENCE_END, text) if match.end() <= budget]
    if ends:
        return head[: ends[-1]].rstrip() or head
    space = head.rfind(" ")
    return head[:space] if space > 0 else head
