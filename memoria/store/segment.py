"""Writing and merging the segments of the text index."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from itertools import islice, repeat
from operator import add, lt
from typing import NamedTuple

from memoria.model import Words
from memoria.store.packing import (
    MAX_TEXT_LENGTH,
    MAX_TEXT_TF,
    MAX_TITLE_LENGTH,
    MAX_TITLE_TF,
    pack_mentions,
    pack_postings,
    unpack_mentions,
    unpack_postings,
)
from memoria.store.phrases import MENTION_BUCKETS, SPEAKER, phrase_hashes
from memoria.text import terms

PostingRow = tuple[int, str, bytes]  # segment, term, data
MentionRow = tuple[int, int, bytes]  # bucket, segment, data


class _TextTf(dict[int, int]):
    """How often a term stands in a text -> the part of the shape that says so."""

    def __missing__(self, count: int) -> int:
        self[count] = min(MAX_TEXT_TF, count) << 24
        return self[count]


_TEXT_TF = _TextTf()


class Entry(NamedTuple):
    """An atom, and all that it is found by."""

    atom: int
    words: Words
    title: "TitleTerms"
    extra_terms: Iterable[str]  # of headings and labels
    speaker: str
    phrases: Iterable[str]


class SegmentWriter:
    """Gathers the postings of a batch."""

    def __init__(self) -> None:
        self.atoms = 0
        self.postings = 0
        self._added: list[int] = []  # atoms, in the order in which they came
        self._rows: defaultdict[str, list[int]] = defaultdict(list)  # term -> place in _added << 32 | shape
        self.packed: defaultdict[str, list[bytes]] = defaultdict(list)
        self.mentions: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)  # bucket -> (hash, atom)

    def add(self, entry: Entry) -> None:
        """Index one atom.

        Its extra terms make it findable where its own text lacks them: they count once and add no length, so that a
        long trail of headings never holds an atom back.
        """
        atom, words, title = entry.atom, entry.words, entry.title
        rows = self._rows
        counts, in_title = words.counts, title.packed
        here = len(self._added) << 32
        lengths = here | min(words.length, MAX_TEXT_LENGTH) << 8 | title.length
        # An ingest spends a tenth of its time here: a loop that runs in C.
        shapes = map(add, map(_TEXT_TF.__getitem__, counts.values()), repeat(lengths))
        deque(map(list.append, map(rows.__getitem__, counts), shapes), 0)
        for term, packed in in_title.items():
            if term in counts:
                rows[term][-1] |= packed
            else:
                rows[term].append(packed | lengths)
        for term in set(entry.extra_terms).difference(counts, in_title):
            rows[term].append(1 << 24 | lengths)
        if entry.speaker:
            names = set(terms(entry.speaker))
            for term in names:
                rows[SPEAKER + term].append(here | min(len(names), MAX_TEXT_TF) << 24)
        for hashed in {hashed for phrase in entry.phrases for hashed in phrase_hashes(phrase)}:
            self.mentions[hashed % MENTION_BUCKETS].append((hashed, atom))
        self._added.append(atom)
        self.atoms += 1

    def pack(self) -> None:
        """Pack what has been added so far: what a process sends to another is small then."""
        added = self._added
        ascending = all(map(lt, added, islice(added, 1, None)))
        for term, row in self._rows.items():
            if not ascending:
                row.sort(key=lambda packed: added[packed >> 32])
            self.packed[term].append(
                pack_postings([added[packed >> 32] for packed in row], [packed & 0xFFFFFFFF for packed in row])
            )
            self.postings += len(row)
        self._rows = defaultdict(list)
        self._added = []

    def absorb(self, other: "SegmentWriter") -> None:
        """Take over what another writer has."""
        other.pack()
        for term, parts in other.packed.items():
            self.packed[term] += parts
        for bucket, pairs in other.mentions.items():
            self.mentions[bucket] += pairs
        self.atoms += other.atoms
        self.postings += other.postings

    def rows(self, segment: int) -> list[PostingRow]:
        """Return the rows to put, in the order in which the store keeps them."""
        self.pack()
        return [
            (segment, term, parts[0] if len(parts) == 1 else merge(parts, set())[0])
            for term, parts in sorted(self.packed.items())
        ]

    def mention_rows(self, segment: int) -> list[MentionRow]:
        """Return the rows of mentions to put."""
        return [(bucket, segment, pack_mentions(pairs)) for bucket, pairs in sorted(self.mentions.items())]


class TitleTerms:
    """The title field of a note (its title, and its date written out) as every posting of its atoms needs it."""

    def __init__(self, words: list[str]) -> None:
        self.length = min(len(words), MAX_TITLE_LENGTH)
        self.packed = {term: min(count, MAX_TITLE_TF) << 20 for term, count in Counter(words).items()}


def lexicon(rows: Iterable[PostingRow]) -> list[list[object]]:
    """Return the terms of some rows by segment and first character."""
    found: dict[tuple[int, str], list[str]] = {}
    for segment, term, _ in rows:
        found.setdefault((segment, term[0]), []).append(term)
    return [[segment, initial, terms] for (segment, initial), terms in found.items()]


def merge(rows: Iterable[bytes], dead: set[int]) -> tuple[bytes, int, set[int]]:
    """Join a term's rows without the dead atoms; return the data, how many postings, and the dead that were met."""
    ids: list[int] = []
    shapes: list[int] = []
    ascending = True
    for data in rows:
        some_ids, some_shapes = unpack_postings(data)
        ascending = ascending and (not ids or ids[-1] < some_ids[0])
        ids += some_ids
        shapes += some_shapes
    met = dead.intersection(ids) if dead else set()
    if met or not ascending:
        pairs = sorted(pair for pair in zip(ids, shapes, strict=True) if pair[0] not in met)
        ids, shapes = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return pack_postings(ids, shapes), len(ids), met


def merge_mentions(rows: Iterable[bytes], dead: set[int]) -> bytes:
    """Join a bucket's rows without the dead atoms."""
    pairs = (pair for data in rows for pair in zip(*unpack_mentions(data), strict=True))
    return pack_mentions(pair for pair in pairs if pair[1] not in dead)


# Tiers: segments of about one size are merged when there are FANOUT of them, so a posting is rewritten only log(n)
# times, and a search reads a few dozen segments at most. A brain that is mostly dead is rewritten whole.
FANOUT = 24
FANOUT_LARGE = 48  # of segments with FANOUT^2 atoms and more: rewriting those takes seconds
DEAD_SHARE = 0.2
DEAD_LEAST = 1_000


_LARGE_TIER = 2


def to_merge(segments: list[tuple[int, int]], dead: int) -> list[int]:
    """Return which of the segments (number, atoms) to merge now; [] if none."""
    total = sum(atoms for _, atoms in segments)
    if dead > DEAD_LEAST and dead > total * DEAD_SHARE:
        return [segment for segment, _ in segments]
    tiers: dict[int, list[int]] = {}
    for segment, atoms in segments:
        tiers.setdefault(_tier(atoms), []).append(segment)
    for tier in sorted(tiers):
        if len(tiers[tier]) >= (FANOUT if tier < _LARGE_TIER else FANOUT_LARGE):
            return [segment for segment, atoms in segments if _tier(atoms) <= tier]
    return []


def _tier(atoms: int) -> int:
    tier = 0
    while atoms >= FANOUT:
        atoms //= FANOUT
        tier += 1
    return tier
