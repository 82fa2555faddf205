"""Activation: the document's formulas and examples, an oracle on random graphs, hubs, and the command."""

import json
import math
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoria import config
from memoria.errors import StoreError
from memoria.ingest import Given, ingest_files
from memoria.model import Edge, source_node
from memoria.retrieve.activation import WIDE, Limits, explore
from memoria.retrieve.query import Query
from memoria.retrieve.trails import Seed, activate, query_tags
from memoria.scoring import tag_sim, transfer_energy
from memoria.store import Store
from memoria.store.store import SPREAD_WAITS
from memoria.store.writer import StoreWriter
from tests.activation_oracle import Graph, graph_of, spread
from tests.conftest import CHECKOUT, Shell

DEFAULTS = {key: setting.default for key, setting in config.SETTINGS.items()}
EASY = Limits(min_activation=0.0)


# The formulas


def test_the_documents_worked_example_of_tag_overlap() -> None:
    edge = ["inventory_policy", "recommendation", "analysis_dependency"]
    query = ["demand_forecasting", "stockout", "safety_stock", "inventory_policy"]
    assert tag_sim(edge, query) == pytest.approx(0.292, abs=5e-4)
    assert tag_sim(edge, query) == 0.15 + 0.85 * 1 / 6
    assert tag_sim(["recommendation"], query) == 0.15
    assert tag_sim(edge, []) == 1.0
    assert tag_sim([], query) == 0.15
    assert tag_sim(query, query) == 1.0
    assert tag_sim(query, query) / tag_sim([], query) == pytest.approx(6.67, abs=0.01)  # "up to a ~7x boost"


@given(st.sets(st.sampled_from("abcdef")), st.sets(st.sampled_from("abcdef")), st.floats(0, 1))
def test_tag_overlap_is_symmetric_and_bounded(one: set[str], other: set[str], floor: float) -> None:
    found = tag_sim(one, other, floor)
    assert floor <= found <= 1 or math.isclose(found, 1)
    if one and other:
        assert found == tag_sim(other, one, floor)


def test_energy_is_damped_by_the_root_of_the_degree_and_a_missing_weight_is_small() -> None:
    assert transfer_energy(0.8, 0.9, 4, 0.5) == pytest.approx(0.8 * 0.9 / 2 * 0.5)
    assert transfer_energy(1.0, None, 1, 1.0) == 0.01
    assert transfer_energy(1.0, 1.0, 100, 1.0) == 0.1


# The document's picture of a search in levels


def entities(store: StoreWriter, *nodes: int) -> None:
    rows: list[list[Any]] = [[node, "concept", f"N{-node}", [], None, "hand"] for node in nodes]
    store._engine.write_text(
        "?[node, kind, name, aliases, last, origin] <- $rows :put entity { node => kind, name, aliases, last, origin }",
        rows=rows,
    )


def tie(one: int, other: int, weight: float = 0.9, kind: str = "link", tags: tuple[str, ...] = ()) -> Edge:
    return Edge(one, other, kind, weight, "out", tags, "hand", "")


def nodes_of_trails(store: StoreWriter, seed: int, limits: Limits, energy: float = 1.0) -> list[tuple[list[int], str]]:
    found = explore(store, seed, energy, (), limits)
    return [([found.steps[number].node for number in steps], end) for steps, end in found.trails()]


def test_the_documents_picture_of_three_paths(store: StoreWriter) -> None:
    n2001, n2003, n2004, n2005, n2006, n2008, n2010 = seven = (-2001, -2003, -2004, -2005, -2006, -2008, -2010)
    entities(store, *seven, -1)
    store.put_edges([], [
        tie(n2006, n2003, 1.0), tie(n2006, n2004, 0.9), tie(n2006, n2005, 0.8),
        tie(n2003, n2001), tie(n2004, n2008), tie(n2001, n2010), tie(n2005, -1, 0.25), tie(n2010, -1, 0.25),
    ])  # fmt: skip
    # T: 2003 .577, 2004 .520, 2005 .462; 2001 .367, 2008 .331; 2010 .234, and .041 on; of 2005 .082 on.
    paths = nodes_of_trails(store, n2006, Limits(min_activation=0.1))
    assert paths == [
        ([n2006, n2003, n2001, n2010], "below_threshold"),
        ([n2006, n2004, n2008], "dead_end"),
        ([n2006, n2005], "below_threshold"),
    ]


# Ends of trails


