"""The one door to CozoDB: opens it, runs named scripts, turns its failures into ours."""

import os
import time
from _thread import allocate_lock  # what threading.Lock is; importing threading would cost every search 1 ms
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from memoria.errors import StoreDamagedError, StoreError, StoreMissingError
from memoria.store.scripts import script

_HEADER = b"SQLite format 3\x00"
_TABLE = b"CREATE TABLE cozo"  # on the first page; the engine would add it to the file of another program
_BUSY_WAITS = tuple(0.025 * (1 + attempt / 4) for attempt in range(40))  # seconds

_open_paths: dict[str, int] = {}  # path -> how many engines of this process have it open

Row = Any  # a list with one value a column: what they are, the script says


class Engine:
    """An open store."""

    def __init__(self, path: str, *, in_memory: bool = False) -> None:
        """Open a store that exists.

        Raises:
            StoreMissingError: there is none.
            StoreDamagedError: the file is not a store.

        """
        self.path = path
        if in_memory:
            self._db = _cozo("mem", "")
            return
        # Closing any descriptor of a file drops all locks that this process has on it, those of an engine that is
        # open already among them: another process would take its log away.
        if path not in _open_paths:
            _check_header(path)
        self._db = _opened(path)
        _open_paths[path] = _open_paths.get(path, 0) + 1

    def read(self, name: str, waits: Sequence[float] = _BUSY_WAITS, /, **params: Any) -> list[Row]:
        """Run a script that only reads, and return its rows; while the store is busy, try again after these waits."""
        for wait in waits:
            try:
                return self._run(script(name), params, read_only=True)
            except _BusyError:
                time.sleep(wait)
        raise StoreError(f"{self.path} could not be read while another process writes it", hint="try again")

    def write(self, name: str, /, **params: Any) -> list[Row]:
        """Run a script that writes, as a whole or not at all, and return its rows."""
        try:
            return self._run(script(name), params, read_only=False)
        except _BusyError as error:
            raise StoreError(f"{self.path} is locked by a program that is not memoria ({error})") from error

    def write_text(self, text: str, **params: Any) -> list[Row]:
        """Run a script that was put together from files: the schema and its migrations."""
        return self._run(text, params, read_only=False)

    def holds_nothing(self) -> bool:
        """Tell whether no relation is in the store."""
        return not self._run("::relations", {}, read_only=True)

    def backup(self, target: str) -> None:
        """Write a copy that can be opened as a store."""
        with _translated(self.path):
            self._db.backup(target)

    def close(self) -> None:
        """Close the store."""
        self._db.close()
        left = _open_paths.pop(self.path, 1) - 1
        if left > 0:
            _open_paths[self.path] = left

    def _run(self, text: str, params: dict[str, Any], *, read_only: bool) -> list[Row]:
        with _translated(self.path), _quiet_panics():
            rows: list[Row] = self._db.run_script(text, params, read_only)["rows"]
            return rows


class _BusyError(Exception):
    pass


def _cozo(engine: str, path: str) -> Any:
    # Not through pycozo.client: the same engine, and its import adds 7 ms to every search.
    from cozo_embedded import CozoDbPy

    return CozoDbPy(engine, path, "{}")


def create_file(path: str) -> Engine:
    """Make an empty store file, and open it. WAL lets readers read while a writer writes, and stays set."""
    engine = Engine.__new__(Engine)
    engine.path = path
    with _translated(path), _quiet_panics():
        engine._db = _cozo("sqlite", path)  # noqa: SLF001
        engine.close()
    import sqlite3

    connection = sqlite3.connect(path)
    try:
        connection.execute("pragma journal_mode = wal")
    except sqlite3.OperationalError as error:
        raise StoreError(f"{path} can't be made ({error})", hint="free some space and run it again") from error
    finally:
        connection.close()
    return Engine(path)


def _check_header(path: str) -> None:
    try:
        with open(path, "rb") as file:
            page = file.read(4_096)
    except FileNotFoundError:
        raise StoreMissingError(os.path.dirname(path)) from None
    except OSError as error:
        raise StoreError(f"{path} can't be read ({error.strerror})") from error
    if not page.startswith(_HEADER) or _TABLE not in page:
        raise StoreDamagedError(path, "it does not begin as one" if page else "it is empty")


def _opened(path: str) -> Any:
    """Open the file. While another process commits, the engine may panic; a moment later it does not."""
    for wait in _BUSY_WAITS:
        try:
            with _translated(path), _quiet_panics():
                return _cozo("sqlite", path)
        except _BusyError:
            time.sleep(wait)
    raise StoreError(f"{path} could not be opened while another process writes it", hint="try again")


@contextmanager
def _translated(path: str) -> Iterator[None]:
    """Turn every failure of the engine into one of ours."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException" and not _is_cozo_error(error):
            raise
        message = _message(error)
        low = message.lower()
        if "locked" in low or "busy" in low:
            raise _BusyError(message) from None
        if "code: some(26)" in low or "malformed" in low or "not a database" in low or "code: some(11)" in low:
            raise StoreDamagedError(path, "the file is broken") from None
        if "readonly" in low or "read-only database" in low or "code: some(8)" in low or "unable to open" in low:
            raise StoreError(
                f"{path} can't be written to, and the engine needs that even to read",
                hint="check the permissions of the brain's folder, or copy the brain elsewhere",
            ) from None
        if "disk is full" in low or "code: some(13)" in low or "disk i/o" in low:
            raise StoreError(
                f"{path}: the disk is full; nothing of this batch was written", hint="free some space and run it again"
            ) from None
        if type(error).__name__ == "PanicException" or "deserialize" in low or "un-versioned" in low:
            raise StoreDamagedError(path, "its contents are broken") from None
        raise StoreError(f"the store failed: {message}") from None


def _is_cozo_error(error: BaseException) -> bool:
    return type(error) is Exception and bool(error.args) and isinstance(error.args[0], (dict, str))


def _message(error: BaseException) -> str:
    detail = error.args[0] if error.args else type(error).__name__
    if isinstance(detail, dict):
        return "; ".join([str(detail.get("message", "")), *map(str, detail.get("causes", ()))])
    return str(detail)


class _Silence:
    """Standard error, while any thread is in the engine: saved by the first that comes, restored by the last to go."""

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._inside = 0
        self._saved: int | None = None

    def begin(self) -> None:
        """Lead standard error to nowhere."""
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                try:
                    self._saved = os.dup(2)
                except OSError:  # closed
                    return
                os.dup2(_null(), 2)

    def end(self) -> None:
        """Lead it back."""
        with self._lock:
            self._inside -= 1
            if not self._inside and self._saved is not None:
                os.dup2(self._saved, 2)
                os.close(self._saved)
                self._saved = None


_silence = _Silence()


@contextmanager
def _quiet_panics() -> Iterator[None]:
    """Hold back what the engine itself prints when it panics: the failure is told by us, in one sentence."""
    _silence.begin()
    try:
        yield
    finally:
        _silence.end()


@cache
def _null() -> int:
    return os.open(os.devnull, os.O_WRONLY)
