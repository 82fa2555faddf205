"""The prompt of `memoria search` without a query: one question after the other."""

import os
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any

from memoria import config
from memoria.cli.boundary import complain
from memoria.cli.session import Session
from memoria.errors import MemoriaError
from memoria.model import Answer
from memoria.store import Store

PROMPT = "search> "
HELP = """\
WORDS       search, as on the command line: "a phrase", -word, tag:x, bucket:y, path:z, after:2025
o N         open hit N of the last answer in $EDITOR, at its line
?           this help
q, Ctrl-D   leave; Ctrl-C clears the line
To search for one of these, quote it: "q"."""
MOST_REMEMBERED = 1_000  # lines of history


def converse(session: Session, ask: Callable[[Store, str], Answer], open_hit: Callable[[Answer, int], None]) -> None:
    """Answer queries until the person leaves."""
    remember = _history()
    sys.stdin.reconfigure(errors="replace")  # type: ignore[union-attr]
    last: Answer | None = None
    with closing(_Freshest(session)) as freshest:
        session.talk(f"searching {session.brain.folder}; ? helps, Ctrl-D leaves")
        while True:
            try:
                line = input(PROMPT).strip()
            except KeyboardInterrupt:
                sys.stdout.write("\n")
                continue
            except EOFError:
                sys.stdout.write("\n")
                return
            if line == "q":
                return
            if not line:
                continue
            remember()
            command, _, rest = line.partition(" ")
            try:
                if line == "?":
                    session.talk(HELP)
                elif command == "o" and (not rest or rest.strip().isdecimal()):
                    open_hit(last, int(rest or 1)) if last else session.talk("search first, then open a hit")
                else:
                    last = ask(freshest.store(), line)
            except KeyboardInterrupt:
                session.talk("interrupted")
            except MemoriaError as error:
                complain(error)


class _Freshest:
    """The store, open for the whole conversation; every query sees its newest state, whoever wrote it."""

    def __init__(self, session: Session) -> None:
        self._path = session.brain.store_path
        self._open()

    def _open(self) -> None:
        self._store = Store.open(self._path)
        self._file = self._identity()

    def close(self) -> None:
        """Close the store."""
        self._store.close()
        self._file = None

    def store(self) -> Store:
        """Return the store; opened again where another file has taken its place."""
        if self._file is None or self._identity() != self._file:
            self.close()
            self._open()
        return self._store

    def _identity(self) -> tuple[int, int] | None:
        try:
            status = os.stat(self._path)
        except OSError:
            return None
        return status.st_dev, status.st_ino


def _history() -> Callable[[], None]:
    """Bring back the lines of earlier prompts; return what remembers the newest one. Neither ever fails."""
    try:
        import readline
    except ImportError:  # Windows: lines without history
        return lambda: None
    path = os.path.join(config.user_state(), "search_history")
    readline.set_history_length(MOST_REMEMBERED)
    with suppress(OSError):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        readline.read_history_file(path)

    def remember() -> None:
        # Line by line: a terminal that is closed, or a second prompt, takes nothing away.
        append: Any = getattr(readline, "append_history_file", None)
        with suppress(OSError):
            append(1, path) if append else readline.write_history_file(path)

    return remember
