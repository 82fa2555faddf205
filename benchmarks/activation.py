"""Activation in process: five seeds on a brain, and on a generated graph with hubs beside brute force in memory.

python -m benchmarks.activation BRAIN ROUNDS      five seeds for each query on stdin (JSON), seconds as JSON on stdout
python -m benchmarks.activation --graph FOLDER NODES EDGES
"""

import json
import os
import sys
import time
from itertools import accumulate
from random import Random

from benchmarks.measure import median, percentile
from memoria import config
from memoria.brain import Brain
from memoria.retrieve.activation import Limits, explore
from memoria.retrieve.query import Query
from memoria.retrieve.trails import Seed, activate
from memoria.store.writer import StoreWriter
from tests.activation_oracle import Graph, spread

_TAGS = [f"tag{number}" for number in range(200)]
_HUBS = 20
_SEEDS = 5
_ASKED = 40
_ROWS = 20_000
_EDGE = "from rank to kind weight way tags origin why line type attitude proximity".split()


def on_brain(folder: str, rounds: int, queries: list[list[str]]) -> list[float]:
    """Return the seconds of each query: seeds found, explored and shown, the median of some rounds."""
    brain = Brain(folder, config.load(folder))
    seconds = []
    for words in queries:
        taken = []
        for _ in range(rounds + 1):  # the first warms the caches
            began = time.perf_counter()
            with brain.activating(Query.parse(" ".join(words)), (), (), brain.limits(), _SEEDS) as under_way:
                list(under_way.results)
            taken.append(time.perf_counter() - began)
        seconds.append(median(taken[1:]))
    return seconds


def on_graph(folder: str, nodes: int, edges: int) -> dict[str, float]:
    """Make a graph with hubs, in a store and in memory; return the milliseconds of five seeds on each."""
    path = os.path.join(folder, "graph.db")
    store = StoreWriter.open(path)
    graph, degrees = _make(store, nodes, edges)
    random = Random(2)
    known = sorted(graph.lines)
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(_ASKED):
        chosen = random.sample(known, _SEEDS)
        tags = random.sample(_TAGS, random.randint(0, 3))
        seeds = [Seed(rank, "", 1 - 0.1 * rank, node) for rank, node in enumerate(chosen)]
        began = time.perf_counter()
        found = list(activate(store, seeds, tags, Limits()))
        ours.append(time.perf_counter() - began)
        began = time.perf_counter()
        for seed in seeds:
            spread(
                graph, seed.node or 0, seed.energy, frozenset(tags), depth=5, least=0.005, floor=0.15, branches=3
            )  # fmt: skip
        theirs.append(time.perf_counter() - began)
        if any(one.problem for one in found):
            raise SystemExit(found[0].problem)
    hub = max(degrees, key=degrees.__getitem__)
    began = time.perf_counter()
    explore(store, hub, 1.0, _TAGS[:2], Limits(min_activation=0.0, max_depth=1))
    level = time.perf_counter() - began
    store.close()
    return {
        "p50": percentile(ours, 50), "p95": percentile(ours, 95), "oracle50": percentile(theirs, 50),
        "oracle95": percentile(theirs, 95), "hub": float(degrees[hub]), "hub_level": level,
    }  # fmt: skip


def _make(store: StoreWriter, nodes: int, edges: int) -> tuple[Graph, dict[int, int]]:
    random = Random(1)
    graph = Graph()
    # A few nodes are the end of a large part of all edges, the others of some.
    weights = list(accumulate(edges / 10 / (rank + 1) if rank < _HUBS else 10.0 for rank in range(nodes)))
    names = range(-1, -nodes - 1, -1)
    degrees: dict[int, int] = dict.fromkeys(names, 0)
    rows: list[list[object]] = []
    pairs: set[tuple[int, int]] = set()
    for start in random.choices(names, k=edges):
        end = random.choices(names, cum_weights=weights)[0]
        pair = (min(start, end), max(start, end))
        if start == end or pair in pairs:
            continue
        pairs.add(pair)
        weight = round(random.uniform(0.25, 1.0), 3)
        tags = random.sample(_TAGS, random.randint(0, 4))
        graph.add(start, end, "link", weight, frozenset(tags))
        for one, other, way in ((start, end, "out"), (end, start, "in")):
            degrees[one] += 1
            graph.order[one] = ("", one)
            values = [one, 1_000 - round(weight * 1_000), other, "link", weight, way, tags, "note", "", 0]
            rows.append([*values, None, None, None])
        if len(rows) > _ROWS:
            _put(store, "edge", _EDGE, rows)
            rows = []
    _put(store, "edge", _EDGE, rows)
    _put(store, "degree", ["node", "edges"], [list(item) for item in degrees.items() if item[1]])
    entity: list[list[object]] = [[node, "concept", f"Entity {-node}", [], None, "hand"] for node in names]
    _put(store, "entity", "node kind name aliases last origin".split(), entity)
    return graph, degrees


def _put(store: StoreWriter, relation: str, headers: list[str], rows: list[list[object]]) -> None:
    store._engine._db.import_relations({relation: {"headers": headers, "rows": rows}})  # noqa: SLF001 - not by query: 2,000,000 rows


if __name__ == "__main__":
    if sys.argv[1] == "--graph":
        json.dump(on_graph(sys.argv[2], int(sys.argv[3]), int(sys.argv[4])), sys.stdout)
    else:
        json.dump(on_brain(sys.argv[1], int(sys.argv[2]), json.load(sys.stdin)), sys.stdout)