def test_every_reason_to_end_is_told(store: StoreWriter) -> None:
    entities(store, *range(-20, 0))
    store.put_edges([], [tie(-1, -2), tie(-2, -3), tie(-3, -4)])
    assert nodes_of_trails(store, -1, Limits(max_depth=2)) == [([-1, -2, -3], "max_depth")]
    assert nodes_of_trails(store, -1, Limits(max_depth=0)) == [([-1], "max_depth")]
    assert nodes_of_trails(store, -1, Limits()) == [([-1, -2, -3, -4], "dead_end")]
    assert nodes_of_trails(store, -1, Limits(min_activation=0.7)) == [([-1, -2], "below_threshold")]
    assert explore(store, -1, 1.0, (), Limits()).end == "empty_frontier"
    assert explore(store, -1, 1.0, (), Limits(max_depth=2)).end == "max_depth"
    assert nodes_of_trails(store, -9, Limits()) == [([-9], "dead_end")]  # nothing is tied to it
    missing = explore(store, -99, 1.0, (), Limits())
    assert (missing.end, missing.steps, missing.trails()) == ("seed_not_found", [], [])
    assert explore(store, source_node(7), 1.0, (), Limits()).end == "seed_not_found"
    assert explore(store, source_node(7) + 3, 1.0, (), Limits()).end == "seed_not_found"


def test_the_threshold_must_be_exceeded(store: StoreWriter) -> None:
    entities(store, -1, -2)
    store.put_edges([], [tie(-1, -2, 0.5)])
    assert nodes_of_trails(store, -1, Limits(min_activation=0.5)) == [([-1], "below_threshold")]
    assert nodes_of_trails(store, -1, Limits(min_activation=0.4999)) == [([-1, -2], "dead_end")]


def test_a_neighbor_that_two_want_goes_to_the_stronger_and_the_other_takes_its_next(store: StoreWriter) -> None:
    entities(store, *range(-20, 0))
    store.put_edges([], [
        tie(-1, -2, 1.0), tie(-1, -3, 0.9),  # the parents
        tie(-2, -5, 1.0), tie(-3, -5, 1.0), tie(-3, -6, 0.5),
    ])  # fmt: skip
    one = Limits(max_branches=2, max_depth=2)
    assert nodes_of_trails(store, -1, one) == [([-1, -2, -5], "max_depth"), ([-1, -3, -6], "max_depth")]
    store.put_edges([tie(-3, -6, 0.5)], [])
    assert nodes_of_trails(store, -1, one) == [([-1, -2, -5], "max_depth"), ([-1, -3], "all_claimed")]


def test_a_full_parent_leaves_a_neighbor_to_the_other(store: StoreWriter) -> None:
    entities(store, *range(-20, 0))
    store.put_edges([], [
        tie(-1, -2, 1.0), tie(-1, -3, 0.5), tie(-2, -5, 1.0), tie(-2, -6, 0.9), tie(-3, -6, 0.5),
    ])  # fmt: skip
    trails = nodes_of_trails(store, -1, Limits(max_branches=2, max_depth=2))
    assert trails == [([-1, -2, -5], "max_depth"), ([-1, -2, -6], "max_depth"), ([-1, -3], "all_claimed")]
    trails = nodes_of_trails(store, -1, Limits(max_branches=1, max_depth=2))
    assert trails == [([-1, -2, -5], "max_depth")]


# Against brute force

WEIGHTS = (0.25, 0.5, 0.9, 0.9, 1.0)
KINDS = ("link", "mention", "near")
TAGS = ("red", "green", "blue")


@st.composite
def vaults(draw: st.DrawFn) -> tuple[list[tuple[int, list[str]]], list[tuple[int, int, float, str, list[str]]]]:
    """Notes (how many atoms, which tags), and edges between places in a list of all nodes."""
    tags = st.lists(st.sampled_from(TAGS), unique=True, max_size=3)
    notes = draw(st.lists(st.tuples(st.integers(0, 9), tags), min_size=1, max_size=5))
    ends = st.integers(0, 200)
    edge = st.tuples(ends, ends, st.sampled_from(WEIGHTS), st.sampled_from(KINDS), tags)
    return notes, draw(st.lists(edge, max_size=40))


