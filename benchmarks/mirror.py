"""The mirror beside a plain script that writes the same bytes after rm -rf."""

import json
import os
import sys
from functools import partial
from random import Random
from typing import NamedTuple

from benchmarks import plain_mirror
from benchmarks.contest import Effort, Vault, in_turn, memoria_command
from benchmarks.fts5 import files_below
from benchmarks.measure import Run, median, run, run_alone
from benchmarks.report import aligned, shown


class MirrorRow(NamedTuple):
    """One thing that was measured of the mirror."""

    what: str
    amount: str
    plain: str = ""
    ratio: str = ""
    target: str = ""


def mirror_rows(vault: Vault, effort: Effort) -> list[MirrorRow]:
    """Measure full builds, a sync after one changed note, one with nothing to do, memory and size."""
    folder = os.path.join(vault.brain, "mirrored_brain")
    archive, other = vault.database + ".mirror", vault.database + ".plain"
    sync = [*memoria_command(), "--brain", vault.brain, "mirror", "--json"]
    ingest = [*memoria_command(), "--brain", vault.brain, "ingest", vault.notes, "--no-mirror", "--json"]
    run(sync)
    plain_mirror.pack(folder, archive)
    plain = [sys.executable, plain_mirror.__file__, "write", archive, other]
    run(plain)
    ways = [partial(run, [*sync, "--full"]), partial(run, plain)]
    full, written = in_turn(ways, effort.cold)
    noop = [run(sync) for _ in range(effort.again)]
    changed = []
    for path, _, _ in Random(2).sample(files_below(vault.notes), effort.again):
        with open(path, "a", encoding="utf-8") as file:
            file.write("\nOne more sentence for the mirror.\n")
        run(ingest)
        changed.append(run(sync))
    peak = run_alone([*sync, "--full"]).peak
    size = sum(os.path.getsize(os.path.join(place, name)) for place, _, names in os.walk(folder) for name in names)
    notes = sum(length for _, _, length in files_below(vault.notes))
    told = json.loads(full[-1].output)
    best, best_plain = (min(r.seconds for r in runs) for runs in (full, written))
    cpu, cpu_plain = (median([r.cpu for r in runs]) for runs in (full, written))
    middle, middle_plain = (median([r.seconds for r in runs]) for runs in (full, written))
    share = median(_own_seconds(changed)) / median(_own_seconds(full))
    idle = median([r.seconds for r in noop])
    return [
        MirrorRow("files", f"{told['written']:,}"),
        _against("full build, median", middle, middle_plain),
        _against("full build, best", best, best_plain),
        _against("full build, processor time", cpu, cpu_plain),
        MirrorRow(
            "one changed note, share of the full build",
            f"{share:.1%}",
            target=f"5%: {'ok' if share <= 0.05 else 'OVER'}",
        ),
        MirrorRow("one changed note, the sync itself", shown(median(_own_seconds(changed)), "s")),
        MirrorRow("nothing to do, as a command", shown(idle, "s"), target=f"200 ms: {'ok' if idle <= 0.2 else 'OVER'}"),
        MirrorRow("nothing to do, the sync itself", shown(median(_own_seconds(noop)), "s")),
        MirrorRow("peak memory of a full build", shown(peak, "MB")),
        MirrorRow(
            "mirror bytes / note bytes", f"{size / notes:.2f}", target=f"{shown(size, 'MB')} / {shown(notes, 'MB')}"
        ),
    ]


def mirror_table(rows: list[MirrorRow]) -> str:
    """Return a vault's table."""
    return aligned([["mirror", "memoria", "plain script", "x plain", "target"], *map(list, rows)])


def _against(what: str, amount: float, other: float) -> MirrorRow:
    ratio = amount / other
    return MirrorRow(
        what, shown(amount, "s"), shown(other, "s"), f"{ratio:.2f}x", f"2x: {'ok' if ratio <= 2 else 'OVER'}"
    )


def _own_seconds(runs: list[Run]) -> list[float]:
    return [json.loads(r.output)["seconds"] for r in runs]
