"""How long dreams take, step by step, and how much memory: python -m benchmarks.dreaming [ATOMS...].

For each size a generated vault: a full dream, a dream after one new note, and one with nothing new.
"""

import json
import os
import sys
import tempfile

from benchmarks.contest import memoria_command
from benchmarks.measure import Run, run_alone
from benchmarks.vault import write_vault

_SIZES = (5_000, 30_000)


def main(sizes: tuple[int, ...]) -> None:
    """Print a column a size."""
    columns = [measure(atoms) for atoms in sizes]
    names = list(columns[0])
    width = max(map(len, names))
    for name in names:
        print(f"{name:<{width}}  " + "  ".join(f"{column[name]:>12}" for column in columns))


def measure(atoms: int) -> dict[str, str]:
    """Measure dreams on a vault of about so many atoms."""
    with tempfile.TemporaryDirectory(prefix="memoria-bench-") as folder:
        notes, brain = os.path.join(folder, "notes"), os.path.join(folder, "brain")
        write_vault(notes, atoms)

        def memoria(*words: str) -> Run:
            return run_alone([*memoria_command(), "--brain", brain, *words])

        memoria("ingest", notes, "-q")
        status = json.loads(memoria("status", "--json").output)
        whole = memoria("dream", "--json")
        with open(os.path.join(notes, "new.md"), "w", encoding="utf-8") as file:
            file.write("# A new note\n\nIt says something, and links to [[nobody]].\n")
        memoria("ingest", notes, "-q")
        one = memoria("dream", "--json")
        none = memoria("dream", "--json")
        steps = json.loads(whole.output)["steps"]
        return {
            "atoms": f"{status['atoms']:,}",
            "notes": f"{status['sources']:,}",
            "full dream": f"{whole.seconds:.1f} s",
            **{f"  {step['step']}": f"{step['seconds']:.1f} s" for step in steps},
            "peak memory": f"{whole.peak / 1e6:.0f} MB",
            "after one note": f"{one.seconds:.2f} s",
            "nothing new": f"{none.seconds:.2f} s",
        }


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or _SIZES)
