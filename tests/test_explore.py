"""Explore and traverse: the source document's formulas and tables, filters before scoring, an oracle of the walk."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoria.graph import byhand
from memoria.graph.lookup import Trust, known_by, told_of
from memoria.model import Edge, Macro, Storyline
from memoria.retrieve.explore import Asked, Found, Parts, Ranked, Relationship, SourceHit
from memoria.retrieve.granularity import GRANULARITIES, Teller, granularity_of
from memoria.retrieve.matching import Matcher
from memoria.retrieve.query import Query
from memoria.retrieve.traverse import ranked, walk
from memoria.scoring import Weights, final_score, fuzzy, recency, rrf
from memoria.store.facts import FactStore
from memoria.store.writer import StoreWriter
from tests.conftest import Shell
from tests.test_facts import NOW, ingest

# The formulas


@pytest.mark.parametrize(("days", "score"), [(0, 1.0), (35, 0.5), (70, 0.25), (105, 0.125)])
def test_recency_at_the_documents_days(days: float, score: float) -> None:
    assert recency(days) == pytest.approx(score, abs=0.004)
    assert recency(days) == pytest.approx(math.e ** (-0.02 * days))


def test_half_of_recency_is_left_after_about_35_days() -> None:
    assert recency(math.log(2) / 0.02) == pytest.approx(0.5)
    assert math.log(2) / 0.02 == pytest.approx(34.66, abs=0.01)
    assert recency(-5) == 1.0


def test_ranks_are_fused_as_reckoned_by_hand() -> None:
    assert rrf([1]) == 1 / 61
    assert rrf([1, 3]) == pytest.approx(0.0163934426 + 0.0158730159, abs=1e-9)
    assert rrf([2, 2, 10]) == pytest.approx(2 / 62 + 1 / 70)
    assert rrf([]) == 0


def test_the_final_score_weighs_three_parts() -> None:
    assert tuple(Weights()) == (0.3, 0.3, 0.4)
    assert final_score(Weights(), 1.0, 1.0, 1.0) == pytest.approx(1.0)
    assert final_score(Weights(), 0.5, 0.25, 0.8) == pytest.approx(0.3 * 0.5 + 0.3 * 0.25 + 0.4 * 0.8)
    assert final_score(Weights(1, 0, 0), 0.7, 0.1, 0.1) == pytest.approx(0.7)


def test_nearly_the_same_text_scores_by_its_edits() -> None:
    assert fuzzy(3, 7) == pytest.approx(1 - 3 / 7)  # kitten, sitting
    matcher = Matcher(Query.parse("talk with Marta Quintella about JACQ"))
    assert matcher.name("marta quintela") == pytest.approx(1 - 1 / 15)
    assert matcher.name("jacq") == 1.0
    assert matcher.name("jacq project") == 0.5  # a half of its words
    assert matcher.name("sourdough") == 0.0


@given(st.text(max_size=30), st.text(max_size=30))
def test_every_match_is_between_0_and_1(query: str, name: str) -> None:
    matcher = Matcher(Query.parse(query))
    assert 0 <= matcher.name(name) <= 1
    assert 0 <= matcher.text(name) <= 1


# The tables


def line(number: int) -> Storyline:
    day = f"2026-01-{number + 1:02d}"
    notes = (number + 1, number + 2)
    return Storyline(f"{number:012x}", f"anchor {number}", (), f"Story {number}", "It went on.", day, day, notes)


def more_than_enough(store: StoreWriter, folder: Path) -> Found:
    """More of everything than any granularity returns."""
    view = FactStore(store)
    for number in range(12):
        (folder / f"n{number}.md").write_text("Text.", encoding="utf-8")
    ingest(store, folder)
    for number in range(8):
        byhand.add_entity(store, f"Node {number}", ("person", "concept", "entity")[number % 3], [])
        for other in range(3):
            byhand.add_fact(store, (f"Node {number}", f"knows {other}", f"Node {(number + 1) % 8}"), None, NOW)
    knowns = [found[0] for found in known_by(view, [f"node {number}" for number in range(8)]).values()]
    sides = told_of(view, knowns, Trust())
    by_name = {known.entity.name: known for known in knowns}

    def rank(items: Sequence[object]) -> list[Ranked]:
        return [Ranked(item, Parts(1 - n / 100, 1, 1, 1, 1, (n + 1,))) for n, item in enumerate(items)]

    relations = [
        Relationship(one, by_name[one.fact.name], by_name[one.fact.value])
        for known in knowns
        for one in sides[known.entity.node].about
    ]
    lines = [line(number) for number in range(9)]
    children = tuple(one.id for one in reversed(lines))
    macros = [Macro(f"{n:012x}", "theme", f"Macro {n}", "", "2026-01-01", "2026-01-09", children) for n in range(7)]
    found = {
        "node": rank(knowns),
        "relationship": rank(relations),
        "source": rank([SourceHit(source, None) for source in store.sources()]),
        "storyline": rank(lines),
        "macro": rank(macros),
        "artifact": [],
    }
    return Found(found, (Asked("x"),), sides, lines)


@pytest.mark.parametrize(("granularity", "sources", "storylines", "macros"), [(1, 5, 3, 2), (2, 6, 5, 2), (3, 0, 0, 5)])
def test_how_many_of_what(
    store: StoreWriter, tmp_path: Path, granularity: int, sources: int, storylines: int, macros: int
) -> None:
    told = Teller(FactStore(store), more_than_enough(store, tmp_path), granularity).tell()
    semantic, episodic = told.semantic, told.episodic
    assert sum(len(semantic[kind]) for kind in ("people", "concepts", "entities")) == 5
    assert len(semantic["relationships"]) == 10
    names = {one["name"] for kind in ("people", "concepts", "entities") for one in semantic[kind]}
    assert all(one["from"] in names or one["to"] in names for one in semantic["relationships"])
    assert [len(episodic[kind]) for kind in ("sources", "storylines", "macros")] == [sources, storylines, macros]
    assert all(("preview" in one) is (granularity == 2) for one in episodic["sources"])
    minimal = {"key", "name"}
    full_stories = granularity == 2
    assert all((set(one) == minimal) is not full_stories for one in episodic["storylines"])
    assert all((set(one) == minimal) is (granularity < 3) for one in episodic["macros"])
    assert set(told.meta) == {"granularity", "queries_used"}
    if granularity == 3:
        children = episodic["macros"][0]["storylines"]
        assert len(children) == 9
        assert [child["first"] for child in children] == sorted(child["first"] for child in children)


def test_granularities_have_names() -> None:
    assert {name: granularity_of(name) for name in ("micro", "meso", "macro", "1", "2", "3")} == {
        "micro": 1, "meso": 2, "macro": 3, "1": 1, "2": 2, "3": 3,
    }  # fmt: skip
    assert [detail.name for detail in GRANULARITIES.values()] == ["micro", "meso", "macro"]
    with pytest.raises(Exception, match="no granularity"):
        granularity_of("4")


# The walk

NODES = range(1, 9)
EDGES = st.lists(
    st.tuples(st.sampled_from(NODES), st.sampled_from(NODES), st.sampled_from((0.25, 0.5, 0.75, 1.0))), max_size=20
)


def reader(rows: list[tuple[int, int, float]]) -> dict[int, list[Edge]]:
    best: dict[tuple[int, int], float] = {}
    for one, other, weight in rows:
        if one != other:
            for pair in ((one, other), (other, one)):
                best[pair] = max(best.get(pair, 0.0), weight)
    found: dict[int, list[Edge]] = {node: [] for node in NODES}
    for (one, other), weight in sorted(best.items()):
        found[one].append(Edge(one, other, "link", weight, "both", (), "note", ""))
    return found


@given(EDGES, st.integers(1, 4))
def test_a_walk_goes_by_hops_and_the_strongest_way(rows: list[tuple[int, int, float]], depth: int) -> None:
    graph = reader(rows)
    steps = {step.node: step for step in walk(lambda _: graph, [1], depth)}
    hops = {1: 0}
    score = {1: 1.0}
    for hop in range(1, depth + 1):  # every way of `hop` edges through the nodes of the hop before
        fresh: dict[int, float] = {}
        for node in [node for node, at in hops.items() if at == hop - 1]:
            for edge in graph[node]:
                if edge.end not in hops:
                    fresh[edge.end] = max(fresh.get(edge.end, 0.0), score[node] * edge.weight)
        hops |= dict.fromkeys(fresh, hop)
        score |= fresh
    assert {node: step.hop for node, step in steps.items()} == hops
    assert {node: step.score for node, step in steps.items()} == pytest.approx(score)
    assert all(step.edge is None or step.edge.end == node for node, step in steps.items())


@settings(max_examples=40)
@given(EDGES, st.sets(st.sampled_from(NODES), min_size=1, max_size=3), st.sampled_from((0.5, 0.85)))
def test_ranks_are_those_of_the_walkers_equation(
    rows: list[tuple[int, int, float]], starts: set[int], damping: float
) -> None:
    graph = reader(rows)
    steps = ranked(lambda _: graph, sorted(starts), 10, damping)
    found = {step.node: step.score for step in steps}
    assert sum(found.values()) == pytest.approx(1.0, abs=1e-3)
    for node, value in found.items():  # a fixed point: what comes in is what is there
        lost = sum(score for other, score in found.items() if not graph[other])
        wanted = (1 - damping + damping * lost) / len(starts) if node in starts else 0.0
        for other, score in found.items():
            total = sum(edge.weight for edge in graph[other])
            wanted += sum(damping * score * edge.weight / total for edge in graph[other] if edge.end == node)
        assert value == pytest.approx(wanted, abs=1e-3)


# The commands


def explore(shell: Shell, *args: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(shell.ok("explore", *args, "--json", "--no-touch"))
    return found


def test_explore_returns_one_shape_at_each_granularity(vault: Shell) -> None:
    for granularity in ("micro", "meso", "macro"):
        found = explore(vault, "harbor", "-g", granularity)
        assert set(found) == {"type", "schema", "meta", "semantic", "episodic"}
        assert set(found["semantic"]) == {"people", "concepts", "entities", "relationships"}
        assert set(found["episodic"]) == {"sources", "storylines", "macros", "artifacts"}
    found = explore(vault, "marta")
    assert found["semantic"]["people"][0]["name"] == "Marta Quintela"
    for part in (*found["semantic"].values(), *found["episodic"].values()):
        for one in part:
            why = one["why"]
            assert all(0 <= why[name] <= 1 for name in ("similarity", "semantic", "recency", "salience"))
            total = 0.3 * why["semantic"] + 0.3 * why["recency"] + 0.4 * why["salience"]
            assert one["score"] == pytest.approx(total)


def test_relationships_are_filtered_before_they_are_scored(vault: Shell) -> None:
    close = explore(vault, "close connections", "--min-attitude", "4", "--min-proximity", "4")["semantic"][
        "relationships"
    ]
    assert {(one["from"], one["to"]) for one in close} <= {
        ("Olga Ferraz", "Ines Carvalho"), ("Tomas Brandt", "Ines Carvalho"),
    }  # fmt: skip
    assert close
    colleagues = explore(vault, "marta", "--rel-type", "colleague")["semantic"]["relationships"]
    assert {one["type"] for one in colleagues} == {"colleague"}
    others = explore(vault, "marta", "--not-rel-type", "colleague")["semantic"]["relationships"]
    assert others
    assert "colleague" not in {one["type"] for one in others}
    cool = explore(vault, "marta", "--max-attitude", "3")["semantic"]["relationships"]
    assert {one["attitude"] for one in cool} <= {1, 2, 3}


def test_what_is_not_within_the_limits_is_not_found(vault: Shell) -> None:
    found = explore(vault, "harbor", "--bucket", "meetings")["episodic"]["sources"]
    assert found
    assert all("meetings" in str(one["path"]) for one in found)
    assert vault.run("explore", "harbor", "--until", "1999").code == 1


def test_a_threshold_holds_for_each_query(vault: Shell) -> None:
    found = explore(vault, "marta", "--threshold", "1")
    nodes = [one for kind in ("people", "concepts", "entities") for one in found["semantic"][kind]]
    assert [one["name"] for one in nodes] == ["Marta Quintela"]
    assert vault.run("explore", "a", "b", "c", "--threshold", "0.1", "--threshold", "0.2").code == 2


def test_several_queries_are_fused_and_deep_ones_are_complemented(vault: Shell) -> None:
    found = explore(vault, "marta", "sqlite")
    assert found["meta"]["queries_used"] == ["marta", "sqlite"]
    for one in (*found["semantic"]["concepts"], *found["episodic"]["sources"]):
        ranks = [rank for rank in one["why"]["ranks"] if rank]
        assert one["why"]["semantic"] == pytest.approx(sum(1 / (60 + rank) for rank in ranks) / (2 / 61))
    for flag in ("--deep", "--multi-query"):
        queries = explore(vault, "what does marta think about harbor in january 2026", flag)["meta"]["queries_used"]
        assert 3 <= len(queries) <= 4
        assert "january" in queries[1]
        assert "Marta Quintela" in queries[2]


def test_what_has_faded_is_left_out_unless_asked_for(vault: Shell, tmp_path: Path) -> None:
    store = StoreWriter.open(str(vault.brain / "brain.db"))
    store._engine.write_text("?[id, ingested] := *source{ id }, ingested = 0 :update source { id => ingested }")
    store.close()
    assert vault.run("explore", "compost").code == 1
    assert explore(vault, "compost", "--archived")["episodic"]["sources"]
    assert vault.ok("search", "compost")


def test_weights_must_come_to_one(vault: Shell) -> None:
    ran = vault.run("explore", "x", "--time-weight", "0.9")
    assert (ran.code, "the weights come to 1.6, not to 1" in ran.err) == (2, True)
    explore(vault, "harbor", "--semantic-weight", "1", "--time-weight", "0", "--salience-weight", "0")
    for bad in (("explore", " "), ("explore", "x", "-g", "9"), ("explore", "x", "--min-attitude", "6")):
        assert vault.run(*bad).code == 2


def test_explore_in_words_and_as_context(vault: Shell) -> None:
    text = vault.ok("explore", "marta")
    assert "—led_by→ Marta Quintela" in text
    assert vault.ok("explore", "marta", "--context").startswith("## People\n- ")
    assert "Marta" in vault.ok("explore", "marta", FORCE_COLOR="1", NO_COLOR="")


def test_exploring_is_noted_unless_it_should_leave_no_trace(vault: Shell) -> None:
    vault.ok("explore", "marta", "--no-touch")
    vault.ok("traverse", "harbor", "--no-touch")
    assert not (vault.brain / "brain.db.used").exists()
    vault.ok("explore", "marta")
    assert (vault.brain / "brain.db.used").exists()


@pytest.mark.parametrize("query", ['"', "[[", "C++ AND (", "x" * 10_000, "\n\t\x01", "NOT", "日本 é"])
def test_hostile_queries_get_an_answer(vault: Shell, query: str) -> None:
    for command in ("explore", "recall", "traverse"):
        ran = vault.run(command, query)
        assert ran.code in (0, 1, 2)
        assert "Traceback" not in ran.err


def test_traverse_tells_every_step_with_its_edge(vault: Shell) -> None:
    records = [json.loads(line) for line in vault.ok("traverse", "harbor", "--depth", "1", "--json").splitlines()]
    assert (records[0]["hop"], records[0]["edge"], records[0]["name"]) == (0, None, "Harbor")
    assert all(record["edge"]["from"] == "Harbor" for record in records[1:])
    assert {record["hop"] for record in records[1:]} == {1}
    links = [json.loads(line) for line in vault.ok("traverse", "harbor", "--type", "link", "--json").splitlines()]
    assert {record["edge"]["kind"] for record in links[1:]} == {"link"}
    ppr = vault.ok("traverse", "harbor", "sqlite", "--mode", "ppr", "--top", "4", "--json").splitlines()
    assert len(ppr) == 2 + 4
    ran = vault.run("traverse", "nothing of the kind")
    assert (ran.code, "nothing is called" in ran.err) == (1, True)
    assert vault.run("traverse", "harbor", "--mode", "fly").code == 2
