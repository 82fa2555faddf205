"""Use, noted without a lock: a line appended beside the store, and folded in by the next writer."""

import os
from collections.abc import Iterable
from contextlib import suppress

LISTED, OPENED = "listed", "opened"
_MOST_KEYS = 200  # a line stays below what is written in one piece


def note(store_path: str, what: str, keys: Iterable[str], now: float) -> None:
    """Note that atoms were listed or opened. Never waits and never fails: what can't be noted is lost."""
    line = f"{int(now)} {what} {' '.join(list(keys)[:_MOST_KEYS])}\n"
    with suppress(OSError):
        log = os.open(store_path + ".used", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(log, line.encode())
        finally:
            os.close(log)


def take(store_path: str) -> str:
    """Put the log aside, under a name that no retrieval writes to, and return it, or ""; under the write lock."""
    aside = store_path + ".used.folding"
    with suppress(OSError):
        if not os.path.exists(aside):
            os.replace(store_path + ".used", aside)
    return aside if os.path.exists(aside) else ""


def read(path: str) -> tuple[str, list[tuple[int, str, list[str]]]]:
    """Return what identifies a log, and its (when, what, keys); a line that is not one is passed over."""
    uses = []
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            data = file.read()
    except OSError:
        return "", []
    for line in data.decode("ascii", "replace").splitlines():
        when, _, rest = line.partition(" ")
        what, _, keys = rest.partition(" ")
        if when.isdigit() and len(when) < 12 and what in (LISTED, OPENED):  # noqa: PLR2004 - seconds
            uses.append((int(when), what, keys.split()))
    return f"{status.st_ino}:{status.st_size}:{data[:10].decode('ascii', 'replace')}", uses


def drop(path: str) -> None:
    """Remove a log that has been folded in."""
    with suppress(OSError):
        os.remove(path)
