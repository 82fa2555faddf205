"""The formulas, and nothing else."""

import math
from typing import NamedTuple


class Bm25(NamedTuple):
    """The constants of BM25, with a title field."""

    k1: float = 1.5
    b: float = 0.75
    average_length: float = 70.0
    title_weight: float = 2.0

    def saturation(self, tf: float, length: float) -> float:
        """Return what a term adds to a score, before its rarity: 0 for none, k1 + 1 at the most."""
        if tf <= 0:
            return 0.0
        norm = self.k1 * (1 - self.b + self.b * length / self.average_length)
        return tf * (self.k1 + 1) / (tf + norm)


def idf(atoms: int, holding: int) -> float:
    """Return a term's rarity: `holding` of all `atoms` have it. Never negative."""
    return math.log(1 + (atoms - holding + 0.5) / (holding + 0.5))


class Saturation(dict[int, float]):
    """A posting's shape -> what it adds to a score, before the term's rarity; a query meets few different shapes."""

    def __init__(self, bm25: Bm25) -> None:
        super().__init__()
        self._bm25 = bm25

    def __missing__(self, shape: int) -> float:
        weight = self._bm25.title_weight
        tf = (shape >> 24) + weight * (shape >> 20 & 15)
        length = (shape >> 8 & 4095) + weight * (shape & 255)
        value = self[shape] = self._bm25.saturation(tf, length)
        return value
