"""Changing the store: batches of notes, and the upkeep of the text index."""

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any

from memoria.errors import StoreError, StoreMissingError
from memoria.model import Edge
from memoria.store.batch import Batch
from memoria.store.engine import Engine
from memoria.store.migrate import build, create, migrate
from memoria.store.packing import pack_ids, unpack_ids, unpack_postings
from memoria.store.segment import MentionRow, PostingRow, SegmentWriter, lexicon, merge, merge_mentions, to_merge
from memoria.store.store import Store
from memoria.store.version import VERSION, version_of

_EDGE_ROWS = 4_000  # in one transaction, an even number: both ends of an edge are written together
_MERGE_TERMS = 1_000  # whose postings a merge holds in memory at a time


class StoreWriter(Store):
    """A store, open to be written. Whoever has one holds the write lock."""

    @classmethod
    def open(cls, path: str) -> "StoreWriter":
        """Open a store, bring it up to date, or make one."""
        try:
            engine = Engine(path)
            version = version_of(engine)
        except StoreMissingError:
            create(path)
            return cls(Engine(path))
        if version < VERSION:
            migrate(engine, version)
        return cls(engine)

    @classmethod
    def of(cls, store: Store) -> "StoreWriter":
        """Return a store that is open to be read, to write to it. It is closed by whoever opened it."""
        return cls(store._engine)  # noqa: SLF001 - a store itself

    @classmethod
    def in_memory(cls) -> "StoreWriter":
        """Make a store that lives as long as this object."""
        engine = Engine("memory", in_memory=True)
        build(engine)
        return cls(engine)

    def batch(self) -> Batch:
        """Return an empty batch."""
        return Batch(self.meta()["next_source"])

    def write(self, batch: Batch, *, now: int) -> None:
        """Write a batch: all of it, or nothing."""
        meta = self.meta()
        segment = meta["next_segment"]
        dead = pack_ids([*unpack_ids(meta["dead"]), *batch.dead])
        totals = {
            "generation": meta["generation"] + 1,
            "atoms": meta["atoms"] + batch.added - len(batch.dead),
            "sources": meta["sources"] + batch.sources,
            "dead": dead,
            "next_source": batch.next_source,
            "next_segment": segment + 1,
            "ingested": now,
        }
        params = batch.params(segment)
        self._engine.write("query/write_batch", **params, meta=[[name, value] for name, value in totals.items()])

    def put_edges(self, gone: Iterable[Edge], new: Iterable[Edge], settled: Iterable[int] = ()) -> None:
        """Remove and write edges, each from both ends; at the end the `settled` sources need no look any more."""
        old = [half for edge in gone for half in (edge, edge.turned())]
        put = [half for edge in new for half in (edge, edge.turned())]
        removed = [[half.start, half.rank, half.end, half.kind] for half in old]
        rows = [[half.start, half.rank, half.end, half.kind, *half[3:]] for half in put]
        for start in range(0, max(len(removed), len(rows)), _EDGE_ROWS):
            part = slice(start, start + _EDGE_ROWS)
            self._engine.write("query/put_edges", gone=removed[part], edges=rows[part], settled=[])
        self._engine.write("query/put_edges", gone=[], edges=[], settled=[[source] for source in settled])

    def merge_segments(self, *, everything: bool = False) -> int:
        """Merge small segments, or all of them, and return how many went into the last merge.

        The new segment's rows are written first, a few megabytes at a time; listing it in the place of the old ones
        is one step. Killed in between, the brain is as it was, and the next merge removes the leftovers.
        """
        merged = 0
        while True:
            meta = self.meta()
            segments = [(segment, atoms) for segment, atoms, _ in self.segments()]
            self._drop_unlisted(meta)
            if everything:
                old = [segment for segment, _ in segments] if len(segments) > 1 or meta["dead"] else []
            else:
                old = to_merge(segments, len(unpack_ids(meta["dead"])))
            if not old:
                return merged
            merged = len(old)
            self._merge(old, meta, whole=len(old) == len(segments))

    def _merge(self, old: list[int], meta: dict[str, Any], *, whole: bool) -> None:
        new = meta["next_segment"]
        dead = set(unpack_ids(meta["dead"]))
        met: set[int] = set()
        postings = 0
        atoms: set[int] = set()
        progress = [["next_segment", new + 1], ["merging", [*old, new]]]
        for chunk in self._term_chunks(old):
            rows: dict[str, list[bytes]] = {}
            for term, _, data in self._engine.read("query/segment_postings", segments=old, terms=chunk):
                rows.setdefault(term, []).append(data)
            put: list[PostingRow] = []
            for term in chunk:
                data, count, some = merge(rows.get(term, ()), dead)
                met |= some
                postings += count
                if count:
                    put.append((new, term, data))
                    atoms.update(unpack_postings(data)[0])
            self._put_postings(put, progress)
        self._put_mentions([*self._merged_mentions(old, new, dead)], progress)
        totals = [
            ["dead", b"" if whole else pack_ids(dead - met)],
            ["generation", meta["generation"] + 1],
            ["next_segment", new + 1],
            ["merging", [*old, new]],
        ]
        listed = [[new, len(atoms), postings]] if postings else []
        self._engine.write("query/swap_segments", old=[[segment] for segment in old], new=listed, meta=totals)
        self._drop_unlisted(self.meta())

    def _term_chunks(self, segments: list[int]) -> Iterator[list[str]]:
        """Yield the terms of some segments, a few at a time: what a merge holds in memory stays small."""
        for initial in self._engine.read("query/initials", segments=segments):
            found = self._engine.read("query/segment_lexicon", segments=segments, initial=initial[0])
            ordered = sorted({term for row in found for term in row[0]})
            for start in range(0, len(ordered), _MERGE_TERMS):
                yield ordered[start : start + _MERGE_TERMS]

    def _merged_mentions(self, old: list[int], new: int, dead: set[int]) -> Iterable[MentionRow]:
        rows = self._engine.read("query/segment_mentions", segments=old)
        for bucket, group in groupby(rows, key=lambda row: row[0]):
            yield bucket, new, merge_mentions((data for _, _, data in group), dead)

    def _put_mentions(self, rows: list[MentionRow], meta: list[list[Any]]) -> None:
        self._engine.write("query/put_postings", postings=[], mentions=rows, lexicon=[], meta=meta)

    def _put_postings(self, rows: list[PostingRow], meta: list[list[Any]]) -> None:
        self._engine.write("query/put_postings", postings=rows, mentions=[], lexicon=lexicon(rows), meta=meta)

    def _drop_unlisted(self, meta: dict[str, Any]) -> None:
        for segment in meta.get("merging") or ():
            self._engine.write("query/drop_unlisted", segments=[segment])
        if meta.get("merging"):
            self._put_postings([], [["merging", []]])

    def mend_copies(self) -> None:
        """Derive what is kept twice from its first copy again, and have all links resolved anew."""
        self._engine.write("query/mend_copies")

    def replace_index(self, segments: Iterable[SegmentWriter], atoms: Callable[[], int]) -> None:
        """Put a new text index in the place of the old one; the old one serves until the new one is complete."""
        meta = self.meta()
        self._drop_unlisted(meta)
        old = [segment for segment, _, _ in self.segments()]
        new = []
        number = meta["next_segment"]
        for writer in segments:
            rows, mentions = writer.rows(number), writer.mention_rows(number)
            new.append([number, writer.atoms, writer.postings])
            number += 1
            progress = [["next_segment", number], ["merging", [*old, *(segment for segment, _, _ in new)]]]
            self._put_postings(rows, progress)
            self._put_mentions(mentions, progress)
        totals = [["dead", b""], ["atoms", atoms()], ["generation", meta["generation"] + 1], ["merging", old]]
        self._engine.write("query/swap_segments", old=[[segment] for segment in old], new=new, meta=totals)
        self._drop_unlisted(self.meta())

    def backup(self, target: str) -> None:
        """Write a copy that can be opened as a store."""
        if os.path.exists(target):
            raise StoreError(f"{target} exists already", hint="name another file, or remove it")
        self._engine.backup(target)
