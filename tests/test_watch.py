"""The watch: a real process, real files, real signals."""

import fcntl
import json
import os
import queue
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria.ingest.scan import Rules, place_of, places, scan
from tests.conftest import NOTES, PATIENCE, Shell


class Watching:
    """A running watch, and what it has told."""

    def __init__(self, shell: Shell, *args: str) -> None:
        self.shell = shell
        self.process = shell.start("watch", "--json", "--settle", "0.4", *args)
        self.told: list[dict[str, Any]] = []
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.hear(event="watching")

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._lines.put(line)

    def hear(self, **wanted: object) -> dict[str, Any]:
        """Wait until something is told that has these values."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                line: dict[str, Any] = json.loads(self._lines.get(timeout=1))
            except queue.Empty:
                assert self.process.poll() is None, self.told
                continue
            self.told.append(line)
            if all(line.get(name) == value for name, value in wanted.items()):
                return line
        raise AssertionError(self.told)

    def runs(self) -> list[dict[str, Any]]:
        """Return what the runs did, up to now."""
        while not self._lines.empty():
            self.told.append(json.loads(self._lines.get()))
        return [line for line in self.told if line["type"] == "ingest"]

    def end(self, number: int = signal.SIGTERM) -> str:
        """End it, expect that it ends well, and return what it said besides."""
        self.process.send_signal(number)
        assert self.process.wait(PATIENCE) == 0
        said = self._close()
        assert "Traceback" not in said
        return said

    def kill(self) -> None:
        """End it as a power cut does."""
        self.process.kill()
        self.process.wait()
        self._close()

    def _close(self) -> str:
        assert self.process.stdout
        assert self.process.stderr
        self._reader.join()
        self.process.stdout.close()
        with self.process.stderr as stderr:
            return stderr.read().decode()


@pytest.fixture
def notes(shell: Shell) -> Iterator[Path]:
    """A copy of the sample notes."""
    shutil.copytree(NOTES, shell.folder / "notes")
    yield shell.folder / "notes"
    subprocess.run(["chmod", "-R", "u+rwX", str(shell.folder)], check=False)


def known(shell: Shell) -> set[str]:
    """Return the paths that the store knows, below the notes."""
    ran = shell.run("sources", "--json")
    return {json.loads(line)["relpath"] for line in ran.out.splitlines()}


def same_as_ingest(shell: Shell, notes: Path) -> None:
    """Expect the store to be what an ingest of everything makes of the notes."""
    report = json.loads(shell.ok("ingest", str(notes), "--json"))
    assert [report[what] for what in ("new", "changed", "moved", "removed", "failed")] == [0] * 5
    assert known(shell) == {
        str(path.relative_to(notes)) for path in notes.rglob("*.md") if not path.name.startswith(".")
    }
    assert "damage" not in shell.ok("doctor")


@pytest.mark.parametrize("poll", [(), ("--poll",)], ids=["events", "polling"])
def test_what_people_do_to_notes_arrives(shell: Shell, notes: Path, poll: tuple[str, ...]) -> None:
    watching = Watching(shell, "notes", *poll)
    assert watching.runs()[0]["new"] == 40
    (notes / "zeppelin.md").write_text("# Zeppelin\n\nIt has four engines.\n")
    watching.hear(type="ingest", new=1)
    key = json.loads(shell.ok("search", "zeppelin engines", "--json", "-n1"))["key"]
    (notes / "zeppelin.md").write_text("# Zeppelin\n\nIt has four engines and a bar.\n")
    watching.hear(type="ingest", changed=1)
    assert "a bar" in shell.ok("search", "zeppelin")
    (notes / "zeppelin.md").rename(notes / "garden" / "airship.md")
    watching.hear(type="ingest", moved=1, new=0, removed=0)
    assert "garden/airship.md" in shell.ok("show", key)
    (notes / "garden" / "airship.md").unlink()
    watching.hear(type="ingest", removed=1)
    assert shell.run("search", "zeppelin", "--no-walk").code == 1
    watching.end()
    same_as_ingest(shell, notes)


def test_it_dreams_when_nothing_happens(shell: Shell, notes: Path) -> None:
    for number in range(6):
        tag = "" if number == 5 else "---\ntags: [tide]\n---\n"
        (notes / f"tide{number}.md").write_text(
            f"{tag}# Tide table {number}\n\nHigh water and low water at the quay.\n"
        )
    watch = Watching(shell, "notes", "--dream-every", "1s")
    assert "tags" in watch.hear(event="dream")["text"]
    (notes / "later.md").write_text("# Later\n\nA note that comes after the dream.\n")
    watch.hear(type="ingest", new=1)
    watch.end()
    assert "tags" in shell.ok("dream", "--log")


def test_editors_save_in_their_own_ways(shell: Shell, notes: Path) -> None:
    watching = Watching(shell, "notes")
    note = notes / "inbox.md"
    before = note.read_text()
    # By a new file that takes the place of the old one.
    (notes / "inbox.md.tmp").write_text(before + "\natomic albatross\n")
    os.replace(notes / "inbox.md.tmp", note)
    watching.hear(type="ingest", changed=1, new=0, removed=0)
    # As vim does: a probe, a swap file, the old one set aside, the new one written.
    (notes / "4913").touch()
    (notes / "4913").unlink()
    (notes / ".inbox.md.swp").write_text("swap")
    note.rename(notes / "inbox.md~")
    note.write_text(before + "\nvim vulture\n")
    (notes / "inbox.md~").unlink()
    watching.hear(type="ingest", changed=1, new=0, removed=0)
    # As emacs does: a lock that is a dangling link, an auto-save file.
    (notes / ".#inbox.md").symlink_to("somebody@somewhere.1")
    (notes / "#inbox.md#").write_text("auto-save")
    note.write_text(before + "\nemacs emu\n")
    (notes / ".#inbox.md").unlink()
    (notes / "#inbox.md#").unlink()
    watching.hear(type="ingest", changed=1, new=0, removed=0)
    watching.end()
    assert "emacs emu" in shell.ok("search", "emu", "--no-walk")
    (notes / ".inbox.md.swp").unlink()
    same_as_ingest(shell, notes)


@pytest.mark.parametrize("poll", [(), ("--poll",)], ids=["events", "polling"])
def test_a_burst_is_one_run(shell: Shell, notes: Path, poll: tuple[str, ...]) -> None:
    for number in range(200):
        shell.write(f"notes/many/{number}.md", f"# Note {number}\n\nIt says {number}.\n")
    watching = Watching(shell, "notes", "--settle", "2", *poll)
    for number in range(200):
        shell.write(f"notes/many/{number}.md", f"# Note {number}\n\nIt says pelican {number}.\n")
    watching.hear(type="ingest", changed=200)
    assert shell.ok("search", "pelican", "-n", "500", "--no-walk", "--paths").count("many/") == 200
    watching.end()
    assert [run["changed"] for run in watching.runs()] == [0, 200]
    same_as_ingest(shell, notes)


def test_a_pull_of_many_files_is_one_run(shell: Shell, notes: Path) -> None:
    def git(*args: str, cwd: Path) -> None:
        subprocess.run(
            ["git", "-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false", *args],
            cwd=cwd, check=True, capture_output=True, env=shell.env,
        )  # fmt: skip

    git("init", "-q", cwd=notes)
    git("add", "-A", cwd=notes)
    git("commit", "-qm", "first", cwd=notes)
    other = shell.folder / "other"
    git("clone", "-q", str(notes), str(other), cwd=shell.folder)
    for number in range(500):
        (other / f"pulled-{number}.md").write_text(f"# Pulled {number}\n\nIt says {number}.\n")
    git("rm", "-q", "inbox.md", cwd=other)
    git("add", "-A", cwd=other)
    git("commit", "-qm", "second", cwd=other)
    watching = Watching(shell, "notes", "--settle", "2")
    git("pull", "-q", str(other), "HEAD", cwd=notes)
    watching.hear(type="ingest", new=500, removed=1)
    watching.end()
    assert len(watching.runs()) == 2
    same_as_ingest(shell, notes)


def test_folders_come_and_go(shell: Shell, notes: Path) -> None:
    watching = Watching(shell, "notes")
    shutil.copytree(NOTES / "garden", shell.folder / "outside" / "a" / "b")
    count = len(list((NOTES / "garden").rglob("*.md")))
    (shell.folder / "outside").rename(notes / "moved-in")
    watching.hear(type="ingest", new=count)
    (notes / "moved-in" / "a" / "b" / "late.md").write_text("A late lemur.\n")
    watching.hear(type="ingest", new=1)
    (notes / "moved-in" / "a").rename(notes / "renamed")
    watching.hear(type="ingest", moved=count + 1, new=0, removed=0)
    (notes / "renamed" / "b" / "late.md").write_text("A later lemur.\n")
    watching.hear(type="ingest", changed=1)
    (notes / "renamed").rename(shell.folder / "outside")
    watching.hear(type="ingest", removed=count + 1)
    (notes / "deep" / "er" / "est").mkdir(parents=True)
    (notes / "deep" / "er" / "est" / "x.md").write_text("A deep dugong.\n")
    watching.hear(type="ingest", new=1)
    shutil.rmtree(notes / "deep")
    watching.hear(type="ingest", removed=1)
    watching.end()
    same_as_ingest(shell, notes)


def test_ignore_rules_hold_and_may_change(shell: Shell, notes: Path) -> None:
    watching = Watching(shell, "notes")
    for name in ("drafts/one.md", ".hidden/two.md", "picture.png", "mirror/.memoria-mirror", "mirror/three.md"):
        shell.write(f"notes/{name}", "An ignored ibis.\n")
    watching.hear(type="ingest", new=1)
    shell.write("notes/.gitignore", "drafts/\n")
    watching.hear(type="ingest", removed=1)
    shell.write("notes/drafts/four.md", "An ignored ibis.\n")
    shell.write("notes/seen.md", "A seen serval.\n")
    watching.hear(type="ingest", new=1)
    shell.write("notes/.gitignore", "")
    watching.hear(type="ingest", new=2)
    watching.end()
    assert {"drafts/one.md", "drafts/four.md", "seen.md"} <= known(shell)
    assert not {".hidden/two.md", "mirror/three.md", "picture.png"} & known(shell)


def test_killed_at_any_moment_and_started_again_nothing_is_lost(shell: Shell, notes: Path) -> None:
    for attempt, pause in enumerate((0.0, 0.45, 0.6)):
        watching = Watching(shell, "notes")
        for number in range(100):
            shell.write(f"notes/k/{number}.md", f"# K {number}\n\nKilled {attempt} times, says kiwi {number}.\n")
        (notes / "k" / f"{attempt}-extra.md").write_text(f"Extra {attempt}.\n")
        time.sleep(pause)
        watching.kill()
        shell.write(f"notes/between-{attempt}.md", f"Nobody watched the {attempt}th time.\n")
        (notes / "k" / "99.md").unlink()
    Watching(shell, "notes").end()
    same_as_ingest(shell, notes)
    assert "Killed 2 times" in shell.ok("search", "kiwi", "7", "--no-walk")


def test_a_busy_store_is_waited_for(shell: Shell, notes: Path) -> None:
    watching = Watching(shell, "notes")
    with (shell.brain / "brain.db.lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (notes / "busy.md").write_text("A busy beaver.\n")
        assert "is being written" in watching.hear(event="busy")["text"]
        (notes / "busier.md").write_text("A busier bee.\n")
        assert shell.run("search", "harbor").code == 0
    watching.hear(type="ingest", new=2)
    watching.end()
    same_as_ingest(shell, notes)


def test_a_stop_is_heard_while_the_store_is_busy(shell: Shell, notes: Path) -> None:
    watching = Watching(shell, "notes")
    with (shell.brain / "brain.db.lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (notes / "busy.md").write_text("A busy beaver.\n")
        watching.hear(event="busy")
        watching.end(signal.SIGINT)
    Watching(shell).end()
    same_as_ingest(shell, notes)


def test_a_store_that_cannot_be_written_is_tried_again(shell: Shell, notes: Path) -> None:
    watching = Watching(shell, "notes")
    lock = shell.brain / "brain.db.lock"
    lock.unlink()
    lock.mkdir()  # nobody can open this as a file, whoever they are
    (notes / "new.md").write_text("A patient pangolin.\n")
    assert "can't be written to" in watching.hear(event="failed")["text"]
    lock.rmdir()
    watching.hear(type="ingest", new=1)
    watching.end()
    same_as_ingest(shell, notes)


QUEUE = Path("/proc/sys/fs/inotify/max_queued_events")


@pytest.mark.skipif(not QUEUE.exists(), reason="only Linux drops events so")
def test_events_that_the_system_drops_are_made_up_for(shell: Shell, notes: Path) -> None:
    watching = Watching(shell, "notes")
    watching.process.send_signal(signal.SIGSTOP)
    with (notes / "one.png").open("wb", buffering=0) as one, (notes / "two.png").open("wb", buffering=0) as two:
        for _ in range(int(QUEUE.read_text())):
            one.write(b"x")  # in turns: events that are alike would become one
            two.write(b"x")
    (notes / "dropped.md").write_text("Nobody was told of this dodo.\n")
    watching.process.send_signal(signal.SIGCONT)
    watching.hear(type="ingest", new=1)
    watching.end()
    same_as_ingest(shell, notes)


def test_other_commands_work_meanwhile(shell: Shell, notes: Path) -> None:
    watching = Watching(shell, "notes")
    shell.ok("ingest", "-", "--source", "pipe", "--wait", "0", stdin="A piped pika.\n")
    (notes / "a.md").write_text("An own okapi.\n")
    watching.hear(type="ingest", new=1)
    shell.ok("forget", "pipe", "--yes", "--wait", "0")
    assert json.loads(shell.ok("status", "--json"))["writer"] == ""
    watching.end()


@pytest.mark.parametrize("poll", [(), ("--poll",)], ids=["events", "polling"])
def test_a_vanished_root_is_waited_for_and_its_notes_stay(shell: Shell, notes: Path, poll: tuple[str, ...]) -> None:
    shell.write("second/here.md", "The second one.\n")
    watching = Watching(shell, "notes", "second", *poll)
    before = known(shell)
    notes.rename(shell.folder / "unplugged")
    assert watching.hear(event="waiting")["path"] == str(notes)
    assert known(shell) == before
    (shell.folder / "second" / "more.md").write_text("Others go on.\n")
    watching.hear(type="ingest", new=1)
    (shell.folder / "unplugged" / "inbox.md").unlink()
    (shell.folder / "unplugged" / "new.md").write_text("Changed elsewhere.\n")
    (shell.folder / "unplugged").rename(notes)
    watching.hear(event="back")
    watching.hear(type="ingest", new=1, removed=1)
    (notes / "new.md").write_text("And heard again.\n")
    watching.hear(type="ingest", changed=1)
    watching.end()
    assert known(shell) == before - {"inbox.md"} | {"new.md", "more.md"}


def test_an_empty_folder_in_the_place_of_a_root_is_a_disk_that_is_gone(shell: Shell, notes: Path) -> None:
    shutil.rmtree(notes / "projects")
    watching = Watching(shell, "notes")
    before = known(shell)
    notes.rename(shell.folder / "unplugged")
    notes.mkdir()
    watching.hear(event="waiting")
    assert known(shell) == before
    notes.rmdir()
    (shell.folder / "unplugged").rename(notes)
    watching.hear(event="back")
    (notes / "new.md").write_text("Heard again.\n")
    watching.hear(type="ingest", new=1)
    watching.end()
    same_as_ingest(shell, notes)


def test_a_root_that_is_made_anew_is_heard_again(shell: Shell) -> None:
    root = shell.write("small/one.md", "The first one.\n").parent
    watching = Watching(shell, "small")
    number = root.stat().st_ino
    shutil.rmtree(root)
    for attempt in range(2_000):  # until one has the number of the old one, which file systems give out again
        folder = shell.folder / f"new-{attempt}"
        folder.mkdir()
        if folder.stat().st_ino == number:
            break
    folder.rename(root)
    (root / "two.md").write_text("Made anew.\n")
    watching.hear(type="ingest", new=1, removed=1)
    (root / "two.md").write_text("Made anew, and heard.\n")
    watching.hear(type="ingest", changed=1)
    watching.end()
    same_as_ingest(shell, root)


def test_where_most_notes_vanish_at_once_they_stay_and_the_rest_goes_on(shell: Shell, notes: Path) -> None:
    watching = Watching(shell, "notes")
    before = known(shell)
    for path in sorted(notes.rglob("*.md"))[:30]:
        path.unlink()
    (notes / "new.md").write_text("A new newt.\n")
    run = watching.hear(type="ingest", new=1, removed=0, failed=1)
    assert "30 of the 40 notes" in run["failures"][0]["reason"]
    assert f"memoria ingest {notes} --force" in run["failures"][0]["reason"]
    assert known(shell) == {*before, "new.md"}
    (notes / "newer.md").write_text("A newer newt.\n")
    watching.hear(type="ingest", new=1, failed=0)
    watching.end()
    shell.ok("ingest", str(notes), "--force")
    same_as_ingest(shell, notes)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_folder_keeps_its_notes(shell: Shell, notes: Path) -> None:
    watching = Watching(shell, "notes")
    (notes / "garden").chmod(0)
    (notes / "new.md").write_text("A new newt.\n")
    watching.hear(type="ingest", new=1, removed=0)
    watching.end()
    (notes / "garden").chmod(0o755)
    same_as_ingest(shell, notes)


def test_a_bad_file_harms_nobody(shell: Shell, notes: Path) -> None:
    watching = Watching(shell, "notes")
    (notes / "bad.md").write_bytes(bytes(range(256)) * 40)
    (notes / "good.md").write_text("A good gnu.\n")
    os.mkfifo(notes / "pipe.md")
    run = watching.hear(type="ingest", new=1)
    assert [failure["path"] for failure in run["failures"]] == [str(notes / "bad.md")]
    (notes / "bad.md").write_text("A reformed rhino.\n")
    watching.hear(type="ingest", new=1, failed=0)
    watching.end()
    (notes / "pipe.md").unlink()
    same_as_ingest(shell, notes)


def test_without_a_path_all_known_ones_are_watched(shell: Shell, notes: Path) -> None:
    alone = shell.write("elsewhere/alone.md", "A lonely lynx.\n")
    other = shell.write("elsewhere/other.md", "Nobody asked for this one.\n")
    shell.ok("ingest", "notes", str(alone))
    watching = Watching(shell)
    other.write_text("Still nobody.\n")
    alone.write_text("A lonely lynx, changed.\n")
    watching.hear(type="ingest", changed=1, new=0)
    (notes / "inbox.md").write_text("Changed.\n")
    watching.hear(type="ingest", changed=1)
    alone.unlink()
    watching.hear(type="ingest", removed=1)
    watching.end()
    assert "other.md" not in known(shell)


def test_a_root_behind_a_link_inside_another_and_with_globs(shell: Shell, notes: Path) -> None:
    (shell.folder / "link").symlink_to(notes)
    shell.write("notes/org/a.org", "An org orca.\n")
    shell.ok("ingest", "notes/org", "--glob", "*.org")
    watching = Watching(shell, "link", "notes/org")
    (notes / "inbox.md").write_text("Behind a link.\n")
    watching.hear(type="ingest", changed=1)
    shell.write("notes/org/b.org", "Another orca.\n")
    watching.hear(type="ingest", new=1)
    watching.end()


def test_nothing_to_watch(shell: Shell) -> None:
    ran = shell.run("watch")
    assert (ran.code, "nothing to watch" in ran.err) == (2, True)
    ran = shell.run("watch", "no-such-folder")
    assert (ran.code, "there is no file or folder" in ran.err) == (2, True)
    assert not shell.brain.exists()
    assert shell.run("watch", "").code == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_well(shell: Shell, notes: Path, number: int) -> None:
    process = shell.start("watch", "notes")
    assert process.stdout
    line = process.stdout.readline().decode()
    assert line.rstrip().endswith(": notes")
    assert " 40 new; " in line
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err.decode().splitlines()[-1]) == (0, b"", "ended")
    same_as_ingest(shell, notes)


def test_on_a_terminal_a_status_line_is_below_what_happened(shell: Shell, notes: Path) -> None:
    with shell.terminal("watch", "notes", "--settle", "0.4") as terminal:
        came = terminal.until("watching 1 place; Ctrl-C ends")
        assert "40 new" in came
        (notes / "new.md").write_text("A new newt.\n")
        terminal.until("1 new; 1 atom in")
        assert "notes/new.md" in terminal.until("watching 1 place; Ctrl-C ends")
        terminal.type("\x03")
        assert terminal.end() == 0
    assert "ended" in terminal.screen
    assert "Traceback" not in terminal.screen


# A look at some places finds what a look at everything finds there.

_NAMES = st.sampled_from(["a.md", "b.md", "c.png", "d", "e", ".h", ".gitignore", ".memoria-mirror", "x.md"])
_TREES = st.recursive(
    st.sampled_from(["text", "*.md\n!a.md\n", "d/\n", "e\n"]),
    lambda below: st.dictionaries(_NAMES, below, max_size=4),
    max_leaves=14,
)


def _make(folder: Path, tree: Any) -> None:
    if isinstance(tree, str):
        folder.write_text(tree)
        return
    folder.mkdir()
    for name, below in tree.items():
        _make(folder / name, below)


@given(tree=st.dictionaries(_NAMES, _TREES, max_size=5), chosen=st.sets(st.integers(0, 30), max_size=5))
def test_places_are_seen_as_in_a_look_at_everything(
    tmp_path_factory: pytest.TempPathFactory, tree: Any, chosen: set[int]
) -> None:
    root = tmp_path_factory.mktemp("scan") / "root"
    _make(root, tree)
    rules = Rules((".md",), (), ())
    everything = [seen.path for seen in scan(str(root), str(root), rules)]
    paths = sorted(map(str, root.rglob("*")))
    asked = [paths[number % len(paths)] for number in chosen] if paths else []
    found = [seen.path for seen in scan(str(root), str(root), rules, places(str(root), asked))]
    assert found == [path for path in everything if any(path == a or path.startswith(a + os.sep) for a in asked)]
    for path in everything:
        assert place_of(path, str(root), str(root), rules, is_folder=False) == path
    shutil.rmtree(root)
