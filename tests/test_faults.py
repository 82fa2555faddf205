"""Faults, with real processes: killed, stopped, several at once, and nobody there to read."""

import fcntl
import io
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import pytest

from memoria.brain import Brain
from memoria.cli import quick
from memoria.errors import StoreBusyError, StoreMissingError
from memoria.ingest import Given, TextNote
from memoria.store.lock import WriteLock
from tests.conftest import Ran, Shell

WAIT = 60.0  # seconds after which something hangs: a bound, and never a measure
ACCIDENT = re.compile(r"panicked|Traceback|Exception|BrokenPipe|RUST_BACKTRACE")
KILLS = 30
MANY = 80

_LETTERS = random.Random(7)
WORDS = tuple("".join(_LETTERS.choices("abcdefghiklmnoprstuvw", k=_LETTERS.randint(3, 9))) for _ in range(3_000))


# Vaults


def section(rng: random.Random) -> str:
    words = " ".join(rng.choices(WORDS, k=60))
    return (
        f"## {' '.join(rng.choices(WORDS, k=2))}\n\n{words} common #tag{rng.randrange(9)} [[n{rng.randrange(50):04}]]\n"
    )


class Vault:
    """A folder of generated notes that can be changed in every way that an ingest has to notice."""

    def __init__(self, folder: Path, notes: int, sections: int, seed: int) -> None:
        self.folder = folder
        self.rng = random.Random(seed)
        self.sections = sections
        self.made = 0
        self.edited: set[str] = set()  # their atoms keep keys that a fresh brain would not give them
        folder.mkdir(parents=True)
        for _ in range(notes):
            self.add()

    @property
    def notes(self) -> list[Path]:
        return sorted(self.folder.iterdir())

    def add(self) -> None:
        path = self.folder / f"n{self.made:04}.md"
        path.write_text("\n".join([f"# Note {self.made}\n", *(section(self.rng) for _ in range(self.sections))]))
        self.made += 1

    def change(self, share: float) -> None:
        """Append to some notes, rewrite a passage or the title of others, rename one, remove one, and add one."""
        chosen = self.rng.sample(self.notes, int(len(self.notes) * share))
        removed, renamed, *others = chosen
        removed.unlink()
        self.edited.add(renamed.rename(renamed.with_name(f"{renamed.stem}x.md")).name)
        self.add()
        for number, path in enumerate(others):
            text = path.read_text()
            if number % 3 == 0:
                path.write_text(text + "\n" + section(self.rng))
            elif number % 3 == 1:
                path.write_text(text[: text.rindex("## ")] + section(self.rng))
                self.edited.add(path.name)
            else:
                path.write_text(text.replace("\n", " again\n", 1))


@pytest.fixture(scope="module")
def many_notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of so many notes that an ingest takes several batches, and helps itself with processes. Read only."""
    return Vault(tmp_path_factory.mktemp("many") / "notes", notes=MANY, sections=90, seed=1).folder


@pytest.fixture(scope="module")
def full(many_notes: Path, tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A shell with a brain that holds many notes, for those who only look."""
    shell = Shell(tmp_path_factory.mktemp("full"))
    shell.ok("ingest", str(many_notes), "-q")
    return shell


# Processes