def build(vault: tuple[list[tuple[int, list[str]]], list[tuple[int, int, float, str, list[str]]]]) -> StoreWriter:
    notes, edges = vault
    store = StoreWriter.in_memory()
    with tempfile.TemporaryDirectory() as root:
        for number, (atoms, tags) in enumerate(notes):
            body = "\n\n".join(f"## Part {place}\n\nText {place} of note {number}." for place in range(atoms))
            # Paths against the order of ingest: ties are broken by path, not by number.
            Path(root, f"{9 - number}.md").write_text(f"---\ntags: {json.dumps(tags)}\n---\n{body}", encoding="utf-8")
            ingest_files(store, [root], Given(), DEFAULTS, now=time.time(), force=True)
    entities(store, -1, -2, -3)
    nodes = [-1, -2, -3]
    for source in store.sources():
        home = source_node(source.id)
        nodes += [home, *(home + here.ordinal for here in store.outlines([source.id]).get(source.id, []))]
    put = {}
    for one, other, weight, kind, tags in edges:
        start, end = nodes[one % len(nodes)], nodes[other % len(nodes)]
        if start != end:
            put[frozenset((start, end)), kind] = tie(start, end, weight, kind, tuple(sorted(tags)))
    store.put_edges([], list(put.values()))
    return store


def agrees(store: StoreWriter, graph: Graph, seed: int, energy: float, tags: list[str], limits: Limits) -> None:
    found = explore(store, seed, energy, tags, limits)
    marks, ends = spread(
        graph, seed, energy, frozenset(tags), depth=limits.max_depth, least=limits.min_activation,
        floor=limits.tag_sim_floor, branches=limits.max_branches,
    )  # fmt: skip
    assert [step.node for step in found.steps] == list(marks)
    for step in found.steps:
        mark = marks[step.node]
        assert step.energy == pytest.approx(mark.energy, abs=1e-9)
        assert (found.steps[step.parent].node if step.parent is not None else None) == mark.parent
        assert (step.degree, step.edge and step.edge.kind, step.depth) == (mark.degree, mark.kind, mark.depth)
        assert step.tag_sim == pytest.approx(mark.similarity, abs=1e-9)
        assert (step.edge and step.edge.weight) == mark.weight
    assert {found.steps[number].node: end for number, end in found.ends.items()} == ends
    assert not found.capped


@settings(max_examples=150)
@given(
    vaults(),
    st.integers(0, 200),
    st.floats(0.05, 1),
    st.lists(st.sampled_from(TAGS), unique=True),
    st.builds(
        Limits, st.integers(0, 7), st.sampled_from((0.0, 0.001, 0.005, 0.05)), st.sampled_from((0.15, 0.0, 0.5, 1.0)),
        st.integers(1, 4),
    ),
)  # fmt: skip
def test_brute_force_agrees_on_random_graphs(
    vault: Any, which: int, energy: float, tags: list[str], limits: Limits
) -> None:
    store = build(vault)
    graph = graph_of(store)
    nodes = sorted(graph.lines)
    agrees(store, graph, nodes[which % len(nodes)], energy, tags, limits)


# Hubs


def test_a_hub_is_read_by_its_strongest_edges_alone(store: StoreWriter) -> None:
    hub, size = -1, WIDE + 1_000
    entities(store, *range(-size - 1, 0))
    store.put_edges([], [
        tie(hub, node, 0.3 + 0.6 * (-node % 997) / 997, tags=("rare",) if node == -size else ("other",))
        for node in range(-size, -1)
    ])  # fmt: skip
    graph = graph_of(store)
    agrees(store, graph, hub, 1.0, [], EASY._replace(max_depth=2))
    told = explore(store, hub, 1.0, ["rare"], EASY._replace(max_depth=1))
    assert told.capped == [(hub, WIDE, size - 1)]  # the rare one may be among those that were not read
    # Where the threshold shuts the hub, nothing is read and nothing is missed.
    shut = explore(store, hub, 0.2, [], Limits())
    assert (shut.capped, shut.ends) == ([], {0: "below_threshold"})


def test_a_note_of_very_many_atoms_is_left_by_its_first(store: StoreWriter, tmp_path: Path) -> None:
    (tmp_path / "long.md").write_text("\n\n".join(f"# H{n}\n\nText {n}." for n in range(WIDE + 500)), encoding="utf-8")
    ingest_files(store, [str(tmp_path)], Given(), DEFAULTS, now=time.time())
    agrees(store, graph_of(store), source_node(store.sources()[0].id), 1.0, [], EASY._replace(max_depth=3))


# Several seeds


