"""The wheel holds all that memoria needs: built, installed into a fresh environment, run from elsewhere."""

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT


@pytest.mark.slow
def test_the_wheel_runs_from_the_root_folder(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(CHECKOUT)],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    inside = zipfile.ZipFile(wheel).namelist()
    scripts = {str(path.relative_to(CHECKOUT)) for path in (CHECKOUT / "cozo_schema").rglob("*.cozo")}
    assert {f"memoria/{name}" for name in scripts} <= set(inside)
    assert not [name for name in inside if name.startswith(("tests", "fixtures"))]
    place = tmp_path / "venv"
    venv.create(place, with_pip=True)
    python = place / "bin" / "python"
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel],
        check=True,
        capture_output=True,
    )
    note = tmp_path / "note.md"
    note.write_text("# Wheel\n\nA note about spokes.", encoding="utf-8")
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env["MEMORIA_BRAIN"] = str(tmp_path / "brain")

    def run(*args: str) -> str:
        done = subprocess.run(
            [place / "bin" / "memoria", *args], cwd="/", env=env, capture_output=True, text=True, check=True
        )
        return done.stdout

    run("ingest", str(note))
    assert "A note about spokes." in run("search", "spoke")
    assert "notes" in run("status")
    assert run("--version").startswith("memoria ")
