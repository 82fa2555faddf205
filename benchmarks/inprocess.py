"""Searches of memoria and FTS5 in one process, with both stores open: python -m benchmarks.inprocess BRAIN DB ROUNDS.

The queries come as JSON on stdin, the seconds go as JSON to stdout. It is a process of its own so that what it holds
in memory is not there when commands are started.
"""

import json
import sqlite3
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks import fts5
from benchmarks.measure import median
from memoria import config
from memoria.brain import Brain
from memoria.model import Answer
from memoria.retrieve.query import Query
from memoria.retrieve.walker import Request
from memoria.store import Store


def main() -> None:
    """Measure every query, both contestants in turn."""
    folder, database, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    queries: list[list[str]] = json.load(sys.stdin)
    connection = sqlite3.connect(database)
    brain = Brain(folder, config.load(folder))
    with brain.reading() as store:
        seconds: dict[str, list[float]] = {"memoria": [], "fts5": []}
        for words in queries:
            asked = " ".join(words)
            ways: dict[str, Callable[[], Any]] = {
                "memoria": partial(_search, brain, store, asked),
                "fts5": partial(fts5.search, connection, words),
            }
            for name, values in _timed(ways, rounds).items():
                seconds[name].append(median(values))
        read = [store.postings(Query.parse(" ".join(words)).terms).bytes_read for words in queries]
    connection.close()
    json.dump({**seconds, "read": read}, sys.stdout)


def _search(brain: Brain, store: Store, text: str) -> Answer:
    return brain.answer(store, Request(Query.parse(text), budget=fts5.BUDGET))


def _timed(ways: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Return each way's seconds; the first round warms the caches and is not counted."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    for round_ in range(rounds + 1):
        for name, way in ways.items():
            began = time.perf_counter()
            way()
            if round_:
                found[name].append(time.perf_counter() - began)
    return found


if __name__ == "__main__":
    main()