def test_seeds_are_explored_at_once_and_one_that_fails_does_not_spoil_the_others(store: StoreWriter) -> None:
    entities(store, *range(-20, 0))
    store.put_edges([], [tie(-1, -2), tie(-5, -6)])
    seeds = [Seed(1, "a", 1.0, -1), Seed(2, "b", 0.5, None, "nothing is called 'b'"), Seed(3, "c", 0.8, -5),
             Seed(4, "gone", 1.0, -999)]  # fmt: skip
    found = sorted(activate(store, seeds, (), Limits()))
    assert [(one.seed_rank, one.end, len(one.steps)) for one in found] == [
        (1, "empty_frontier", 2), (2, "seed_not_found", 0), (3, "empty_frontier", 2), (4, "seed_not_found", 0),
    ]  # fmt: skip
    assert threading.active_count() == 1


def test_who_stops_listening_leaves_no_thread_behind(store: StoreWriter) -> None:
    entities(store, *range(-30, 0))
    store.put_edges([], [tie(node, node - 1) for node in range(-29, -1, 2)])
    results = activate(store, [Seed(rank, "x", 1.0, -rank) for rank in range(1, 20)], (), Limits())
    next(results)
    results.close()
    assert threading.active_count() == 1


class Stubborn:
    """CozoDB as it is while another process writes: locked, for so many questions."""

    def __init__(self, db: Any, times: int) -> None:
        self.db, self.times = db, times

    def run_script(self, *args: Any) -> Any:
        self.times -= 1
        if self.times >= 0:
            raise Exception({"message": "when executing", "causes": ["database is locked (code 5)"]})  # noqa: TRY002
        return self.db.run_script(*args)


