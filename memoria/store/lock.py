"""The write lock: one writer at a time, and its name is known."""

import os
import sys
import time
from contextlib import suppress
from types import TracebackType
from typing import Self

from memoria.errors import StoreBusyError, StoreError

_GRACE = 0.02  # whoever only asks who writes holds the lock for less
_NAMELESS = 1.0  # a writer's name is there a moment after it has the lock

if sys.platform == "win32":
    import msvcrt

    _FAR = 1 << 30  # Windows forbids reading a locked byte: lock one that holds no text

    def _try_lock(fd: int) -> bool:
        os.lseek(fd, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


class WriteLock:
    """An exclusive lock beside the store. It ends with the process that holds it, however that ends."""

    def __init__(self, store_path: str, wait: float) -> None:
        self._store_path = store_path
        self._path = store_path + ".lock"
        self._wait = wait
        self._fd = -1

    def __enter__(self) -> Self:
        """Take the lock.

        Raises:
            StoreBusyError: another process holds it, and still does after the wait.

        """
        try:
            self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise StoreError(
                f"{os.path.dirname(self._path)} can't be written to ({error.strerror})",
                hint="check its permissions, or name another brain with --brain",
            ) from error
        deadline = time.monotonic() + max(self._wait, _GRACE)
        while not _try_lock(self._fd):
            late = time.monotonic() - deadline
            holder = self._holder() if late >= 0 else ""
            if holder or late >= _NAMELESS:
                os.close(self._fd)
                raise StoreBusyError(self._store_path, holder or "another process")
            time.sleep(min(0.05, self._wait / 2 + 0.002))
        command = " ".join([os.path.basename(sys.argv[0]), *sys.argv[1:]])[:200].replace("\n", " ")
        os.lseek(self._fd, 0, os.SEEK_SET)
        os.ftruncate(self._fd, 0)
        with suppress(OSError):  # a full disk: the lock holds without a name, too
            os.write(self._fd, f"{os.getpid()} {command}\n".encode("utf-8", "replace"))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Give the lock back. The file stays: removing it would let two processes hold "the" lock."""
        os.ftruncate(self._fd, 0)
        os.close(self._fd)

    def _holder(self) -> str:
        text = os.pread(self._fd, 400, 0) if hasattr(os, "pread") else os.read(self._fd, 400)
        pid, _, command = text.decode("utf-8", "replace").strip().partition(" ")
        return f"process {pid} ({command})" if pid else ""


def holder_of(store_path: str) -> str:
    """Return who holds the lock right now, or ""."""
    try:
        fd = os.open(store_path + ".lock", os.O_RDWR)
    except OSError:
        return ""
    try:
        if _try_lock(fd):
            return ""
        return os.read(fd, 400).decode("utf-8", "replace").strip()
    finally:
        os.close(fd)
