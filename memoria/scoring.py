"""The formulas, and nothing else. Constants were measured on real questions; docs/search.md tells what each does."""

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

from memoria.model import Outline


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
        return tf * (self.k1 + 1) / (tf + self.norm(length))

    def norm(self, length: float) -> float:
        """Return what a passage's length sets against its counts."""
        return self.k1 * (1 - self.b + self.b * length / self.average_length)


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


# Context: what stands around an atom counts for it, too, less with distance, up to a window of characters.
CONTEXT_REACH = 4
CONTEXT_GAIN = 0.5
CONTEXT_DECAY = 0.7
CONTEXT_CHARS = 1_200


_GAINS = tuple(CONTEXT_GAIN * CONTEXT_DECAY**step for step in range(CONTEXT_REACH))


def context(outline: Sequence[Outline], place: int) -> list[tuple[int, float]]:
    """Return (place, gain) of the atoms around one: how much of each one's text counts for it."""
    found = []
    room = (CONTEXT_CHARS - outline[place].chars) / 2
    for step in (-1, 1):
        left = room
        other = place
        for gain in _GAINS:
            other += step
            if left <= 0 or not 0 <= other < len(outline):
                break
            chars = outline[other].chars
            found.append((other, gain if chars <= left else gain * left / chars))
            left -= chars
    return found


SPEAKER_FACTOR = 1.4  # for a chat turn whose speaker the query names
TITLE_NAMED = 0.8  # of the best score, for the atoms of a note whose title the query names


def title_bonus(best: float, rarities: Sequence[float], words: int, atoms: int) -> float:
    """Return what a title of so many words, named in the query, adds to its note's atoms."""
    mean = sum(rarities) / len(rarities) if rarities else 0.0
    return TITLE_NAMED * best * mean / math.log(1 + atoms) * min(1.0, words / 2)


# A paragraph that had to be split is one thought: where one piece answers, its neighbours count this much of its score.
SAME_PARAGRAPH = 0.8
BEHIND = 0.99  # of its anchor's score: as high as association lifts an atom. What was asked for stays first.

# Bridges: what an anchor of strength x lends to an atom that it leads to.
LINK = 0.7
BACKLINK = 0.21
LINKED_BACK = 0.5
FEW_LINKS = 2
SHARED = 0.4
HUB = 0.7
TAG = 2.0  # given on purpose
FULL_NAME = 2.0  # of several words: it rarely means something else
MOST_SHARED = 30  # atoms or notes; what more of them share leads nowhere
MOST_BACKLINKS = 200
OTHER_ATOMS = 0.5  # of a note that a bridge leads to: its best atom gets all, the others this share


def rarity(total: int, holding: int) -> float:
    """Return how telling it is that `holding` of `total` have something: 1 for one of many, towards 0 for all."""
    return math.log(1 + total / max(1, holding)) / math.log(1 + total) if total else 0.0


def link_bridge(strength: float, total: int, mentions: int, namesakes: int) -> float:
    """Return what an anchor lends to a note that it names, one of several with that name."""
    return LINK * strength * rarity(total, mentions) / math.sqrt(namesakes)


def backlink_bridge(strength: float, total: int, mentions: int, links: int) -> float:
    """Return what an anchor lends to an atom that names its note, as so many do.

    A link is meant, where a name may just be there; but one of many links (an index) says little.
    """
    gain = LINKED_BACK / math.sqrt(max(1.0, links / FEW_LINKS)) if links else 0.0
    return max(gain, BACKLINK) * strength * rarity(total, mentions) / math.sqrt(mentions)


def shared_bridge(strength: float, total: int, holding: int) -> float:
    """Return what an anchor lends to another that shares something with it that `holding` of `total` have."""
    return SHARED * strength * rarity(total, holding) / math.pow(holding - 1, HUB)


# Edges: how sure it is that two nodes belong together, measured as the odds of a link between their notes.
LEAST_WEIGHT = 0.25
KEPT_WEIGHT = 0.45  # after combining; what weighs less is not worth its place
LINK_WEIGHT = 0.9
SURE_WEIGHT = 1.0  # links both ways, typed relations, what a note is about
MENTION_SAFE = 0.2
TEXT_LEAST = 0.05
TEXT_FULL = 0.4
CITED_FULL = 2.0
TAGS_FULL = 8.0
NEAR_REACH = 3  # atoms: further away, the weight is below what is kept
NO_DOUBT = 0.2  # of each kind, before several are combined


def mention_weight(linkiness: float, *, safe: bool) -> float:
    """Return the weight of a mention of a name that is linked so often where it is mentioned."""
    return 0.35 + 0.5 * min(1.0, linkiness + (MENTION_SAFE if safe else 0.0))


def text_weight(cosine: float) -> float:
    """Return the weight of two texts' closeness, 0 where they have nothing in common."""
    return LEAST_WEIGHT + 0.5 * min(1.0, cosine / TEXT_FULL) if cosine > TEXT_LEAST else 0.0


def cited_weight(adamic_adar: float) -> float:
    """Return the weight of being linked from the same notes."""
    return LEAST_WEIGHT + 0.35 * min(1.0, adamic_adar / CITED_FULL) if adamic_adar > 0 else 0.0


def entities_weight(cosine: float) -> float:
    """Return the weight of naming the same entities."""
    return LEAST_WEIGHT + 0.35 * min(1.0, cosine) if cosine > 0 else 0.0


def tags_weight(information: float) -> float:
    """Return the weight of shared tags: the sum of ln(notes / notes with the tag), dream tags times their score."""
    return LEAST_WEIGHT + 0.25 * min(1.0, information / TAGS_FULL) if information > 0 else 0.0


