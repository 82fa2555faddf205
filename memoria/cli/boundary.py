"""Between the program and the shell: exit codes, closed pipes, interrupts, and failures told in one sentence."""

import os
import sys
from collections.abc import Callable

from memoria.errors import MemoriaError

INTERRUPTED = 130


def guarded(run: Callable[[], None]) -> None:
    """Run a command and end the process as its outcome demands."""
    # Names and notes hold any Unicode; a terminal that can't show a character gets a mark in its place.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            run()
        finally:
            sys.stdout.flush()
    except MemoriaError as error:
        complain(error)
        leave(error.exit_code)
    except BrokenPipeError:
        leave(0)
    except KeyboardInterrupt:
        sys.stderr.write("memoria: interrupted\n")
        leave(INTERRUPTED)


def complain(error: MemoriaError) -> None:
    """Tell what failed, and the way out."""
    hint = f"\n  {error.hint}" if error.hint else ""
    sys.stderr.write(f"memoria: {error}{hint}\n")


def leave(code: int) -> None:
    """Exit, even where the reader of our output is gone."""
    try:
        sys.stdout.flush()
    except OSError:
        # The interpreter would try once more at its end, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def emit(text: str) -> None:
    """Write data to stdout; where nobody reads it any more, end quietly."""
    try:
        sys.stdout.write(text)
        if not text.endswith("\n"):
            sys.stdout.write("\n")
    except BrokenPipeError:
        leave(0)
