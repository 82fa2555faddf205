"""The store: scripts, versions, migrations, locks, and one state at a time."""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from memoria.errors import StoreBusyError, StoreDamagedError, StoreError, StoreMissingError, StoreVersionError
from memoria.store import Store, engine, scripts
from memoria.store.engine import Engine
from memoria.store.lock import WriteLock, holder_of
from memoria.store.version import VERSION, version_of
from memoria.store.writer import StoreWriter
from tests.conftest import CHECKOUT, Shell

OLD = CHECKOUT / "tests" / "data" / "v1" / "brain.db"
ALL = [name for kind in ("schema", "query", "migration") for name in scripts.names(kind)]


def body(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if not line.startswith("#"))


@pytest.mark.parametrize("name", ALL)
def test_every_script_begins_with_what_it_is_for(name: str) -> None:
    first = scripts.script(name).split("\n")[0]
    assert first.startswith("# ")
    assert first.rstrip().endswith((".", "?", ":"))


@pytest.mark.parametrize("name", scripts.names("query"))
def test_a_scripts_header_names_its_parameters(name: str) -> None:
    text = scripts.script(name)
    head = "\n".join(line for line in text.split("\n") if line.startswith("#"))
    assert set(re.findall(r"\$(\w+)", head)) == set(re.findall(r"\$(\w+)", body(text)))


@pytest.mark.parametrize("name", scripts.names("query"))
def test_every_script_is_used(name: str) -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in (CHECKOUT / "memoria").rglob("*.py"))
    assert f'"{name}"' in code


@pytest.mark.parametrize("name", ALL)
def test_no_script_falls_into_a_trap_of_the_engine(name: str) -> None:
    text = body(scripts.script(name))
    assert ">=" not in text, "drops the row that is equal, on a key column"
    assert "::index" not in text, "loses rows in joins"
    assert "is_in(" not in text, "scans the whole relation"


@pytest.mark.parametrize("name", scripts.names("query"))
def test_what_returns_rows_returns_them_in_a_full_order(name: str) -> None:
    text = body(scripts.script(name))
    if not re.search(r":(put|rm|insert)\b", text):
        columns = re.findall(r"[\w.]+", re.findall(r"^\?\[(.*?)\]", text, re.MULTILINE)[0].replace("count(", ""))
        order = re.search(r"^:order (.*)$", text, re.MULTILINE)
        assert order
        assert re.findall(r"\w+", order.group(1))[0] in columns


def test_no_query_text_is_put_together_in_the_code() -> None:
    for path in (CHECKOUT / "memoria").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "] :=" not in text, path
        assert "<- $" not in text, path
        assert ":put " not in text, path


# Opening


def test_looking_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoreMissingError):
        Store.open(str(tmp_path / "none" / "brain.db"))
    assert list(tmp_path.iterdir()) == []


def test_a_store_is_made_whole_with_wal(tmp_path: Path) -> None:
    path = str(tmp_path / "brain.db")
    StoreWriter.open(path).close()
    assert sorted(os.listdir(tmp_path)) == ["brain.db"]
    connection = sqlite3.connect(path)
    assert connection.execute("pragma journal_mode").fetchone() == ("wal",)
    connection.close()
    assert Store.open(path).meta()["version"] == VERSION


