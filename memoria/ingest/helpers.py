"""Processes that read, parse and analyze notes beside the process that writes.

A helper takes its jobs from a file on its standard input, and writes what became of them to its standard output. It
shares no terminal signals with the writer, which decides when to stop; and it ends when the writer is gone, since then
nobody reads its output.
"""

import os
import pickle
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING

from memoria.errors import MemoriaError

if TYPE_CHECKING:
    from queue import Queue

    from memoria.ingest.prepare import Done, Job

_AHEAD = 2  # results that a helper holds until they are fetched
_START = "import sys; sys.path[:] = sys.argv[1:]; from memoria.ingest.helpers import serve; serve()"
_SIZE = struct.Struct("<Q")


def work_beside(chunks: Sequence["list[Job]"], count: int) -> "Iterator[Done]":
    """Let `count` helpers work on the chunks; yield what became of them, in order."""
    helpers = [_started(chunks[number::count]) for number in range(count)]
    try:
        for number in range(len(chunks)):
            yield _result(helpers[number % count])
    finally:
        for helper in helpers:
            helper.kill()
            helper.communicate()


def _started(chunks: "Sequence[list[Job]]") -> "subprocess.Popen[bytes]":
    import tempfile

    # Not -m: that would look into the current folder, which is the user's.
    command = [sys.executable, "-P", "-c", _START, *sys.path]
    own_group: dict[str, int] = {"creationflags": 0x200} if sys.platform == "win32" else {"process_group": 0}
    with tempfile.TemporaryFile() as jobs:
        for chunk in chunks:
            pickle.dump(chunk, jobs, pickle.HIGHEST_PROTOCOL)
        jobs.seek(0)
        return subprocess.Popen(command, stdin=jobs, stdout=subprocess.PIPE, **own_group)  # type: ignore[call-overload,no-any-return] # noqa: S603


def _result(helper: "subprocess.Popen[bytes]") -> "Done":
    stream: IO[bytes] = helper.stdout  # type: ignore[assignment]
    head = stream.read(_SIZE.size)
    data = stream.read(_SIZE.unpack(head)[0]) if head else b""
    if not data:
        raise MemoriaError(
            f"a process that reads notes ended unexpectedly (exit code {helper.wait()})",
            hint="run it again: what was ingested so far is kept",
        )
    done: Done = pickle.loads(data)  # noqa: S301 - from our own process
    return done


def serve() -> None:
    """Be a helper: work on the jobs that standard input holds."""
    import gc
    from queue import Queue
    from threading import Thread

    from memoria.ingest.prepare import work

    gc.disable()  # parsing makes no cycles
    results: Queue[bytes] = Queue(_AHEAD)
    Thread(target=_send, args=(results,), daemon=True).start()
    while True:
        try:
            jobs = pickle.load(sys.stdin.buffer)  # noqa: S301 - from our own process
        except EOFError:
            break
        done = work(jobs)
        done.batch.index.pack()
        results.put(pickle.dumps(done, pickle.HIGHEST_PROTOCOL))
    results.put(b"")
    results.join()


def _send(results: "Queue[bytes]") -> None:
    """Hand results over as fast as they are taken; end the process where nobody takes them any more."""
    try:
        while data := results.get():
            for part in (_SIZE.pack(len(data)), data):
                sys.stdout.buffer.write(part)
            sys.stdout.buffer.flush()
            results.task_done()
        results.task_done()
    except OSError:
        os._exit(1)
