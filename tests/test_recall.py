"""Recall: anchors, spreading activation, scores, narrative, the cache; against the source document and an oracle."""

import json
import math
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoria import config
from memoria.brain import Brain
from memoria.graph import byhand
from memoria.knowledge import Knowledge, Memory
from memoria.retrieve.query import Query
from memoria.retrieve.recall import Reach, Recall, narrative
from memoria.scoring import WEEK_SECONDS, fact_decay, fact_score, fact_usage
from memoria.store.facts import FactStore
from memoria.store.writer import StoreWriter
from tests.conftest import Shell

DEFAULTS = {key: setting.default for key, setting in config.SETTINGS.items()}
NOW = 1_750_000_000
EXAMPLE = (
    ("user", "prefers", "dark mode"), ("user", "prefers", "TypeScript over JavaScript"),
    ("user", "works_on", "JACQ Project"), ("JACQ Project", "uses", "DuckDB"), ("JACQ Project", "uses", "Next.js 16"),
    ("JACQ Project", "status", "active development"), ("DuckDB", "type", "embedded OLAP database"),
    ("DuckDB", "supports", "vector search via VSS extension"),
)  # fmt: skip


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = float(NOW)

    def __call__(self) -> float:
        return self.now


def memory(store: StoreWriter, clock: Clock | None = None) -> Memory:
    return Memory(Knowledge(Brain("nowhere", dict(DEFAULTS))), store, clock=clock or Clock())


def ask(store: StoreWriter, text: str, reach: Reach | None = None, budget: int | None = None) -> Recall:
    return memory(store).recall(Query.parse(text, date(2026, 1, 1)), reach or Reach(), budget=budget)


def state(store: StoreWriter, facts: Sequence[tuple[str, str, str]], confidence: float | None = None) -> None:
    for fact in facts:
        byhand.add_fact(store, fact, confidence, NOW)


# The score, as the document has it


def test_the_weights_of_sources() -> None:
    origins = ("user_edit", "file", "system", "conversation")
    weights = {origin: fact_score(1.0, origin, "staged", 0, 0.0).score for origin in origins}
    assert weights == {"user_edit": 2.0, "file": 1.5, "system": 1.2, "conversation": 1.0}
    assert fact_score(1.0, "somewhere", "staged", 0, 0.0).score == 1.0


@pytest.mark.parametrize(
    ("weeks", "left"), [(0, 1.0), (0.5, 1.0), (1, 1.0), (2, 0.95), (3, 0.9025), (11, 0.95**10), (53, 0.0694434)]
)
def test_a_fact_fades_by_5_percent_a_week_after_a_week(weeks: float, left: float) -> None:
    assert fact_decay(weeks) == pytest.approx(left, rel=1e-5)
    assert fact_score(1.0, "conversation", "staged", 0, weeks * WEEK_SECONDS).decay == pytest.approx(left, rel=1e-5)


@pytest.mark.parametrize(("uses", "boost"), [(0, 1.0), (9, 1.5), (99, 2.0), (999, 2.5)])
def test_use_counts_by_its_logarithm(uses: int, boost: float) -> None:
    assert fact_usage(uses) == pytest.approx(boost)


def test_what_is_confirmed_counts_more() -> None:
    assert fact_score(0.5, "conversation", "confirmed", 0, 0.0).score == pytest.approx(0.6)
    assert fact_score(0.5, "conversation", "staged", 0, 0.0).score == 0.5


@given(
    st.floats(0, 1), st.sampled_from(("user_edit", "file", "system", "conversation")),
    st.sampled_from(("staged", "confirmed")), st.integers(0, 10**6), st.floats(0, 10**9),
)  # fmt: skip
def test_the_score_is_the_documents(confidence: float, origin: str, status: str, uses: int, age: float) -> None:
    """Written again from the document's own lines."""
    weeks = age / (60 * 60 * 24 * 7)
    wanted = confidence * {"user_edit": 2.0, "file": 1.5, "system": 1.2, "conversation": 1.0}[origin]
    if weeks > 1:
        wanted *= math.pow(0.95, weeks - 1)
    wanted *= 1 + math.log10(uses + 1) * 0.5
    if status == "confirmed":
        wanted *= 1.2
    assert fact_score(confidence, origin, status, uses, age).score == pytest.approx(wanted, rel=1e-9, abs=1e-300)


# The narrative


def test_the_documents_example(store: StoreWriter) -> None:
    state(store, EXAMPLE)
    found = ask(store, "What do I use DuckDB for in the JACQ Project?")
    expected = (Path(__file__).parent / "data" / "recall" / "narrative.md").read_text(encoding="utf-8").rstrip("\n")
    assert narrative(found.facts) == expected
    plain = expected.replace("👤 ", "").replace("💡 ", "")
    assert narrative(found.facts, plain=True) == plain
    assert found.used == len(expected)


