"""One vault, three contestants: everything that is measured, the contestants always in turn."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any, NamedTuple

from benchmarks import fts5
from benchmarks.measure import Failed, Run, clean_environment, median, percentile, run, run_alone

CHECKOUT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_NONE_FOUND = (0, 1)
_SOME_FAILED = (0, 1)  # a corpus may hold files that are not text


class Effort(NamedTuple):
    """How often each thing is measured."""

    cold: int
    again: int  # no-op and changed ingests
    commands: int  # searches as a whole command, of each contestant
    rounds: int  # of every query in process
    queries: int  # of the corpus's own


class Row(NamedTuple):
    """One thing that was measured; None where a contestant does not do it."""

    key: str
    what: str
    unit: str  # s | MB | KB | count
    memoria: float
    fts5: float | None = None
    rg: float | None = None


class Vault(NamedTuple):
    """A folder of notes and the places of what is made from it."""

    notes: str
    brain: str
    database: str

    @classmethod
    def below(cls, folder: str) -> "Vault":
        """Return the places below a folder, the notes' one made."""
        vault = cls.at(folder)
        os.makedirs(vault.notes)
        return vault

    @classmethod
    def at(cls, folder: str) -> "Vault":
        """Return the places below a folder."""
        return cls(*(os.path.join(folder, name) for name in ("notes", "brain", "fts5.db")))


def memoria_command() -> list[str]:
    """Return memoria as its user starts it."""
    script = os.path.join(os.path.dirname(sys.executable), "memoria")
    return [script] if os.access(script, os.X_OK) else [sys.executable, "-m", "memoria"]


def ripgrep() -> str | None:
    """Return where ripgrep is."""
    return shutil.which("rg")


def copy_notes(corpus: str, vault: Vault) -> None:
    """Copy the notes of a corpus, so that every contestant sees the same files and the corpus is not written."""
    for path, _, _ in fts5.files_below(corpus):
        target = os.path.join(vault.notes, os.path.relpath(path, corpus))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(path, target)  # not its mode: one of them is changed later


def ingest_rows(vault: Vault, effort: Effort) -> list[Row]:
    """Measure ingests: cold, with nothing to do, with one changed note; leaves both stores up to date."""
    files = fts5.files_below(vault.notes)
    for path, _, _ in files:  # from the disk into memory, so that the first contestant does not pay for all
        with open(path, "rb") as file:
            file.read()
    ingests = [
        [*memoria_command(), "--brain", vault.brain, "ingest", vault.notes, "--no-mirror", "--json"],
        [sys.executable, fts5.__file__, "ingest", vault.database, vault.notes],
    ]
    # Memory in a run of its own: watching the workers slows them by some percent, and only memoria has any.
    peaks = [_fresh(command, vault, partial(run_alone, fine=_SOME_FAILED))() for command in ingests]
    cold = in_turn([_fresh(command, vault, partial(run, fine=_SOME_FAILED)) for command in ingests], effort.cold)
    size = [_bytes_of(vault.brain), _bytes_of(vault.database)]
    told = json.loads(cold[0][-1].output)
    rows = _rows_in(vault.database)
    plain = [partial(run, command, fine=_SOME_FAILED) for command in ingests]
    noop = in_turn(plain, effort.again)
    changed: list[list[Run]] = [[], []]
    for path, _, _ in Random(1).sample(files, min(effort.again, len(files))):
        with open(path, "a", encoding="utf-8") as file:
            file.write("\nOne more sentence that was not here before.\n")
        for runs, done in zip(changed, in_turn(plain, 1, first=len(changed[0])), strict=True):
            runs.extend(done)
    return [
        Row("notes", "notes", "count", told["new"], len(files)),
        Row("atoms", "atoms, or rows", "count", told["atoms"], rows),
        Row("cold", "cold ingest", "s", *_seconds(cold)),
        Row("cpu", "cold ingest, processor time", "s", *(median([r.cpu for r in runs]) for runs in cold)),
        Row("peak", "cold ingest, peak memory", "MB", *(r.peak for r in peaks)),
        Row("peak_all", "cold ingest, with its workers", "MB", *(r.peak_all for r in peaks)),
        Row("size", "store size", "MB", *size),
        Row("noop", "no-op ingest", "s", *_seconds(noop)),
        Row("changed", "one changed note", "s", *_seconds(changed)),
    ]


