"""The text index against brute force, whatever happened to the brain before."""

import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import memoria.store.segment as segment_module
from memoria import config, upkeep
from memoria.ingest import Given, ingest_files
from memoria.model import Words
from memoria.retrieve.anchors import find_anchors
from memoria.retrieve.filters import Filters
from memoria.retrieve.harvest import Walk
from memoria.retrieve.query import Query
from memoria.retrieve.walker import Request, search
from memoria.scoring import Bm25, Saturation, idf
from memoria.store.packing import pack_postings, unpack_postings
from memoria.store.segment import FANOUT, Entry, SegmentWriter, TitleTerms, merge, to_merge
from memoria.store.writer import StoreWriter
from tests.oracle import bm25, documents

WORDS = "harbor boat tide tides plan the café node.js parse_config 猫 wrote writing GitHub x".split()
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)
BODIES = st.lists(
    st.one_of(
        SENTENCES, SENTENCES.map(lambda text: f"## {text}"), SENTENCES.map(lambda text: f"{text} #boat/{text[0]}")
    ),
    max_size=5,
).map("\n\n".join)
HEADS = st.sampled_from(["", "---\ntitle: Tide plan\ntags: [harbor]\n---\n", "---\ndate: 2025-01-21\nstatus: x\n---\n"])
NAMES = st.sampled_from(["a.md", "b.md", "sub/a.md", "sub/c.md", "2024-05-06.md"])


def plain_scores(store: StoreWriter, query: str) -> dict[int, float]:
    """Return BM25 as the index has it: without context, labels and titles named."""
    found = find_anchors(store, Query.parse(query), Filters(), Bm25(), boost=1.0, in_context=False)
    return {atom: value * found.best for atom, value in found.scores.items()}


class Brains(RuleBasedStateMachine):
    """Edits, moves and removes notes, merges, and compares with brute force after every step."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.store = StoreWriter.in_memory()
        self.settings = config.load(str(self.folder))
        (self.folder / "a.md").write_text("harbor boat", encoding="utf-8")

    def teardown(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def ingest(self) -> None:
        report = ingest_files(self.store, [str(self.folder)], Given(), self.settings, now=time.time(), force=True)
        assert not report.failed

    @rule(name=NAMES, head=HEADS, body=BODIES)
    def write(self, name: str, head: str, body: str) -> None:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(head + body, encoding="utf-8")
        self.ingest()

    @rule(name=NAMES, line=SENTENCES)
    def add_a_line_on_top(self, name: str, line: str) -> None:
        path = self.folder / name
        if path.exists():
            path.write_text(line + "\n\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
            self.ingest()

    @rule(name=NAMES)
    def remove(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)
        self.ingest()

    @rule(name=NAMES, other=NAMES)
    def move(self, name: str, other: str) -> None:
        if (self.folder / name).exists():
            (self.folder / other).parent.mkdir(exist_ok=True)
            os.replace(self.folder / name, self.folder / other)
            self.ingest()

    @rule(everything=st.booleans())
    def merge(self, everything: bool) -> None:
        self.store.merge_segments(everything=everything)

    @rule()
    def rebuild(self) -> None:
        upkeep.rebuild(self.store)

    @invariant()
    def answers_equal_brute_force(self) -> None:
        docs = documents(self.store)
        for query in ("harbor", "boat tide plan", "cafe 猫", "node.js parse_config wrote", "21 January 2025", "sub x"):
            expected = bm25(docs, query)
            assert plain_scores(self.store, query) == pytest.approx(expected)

    @invariant()
    def the_doctor_finds_nothing(self) -> None:
        assert list(upkeep.check_store(self.store)) == []

    @invariant()
    def ranks_are_in_order_and_explained(self) -> None:
        answer = search(self.store, Request(Query.parse("boat tide plan"), limit=50), Walk(walking=False))
        assert [hit.score for hit in answer.hits] == sorted((hit.score for hit in answer.hits), reverse=True)
        for hit in answer.hits:
            why = hit.why
            reckoned = (sum(why.words.values()) * why.labels * why.speaker + why.title) / why.best
            assert hit.score == pytest.approx(reckoned)


TestBrains = Brains.TestCase
TestBrains.settings = settings(max_examples=25, stateful_step_count=12, deadline=None)


def test_a_thousand_small_ingests_leave_few_segments() -> None:
    sizes: list[tuple[int, int]] = []
    for number in range(1_000):
        sizes.append((number, 3))
        while old := to_merge(sizes, 0):
            merged = sum(atoms for segment, atoms in sizes if segment in old)
            sizes = [(segment, atoms) for segment, atoms in sizes if segment not in old] + [(10_000 + number, merged)]
    assert len(sizes) < 3 * FANOUT
    assert sum(atoms for _, atoms in sizes) == 3_000


def test_a_brain_that_is_mostly_dead_is_rewritten() -> None:
    assert to_merge([(1, 10_000)], 1_500) == []
    assert to_merge([(1, 10_000)], 2_500) == [1]


def test_a_merge_in_the_store_keeps_the_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(segment_module, "FANOUT", 4)
    store = StoreWriter.in_memory()
    settings_ = config.load(str(tmp_path))
    for number in range(30):
        (tmp_path / f"{number}.md").write_text(f"note {number} about tide and boat{number % 3}", encoding="utf-8")
        ingest_files(store, [str(tmp_path)], Given(), settings_, now=0.0)
        if number % 4 == 0:
            (tmp_path / f"{number // 2}.md").write_text(f"changed {number} tide", encoding="utf-8")
    assert len(store.segments()) < 12
    expected = bm25(documents(store), "tide boat1 changed")
    assert plain_scores(store, "tide boat1 changed") == pytest.approx(expected)


def test_postings_survive_packing() -> None:
    ids, shapes = [1, 5, 2**52], [0, 7, 2**32 - 1]
    unpacked = unpack_postings(pack_postings(ids, shapes))
    assert [list(column) for column in unpacked] == [ids, shapes]


def test_counts_that_do_not_fit_count_as_the_largest_that_does() -> None:
    writer = SegmentWriter()
    writer.add(Entry(1, Words({"a": 9_999}, 99_999), TitleTerms(["a"] * 400), [], "", []))
    ((_, _, data),) = writer.rows(1)
    (shape,) = unpack_postings(data)[1]
    assert Saturation(Bm25())[shape] == pytest.approx(Bm25().saturation(255 + 2 * 15, 4095 + 2 * 255))


def test_merging_drops_the_dead_and_keeps_the_order() -> None:
    rows = [pack_postings([5, 9], [50, 90]), pack_postings([1, 7], [10, 70])]
    data, count, met = merge(rows, {9, 100})
    assert (count, met) == (3, {9})
    assert [list(column) for column in unpack_postings(data)] == [[1, 5, 7], [10, 50, 70]]


def test_the_formulas_by_hand() -> None:
    assert idf(10, 1) == pytest.approx(1.992430164690206)
    assert idf(10, 10) > 0
    plain = Bm25()
    # tf 2 in a passage of average length: 2 * 2.5 / (2 + 1.5)
    assert plain.saturation(2, 70) == pytest.approx(10 / 7)
    assert plain.saturation(1, 140) < plain.saturation(1, 70) < plain.saturation(1, 10)
    assert plain.saturation(0, 10) == 0
    assert plain.saturation(10**6, 70) == pytest.approx(2.5, rel=1e-4)