def test_what_leads_to_an_entity_is_told_as_such(store: StoreWriter) -> None:
    state(store, EXAMPLE)
    found = ask(store, "what is JACQ?", Reach(hops=1))
    assert narrative(found.facts).split("\n")[-1] == "- ← works_on: user"
    assert "- <- works_on: user" in narrative(found.facts, plain=True)
    out = ask(store, "what is JACQ?", Reach(hops=1, outgoing=True))
    assert [one.way for one in out.facts] == ["out"] * 3


def test_a_part_of_a_name_is_enough_and_a_small_one_is_not(store: StoreWriter) -> None:
    state(store, [("JACQ Project", "uses", "DuckDB"), ("Long Name Of Nothing", "uses", "Tea")])
    assert [anchor.known.entity.name for anchor in ask(store, "about jacq").anchors] == ["JACQ Project"]
    assert ask(store, "about long").anchors == ()


def test_objects_are_called_by_their_names(store: StoreWriter) -> None:
    byhand.add_entity(store, "Ines Carvalho", "person", ["Ines"])
    state(store, [("Harbor", "owner", "Ines")])
    (one,) = ask(store, "harbor", Reach(hops=1)).facts
    assert (one.subject, one.object) == ("Harbor", "Ines Carvalho")


def test_the_best_come_first_and_the_rest_stays_out_of_the_budget(store: StoreWriter) -> None:
    state(store, [("Harbor", "uses", f"thing {number}") for number in range(8)], 0.5)
    state(store, [("Harbor", "status", "active"), ("thing 3", "made_of", "oak")], 0.9)
    full = ask(store, "harbor")
    assert full.facts[0].told.fact.predicate == "status"
    assert len(full.facts) == 10
    for budget in range(1, full.used + 10, 7):
        cut = ask(store, "harbor", budget=budget)
        assert len(narrative(cut.facts)) <= cut.used <= budget
        scores = [one.score.score for one in cut.facts]
        left = [one.score.score for one in full.facts if one.told.fact.key not in {o.told.fact.key for o in cut.facts}]
        assert not scores or not left or min(scores) >= min(left)
    assert narrative(ask(store, "harbor", budget=40).facts) == "### 💡 CONTEXT: Harbor\n- status: active"


# Spreading activation


NAMES = ("ann", "bob", "cyd", "dan", "eve", "fay")
GRAPHS = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(("knows", "likes")), st.sampled_from((*NAMES, "tea", "rum")),
              st.sampled_from((0.3, 0.5, 0.7))),
    max_size=25, unique_by=lambda row: row[:3],
)  # fmt: skip


def oracle(
    rows: Sequence[tuple[str, str, str, float]], anchor: str, hops: int, per_entity: int, most: int
) -> list[tuple[str, str, str]]:
    """The document's spreadingActivation, on lists: outgoing facts only."""
    subjects = {row[0] for row in rows}
    visited: set[str] = set()
    facts: list[tuple[str, str, str]] = []
    frontier = [anchor]
    for _ in range(hops):
        if len(facts) >= most:
            break
        following = []
        for name in frontier:
            if name in visited:
                continue
            visited.add(name)
            own = sorted((row for row in rows if row[0] == name), key=lambda row: -row[3])[:per_entity]
            for subject, predicate, value, _ in own:
                facts.append((subject, predicate, value))
                if value in subjects:
                    following.append(value)
        frontier = following
    return facts[:most]


@settings(max_examples=60, deadline=None)
@given(GRAPHS, st.sampled_from(NAMES), st.integers(1, 4), st.integers(1, 4), st.integers(1, 12))
def test_activation_spreads_as_the_document_says(
    rows: list[tuple[str, str, str, float]], anchor: str, hops: int, per_entity: int, most: int
) -> None:
    store = StoreWriter.in_memory()
    for subject, predicate, value, confidence in rows:
        byhand.add_fact(store, (subject, predicate, value), confidence, NOW)
    found = ask(store, anchor, Reach(1, hops, per_entity, most, outgoing=True), budget=10**6)
    wanted = oracle(rows, anchor, hops, per_entity, most) if anchor in {row[0] for row in rows} else []
    assert sorted((one.subject, one.told.fact.predicate, one.object) for one in found.facts) == sorted(wanted)


def test_ten_facts_of_each_entity_and_thirty_in_all(store: StoreWriter) -> None:
    state(store, [("Hub", "has", f"part {number}") for number in range(14)])
    state(store, [(f"part {number}", "has", f"screw {number}-{screw}") for number in range(14) for screw in range(3)])
    found = ask(store, "hub", budget=10**6)
    assert sum(one.subject == "Hub" for one in found.facts) == 10
    assert len(found.facts) == found.reached == 30
    assert {one.hop for one in found.facts} == {0, 1}