def command_rows(vault: Vault, queries: list[list[str]], effort: Effort) -> list[Row]:
    """Measure searches as whole commands."""
    ways: list[Callable[[list[str]], list[str]]] = [
        lambda words: [*memoria_command(), "--brain", vault.brain, "search", *words],
        lambda words: [sys.executable, fts5.__file__, "search", vault.database, *words],
    ]
    rg = ripgrep()
    if rg:
        ways.append(lambda words: [rg, "-i", "-F", *(part for word in words for part in ("-e", word)), vault.notes])
    asked = [queries[number % len(queries)] for number in range(effort.commands)]
    for way in ways:  # the first start finds nothing in memory
        run(way(asked[0]), fine=_NONE_FOUND)
    runs: list[list[Run]] = [[] for _ in ways]
    for words in asked:
        now = [partial(run, way(words), fine=_NONE_FOUND) for way in ways]
        for found, done in zip(runs, in_turn(now, 1, first=len(runs[0])), strict=True):
            found.extend(done)
    # Not of ripgrep, which is smaller than the launcher.
    peaks = [[run_alone(way(words), fine=_NONE_FOUND).peak for words in asked[:5]] for way in ways[:2]]
    seconds = [[r.seconds for r in found] for found in runs]
    return [
        Row("search", "search as a command, p50", "s", *(percentile(values, 50) for values in seconds)),
        Row("search95", "search as a command, p95", "s", *(percentile(values, 95) for values in seconds)),
        Row("search_peak", "search as a command, peak memory", "MB", *map(max, peaks)),
    ]


def inprocess_rows(vault: Vault, queries: list[list[str]], effort: Effort) -> list[Row]:
    """Measure searches in a process that has the stores open."""
    found = _inside(["benchmarks.inprocess", vault.brain, vault.database, str(effort.rounds)], queries)
    return [
        *(
            Row(f"inside{p}", f"search in process, p{p}", "s", *(percentile(found[k], p) for k in ("memoria", "fts5")))
            for p in (50, 95)
        ),
        *(Row(f"read{p}", f"postings read per query, p{p}", "KB", percentile(found["read"], p)) for p in (50, 95)),
    ]


def activation_rows(vault: Vault, queries: list[list[str]], effort: Effort) -> list[Row]:
    """Measure activation from five seeds in a process: found, explored, shown."""
    seconds = _inside(["benchmarks.activation", vault.brain, str(effort.rounds)], queries)
    return [
        Row(f"activate{p}", f"activate, five seeds, in process, p{p}", "s", percentile(seconds, p)) for p in (50, 95)
    ]


def graph_figures(folder: str, nodes: int, edges: int) -> str:
    """Measure activation on a generated graph with hubs, beside brute force over dictionaries in memory."""
    found = _inside(["benchmarks.activation", "--graph", folder, str(nodes), str(edges)], [])
    ms = {name: f"{value * 1_000:.0f} ms" for name, value in found.items()}
    return (
        f"five seeds: p50 {ms['p50']}, p95 {ms['p95']}\n"
        f"in plain Python, the graph in memory: p50 {ms['oracle50']}, p95 {ms['oracle95']}\n"
        f"one level from a hub of {found['hub']:,.0f} edges, without a threshold: {ms['hub_level']}"
    )


def _inside(module: list[str], queries: list[list[str]]) -> Any:
    """Return what a module of ours measured in a process of its own."""
    command = [sys.executable, "-m", *module]
    done = subprocess.run(
        command,
        input=json.dumps(queries).encode(),
        capture_output=True,
        cwd=CHECKOUT,
        env=clean_environment(),
        check=False,
    )
    if done.returncode:
        raise Failed(f"{' '.join(command)}\n{done.stderr.decode(errors='replace')}")
    return json.loads(done.stdout)


def in_turn(ways: Sequence[Callable[[], Run]], times: int, first: int = 0) -> list[list[Run]]:
    """Run each way so many times, each time begun by another one, so that noise hits all alike."""
    runs: list[list[Run]] = [[] for _ in ways]
    for turn in range(first, first + times):
        for place in range(len(ways)):
            number = (turn + place) % len(ways)
            runs[number].append(ways[number]())
    return runs


def _fresh(command: list[str], vault: Vault, runner: Callable[[list[str]], Run]) -> Callable[[], Run]:
    """Return a run that begins without the store it makes."""
    store = vault.brain if vault.brain in command else vault.database

    def go() -> Run:
        if os.path.isdir(store):
            shutil.rmtree(store)
        elif os.path.exists(store):
            os.remove(store)
        return runner(command)

    return go


def _seconds(runs: list[list[Run]]) -> list[float]:
    return [median([r.seconds for r in found]) for found in runs]


def _bytes_of(store: str) -> int:
    """Return what a store takes on the disk: a folder's files, or a file with its journals."""
    place = store if os.path.isdir(store) else os.path.dirname(store)
    names = os.listdir(place)
    if place != store:
        names = [name for name in names if name.startswith(os.path.basename(store))]
    return sum(os.path.getsize(os.path.join(place, name)) for name in names)


def _rows_in(database: str) -> int:
    import sqlite3

    connection = sqlite3.connect(database)
    count: int = connection.execute("SELECT coalesce(sum(last - first + 1), 0) FROM files").fetchone()[0]
    connection.close()
    return count