def near_weight(distance: int) -> float:
    """Return the weight of standing in the same note, so many atoms apart."""
    return LEAST_WEIGHT + 0.35 / math.sqrt(distance)


def part_weight(position: int) -> float:
    """Return the weight between a note and one of its atoms: its first ones tell best what it is about."""
    return max(KEPT_WEIGHT, near_weight(position + 1))


def combined_weight(weights: Sequence[float]) -> float:
    """Return the weight of an edge of several kinds, never less than that of its strongest; 0 for none."""
    if len(weights) < 2:  # noqa: PLR2004
        return weights[0] if weights else 0.0
    doubt = math.prod(1 - (weight - NO_DOUBT) for weight in weights)
    return min(1.0, max(*weights, LEAST_WEIGHT + 0.75 * (1 - doubt)))


# Activation: how much of a node's energy arrives at its neighbors.
MAX_DEPTH = 5
MIN_ACTIVATION = 0.005
TAG_SIM_FLOOR = 0.15
MAX_BRANCHES = 3
MISSING_WEIGHT = 0.01
ACTIVATED = 1.0  # times the energy that reaches it: what a search lends to an atom


def tag_sim(edge_tags: Collection[str], query_tags: Collection[str], floor: float = TAG_SIM_FLOOR) -> float:
    """Return how well an edge's tags fit the query's: Jaccard, floored so that no edge is shut."""
    if not query_tags:
        return 1.0
    if not edge_tags:
        return floor
    shared = len(set(edge_tags) & set(query_tags))
    return floor + (1.0 - floor) * shared / (len(set(edge_tags)) + len(set(query_tags)) - shared)


def transfer_energy(energy: float, weight: float | None, degree: int, similarity: float) -> float:
    """Return what a node of this energy and degree passes on over an edge; hubs are damped, but softly."""
    return energy * (MISSING_WEIGHT if weight is None else weight) / math.sqrt(degree) * similarity


# Use: what is listed or opened stays in mind, and fades.
USE_AT_BIRTH = 0.5
USE_LISTED = 0.05
USE_OPENED = 0.1
USE_DECAY = 0.02  # a day
DAY_SECONDS = 86_400


def decayed(value: float, age_days: float) -> float:
    """Return what is left of a use after some days; what lies ahead has not faded."""
    return value * math.exp(-USE_DECAY * max(0.0, age_days))


def salience(centrality: float, use: float) -> float:
    """Return how much a node matters: the larger of its place in the graph and its use."""
    return max(centrality, use)


# Facts: how much each tells, as recall ranks them.
SOURCE_WEIGHTS = {"user_edit": 2.0, "file": 1.5, "system": 1.2, "conversation": 1.0}
OTHER_SOURCE_WEIGHT = 1.0
WEEK_SECONDS = 7 * DAY_SECONDS
GRACE_PERIOD_WEEKS = 1.0
WEEKLY_DECAY = 0.95
USAGE_GAIN = 0.5
CONFIRMED_WEIGHT = 1.2


class FactScore(NamedTuple):
    """How a fact comes to its score: the product of the last five."""

    score: float
    age_weeks: float
    confidence: float
    source_weight: float
    decay: float
    usage: float
    status_weight: float


def fact_decay(age_weeks: float) -> float:
    """Return what is left of a fact that was not used for so long: 5% less a week, after a week of grace."""
    return WEEKLY_DECAY ** (age_weeks - GRACE_PERIOD_WEEKS) if age_weeks > GRACE_PERIOD_WEEKS else 1.0


def fact_usage(count: int) -> float:
    """Return the boost of a fact that was used so often."""
    return 1 + math.log10(count + 1) * USAGE_GAIN


def fact_score(confidence: float, origin: str, status: str, count: int, age_seconds: float) -> FactScore:
    """Return how much a fact tells, with every factor."""
    age_weeks = age_seconds / WEEK_SECONDS
    factors = (
        confidence,
        SOURCE_WEIGHTS.get(origin, OTHER_SOURCE_WEIGHT),
        fact_decay(age_weeks),
        fact_usage(count),
        CONFIRMED_WEIGHT if status == "confirmed" else 1.0,
    )
    return FactScore(math.prod(factors), age_weeks, *factors)


# Explore: what several queries find, in one ranking.
RRF_K = 60
RECENCY_DECAY = 0.02  # a day: half of it is left after 35
ARCHIVED_BELOW = 0.01  # salience
WEIGHTS_SLACK = 1e-6


class Weights(NamedTuple):
    """How much each part counts; together 1."""

    semantic: float = 0.3
    time: float = 0.3
    salience: float = 0.4


def rrf(ranks: Sequence[int], k: int = RRF_K) -> float:
    """Return the reciprocal rank fusion of the ranks (from 1) that the queries gave; those without one are left out."""
    return sum(1 / (k + rank) for rank in ranks)


def recency(age_days: float) -> float:
    """Return how recent something is that was changed or used so long ago; what lies ahead is as recent as can be."""
    return math.exp(-RECENCY_DECAY * max(0.0, age_days))


def final_score(weights: Weights, similarity: float, recent: float, salient: float) -> float:
    """Return the weighted sum of the three parts, each 0 to 1."""
    return weights.semantic * similarity + weights.time * recent + weights.salience * salient


def fuzzy(distance: int, longest: int) -> float:
    """Return how alike two texts are: the edits between them, by the length of the longer one."""
    return 1 - distance / longest if longest else 1.0
