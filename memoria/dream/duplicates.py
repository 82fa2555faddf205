"""Atoms that say nearly the same."""

from collections.abc import Iterable
from typing import NamedTuple


class Duplicate(NamedTuple):
    """Two atoms with nearly the same words."""

    atom: int  # the smaller number
    other: int
    similarity: float  # Jaccard of their shingles, 1 for the same words


def find_duplicates(atoms: Iterable[tuple[int, str]]) -> list[Duplicate]:
    """Return the pairs of (id, text) that are nearly the same, by (atom, other)."""
    raise NotImplementedError
