"""Runs commands as processes, and says how long they took and how much memory they had.

Run as a file it is a launcher: a process begins with its parent's peak memory, so memory is measured below a parent
that is smaller than anything that is measured. That is why nothing large is imported here.
"""

import json
import os
import sys
import time
from threading import Event, Thread
from typing import NamedTuple

_SAMPLE_SECONDS = 0.02
_DROPPED = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONPROFILEIMPORTTIME", "PYTHONDEVMODE")


class Failed(Exception):  # noqa: N818
    """A command that is measured ended badly."""


class Run(NamedTuple):
    """What a command took."""

    seconds: float
    output: bytes
    cpu: float = 0.0  # seconds of all processors, workers included
    peak: int = 0  # bytes, of the process itself
    peak_all: int = 0  # bytes, of the process and the workers below it, pages that they share counted once


def run(command: list[str], *, fine: tuple[int, ...] = (0,), memory: bool = False) -> Run:
    """Run a command to its end, its output read through a pipe.

    Raises:
        Failed: it ended with a code that is not in `fine`.

    """
    output, complaints = _Pipe(), _Pipe()
    nothing = os.open(os.devnull, os.O_RDONLY)
    actions = [
        (os.POSIX_SPAWN_DUP2, nothing, 0),
        (os.POSIX_SPAWN_DUP2, output.writing, 1),
        (os.POSIX_SPAWN_DUP2, complaints.writing, 2),
    ]
    environment = clean_environment()
    began = time.perf_counter()
    pid = os.posix_spawn(command[0], command, environment, file_actions=actions)
    for end in (nothing, output.writing, complaints.writing):
        os.close(end)
    sampler = _Sampler(pid) if memory else None
    # Beside the output: who complains much must not wait for somebody to read it.
    listener = Thread(target=complaints.drain, daemon=True)
    listener.start()
    output.drain()
    _, status, usage = os.wait4(pid, 0)
    seconds = time.perf_counter() - began
    listener.join()
    if sampler:
        sampler.stop()
    code = os.waitstatus_to_exitcode(status)
    if code not in fine:
        raise Failed(f"{' '.join(command)}\nended with {code}:\n{complaints.data.decode(errors='replace')}")
    rusage_peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    # The kernel's figure is of the largest process of the tree, which is the main one where there are no workers.
    peak = sampler.peak if sampler and sampler.workers and sampler.peak else rusage_peak
    return Run(
        seconds, output.data, usage.ru_utime + usage.ru_stime, peak, max(peak, sampler.peak_all) if sampler else peak
    )


def run_alone(command: list[str], *, fine: tuple[int, ...] = (0,)) -> Run:
    """Run a command below a launcher of its own, so that its memory can be told."""
    launched = run([sys.executable, "-I", "-S", __file__, json.dumps([command, fine])])
    seconds, output, *amounts = json.loads(launched.output)
    return Run(seconds, output.encode(), *amounts)


def clean_environment() -> dict[str, str]:
    """Return the environment without what makes Python start slowly, or memoria behave as its user likes."""
    return {
        name: value for name, value in os.environ.items() if name not in _DROPPED and not name.startswith("MEMORIA_")
    }


def percentile(values: list[float], percent: float) -> float:
    """Return the value that `percent` of the values do not exceed, between neighbours where it lies there."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def median(values: list[float]) -> float:
    """Return the value in the middle."""
    return percentile(values, 50)


class _Pipe:
    """A pipe that a command writes into."""

    def __init__(self) -> None:
        self.reading, self.writing = os.pipe()
        self.data = b""

    def drain(self) -> None:
        chunks = []
        while chunk := os.read(self.reading, 1 << 20):
            chunks.append(chunk)
        os.close(self.reading)
        self.data = b"".join(chunks)


class _Sampler:
    """Looks at a process and the workers below it, every now and then (Linux)."""

    def __init__(self, pid: int) -> None:
        self.peak = 0
        self.peak_all = 0
        self.workers = False
        self._pid = pid
        self._ended = Event()
        self._thread = Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(_SAMPLE_SECONDS):
            self.peak = max(self.peak, _kilobytes(f"/proc/{self._pid}/status", b"VmHWM:") * 1024)
            tree = _tree(self._pid)
            if len(tree) > 1:
                self.workers = True
                total = sum(_kilobytes(f"/proc/{pid}/smaps_rollup", b"Pss:") for pid in tree)
                self.peak_all = max(self.peak_all, total * 1024)


def _tree(pid: int) -> list[int]:
    found = [pid]
    for parent in found:  # grows as it goes
        try:
            threads = os.listdir(f"/proc/{parent}/task")
        except OSError:
            continue
        for thread in threads:
            try:
                with open(f"/proc/{parent}/task/{thread}/children", "rb") as file:
                    found += map(int, file.read().split())
            except OSError:
                continue
    return found


def _kilobytes(path: str, name: bytes) -> int:
    try:
        with open(path, "rb") as file:
            return next((int(line.split()[1]) for line in file if line.startswith(name)), 0)
    except OSError:
        return 0


def _launch() -> None:
    command, fine = json.loads(sys.argv[1])
    try:
        done = run(command, fine=tuple(fine), memory=True)
    except Failed as error:
        sys.exit(str(error))
    json.dump(done._replace(output=done.output.decode(errors="replace")), sys.stdout)  # type: ignore[arg-type]


if __name__ == "__main__":
    _launch()