def test_only_what_holds_is_told_unless_asked_for(store: StoreWriter) -> None:
    state(store, [("Harbor", "owner", "Ines"), ("Harbor", "uses", "SQLite"), ("Harbor", "likes", "tea")])
    view = FactStore(store)
    byhand.decide(store, [byhand.find_fact(view, ("Harbor", "uses", "SQLite"))], "retracted", NOW)
    byhand.decide(store, [byhand.find_fact(view, ("Harbor", "likes", "tea"))], "confirmed", NOW)
    byhand.add_fact(store, ("Harbor", "owner", "Tomas"), 0.95, NOW + 1)
    assert [one.object for one in ask(store, "harbor").facts] == ["tea", "Tomas"]
    assert [one.object for one in ask(store, "harbor", Reach(statuses=("retracted",))).facts] == ["SQLite"]
    assert [one.object for one in ask(store, "harbor", Reach(statuses=("superseded",))).facts] == ["Ines"]


HOSTILE = ('"', "'", "[[", "]]", "AND", "OR", "NOT", "NEAR", "^2", "*", "(", ")", "{", "$x", ":=", "\n", "\x00", "#",
           "ann", "C++", "é", "日本", " ", "-", "x" * 500)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(HOSTILE), max_size=8).map("".join))
def test_any_query_gets_an_answer(text: str) -> None:
    store = StoreWriter.in_memory()
    state(store, [("ann", "likes", '"quoted" [[tea]]'), ("C++", "is", "a language")])
    found = ask(store, text)
    assert all("\n" not in line for line in narrative(found.facts).split("\n- "))


# The cache


def test_answers_are_remembered_for_a_minute_and_dropped_when_something_changes(store: StoreWriter) -> None:
    state(store, EXAMPLE)
    clock = Clock()
    remembering = memory(store, clock)
    query = Query.parse("what is JACQ", date(2026, 1, 1))

    def again() -> int:
        before = remembering.hits
        remembering.recall(query, Reach())
        return remembering.hits - before

    assert [again(), again()] == [0, 1]
    clock.now += 59
    assert again() == 1
    clock.now += 2
    assert [again(), again()] == [0, 1]
    remembering.recall(query, Reach(hops=1))
    assert again() == 1
    byhand.add_fact(store, ("JACQ Project", "uses", "Tea"), None, NOW)
    assert "Tea" in narrative(remembering.recall(query, Reach()).facts)


def test_what_is_warmed_is_what_is_read(store: StoreWriter) -> None:
    state(store, EXAMPLE)
    warm = memory(store)
    assert warm.warm() >= 2
    query = Query.parse("what is JACQ", date(2026, 1, 1))
    assert warm.recall(query, Reach()) == memory(store).recall(query, Reach())


# The command


def test_recall_on_the_command_line(vault: Shell) -> None:
    out = vault.ok("recall", "harbor", "--plain")
    assert out.startswith("### CONTEXT: Harbor\n- status: active\n")
    records = [json.loads(line) for line in vault.ok("recall", "harbor", "--json", "--explain").splitlines()]
    assert records[-1]["anchors"][0]["name"] == "Harbor"
    for record in records[:-1]:
        why = record["why"]
        product = math.prod(why[name] for name in ("confidence", "source_weight", "decay", "usage", "status_weight"))
        assert record["score"] == pytest.approx(product)
        assert set(record) == {
            "type", "schema", "rank", "section", "key", "subject", "predicate", "object", "way", "hop", "score", "why",
            "status", "origin", "uses", "places",
        }  # fmt: skip
    explained = vault.ok("recall", "marta", "--hops", "1", "--explain")
    assert "begins from Marta Quintela (named in the query)" in explained
    assert "1.200 = 0.8 x 1.5 x 1.000 x 1.000 x 1  hop 0  Marta Quintela type: person" in explained


def test_without_an_entity_it_searches_and_says_so(vault: Shell) -> None:
    ran = vault.run("recall", "paprika", "--json")
    searched = vault.run("search", "paprika", "--json")
    assert ran.err.startswith("that names nobody and nothing that is told about; searched instead\n")
    assert (ran.code, ran.out) == (searched.code, searched.out)


def test_recall_is_noted_unless_it_should_leave_no_trace(vault: Shell) -> None:
    vault.ok("recall", "marta", "--no-touch")
    assert not (vault.brain / "brain.db.used").exists()
    for _ in range(3):
        vault.ok("recall", "marta", "--hops", "1", "--anchors", "1")
    vault.ok("ingest", "-q")
    assert "\tconfirmed\t" in vault.ok("fact", "list", "marta")


def test_many_queries_at_once(vault: Shell) -> None:
    lines = vault.ok("recall", "--batch", "-", stdin='harbor\n{"id": "b", "query": "marta"}\nzzqx\n').splitlines()
    assert {json.loads(line)["query_id"] for line in lines} == {1, "b"}
    assert not (vault.brain / "brain.db.used").exists()


def test_bad_options_are_one_sentence(vault: Shell) -> None:
    for bad in (("recall",), ("recall", "x", "--status", "odd"), ("recall", "x", "--batch", "-")):
        ran = vault.run(*bad)
        assert (ran.code, ran.err.startswith("memoria: ")) == (2, True), ran
