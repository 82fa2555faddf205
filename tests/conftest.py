"""What the tests share: real brains, real files, real processes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

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

    def write(self, name: str, text: str | bytes) -> Path:
        """Write a file below the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path


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