@pytest.mark.parametrize("data", [b"", b"hello world" * 100, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_file_that_is_no_store_is_told(tmp_path: Path, data: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "brain.db"
    path.write_bytes(data)
    with pytest.raises(StoreDamagedError):
        Store.open(str(path))
    with pytest.raises(StoreDamagedError):
        StoreWriter.open(str(path))
    assert path.read_bytes() == data
    assert "panicked" not in capfd.readouterr().err


def test_a_database_that_holds_no_brain_counts_as_none(tmp_path: Path) -> None:
    path = str(tmp_path / "brain.db")
    engine.create_file(path).close()
    with pytest.raises(StoreMissingError):
        Store.open(path)
    StoreWriter.open(path).close()
    assert Store.open(path).meta()["atoms"] == 0


def test_a_newer_store_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "brain.db")
    store = StoreWriter.open(path)
    store._put_postings([], [["version", VERSION + 1]])
    store.close()
    for opened in (Store.open, StoreWriter.open):
        with pytest.raises(StoreVersionError, match=f"version {VERSION + 1}.*up to {VERSION}"):
            opened(path)


# Migration


def schema_of(store: Engine) -> dict[str, list[list[object]]]:
    names = [row[0] for row in store.write_text("::relations") if ":" not in row[0]]
    return {name: store.write_text(f"::columns {name}") for name in names}


def test_an_old_brain_is_brought_up_to_date_once_after_a_backup(tmp_path: Path) -> None:
    path = str(tmp_path / "brain.db")
    shutil.copy(OLD, path)
    old = Engine(path)
    assert version_of(old) == 1
    old.close()
    store = Store.open(path)
    assert store.meta()["version"] == VERSION
    assert {"harbor", "hour"} <= store.terms_from("h")
    assert [source.relpath for source in store.sources()] == [
        "projects/harbor.md", "recipes/sourdough.md", "recipes/铁观音.md", "tide.md",
    ]  # fmt: skip
    store.close()
    backup = tmp_path / "brain.db.v1.backup"
    assert version_of(Engine(str(backup))) == 1
    stamp = backup.stat().st_mtime_ns
    Store.open(path).close()
    assert backup.stat().st_mtime_ns == stamp


def test_a_migrated_brain_is_like_a_new_one(tmp_path: Path) -> None:
    path = str(tmp_path / "brain.db")
    shutil.copy(OLD, path)
    Store.open(path).close()
    assert schema_of(Engine(path)) == schema_of(StoreWriter.in_memory()._engine)


def test_an_old_brain_answers_and_is_sound_after_the_upgrade(shell: Shell) -> None:
    shell.brain.mkdir()
    shutil.copy(OLD, shell.brain / "brain.db")
    assert "The tide table for the harbour" in shell.ok("search", "tide", "table")
    assert "damage" not in shell.run("doctor").out
    assert "Sourdough" in shell.run("search", "sourdogh").err


def test_a_migration_that_fails_leaves_the_old_brain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "brain.db")
    shutil.copy(OLD, path)
    good = scripts.script("migration/0002_lexicon")
    monkeypatch.setattr(
        "memoria.store.engine.script", lambda name: good + "{ broken" if "migration" in name else scripts.script(name)
    )
    with pytest.raises(StoreError):
        Store.open(path)
    monkeypatch.undo()
    store = Engine(path)
    assert version_of(store) == 1
    assert "lexicon" not in schema_of(store)
    store.close()
    assert Store.open(path).meta()["version"] == VERSION


# Writing


def test_a_batch_is_written_whole_or_not_at_all(store: StoreWriter) -> None:
    batch = store.batch()
    batch.rows["paths"].append(["a", 1])
    batch.rows["names"].append(["title", 5, 1, "x"])  # 5 is no text: the last part but one fails
    with pytest.raises(StoreError):
        store.write(batch, now=0)
    assert store.source_ids(["a"]) == {}
    assert store.meta()["generation"] == 0


def test_the_engines_complaint_is_one_plain_sentence(store: StoreWriter) -> None:
    with pytest.raises(StoreError) as caught:
        store._engine.write_text("?[a] := *nowhere{a}")
    assert "\x1b" not in str(caught.value)
    assert "nowhere" in str(caught.value)


def test_only_one_writer_at_a_time_and_its_name_is_known(tmp_path: Path) -> None:
    path = str(tmp_path / "brain.db")
    hold = (
        "import sys, time; from memoria.store.lock import WriteLock\n"
        "sys.argv = ['memoria', 'ingest', 'notes']\n"
        f"with WriteLock({path!r}, 0):\n print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", hold], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(CHECKOUT)}
    )
    try:
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StoreBusyError, match=f"process {holder.pid} .memoria ingest notes"), WriteLock(path, 0.1):
            pass
        assert holder_of(path) == f"{holder.pid} memoria ingest notes"
    finally:
        holder.kill()
        holder.communicate()
    with WriteLock(path, 0):
        pass
    assert holder_of(path) == ""


def test_a_reader_needs_no_lock_and_sees_only_whole_states(tmp_path: Path) -> None:
    path = str(tmp_path / "brain.db")
    store = StoreWriter.open(path)
    with WriteLock(path, 0):
        reader = Store.open(path)
        batch = store.batch()
        batch.rows["paths"].append(["a", 1])
        store.write(batch, now=0)
        assert reader.source_ids(["a"]) == {"a": 1}
        reader.close()


def test_the_brain_is_an_ordinary_cozo_file(tmp_path: Path) -> None:
    from pycozo.client import Client

    path = str(tmp_path / "brain.db")
    shutil.copy(OLD, path)
    client = Client("sqlite", path, dataframe=False)
    rows = client.run("?[title] := *source{ title } :order title")["rows"]
    client.close()
    assert ["Harbor"] in rows


def test_a_backup_can_be_opened_and_never_overwrites(tmp_path: Path) -> None:
    store = StoreWriter.open(str(tmp_path / "brain.db"))
    store.backup(str(tmp_path / "copy.db"))
    assert Store.open(str(tmp_path / "copy.db")).meta()["version"] == VERSION
    with pytest.raises(StoreError, match="exists already"):
        store.backup(str(tmp_path / "copy.db"))
