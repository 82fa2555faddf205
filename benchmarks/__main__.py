"""The command: python -m benchmarks [--quick] [CORPUS [QUERIES]]."""

import argparse
import compileall
import os
import sys
import tempfile
from random import Random

from benchmarks.contest import (
    CHECKOUT,
    Effort,
    Row,
    Vault,
    activation_rows,
    command_rows,
    copy_notes,
    graph_figures,
    ingest_rows,
    inprocess_rows,
    memoria_command,
    ripgrep,
)
from benchmarks.measure import Failed, median, run
from benchmarks.mirror import mirror_rows, mirror_table
from benchmarks.queries import own_queries, queries_in
from benchmarks.report import growth, table
from benchmarks.vault import write_vault

_SMALL = 1_000
_SIZES = (_SMALL, 10_000, 100_000)
_QUICK_SIZES = (_SMALL, 5_000)
_GRAPH = (100_000, 1_000_000)
_QUICK_GRAPH = (10_000, 100_000)
_THOROUGH = Effort(cold=5, again=9, commands=60, rounds=3, queries=100)
_QUICK = Effort(cold=3, again=3, commands=15, rounds=1, queries=30)


def main() -> None:
    """Measure a corpus, or generated vaults of several sizes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("corpus", nargs="?", help="a folder of notes; none: generated vaults of several sizes")
    parser.add_argument("queries", nargs="?", help="a JSON list of queries, asked besides the corpus's own titles")
    parser.add_argument("--quick", action="store_true", help="small vaults and few repetitions")
    given = parser.parse_args()
    if given.corpus and not os.path.isdir(given.corpus):
        parser.error(f"there is no folder {given.corpus}")
    effort = _QUICK if given.quick else _THOROUGH
    # Without bytecode, every start would compile memoria anew.
    compileall.compile_dir(os.path.join(CHECKOUT, "memoria"), quiet=1)
    _print_conditions(effort)
    with tempfile.TemporaryDirectory(prefix="memoria-bench-") as folder:
        if given.corpus:
            rows = _measure_corpus(folder, given.corpus, given.queries, effort)
            print(f"\n{os.path.basename(os.path.abspath(given.corpus))}\n\n{table(rows)}", flush=True)
            print(f"\n{mirror_table(mirror_rows(Vault.at(os.path.join(folder, 'corpus')), effort))}")
        else:
            vaults = []
            for atoms in _QUICK_SIZES if given.quick else _SIZES:
                vaults.append(_measure_generated(os.path.join(folder, str(atoms)), atoms, effort))
                print(f"\ngenerated, about {atoms:,} atoms\n\n{table(vaults[-1])}", flush=True)
                _say("the mirror")
                print(f"\n{mirror_table(mirror_rows(Vault.at(os.path.join(folder, str(atoms))), effort))}", flush=True)
            print(f"\ngrowth\n\n{growth(vaults)}")
            _say("activation on a graph with hubs")
            nodes, edges = _QUICK_GRAPH if given.quick else _GRAPH
            print(f"\nactivation on a generated graph of {nodes:,} nodes and {edges:,} edges")
            print(graph_figures(folder, nodes, edges))
    print()
    _print_load("after, this run included")


def _print_conditions(effort: Effort) -> None:
    bare = median([run([sys.executable, "-c", "pass"]).seconds for _ in range(10)])
    rg = ripgrep()
    print(f"memoria as {' '.join(os.path.basename(part) for part in memoria_command())}")
    print(
        f"Python {sys.version.split()[0]}, which takes {bare * 1000:.0f} ms to start: both Python contestants pay that"
    )
    if rg:
        print(f"{run([rg, '--version']).output.decode().splitlines()[0]}: rg -i -F -e WORD ... over the same files")
    else:
        print("rg is not installed: its column is empty")
    print(
        f"medians of {effort.cold} cold and {effort.again} other ingests; {effort.commands} searches as a command; "
        f"files are in the page cache"
    )
    print("peak memory is of the process; with its workers, shared pages are counted once (PSS, every 20 ms)")
    _print_load("before")


def _print_load(when: str) -> None:
    """Say how busy the machine is: memoria's ingest uses all processors, so that others slow it most."""
    print(f"load average {when}: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors", flush=True)


def _measure_corpus(folder: str, corpus: str, given_queries: str | None, effort: Effort) -> list[Row]:
    vault = Vault.below(os.path.join(folder, "corpus"))
    copy_notes(corpus, vault)
    queries = own_queries(vault.notes, effort.queries)
    if given_queries:
        queries += queries_in(given_queries)
        Random(1).shuffle(queries)  # so that the commands, which ask the first of them, ask a fair sample
    if not queries:
        raise Failed(f"{corpus} has no titles or headings to ask for, or no notes")
    rows = _measure(vault, queries, effort)
    small = Vault.below(os.path.join(folder, "small"))
    write_vault(small.notes, _SMALL)
    ingest_rows(small, effort._replace(cold=1, again=1))
    found = command_rows(small, own_queries(small.notes, effort.queries), effort)[0]
    return [*rows, found._replace(key="small_search", what=f"command on {_SMALL:,} generated atoms, p50")]


def _measure_generated(folder: str, atoms: int, effort: Effort) -> list[Row]:
    vault = Vault.below(folder)
    write_vault(vault.notes, atoms)
    return _measure(vault, own_queries(vault.notes, effort.queries), effort)


def _measure(vault: Vault, queries: list[list[str]], effort: Effort) -> list[Row]:
    _say("ingest")
    rows = ingest_rows(vault, effort)
    _say("search as a command")
    rows += command_rows(vault, queries, effort)
    _say("search in process")
    rows += inprocess_rows(vault, queries, effort)
    _say("activation")
    return rows + activation_rows(vault, queries, effort)


def _say(what: str) -> None:
    print(f"measuring {what} ...", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        main()
    except Failed as error:
        sys.exit(str(error))
