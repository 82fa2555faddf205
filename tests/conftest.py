"""What the tests share: real brains, real files, real processes."""

import contextlib
import os
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple, Self

import pytest
from hypothesis import HealthCheck, settings

from memoria.store.writer import StoreWriter

CHECKOUT = Path(__file__).parent.parent
NOTES = CHECKOUT / "fixtures" / "notes"
PATIENCE = 300  # seconds: a command that takes longer hangs

# Machines are noisy and CI is short of time: as many examples as find things, without a clock.
settings.register_profile("memoria", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("memoria")


class Ran(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


class Shell:
    """Runs the real command in a folder of its own, with a brain of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.brain = folder / "brain"
        self.env = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("MEMORIA_", "FORCE_COLOR"))},
            "MEMORIA_BRAIN": str(self.brain),
            "NO_COLOR": "1",
            "PYTHONPATH": str(CHECKOUT),
            "PYTHONUTF8": "1",
            "HOME": str(folder / "home"),
            "XDG_DATA_HOME": str(folder / "home" / "data"),
            "XDG_STATE_HOME": str(folder / "home" / "state"),
        }

    @property
    def command(self) -> list[str]:
        """The command, as this Python runs it."""
        return [sys.executable, "-m", "memoria"]

    def run(self, *args: str, stdin: str | bytes = b"", **env: str) -> Ran:
        """Run memoria and wait for its end."""
        data = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            [*self.command, *args],
            input=data,
            capture_output=True,
            cwd=self.folder,
            env={**self.env, **env},
            timeout=PATIENCE,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))

    def ok(self, *args: str, stdin: str | bytes = b"", **env: str) -> str:
        """Run memoria, expect success, and return what it printed."""
        ran = self.run(*args, stdin=stdin, **env)
        assert ran.code == 0, ran
        return ran.out

    def start(self, *args: str) -> subprocess.Popen[bytes]:
        """Start memoria and go on."""
        return subprocess.Popen(
            [*self.command, *args],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.folder,
            env=self.env,
        )

    def terminal(self, *args: str, **env: str) -> "Terminal":
        """Start memoria on a terminal of its own."""
        return Terminal([*self.command, *args], self.folder, {**self.env, "TERM": "xterm", **env})

    def write(self, name: str, text: str | bytes) -> Path:
        """Write a file below the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path


# Makes the terminal at its stdin its own, so that Ctrl-C reaches it, and becomes the command.
_ON_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x1b\x07]*(?:\x07|\x1b\\))")


class Terminal:
    """A process on a real terminal: type, and read the screen."""

    def __init__(self, command: list[str], folder: Path, env: dict[str, str]) -> None:
        self._fd, theirs = os.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", _ON_TERMINAL, *command],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=folder,
            env=env,
            start_new_session=True,
        )
        os.close(theirs)
        self.screen = ""
        self._seen = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._fd)

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._fd, text.encode())

    def until(self, text: str, press: str = "") -> str:
        """Wait until something new is on the screen; return what came. `press` keys until then, as people do."""
        deadline = time.monotonic() + PATIENCE
        self.type(press)
        while (place := self.screen.find(text, self._seen)) < 0:
            assert time.monotonic() < deadline, self.screen[self._seen :]
            if not self._read(1.0):
                assert self.process.poll() is None, self.screen[self._seen :]
                self.type(press)
        came = self.screen[self._seen : place + len(text)]
        self._seen = place + len(text)
        return came

    def end(self) -> int:
        """Wait for its end; return its exit code."""
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.screen
            self._read(0.2)
        while self._read(0):
            pass
        return self.process.returncode

    def _read(self, patience: float) -> bool:
        data = b""
        if select.select([self._fd], [], [], patience)[0]:
            with contextlib.suppress(OSError):  # Linux says so when the other side is closed
                data = os.read(self._fd, 65_536)
        self.screen += _ESCAPES.sub("", data.decode("utf-8", "replace").replace("\r\n", "\n"))
        return bool(data)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell in an empty folder."""
    return Shell(tmp_path)


@pytest.fixture
def vault(shell: Shell) -> Shell:
    """A shell with a copy of the sample notes in `notes`, ingested."""
    shutil.copytree(NOTES, shell.folder / "notes")
    shell.ok("ingest", "notes", "-q")
    return shell


@pytest.fixture
def store() -> StoreWriter:
    """An empty store in memory: the real engine, in a millisecond."""
    return StoreWriter.in_memory()
