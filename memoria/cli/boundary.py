"""Between the program and the shell: exit codes, closed pipes, interrupts, and failures told in one sentence."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn, cast

from memoria.errors import MemoriaError

INTERRUPTED = 130


def guarded(run: Callable[[], None]) -> None:
    """Run a command and end the process as its outcome demands."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the shell: >&-
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    # Names and notes hold any Unicode; a terminal that can't show a character gets a mark in its place.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.stdout = cast("Any", _Output(sys.stdout))
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


class _Output:
    """Standard output that ends the program where nobody reads it any more, whoever writes to it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write, or end."""
        return int(self._careful(self._stream.write, text) or 0)

    def flush(self) -> None:
        """Flush, or end."""
        self._careful(self._stream.flush)

    def _careful(self, act: Callable[..., Any], *args: str) -> Any:
        try:
            return act(*args)
        except BrokenPipeError:
            self._drop()
            sys.exit(0)
        except OSError as error:
            self._drop()
            raise MemoriaError(f"the output can't be written ({error.strerror})") from None

    def _drop(self) -> None:
        """Lead what is still to come to nowhere: the interpreter would complain about it at its end."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())


def complain(error: MemoriaError) -> None:
    """Tell what failed, and the way out."""
    hint = f"\n  {error.hint}" if error.hint else ""
    sys.stderr.write(f"memoria: {error}{hint}\n")


def leave(code: int) -> None:
    """Exit with a code."""
    sys.exit(code)


def vanish() -> NoReturn:
    """End well, and at once: taking the interpreter down in good order would cost a search 3 ms."""
    sys.stdout.flush()
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(0)


def emit(text: str) -> None:
    """Write data to stdout."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