def test_a_busy_store_is_asked_again_after_growing_waits(store: StoreWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("memoria.store.engine.time.sleep", waits.append)
    engine = store._engine
    real = engine._db
    engine._db = Stubborn(real, 3)
    store.spread([(1, 1.0)], [1], [], [], floor=0.15, least=0.0, wide=10)
    assert waits == [0.05, 0.1, 0.2]
    engine._db = Stubborn(real, 99)
    with pytest.raises(StoreError):
        store.spread([(1, 1.0)], [1], [], [], floor=0.15, least=0.0, wide=10)
    assert tuple(waits[3:]) == SPREAD_WAITS


def test_standard_error_survives_many_threads(store: StoreWriter, capfd: pytest.CaptureFixture[str]) -> None:
    import os

    entities(store, *range(-30, 0))
    list(activate(store, [Seed(rank, "x", 1.0, -rank) for rank in range(1, 30)], (), Limits()))
    os.write(2, b"still here\n")
    assert capfd.readouterr().err == "still here\n"


# Tags of the query


def test_the_names_that_a_query_mentions(vault: Shell) -> None:
    store = Store.open(str(vault.brain / "brain.db"))

    def tags(text: str) -> list[str]:
        return query_tags(store, Query.parse(text))

    assert "project/harbor" in tags("what did the harbor cost")  # the last part of a nested tag
    assert "garden" in tags("in the garden")  # a bucket
    assert "idempotent-webhooks" in tags("more on idempotent webhooks")  # a title
    assert "at-least-once" in tags("delivered at least once")
    assert tags("qqqq zzzz") == []
    assert tags("") == []
    store.close()


# The command


def activations(shell: Shell, *args: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in shell.ok("activate", *args, "--json").splitlines()]


def test_every_step_can_be_recomputed_from_the_one_before(vault: Shell) -> None:
    found = activations(vault, "harbor", "migration", "--qtag", "work")
    assert {one["seed_rank"] for one in found} == set(range(1, len(found) + 1))
    assert max(one["energy"] for one in found) == 1.0
    steps = 0
    for one in found:
        assert one["schema"] == "memoria.activation/1"
        for trail in one["trails"]:
            assert trail["steps"][0]["energy"] == one["energy"]
            for before, step in zip(trail["steps"], trail["steps"][1:], strict=False):
                steps += 1
                fit = tag_sim(step["tags"], one["query_tags"])
                assert step["tag_sim"] == pytest.approx(fit, abs=1e-12)
                expected = before["energy"] * step["weight"] / math.sqrt(step["degree"]) * step["tag_sim"]
                assert step["energy"] == pytest.approx(expected, abs=1e-12)
                assert step["energy"] > 0.005
            assert trail["energy"] == trail["steps"][-1]["energy"]
            assert len(trail["steps"]) <= 6
    assert steps > 10


def test_the_json_fields_are_those_of_the_documentation(vault: Shell) -> None:
    documented = (CHECKOUT / "docs" / "json.md").read_text(encoding="utf-8").split("## `memoria activate")[1]
    one = activations(vault, "harbor")[0]
    for field in (*one, *one["trails"][0], *one["trails"][0]["steps"][0]):
        assert f"`{field}`" in documented, field


def test_settings_and_flags_bound_the_trails(vault: Shell) -> None:
    assert all(len(t["steps"]) <= 2 for one in activations(vault, "harbor", "--max-depth", "1") for t in one["trails"])
    assert len(activations(vault, "harbor", "--seeds", "2")) <= 2
    vault.ok("config", "set", "activate.max_branches", "1")
    assert all(len(one["trails"]) == 1 for one in activations(vault, "harbor"))
    many = activations(vault, "harbor", "--max-branches", "3", "--min-activation", "0")
    assert any(len(one["trails"]) > 1 for one in many)


def test_seeds_are_named_by_key_title_path_and_with_an_energy(vault: Shell) -> None:
    hit = json.loads(vault.ok("search", "webhook", "--json", "--limit", "1"))
    found = activations(vault, "--seed", f"{hit['key'][:6]}=0.5", "--seed", "SQLite", "--seed", "code/sqlite.md=1")
    by_rank = {one["seed_rank"]: one for one in found}
    assert by_rank[1]["energy"] == 0.5
    assert by_rank[1]["trails"][0]["steps"][0]["key"] == hit["key"]
    assert by_rank[2]["trails"] == by_rank[3]["trails"]
    assert by_rank[2]["trails"][0]["steps"][0]["what"] == "note"
    assert by_rank[2]["query_tags"] == []


def test_an_unknown_seed_is_told_with_near_names_and_the_others_go_on(vault: Shell) -> None:
    ran = vault.run("activate", "--seed", "Idempotent webhoks", "--seed", "SQLite", "--json")
    assert ran.code == 1
    assert "nothing is called 'Idempotent webhoks'" in ran.err
    assert "Idempotent webhooks" in ran.err
    found = {one["seed_rank"]: one for one in map(json.loads, ran.out.splitlines())}
    assert (found[1]["end"], found[1]["trails"]) == ("seed_not_found", [])
    assert found[2]["trails"]
    assert "nothing is called" in found[1]["problem"]


@pytest.mark.parametrize("text", ["SQLite=0", "SQLite=1.01", "SQLite=-1", "SQLite=nan", "SQLite=inf", "=0.5", " "])
def test_a_seeds_energy_lies_above_0_and_up_to_1(vault: Shell, text: str) -> None:
    ran = vault.run("activate", "--seed", text)
    assert ran.code == 2
    assert "Traceback" not in ran.err
    assert ran.err.count("\n") == 2  # one sentence, and the way out


@pytest.mark.parametrize(
    "args", [("--max-depth", "-1"), ("--max-branches", "0"), ("--tag-sim-floor", "2"), ("--min-activation", "-1")]
)
def test_what_can_not_be_is_refused(vault: Shell, args: tuple[str, str]) -> None:
    ran = vault.run("activate", "harbor", *args)
    assert (ran.code, ran.out) == (2, "")


def test_nothing_to_begin_with(vault: Shell, shell: Shell) -> None:
    ran = vault.run("activate", "qqqq", "zzzz")
    assert (ran.code, ran.out) == (1, "")
    assert 'no note has "qqqq"' in ran.err
    assert vault.run("activate").code == 2
    assert vault.run("activate", "harbor", "--json", "--context").code == 2


def test_an_empty_graph_and_a_graph_of_one_note(shell: Shell) -> None:
    assert shell.run("activate", "harbor").code == 1  # no brain
    shell.ok("init")
    empty = shell.run("activate", "harbor")
    assert (empty.code, empty.out) == (1, "")
    assert "empty" in empty.err
    shell.write("notes/one.md", "A lonely thought.")
    shell.ok("ingest", "notes", "-q")
    found = activations(shell, "lonely")
    assert [[step["what"] for step in trail["steps"]] for trail in found[0]["trails"]] == [["atom", "note"]]
    assert found[0]["trails"][0]["end"] == "dead_end"
    shell.write("notes/empty.md", "")
    shell.ok("ingest", "notes", "-q")
    ran = shell.run("activate", "--seed", "empty")
    assert ran.code == 1
    assert "nothing is tied to that" in ran.err


def test_context_holds_each_atom_once_the_best_first_within_its_budget(vault: Shell) -> None:
    for budget in (300, 2_000, 20_000):
        text = vault.ok("activate", "webhook", "--context", "--budget", str(budget))
        assert 0 < len(text.rstrip("\n")) <= budget
        heads = [line for line in text.split("\n") if line.startswith(str(vault.folder))]
        assert len(heads) == len(set(heads))
    tight = vault.run("activate", "webhook", "--context", "--budget", "20")
    assert (tight.code, tight.out) == (1, "")
    assert "nothing fits into 20 characters" in tight.err
    best = max(activations(vault, "webhook"), key=lambda one: one["energy"])["trails"][0]["steps"][0]
    assert heads[0] == f"{best['path']}:{best['line']}"


def test_the_tree_shows_energy_kind_tags_and_text(vault: Shell) -> None:
    out = vault.ok("activate", "--seed", "SQLite", "--max-depth", "1", "--explain")
    assert "1. 1.000  SQLite  notes/code/sqlite.md\n" in out
    assert "relation uses ← Lantern > Parts  notes/projects/lantern.md:15" in out
    assert "#database" in out
    assert "0.316228 = 1.000000 * weight 1.000 / sqrt(degree 10) * tag_sim 1.000" in out
    assert "(as deep as it may)" in out
    assert "\x1b" not in out
    assert "\x1b[" in vault.ok("activate", "--seed", "SQLite", FORCE_COLOR="1", NO_COLOR="")


def test_what_a_note_says_never_becomes_markup_of_a_drawing(shell: Shell) -> None:
    shell.write("notes/a.md", '---\ntitle: \'x"] --> evil["; %% & <b>\'\n---\nSee [[b]] `"]` end\n\nsubgraph')
    shell.write("notes/b.md", "Back to [[a]].")
    shell.ok("ingest", "notes", "-q")
    drawn = shell.ok("activate", "--seed", "b", "--mermaid").splitlines()
    assert drawn[0] == "flowchart LR"
    for line in drawn[2:-1]:
        assert line.count('"') == 2, line
        assert "<b>" not in line
    assert drawn[-1] == "  end"


def test_a_canvas_has_every_step_in_its_place(vault: Shell) -> None:
    vault.ok("activate", "harbor", "--canvas", "harbor.canvas")
    drawn = json.loads((vault.folder / "harbor.canvas").read_text(encoding="utf-8"))
    places = {(node["x"], node["y"]) for node in drawn["nodes"]}
    assert len(places) == len(drawn["nodes"])
    names = {node["id"] for node in drawn["nodes"]}
    assert len(names) == len(drawn["nodes"])
    for edge in drawn["edges"]:
        assert {edge["fromNode"], edge["toNode"]} <= names
    steps = {json.dumps(step, sort_keys=True) + str(one["seed_rank"])
             for one in activations(vault, "harbor") for trail in one["trails"] for step in trail["steps"]}  # fmt: skip
    assert len(drawn["nodes"]) == len(steps)
    again = vault.run("activate", "harbor", "--canvas", "harbor.canvas")
    assert again.code == 2
    assert "is there already" in again.err
    vault.ok("activate", "harbor", "--canvas", "harbor.canvas", "--force")
    assert vault.run("activate", "harbor", "--canvas", "notes/inbox.md", "--force").code == 2
    assert json.loads(vault.ok("activate", "harbor", "--canvas", "-")) == drawn


# In a search


def test_a_search_lends_to_what_energy_reaches(shell: Shell) -> None:
    shell.write("notes/mill.md", "The windmill turns. See [[cellar]].")
    shell.write("notes/cellar.md", "Barrels lie below.\n\n# More\n\nSee [[attic]].")
    shell.write("notes/attic.md", "Dust, and old letters.")
    shell.ok("ingest", "notes", "-q")
    plain = {json.loads(line)["relpath"] for line in shell.ok("search", "windmill", "--json").splitlines()}
    hits = [json.loads(line) for line in shell.ok("search", "windmill", "--activate", "--json").splitlines()]
    assert "attic.md" in {hit["relpath"] for hit in hits} - plain
    far = next(hit for hit in hits if hit["relpath"] == "attic.md")
    assert (far["role"], far["why"]["bridges"][0]["kind"]) == ("neighbor", "trail")
    keys = [key for hit in hits for key in hit["keys"]]  # what the walk reached is a seed, too
    assert far["why"]["via"] in {f"via a trail (link) from {key}" for key in keys}
    assert far["score"] == pytest.approx(far["why"]["bridges"][0]["weight"], abs=1e-6)
    within = shell.ok("search", "windmill", "--activate", "--path", "*mill*", "--paths")
    assert [Path(line).name for line in within.split()] == ["mill.md"]
    assert shell.run("search", "windmill", "--activate", "--strict").code == 2