@contextmanager
def started(shell: Shell, *args: str, command: list[str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Start memoria, or another command, in a process group of its own; none of it outlives the test."""
    process = subprocess.Popen(
        [*(command or shell.command), *args],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=shell.folder,
        env=shell.env,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        kill_group(process)
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()


def kill_group(process: subprocess.Popen[bytes], number: int = signal.SIGKILL) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
    if number == signal.SIGKILL:
        process.wait(WAIT)


def finished(process: subprocess.Popen[bytes]) -> Ran:
    """Wait for the end of a process, and of all that could still write to its output."""
    out, err = process.communicate(timeout=WAIT)
    return Ran(process.returncode, out.decode(), err.decode())


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def until(condition: Callable[[], object], process: subprocess.Popen[bytes]) -> None:
    """Wait for something that a process does before it ends."""
    deadline = time.monotonic() + WAIT
    while not condition():
        assert process.poll() is None, "the process ended too early"
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.001)


def has_lock(shell: Shell, process: subprocess.Popen[bytes]) -> bool:
    with suppress(FileNotFoundError):
        return (shell.brain / "brain.db.lock").read_text().startswith(f"{process.pid} ")
    return False


def has_helpers(process: subprocess.Popen[bytes]) -> bool:
    """Whether it has started the processes that read and parse for it; on one processor there are none."""
    ps = subprocess.run(["ps", "-A", "-o", "ppid="], capture_output=True, text=True, check=True)
    return os.cpu_count() == 1 or ps.stdout.split().count(str(process.pid)) > 1


def written(shell: Shell) -> tuple[int, int]:
    """A stamp that changes with every write into the store."""
    with suppress(FileNotFoundError):
        status = os.stat(shell.brain / "brain.db-wal")
        return status.st_size, status.st_mtime_ns
    return 0, 0


def generation(shell: Shell) -> int:
    """How often the brain was changed so far."""
    with suppress(StoreMissingError), brain_of(shell).reading() as store:
        return int(store.meta()["generation"])
    return 0


def kill_somewhere(
    shell: Shell, process: subprocess.Popen[bytes], rng: random.Random, *, batches: int, seconds: float
) -> bool:
    """Kill a process group at a random moment, and tell whether it still ran.

    The moment is some batches, some time and some writes after the start. By the clock alone, a machine that is busy
    would have all of them before the first batch.
    """
    deadline = time.monotonic() + WAIT

    def wait(condition: Callable[[], bool], pause: float) -> None:
        while process.poll() is None and time.monotonic() < deadline and not condition():
            time.sleep(pause)

    enough = rng.randint(0, batches)
    first = generation(shell)
    if enough:
        wait(lambda: generation(shell) >= first + enough, 0.02)
    moment = time.monotonic() + rng.uniform(0, seconds)
    wait(lambda: time.monotonic() >= moment, 0.001)
    for _ in range(rng.randint(0, 3)):
        before = written(shell)
        wait(lambda before=before: written(shell) != before, 0.0005)  # type: ignore[misc]
    time.sleep(rng.uniform(0, seconds / 5))
    ran = process.poll() is None
    kill_group(process)
    return ran


# What a brain holds


def brain_of(shell: Shell) -> Brain:
    return Brain.find(str(shell.brain))


def damage(brain: Brain) -> list[str]:
    return [finding.text for finding in brain.check(fix=False) if finding.severity == "damage"]


def assert_sound(shell: Shell) -> None:
    ran = shell.run("doctor")
    assert ran.code == 0, ran
    assert "damage" not in ran.out


def paths_in(brain: Brain) -> set[str]:
    with brain.reading() as store:
        return {source.path for source in store.sources()}


def contents(brain: Brain, without_keys: set[str]) -> dict[str, Any]:
    """Everything that a search could show, by note; keys only where they follow from the text alone."""
    found = {}
    with brain.reading() as store:
        links: dict[int, list[str]] = {}
        for atom, link in store.all_links():
            links.setdefault(atom, []).append(link.target)
        for source in store.sources():
            shown, atoms = store.show_source(source.id)
            lines = [place.line for place in shown.outlines[source.id]]
            found[source.relpath] = (
                source.title,
                source.hash,
                {(label.kind, label.name) for labels in shown.labels.values() for label in labels},
                [
                    (
                        atom.key if source.relpath not in without_keys else "",
                        atom.heading,
                        line,
                        atom.text,
                        links.get(atom.id),
                    )
                    for atom, line in zip(atoms, lines, strict=True)
                ],
            )
    return found


def assert_like_fresh(shell: Shell, folders: list[Path], edited: set[str]) -> None:
    """Compare a brain with one that was made of the same notes without any fault."""
    fresh = Brain.find(str(shell.folder / "fresh"))
    assert not fresh.ingest([str(folder) for folder in folders], Given()).failed
    assert contents(brain_of(shell), edited) == contents(fresh, edited)


def find(brain: Brain, *words: str, limit: int = 500) -> list[dict[str, Any]]:
    """Search as the command line does, without a process for each."""
    out = io.StringIO()
    with redirect_stdout(out):
        try:
            assert quick.run(["--brain", brain.folder, "search", *words, "--json", "--quiet", "--limit", str(limit)])
        except SystemExit as end:
            assert end.code == 1  # nothing found, which is an answer too
    return [json.loads(line) for line in out.getvalue().splitlines()]


def answers(brain: Brain) -> list[Any]:
    """What some queries find, with scores."""
    rng = random.Random(3)
    queries = [["common"], *(rng.choices(WORDS, k=3) for _ in range(5))]
    return [
        [(hit["key"], hit["path"], hit["line"], hit["content"], hit["score"]) for hit in find(brain, *query, limit=40)]
        for query in queries
    ]


# Killed


@pytest.mark.slow
def test_an_ingest_killed_at_any_moment_loses_nothing_that_was_written(shell: Shell) -> None:
    vault = Vault(shell.folder / "notes", notes=120, sections=60, seed=2)
    start = time.monotonic()
    assert shell.run("ingest", "notes", MEMORIA_BRAIN=str(shell.folder / "timed")).code == 0
    whole = time.monotonic() - start
    rng = random.Random(4)
    kills = tries = reached = partial = 0
    killed = False
    known: set[str] = set()
    while kills < KILLS:
        tries += 1
        assert tries < 4 * KILLS, f"only {kills} of {tries} ingests could be killed"
        new = kills % 3 == 0
        if new:
            shutil.rmtree(shell.brain, ignore_errors=True)
            known, reached = set(), 0
        elif tries % 2 or not killed:
            vault.change(0.6)
        with started(shell, "ingest", "notes") as process:
            killed = kill_somewhere(shell, process, rng, batches=3 if new else 1, seconds=whole / 8)
        kills += killed
        status = shell.run("status", "--json")
        assert status.code in {0, 1}, status
        if status.code == 1:
            assert "there is no brain" in status.err
            assert not known
            continue
        found = json.loads(status.out)
        assert found["generation"] >= reached
        reached = found["generation"]
        brain = brain_of(shell)
        now = paths_in(brain)
        assert {path for path in known if os.path.exists(path)} <= now, "a batch that was there is gone"
        assert len(now) == found["sources"]
        known = now
        partial += 0 < len(now) < len(vault.notes) - 1
        assert bool(find(brain, "common", limit=3)) == bool(now)
        if kills % 8 == 0:
            assert damage(brain) == []
    assert partial, "no kill came between two batches"
    assert_sound(shell)
    shell.ok("ingest", "notes")
    assert "common" in shell.ok("search", "common")
    again = json.loads(shell.ok("ingest", "notes", "--json"))
    assert (again["new"], again["changed"], again["removed"]) == (0, 0, 0)
    assert_sound(shell)
    assert_like_fresh(shell, [vault.folder], vault.edited)


def test_a_creation_killed_at_any_moment_leaves_no_half_brain(shell: Shell) -> None:
    shell.write("notes/a.md", "# Harbor\n\nThe tide tables are wrong.\n")
    rng = random.Random(5)
    for _ in range(2):
        shutil.rmtree(shell.brain, ignore_errors=True)
        for _ in range(3):  # the later ones meet what the earlier ones left behind
            with started(shell, "ingest", "notes") as process:
                until(lambda process=process: has_lock(shell, process), process)  # type: ignore[misc]
                time.sleep(rng.uniform(0, 0.12))
                kill_group(process)
            looked = shell.run("search", "tide", "-q")
            assert looked.code in {0, 1}, looked
            assert not looked.err or "there is no brain" in looked.err
        shell.ok("ingest", "notes", "--wait", "0")
        assert "tide" in shell.ok("search", "tide")
        assert not list(shell.brain.glob("*.new*"))
    assert_sound(shell)


def test_the_lock_is_free_again_when_its_holder_was_killed(shell: Shell, many_notes: Path) -> None:
    shell.write("notes/a.md", "# Harbor\n\nThe tide tables are wrong.\n")
    with started(shell, "ingest", str(many_notes)) as process:
        until(lambda: has_lock(shell, process), process)
        process.kill()
        process.wait(WAIT)
        shell.ok("ingest", "notes", "--wait", "0")
        assert json.loads(shell.ok("status", "--json"))["writer"] == ""
    assert_sound(shell)


def test_a_killed_ingest_leaves_no_process_behind(shell: Shell, many_notes: Path) -> None:
    with started(shell, "ingest", str(many_notes)) as process:
        until(lambda: has_helpers(process) and written(shell)[0] > 100_000, process)
        process.kill()
        try:
            # Its helpers write to the same pipes: these end when the last of them has.
            process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            pytest.fail("processes that helped the killed one are still there")


MERGE = """
from memoria.brain import Brain
from memoria.store import writer

writer._MERGE_BYTES = 20_000  # many steps, as in a large brain
with Brain.find(None).writing() as store:
    store.merge_segments(everything=True)
"""


@pytest.fixture(scope="module")
def in_segments(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A brain whose text index has several segments, and dead atoms in them."""
    folder = tmp_path_factory.mktemp("segments")
    brain = Brain.find(str(folder / "brain"))
    for number in range(6):
        vault = Vault(folder / f"notes{number}", notes=8, sections=12, seed=number)
        brain.ingest([str(vault.folder)], Given())
        vault.change(0.5)
        brain.ingest([str(vault.folder)], Given())
    with brain.reading() as store:
        assert len(store.segments()) > 6
        assert store.meta()["dead"]
    return folder / "brain"


@pytest.mark.slow
@pytest.mark.parametrize("what", ["merge", "fix"])
def test_a_merge_killed_at_any_moment_changes_no_answer(shell: Shell, in_segments: Path, what: str) -> None:
    command = {"merge": python(MERGE), "fix": [*shell.command, "doctor", "--fix"]}[what]
    before = answers(Brain.find(str(in_segments)))
    assert all(before)

    def use_copy(number: int) -> None:
        shell.brain = shell.folder / f"brain{number}"
        shell.env["MEMORIA_BRAIN"] = str(shell.brain)
        shutil.copytree(in_segments, shell.brain)

    def assert_same() -> None:
        brain = brain_of(shell)
        assert answers(brain) == before
        assert damage(brain) == []

    def whole() -> float:
        start = time.monotonic()
        with started(shell, command=command) as process:
            ran = finished(process)
        seconds = time.monotonic() - start
        assert ran.code == 0, ran
        assert_same()
        with brain_of(shell).reading() as store:
            assert len(store.segments()) == 1
            assert not store.meta()["dead"]
        return seconds

    use_copy(0)
    seconds = whole()
    rng = random.Random(6)
    kills = tries = 0
    killed = False
    while kills < 5:
        tries += 1
        assert tries < 50, f"only {kills} of {tries} could be killed"
        if not killed:
            use_copy(tries)
        with started(shell, command=command) as process:
            killed = kill_somewhere(shell, process, rng, batches=0, seconds=seconds / 3)
        kills += killed
        assert_same()
    whole()
    assert leftovers(brain_of(shell)) == 0


def leftovers(brain: Brain) -> int:
    """Rows of the text index that belong to no segment."""
    with brain.reading() as store:
        rows = store._engine._run(
            "?[count(term)] := *posting{ segment, term }, not *segment{ segment }", {}, read_only=True
        )
    return int(rows[0][0])


# Stopped


@pytest.mark.slow
@pytest.mark.parametrize("whom", ["process", "group"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_ingest_says_so_and_the_next_one_completes_it(
    shell: Shell, many_notes: Path, number: signal.Signals, whom: str
) -> None:
    shell.write("one.md", "# One\n\ncommon\n")
    shell.ok("ingest", "one.md")
    brain = brain_of(shell)
    sources = 1
    moments: list[Callable[[subprocess.Popen[bytes]], bool]] = [
        has_helpers,  # they are not ready yet
        lambda _: written(shell)[0] > 100_000,  # the first batch is being written
    ]
    for moment in moments:
        with started(shell, "ingest", str(many_notes)) as process:
            until(lambda moment=moment, process=process: moment(process), process)  # type: ignore[misc]
            # A terminal sends Ctrl-C to all processes of a command at once, helpers included.
            kill_group(process, number) if whom == "group" else process.send_signal(number)
            ran = finished(process)
        assert ran.code == 130, ran
        assert not ACCIDENT.search(ran.err), ran.err
        assert damage(brain) == []
        now = len(paths_in(brain))
        assert sources <= now <= MANY, "what was written is gone, or the ingest was not stopped"
        sources = now
    report = json.loads(shell.ok("ingest", str(many_notes), "--json"))
    assert (report["new"], report["skipped"]) == (MANY + 1 - sources, sources - 1)
    assert len(paths_in(brain)) == MANY + 1
    assert_sound(shell)


def test_an_ingest_that_waits_for_the_lock_can_be_stopped_at_once(shell: Shell) -> None:
    shell.write("notes/a.md", "# Harbor\n\nThe tide tables are wrong.\n")
    shell.ok("ingest", "notes")
    lock = shell.brain / "brain.db.lock"
    with WriteLock(str(shell.brain / "brain.db"), 0), started(shell, "ingest", "notes", "--wait", "15") as process:
        if os.path.isdir("/proc/self/fd"):
            until(lambda: lock in opened_by(process), process)
        else:
            time.sleep(2)
        process.send_signal(signal.SIGINT)
        ran = finished(process)
    assert ran.code == 130, ran
    assert not ACCIDENT.search(ran.err)


def opened_by(process: subprocess.Popen[bytes]) -> set[Path]:
    found = set()
    folder = Path(f"/proc/{process.pid}/fd")
    for entry in folder.iterdir():
        with suppress(FileNotFoundError):
            found.add(entry.readlink())
    return found


LONG = [
    ["search", "common", "--limit", "500"],
    ["search", "common", "--limit", "500", "--json"],
    ["sources"],
]
SHORT = [
    ["--wait", "1", "search", "common", "--limit", "500", "--paths"],
    ["sources", "--json"],
    ["show", "n0001"],
    ["show", "n0001", "--json"],
    ["status"],
    ["tags"],
    ["config", "list"],
    ["--help"],
]


@pytest.mark.parametrize("args", LONG, ids=" ".join)
def test_a_pipe_that_closes_after_one_line_ends_the_command_cleanly(full: Shell, args: list[str]) -> None:
    bash = shutil.which("bash")
    if not bash:
        pytest.skip("needs a shell with pipefail")
    piped = [bash, "-c", 'set -o pipefail; "$@" | head -1', "bash", *full.command]
    with started(full, *args, command=piped) as process:
        ran = finished(process)
    assert ran.code == 0, ran
    assert ran.out.count("\n") == 1
    assert not ACCIDENT.search(ran.err), ran.err


@pytest.mark.parametrize("colors", ["", "1"], ids=["plain", "colors"])
@pytest.mark.parametrize("args", LONG + SHORT, ids=" ".join)
def test_a_pipe_that_nobody_reads_ends_the_command_cleanly(full: Shell, args: list[str], colors: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ran = subprocess.run(
            [*full.command, *args],
            stdin=subprocess.DEVNULL,
            stdout=writer,
            stderr=subprocess.PIPE,
            cwd=full.folder,
            env={**full.env, **({"FORCE_COLOR": colors, "NO_COLOR": ""} if colors else {})},
            timeout=WAIT,
            check=False,
        )
    finally:
        os.close(writer)
    assert ran.returncode == 0, ran
    assert not ACCIDENT.search(ran.stderr.decode()), ran.stderr


@pytest.mark.parametrize("where", [">&-", "2>&-", ">/dev/full"])
@pytest.mark.parametrize("args", [["search", "common"], ["sources"]], ids=" ".join)
def test_output_that_goes_nowhere_is_no_accident(full: Shell, args: list[str], where: str) -> None:
    if "/dev/full" in where and not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    with started(full, *args, command=["/bin/sh", "-c", f'exec "$@" {where}', "sh", *full.command]) as process:
        ran = finished(process)
    assert ran.code == (2 if "full" in where else 0), ran
    assert not ACCIDENT.search(ran.err), ran.err


# At once


def test_a_busy_brain_names_its_writer_and_still_answers(shell: Shell, many_notes: Path) -> None:
    shell.write("notes/a.md", "# Harbor\n\nThe tide tables are wrong.\n")
    shell.ok("ingest", "notes")
    with started(shell, "ingest", str(many_notes)) as process:
        until(lambda: has_lock(shell, process) and written(shell)[0] > 100_000, process)
        kill_group(process, signal.SIGSTOP)
        try:
            for args in (["ingest", "notes", "--wait", "0"], ["doctor", "--fix", "--wait", "0.2"]):
                busy = shell.run(*args)
                assert busy.code == 75, busy
                assert f"process {process.pid} (" in busy.err
                assert f"ingest {many_notes})" in busy.err
                assert not ACCIDENT.search(busy.err)
            assert json.loads(shell.ok("status", "--json"))["writer"].startswith(f"{process.pid} ")
            assert "tide" in shell.ok("search", "tide")
        finally:
            kill_group(process, signal.SIGCONT)
        assert finished(process).code == 0
    shell.ok("ingest", "notes", "--wait", "0")


@pytest.mark.slow
def test_writers_take_turns_and_no_search_notices(shell: Shell) -> None:
    vaults = [Vault(shell.folder / name, notes=40, sections=30, seed=seed) for seed, name in enumerate("ab")]
    shell.ok("ingest", "a", "b")

    def searches(number: int) -> list[Ran]:
        rng = random.Random(number)
        return [shell.run("search", "common", rng.choice(WORDS), "--json", "-n", "60") for _ in range(15)]

    rounds = 0
    with ThreadPoolExecutor(4) as pool:
        running = [pool.submit(searches, number) for number in range(4)]
        while not all(future.done() for future in running) and rounds < 100:
            rounds += 1
            for vault in vaults:
                vault.change(0.3)
            with (
                started(shell, "ingest", "a") as first,
                started(shell, "ingest", "b") as second,
                started(shell, "ingest", "a", "b") as third,
                started(shell, "ingest", "a", "--wait", "0") as hasty,
            ):
                for process in (first, second, third):
                    ran = finished(process)
                    assert ran.code == 0, ran
                ran = finished(hasty)
                assert ran.code in {0, 75}, ran
                assert not ACCIDENT.search(ran.err)
        found = [ran for future in running for ran in future.result(WAIT)]
    assert rounds > 1
    for ran in found:
        assert ran.code == 0, ran
        assert not ACCIDENT.search(ran.err), ran.err
        hits = [json.loads(line) for line in ran.out.splitlines()]
        assert "common" in hits[0]["content"]
    assert_sound(shell)
    assert_like_fresh(shell, [vault.folder for vault in vaults], vaults[0].edited | vaults[1].edited)


def test_several_ingests_at_once_make_one_brain(shell: Shell) -> None:
    for number in range(4):
        shell.write(f"notes{number}/a.md", f"# Note {number}\n\nThe tide tables are wrong.\n")
    with (
        started(shell, "ingest", "notes0") as first,
        started(shell, "ingest", "notes1") as second,
        started(shell, "ingest", "notes2") as third,
        started(shell, "ingest", "notes3") as fourth,
    ):
        for process in (first, second, third, fourth):
            ran = finished(process)
            assert ran.code == 0, ran
    assert len(paths_in(brain_of(shell))) == 4
    assert_sound(shell)


NOTES, PASSAGES = 8, 3
GENERATIONS = """
import sys, time
from memoria.brain import Brain
from memoria.ingest import TextNote
from memoria.ingest.run import ingest_texts

folder, first, last, notes, passages = sys.argv[1], *map(int, sys.argv[2:])
brain = Brain.find(folder)
with brain.writing() as store:
    for generation in range(first, last):
        text = f"# Generation {generation}\\n" + "".join(
            f"\\n## Part {part}\\n\\nshared generation {generation}\\n" for part in range(passages)
        )
        batch = [TextNote(text.encode(), f"note{number}") for number in range(notes)]
        ingest_texts(store, batch, brain.config, now=time.time())
"""


def generations(text: str) -> set[str]:
    return set(re.findall(r"[Gg]eneration (\d+)", text))


def look_by_search(brain: Brain) -> None:
    hits = find(brain, "shared")
    assert len({number for hit in hits for number in generations(f"{hit['title']} {hit['content']}")}) == 1
    assert sum(hit["content"].count("shared") for hit in hits) == NOTES * PASSAGES


def look_by_show(brain: Brain) -> None:
    (note,) = brain.show("note3", 0)
    assert len(note.atoms) == PASSAGES
    assert len(generations(note.source.title + "".join(atom.content for atom in note.atoms))) == 1
    (beside,) = brain.show(note.atoms[1].key, 1)
    assert len(beside.atoms) == PASSAGES
    assert len(generations(beside.source.title + "".join(atom.content for atom in beside.atoms))) == 1


def look_by_doctor(brain: Brain) -> None:
    with suppress(StoreBusyError):  # it looks longer than a batch takes: it may give up, but not cry damage
        assert damage(brain) == []


@pytest.mark.slow
@pytest.mark.parametrize(("look", "last"), [(look_by_search, 160), (look_by_show, 100), (look_by_doctor, 100)])
def test_whoever_looks_while_another_writes_sees_one_state(
    shell: Shell, look: Callable[[Brain], None], last: int
) -> None:
    brain = brain_of(shell)
    brain.ingest_texts([TextNote(b"to begin with", "first")])  # the brain is there before anyone looks
    sizes = [str(NOTES), str(PASSAGES)]
    with started(shell, str(shell.brain), "0", "1", *sizes, command=python(GENERATIONS)) as process:
        ran = finished(process)
        assert ran.code == 0, ran
    looks = 0
    with started(shell, str(shell.brain), "1", str(last), *sizes, command=python(GENERATIONS)) as process:
        while process.poll() is None and looks < 20_000:
            look(brain)
            looks += 1
        ran = finished(process)
        assert ran.code == 0, ran
    assert looks > 10
    look(brain)
    assert_sound(shell)


HOLD = """
import sys, time
from memoria.store.lock import WriteLock

while True:
    with WriteLock(sys.argv[1], 30):
        time.sleep(0.001)
    time.sleep(0.001)
"""
LOOK = """
import sys
from memoria.store.lock import holder_of

print("looking", flush=True)
while True:
    holder_of(sys.argv[1])
"""


def test_a_busy_error_always_names_the_writer(shell: Shell) -> None:
    path = str(shell.folder / "brain.db")
    busy = 0
    with started(shell, path, command=python(HOLD)) as process:
        until(lambda: os.path.exists(path + ".lock"), process)
        deadline = time.monotonic() + WAIT
        while busy < 300 and time.monotonic() < deadline:
            try:
                with WriteLock(path, 0):
                    pass
            except StoreBusyError as error:
                busy += 1
                assert f"process {process.pid} (" in str(error)
            time.sleep(0.0005)  # the other one wants it, too
    assert busy


def test_whoever_asks_for_the_writer_keeps_no_writer_out(shell: Shell) -> None:
    path = str(shell.folder / "brain.db")
    with WriteLock(path, 0):
        pass
    with started(shell, path, command=python(LOOK)) as process:
        assert process.stdout
        assert process.stdout.readline() == b"looking\n"
        for _ in range(3_000):
            with WriteLock(path, 0):
                pass
            time.sleep(0.0002)  # on one processor, they meet only if each lets the other go on


def test_what_is_forgotten_is_gone_even_if_it_changed_meanwhile(shell: Shell) -> None:
    brain = brain_of(shell)
    brain.ingest_texts([TextNote(b"# Old\n\nharbor", "note"), TextNote(b"# Other\n\ntide", "other")])
    found = brain.find_to_forget(["note"], "")
    brain.ingest_texts([TextNote(b"# New\n\nharbor moved", "note")])
    brain.forget(found, ["note"])
    with brain.reading() as store:
        assert [name for _, name, _ in store.titles()] == ["Other"]
        assert [source.path for source in store.sources()] == ["other"]
    assert damage(brain) == []


# Looking


LOOKS = [["search", "x"], ["search", "x", "--json"], ["status"], ["tags"], ["buckets"], ["show", "x"], ["sources"]]


def everything_below(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


@pytest.mark.parametrize("named", [True, False], ids=["named", "default"])
@pytest.mark.parametrize("args", [*LOOKS, ["doctor"], ["doctor", "--fix"]], ids=" ".join)
def test_looking_makes_no_brain(shell: Shell, args: list[str], named: bool) -> None:
    if not named:
        del shell.env["MEMORIA_BRAIN"]
    ran = shell.run(*args)
    assert ran.code == 1, ran
    assert "there is no brain" in ran.err
    assert not ran.out
    assert everything_below(shell.folder) == {}


@pytest.mark.parametrize("args", [*LOOKS, ["doctor"]], ids=" ".join)
def test_looking_changes_nothing(vault: Shell, args: list[str]) -> None:
    before = everything_below(vault.folder)
    assert vault.run(*args).code in {0, 1}
    after = everything_below(vault.folder)
    after.pop(str(vault.brain / "brain.db.used"), None)  # what was used is noted beside the store
    assert after == before


def test_an_interrupted_creation_does_no_harm(shell: Shell) -> None:
    shell.write("notes/a.md", "# Harbor\n\nThe tide tables are wrong.\n")
    for ending in ("", "-wal", "-shm"):
        shell.write(f"brain/brain.db.new{ending}", b"SQLite format 3\0 and no more")
    before = everything_below(shell.folder)
    for args in LOOKS:
        ran = shell.run(*args)
        assert ran.code == 1, ran
        assert "there is no brain" in ran.err
    assert everything_below(shell.folder) == before
    shell.ok("ingest", "notes")
    assert not list(shell.brain.glob("*.new*"))
    assert "tide" in shell.ok("search", "tide")
    assert_sound(shell)


def test_a_new_brain_lets_readers_read_while_it_is_written(vault: Shell) -> None:
    connection = sqlite3.connect(vault.brain / "brain.db")
    try:
        assert connection.execute("pragma journal_mode").fetchone() == ("wal",)
        connection.execute("begin immediate")  # what a writer holds through its whole transaction
        assert vault.run("search", "harbor", "--json").code == 0
    finally:
        connection.close()


def test_readers_need_no_lock(vault: Shell) -> None:
    with open(vault.brain / "brain.db.lock", "r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for args in (["search", "harbor"], ["status"], ["sources"], ["tags"], ["doctor"]):
            assert vault.run(*args).code == 0
