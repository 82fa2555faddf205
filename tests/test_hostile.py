"""Bad input: each gets one clear sentence, or works; and nothing is lost."""

import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from memoria.text import terms
from tests import conftest
from tests.conftest import CHECKOUT, Ran, Shell

HOSTILE = CHECKOUT / "fixtures" / "hostile"
ACCIDENT = re.compile(r"Traceback|panicked|RUST_BACKTRACE|codec can't")
HANGS = 10.0  # seconds after which a command that takes a tenth of one hangs
GOOD = "The lighthouse stands beside the bad ones.\n"
TEN_KB = "tenkilo" * 1_430

LOOKING = (["search", "lighthouse"], ["status"], ["doctor"])
WRITING = (["ingest", "notes"], ["forget", "good.md", "--yes"], ["doctor", "--fix"], ["init"])
SETTING = ["config", "set", "search.budget", "9"]


# What the tests ask for


def run(shell: Shell, *args: str, code: int, stdin: str | bytes = b"", **env: str) -> Ran:
    """Run memoria; whatever the input, it ends as expected and without an accident."""
    ran = shell.run(*args, stdin=stdin, **env)
    assert not ACCIDENT.search(ran.err), ran.err[-2_000:]
    assert ran.code == code, ran
    return ran


def is_refusal(ran: Ran) -> bool:
    """Tell whether a command said why it can't do as asked: one sentence, perhaps a hint, and nothing else."""
    sentence, *hint = ran.err.rstrip("\n").split("\n")
    return (
        ran.code == 2
        and sentence.startswith("memoria: ")
        and len(hint) <= 1
        and not ran.out
        and not ACCIDENT.search(ran.err)
    )


def refused(shell: Shell, *args: str, stdin: str | bytes = b"", **env: str) -> str:
    """Run memoria, which can't do as asked, and return what it says."""
    ran = shell.run(*args, stdin=stdin, **env)
    assert is_refusal(ran), ran
    return ran.err


def unclear(shell: Shell, *commands: list[str], names: str, **env: str) -> dict[str, Ran]:
    """Run commands that can't be done, and return those that don't say so, naming `names`, in one sentence."""
    all_ran = {" ".join(args): shell.run(*args, stdin="piped", **env) for args in commands}
    return {
        args: ran
        for args, ran in all_ran.items()
        if not is_refusal(ran) or names not in ran.err or "damaged" in ran.err
    }


def matched(shell: Shell, *words: str) -> dict[str, set[str]]:
    """Return name -> those of the words that find it, of all notes that a search finds by words."""
    ran = shell.run("search", "--json", "--limit", "500", "--", *words)
    assert not ACCIDENT.search(ran.err), ran.err[-2_000:]
    assert ran.code == (0 if ran.out else 1), ran
    matches: dict[str, set[str]] = {}
    for hit in records(ran):
        if has := {word for word in words if not hit["why"]["words"].keys().isdisjoint(terms(word))}:
            matches.setdefault(os.path.basename(hit["path"]), set()).update(has)
    return matches


def found(shell: Shell, *words: str) -> set[str]:
    """Return the names of the notes that one of the words finds."""
    return set(matched(shell, *words))


def records(ran: Ran) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ran.out.split("\n") if line]


def told(ran: Ran, name: str) -> list[str]:
    """Return the lines on stderr about a note: `failed: PATH: reason` or `warning: PATH: reason`."""
    return [line for line in ran.err.splitlines() if re.search(rf"(?:^|[\s/]){re.escape(name)}: ", line)]


def listed(shell: Shell) -> dict[str, str]:
    """Return name -> title of all notes in the brain."""
    return {os.path.basename(source["path"]): source["title"] for source in records(shell.run("sources", "--json"))}


def prints(folder: Path) -> dict[str, str]:
    """Return name -> fingerprint of all files in a folder."""
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in folder.iterdir() if path.is_file()}


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits for something that never comes is found out soon."""
    monkeypatch.setattr(conftest, "PATIENCE", HANGS)


@pytest.fixture
def notes(shell: Shell) -> Shell:
    """A shell with one good note in `notes`."""
    shell.write("notes/good.md", GOOD)
    return shell


@pytest.fixture
def brain(notes: Shell) -> Shell:
    """A shell with one good note in `notes`, ingested."""
    notes.ok("ingest", "notes", "-q")
    return notes


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """The same, for those who only look."""
    shell = Shell(tmp_path_factory.mktemp("shared"))
    shell.write("notes/good.md", GOOD)
    shell.ok("ingest", "notes", "-q")
    return shell


# The files of fixtures/hostile: what finds them, and what is said about them ("" is nothing)

READ = {
    "good.md": (["neighbour"], ""),
    "bom.md": (["albatross", "bommed", "marked"], ""),
    "crlf.md": (["badger", "carriage", "another"], ""),
    "cr-only.md": (["capybara", "macintosh", "second"], ""),
    "utf16-le-bom.md": (["dolphin", "sixteen", "café"], ""),
    "utf16-be-bom.md": (["echidna", "sixteen", "café"], ""),
    "utf16-le.md": (["ferret", "sixteen", "café"], ""),
    "utf16-be.md": (["gazelle", "sixteen", "café"], ""),
    "utf16-cut.md": (["hedgehog", "letter"], "UTF-16 is broken"),
    "latin1.md": (["iguana", "café", "crème", "naïvely"], "not UTF-8"),
    "nul.md": (["jackal", "behind"], "NUL"),
    "controls.md": (["yak", "red", "bell"], ""),
    "fence-unclosed.md": (["kingfisher", "lemur", "python"], ""),
    "yaml-broken.md": (["meerkat", "mandrill"], "YAML"),
    "yaml-tab.md": (["narwhal", "nightjar"], "YAML"),
    "yaml-bomb.md": (["ocelot", "osprey"], "front matter unfolds into over"),
    "yaml-recursive.md": (["pangolin", "puffin"], "front matter"),
    "yaml-deep.md": (["quokka", "quetzal"], "nested too deeply"),
    "yaml-python-object.md": (["raccoon", "harmless"], ""),
    "yaml-list.md": (["salamander", "stoat"], "front matter is not"),
    "yaml-scalar.md": (["tapir", "toucan"], "front matter is not"),
    "yaml-never-closed.md": (["uakari", "open"], ""),
    "front-matter-only.md": (["matter", "vicuna", "burrow"], ""),
    "labels.md": (["xerus", "quoted", "brace"], ""),
}
WITHOUT_WORDS = ["empty.md", "blank.md", "fences-only.md", "rules-only.md"]
NOT_TEXT = ["binary.md", "cyrillic-utf16-le.md"]


def test_every_hostile_file_is_tested() -> None:
    names = {path.name for path in HOSTILE.iterdir()} - {".gitattributes", "lines.jsonl"}
    assert names == {*READ, *WITHOUT_WORDS, *NOT_TEXT}


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> tuple[Shell, Ran]:
    """A shell with every hostile note that is text, and what its ingest said; for those who only look."""
    shell = Shell(tmp_path_factory.mktemp("odd"))
    shell.write("notes/beside.md", GOOD)
    for name in (*READ, *WITHOUT_WORDS):
        shutil.copy(HOSTILE / name, shell.folder / "notes" / name)
    return shell, run(shell, "ingest", "notes", code=0)


@pytest.mark.parametrize("name", READ)
def test_a_hostile_note_is_found_by_all_its_words_and_its_oddity_is_told_once(
    odd: tuple[Shell, Ran], name: str
) -> None:
    shell, ran = odd
    words, reason = READ[name]
    lines = told(ran, name)
    assert len(lines) == bool(reason), ran.err
    assert all(line.startswith("warning: ") and reason in line for line in lines), lines
    matches = matched(shell, "lighthouse", *words)
    assert set(words) <= matches.get(name, set())
    assert "lighthouse" in matches["beside.md"]


@pytest.mark.parametrize("name", WITHOUT_WORDS)
def test_a_note_without_a_word_is_known_by_its_name(odd: tuple[Shell, Ran], name: str) -> None:
    shell, ran = odd
    assert not told(ran, name)
    assert name.removesuffix(".md") in run(shell, "show", name, code=0).out


@pytest.mark.parametrize("name", NOT_TEXT)
def test_what_is_not_text_is_named_and_the_others_are_in(notes: Shell, name: str) -> None:
    shutil.copy(HOSTILE / name, notes.folder / "notes" / name)
    ran = run(notes, "ingest", "notes", code=1)
    [line] = told(ran, name)
    assert line.startswith("failed: ")
    assert "not text" in line
    assert listed(notes) == {"good.md": "good"}
    assert found(notes, "lighthouse") == {"good.md"}
    assert "not text" in run(notes, "ingest", f"notes/{name}", code=2).err


def test_all_hostile_files_together_lose_nothing_change_nothing_and_run_nothing(shell: Shell) -> None:
    shutil.copytree(HOSTILE, shell.folder / "notes")
    before = prints(shell.folder / "notes")
    [report] = records(run(shell, "ingest", "notes", "--json", code=1))
    assert {os.path.basename(failure["path"]) for failure in report["failures"]} == set(NOT_TEXT)
    assert report["new"] == len(READ) + len(WITHOUT_WORDS)
    assert set(listed(shell)) == {*READ, *WITHOUT_WORDS}
    assert prints(shell.folder / "notes") == before
    assert not list(shell.folder.rglob("hostile-was-here"))
    run(shell, "doctor", code=0)
    [again] = records(run(shell, "ingest", "notes", "--json", code=1))
    assert (again["new"], again["changed"], again["removed"]) == (0, 0, 0)
    assert again["skipped"] == len(READ) + len(WITHOUT_WORDS)
    assert again["failures"] == report["failures"]


def test_a_windows_note_is_stored_without_carriage_returns(shell: Shell) -> None:
    run(shell, "ingest", str(HOSTILE / "crlf.md"), code=0)
    [atom] = records(run(shell, "show", "crlf.md", "--json", code=0))
    assert atom["content"] == "The badger returns with every line.\n\n- one item\n- another item"


def test_a_note_can_not_steer_the_terminal(shell: Shell) -> None:
    run(shell, "ingest", str(HOSTILE / "controls.md"), code=0)
    for args in (["search", "yak"], ["show", "controls.md"]):
        out = run(shell, *args, code=0, NO_COLOR="", FORCE_COLOR="1").out
        assert "is not red" in out
        assert "\x1b[31m" not in out
        assert "\x07" not in out


# Size


@pytest.mark.slow
def test_a_line_of_50_megabytes_is_found_from_its_first_word_to_its_last(notes: Shell) -> None:
    filling = b"lorem ipsum dolor sit amet consectetur "
    notes.write("notes/line.md", b"walrus " + filling * (50_000_000 // len(filling)) + b"zeppelin")
    run(notes, "ingest", "notes", code=0)
    assert matched(notes, "walrus", "zeppelin", "lighthouse") == {
        "line.md": {"walrus", "zeppelin"},
        "good.md": {"lighthouse"},
    }


@pytest.mark.slow
def test_a_hundred_thousand_headings_are_all_found(notes: Shell) -> None:
    headings = [f"{'#' * (number % 6 + 1)} Heading h{number}" for number in range(100_000)]
    notes.write("notes/headings.md", "\n".join(headings))
    run(notes, "ingest", "notes", code=0)
    wanted = {f"h{number}" for number in (1, 6, 54_321, 99_998, 99_999)}
    assert matched(notes, *wanted, "lighthouse") == {"headings.md": wanted, "good.md": {"lighthouse"}}


def test_a_file_beyond_the_limit_is_named_with_the_setting_that_allows_it(notes: Shell) -> None:
    path = notes.write("notes/huge.md", b"walrus")
    os.truncate(path, 65_000_000)
    [line] = told(run(notes, "ingest", "notes", code=1), "huge.md")
    assert "65 MB" in line
    assert "ingest.max_megabytes" in line
    assert found(notes, "lighthouse") == {"good.md"}


# Names

NAMES = [
    "new\nline.md",
    "tab\tcarriage\r.md",
    "🦊🚀.md",
    "x" * 247 + ".md",
    "-q.md",
    "--help.md",
    "-.md",
    " .md",
    "'quote\" $HOME `ls` {x}.md",
    "back\\slash.md",
    "[glob]*?.md",
    "e\u0301 and é.md",
    "\x1b[31mred.md",
    "%s %d {}.md",
]


@pytest.fixture(scope="module")
def oddly_named(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A shell with a note of each name, ingested; for those who only look."""
    shell = Shell(tmp_path_factory.mktemp("named"))
    shell.write("notes/good.md", GOOD)
    for number, name in enumerate(NAMES):
        shell.write(f"notes/{name}", f"The axolotl a{number} has an odd name.\n")
    run(shell, "ingest", "notes", code=0)
    return shell


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name[:20]))
def test_a_note_with_an_odd_name_is_found_and_shown_by_it(oddly_named: Shell, name: str) -> None:
    word = f"a{NAMES.index(name)}"
    assert found(oddly_named, word) == {name}
    assert word in run(oddly_named, "show", "--", f"notes/{name}", code=0).out


def test_notes_with_odd_names_can_be_listed_and_forgotten(notes: Shell) -> None:
    for name in NAMES:
        notes.write(f"notes/{name}", "The axolotl has an odd name.\n")
    paths = b"".join(os.fsencode(f"notes/{name}") + b"\0" for name in [*NAMES, "good.md"])
    run(notes, "ingest", "--files-from", "-", "-0", code=0, stdin=paths)
    assert found(notes, "axolotl") == set(NAMES)
    run(notes, "forget", "--yes", "--", *(f"notes/{name}" for name in NAMES), code=0)
    assert found(notes, "axolotl", "lighthouse") == {"good.md"}


def test_a_name_with_a_leading_dash_can_be_given(notes: Shell) -> None:
    notes.write("-q.md", "An axolotl behind a dash.\n")
    notes.write("--help.md", "A bandicoot behind two.\n")
    run(notes, "ingest", "--", "-q.md", "--help.md", "notes", code=0)
    assert matched(notes, "axolotl", "bandicoot", "lighthouse") == {
        "-q.md": {"axolotl"},
        "--help.md": {"bandicoot"},
        "good.md": {"lighthouse"},
    }


def test_a_name_that_is_not_utf8_is_told_and_the_others_are_in(notes: Shell) -> None:
    folder = os.path.join(os.fsencode(notes.folder), b"notes", b"caf\xe9")
    os.mkdir(folder)
    for path in (os.path.join(folder, b"inside.md"), folder + b".md"):
        with open(path, "wb") as file:
            file.write(b"An axolotl in Latin-1.\n")
    ran = run(notes, "ingest", "notes", code=1)
    assert "not UTF-8" in told(ran, r"caf\xe9.md")[0]
    assert "not UTF-8" in told(ran, "inside.md")[0]
    assert found(notes, "axolotl", "lighthouse") == {"good.md"}
    ran = run(notes, "ingest", os.fsdecode(b"notes/caf\xe9.md"), code=2)
    assert "not UTF-8" in told(ran, r"caf\xe9.md")[0]


def test_a_failure_takes_one_line_whatever_the_name(notes: Shell) -> None:
    notes.write("notes/first\nsecond \x1b[31m.md", b"\x89PNG\0\0\0\1\2\3")
    ran = run(notes, "ingest", "notes", code=1)
    lines = [line for line in ran.err.splitlines() if "second" in line]
    assert len(lines) == 1, ran.err
    assert lines[0].startswith("failed: ")
    assert "not text" in lines[0]
    assert "\x1b" not in ran.err
    assert found(notes, "lighthouse") == {"good.md"}


def test_an_empty_path_is_not_the_current_folder(brain: Shell) -> None:
    brain.write("elsewhere.md", "An axolotl that nobody named.\n")
    refused(brain, "ingest", "")  # ingest "$UNSET"
    assert found(brain, "axolotl", "lighthouse") == {"good.md"}


# Links, pipes, and things that are not what they are named


def test_a_link_out_of_the_folder_is_not_followed(notes: Shell) -> None:
    notes.write("secret.md", "The axolotl is private.\n")
    notes.write("secrets/deep.md", "The bandicoot is private.\n")
    (notes.folder / "notes" / "out.md").symlink_to(notes.folder / "secret.md")
    (notes.folder / "notes" / "folder").symlink_to(notes.folder / "secrets")
    run(notes, "ingest", "notes", code=0)
    assert found(notes, "axolotl", "bandicoot", "lighthouse") == {"good.md"}


@pytest.mark.usefixtures("impatient")
def test_loops_of_links_end(notes: Shell) -> None:
    folder = notes.folder / "notes"
    (folder / "again").symlink_to(folder)
    (folder / "self.md").symlink_to("self.md")
    (folder / "one.md").symlink_to("two.md")
    (folder / "two.md").symlink_to("one.md")
    (folder / "nowhere.md").symlink_to("gone.md")
    run(notes, "ingest", "notes", code=0)
    assert listed(notes) == {"good.md": "good"}
    ran = run(notes, "ingest", "notes/self.md", "notes/nowhere.md", code=2)
    assert [len(told(ran, name)) for name in ("self.md", "nowhere.md")] == [1, 1], ran.err


@pytest.mark.usefixtures("impatient")
def test_a_pipe_in_a_folder_holds_nothing_up(notes: Shell) -> None:
    os.mkfifo(notes.folder / "notes" / "pipe.md")
    run(notes, "ingest", "notes", code=0)
    assert listed(notes) == {"good.md": "good"}


@pytest.mark.usefixtures("impatient")
def test_a_pipe_given_by_name_holds_nothing_up(brain: Shell) -> None:
    os.mkfifo(brain.folder / "notes" / "pipe.md")
    ran = run(brain, "ingest", "notes/pipe.md", "notes/good.md", code=1)
    assert len(told(ran, "pipe.md")) == 1, ran.err
    assert found(brain, "lighthouse") == {"good.md"}


def test_a_folder_in_the_place_of_a_file_is_told(shared: Shell) -> None:
    assert "notes" in refused(shared, "ingest", "--jsonl", "notes")
    assert "notes" in refused(shared, "ingest", "--files-from", "notes")


def test_a_file_in_the_place_of_a_folder_is_told(brain: Shell) -> None:
    ran = run(brain, "ingest", "notes/good.md/inside", code=2)
    assert len(told(ran, "inside")) == 1, ran.err
    assert found(brain, "lighthouse") == {"good.md"}


def test_a_file_that_became_a_folder_and_the_reverse_are_followed(notes: Shell) -> None:
    notes.write("notes/was-file.md", "An axolotl in a file.\n")
    notes.write("notes/was-folder.md/inside.md", "A bandicoot in a folder.\n")
    run(notes, "ingest", "notes", code=0)
    assert found(notes, "axolotl", "bandicoot") == {"was-file.md", "inside.md"}
    (notes.folder / "notes" / "was-file.md").unlink()
    shutil.rmtree(notes.folder / "notes" / "was-folder.md")
    notes.write("notes/was-file.md/inside.md", "A cassowary in a folder.\n")
    notes.write("notes/was-folder.md", "A dormouse in a file.\n")
    run(notes, "ingest", "notes", code=0)
    assert matched(notes, "axolotl", "bandicoot", "cassowary", "dormouse") == {
        "inside.md": {"cassowary"},
        "was-folder.md": {"dormouse"},
    }
    run(notes, "doctor", code=0)


def test_an_ingested_folder_that_became_a_file_has_a_title(brain: Shell) -> None:
    shutil.rmtree(brain.folder / "notes")
    brain.write("notes", "An axolotl where a folder was.\n")
    run(brain, "ingest", "notes", code=0)
    assert found(brain, "axolotl") == {"notes"}
    assert listed(brain)["notes"] == "notes"


def test_missing_files_in_a_list_are_told_and_the_others_are_in(notes: Shell) -> None:
    long = "y" * 5_000 + ".md"
    notes.write("list", b"notes/good.md\nnotes/gone.md\n\n   \nnotes/caf\xe9.md\n" + long.encode() + b"\n")
    ran = run(notes, "ingest", "--files-from", "list", code=1)
    assert "no such file" in told(ran, "gone.md")[0]
    assert [len(told(ran, name)) for name in ("gone.md", r"caf\xe9.md", long)] == [1, 1, 1], ran.err
    assert listed(notes) == {"good.md": "good"}
    assert found(notes, "lighthouse") == {"good.md"}


def test_a_list_that_is_missing_or_empty_is_told(shared: Shell) -> None:
    assert "nowhere" in refused(shared, "ingest", "--files-from", "nowhere")
    assert "names no files" in refused(shared, "ingest", "--files-from", "-", stdin="\n \n")


# Between listing and reading

LAUNCHER = """
import os, runpy, sys

def meddle(event, args):
    if event == "open" and str(args[0]).endswith("fleeting.md") and os.path.isfile(args[0]):
        os.unlink(args[0])
        {deed}

sys.addaudithook(meddle)
sys.argv[0] = "memoria"
runpy.run_module("memoria", run_name="__main__")
"""


class Meddled(Shell):
    """A shell in which something happens to `fleeting.md` at the very moment that it is opened."""

    deed = "pass"

    @property
    def command(self) -> list[str]:
        return [sys.executable, str(self.write("launcher.py", LAUNCHER.format(deed=self.deed)))]


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("deed", "reason"),
    [
        ("pass", "vanished"),
        ("os.mkdir(args[0])", "folder"),
        ("os.mkfifo(args[0])", "not a file"),
        ("os.symlink(args[0], args[0])", "links"),
    ],
    ids=["vanishes", "folder", "pipe", "loop"],
)
def test_a_file_that_changes_between_listing_and_reading_is_told(notes: Shell, deed: str, reason: str) -> None:
    notes.write("notes/fleeting.md", "An axolotl in passing.\n")
    meddled = Meddled(notes.folder)
    meddled.deed = deed
    [line] = told(run(meddled, "ingest", "notes", code=1), "fleeting.md")
    assert line.startswith("failed: ")
    assert reason in line
    assert found(notes, "lighthouse", "axolotl") == {"good.md"}


def test_a_known_note_that_vanishes_while_it_is_read_goes_with_the_next_ingest(notes: Shell) -> None:
    notes.write("notes/fleeting.md", "An axolotl in passing.\n")
    run(notes, "ingest", "notes", code=0)
    notes.write("notes/fleeting.md", "An axolotl, changed.\n")
    assert told(run(Meddled(notes.folder), "ingest", "notes", code=1), "fleeting.md")
    assert found(notes, "axolotl") == {"fleeting.md"}
    run(notes, "ingest", "notes", code=0)
    assert found(notes, "axolotl", "lighthouse") == {"good.md"}


# Permissions


class Unprivileged(Shell):
    """A shell for whom permission bits hold, even where the tests run as root."""

    @property
    def command(self) -> list[str]:
        if os.geteuid():
            return super().command
        return ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *super().command]


@pytest.fixture
def common(brain: Shell) -> Unprivileged:
    """A shell without privileges, with one good note ingested."""
    if not os.geteuid() and not shutil.which("setpriv"):
        pytest.skip("root may read everything, and there is no setpriv to give that up")
    return Unprivileged(brain.folder)


@contextmanager
def mode(path: Path, bits: int) -> Iterator[None]:
    """Change a file's permissions for a while."""
    before = path.stat().st_mode
    path.chmod(bits)
    try:
        yield
    finally:
        path.chmod(before)


def test_a_note_without_read_permission_is_told_and_the_others_are_in(common: Unprivileged) -> None:
    path = common.write("notes/closed.md", "An axolotl behind a door.\n")
    common.write("notes/new.md", "A bandicoot came later.\n")
    with mode(path, 0o000):
        [line] = told(run(common, "ingest", "notes", code=1), "closed.md")
        assert "permission" in line
        assert found(common, "bandicoot", "lighthouse") == {"new.md", "good.md"}
        assert "permission" in run(common, "ingest", "notes/closed.md", code=2).err
    run(common, "ingest", "notes", code=0)
    assert found(common, "axolotl") == {"closed.md"}


def test_a_known_note_that_can_not_be_read_any_more_stays(common: Unprivileged) -> None:
    common.write("notes/new.md", "A bandicoot came later.\n")
    path = common.write("notes/good.md", GOOD + "It is closed now.\n")
    with mode(path, 0o000):
        assert told(run(common, "ingest", "notes", code=1), "good.md")
        assert found(common, "lighthouse", "bandicoot") == {"good.md", "new.md"}


@pytest.mark.parametrize("bits", [0o000, 0o444], ids=oct)
def test_notes_in_a_folder_that_can_not_be_read_any_more_stay(common: Unprivileged, bits: int) -> None:
    common.write("notes/sub/deep.md", "An axolotl below.\n")
    run(common, "ingest", "notes", code=0)
    with mode(common.folder / "notes" / "sub", bits):
        for asked in (["notes"], ["notes/sub"], [], ["notes/sub/deep.md"]):
            ran = common.run("ingest", *asked)
            assert not ACCIDENT.search(ran.err), ran.err
            assert ran.code in (1, 2), (asked, ran)
            assert re.search(r"notes/sub\b.*permission", ran.err), (asked, ran.err)
            assert found(common, "axolotl") == {"deep.md"}, asked


def test_a_brain_folder_that_is_read_only_is_told_and_stays_as_it_is(common: Unprivileged) -> None:
    common.write("notes/new.md", "A bandicoot came later.\n")
    before = prints(common.brain)
    with mode(common.brain, 0o555):
        assert unclear(common, *LOOKING, *WRITING, SETTING, names=str(common.brain)) == {}
    assert prints(common.brain) == before
    assert found(common, "lighthouse", "bandicoot") == {"good.md"}


@pytest.mark.parametrize("name", ["brain.db", "memoria.toml"])
def test_a_file_of_the_brain_that_can_not_be_read_is_named(common: Unprivileged, name: str) -> None:
    path = common.write("brain/memoria.toml", "# nothing\n").with_name(name)
    with mode(path, 0o000):
        assert unclear(common, *LOOKING, *WRITING, names=str(path)) == {}
    assert found(common, "lighthouse") == {"good.md"}


def test_a_brain_that_can_not_be_made_is_told(common: Unprivileged) -> None:
    place = common.folder / "place"
    place.mkdir()
    new = str(place / "new")
    with mode(place, 0o555):
        assert unclear(common, ["ingest", "notes"], ["init"], SETTING, names=new, MEMORIA_BRAIN=new) == {}


# The brain's own file


def text_file(path: Path) -> None:
    path.write_text("This is a letter, and not a database.\n" * 100)


def noise(path: Path) -> None:
    path.write_bytes(random.Random(4).randbytes(20_000))


def cut(size: Callable[[int], int]) -> Callable[[Path], None]:
    return lambda path: os.truncate(path, size(path.stat().st_size))


def with_version(value: str) -> Callable[[Path], None]:
    def put(path: Path) -> None:
        # In a process of its own, so that the engine surely lets go of the file.
        code = (
            "import sys; from cozo_embedded import CozoDbPy; db = CozoDbPy('sqlite', sys.argv[1], '{}');"
            "db.run_script(sys.argv[2], {}, False); db.close()"
        )
        script = f"?[name, value] <- [['version', {value}]] :put meta {{name => value}}"
        subprocess.run([sys.executable, "-c", code, str(path), script], check=True)

    return put


def of_another_program(path: Path) -> None:
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("create table letters (text)")
    connection.execute("insert into letters values ('dear reader')")
    connection.commit()
    connection.close()


@pytest.fixture
def store_file(notes: Shell, shared: Shell) -> Path:
    """The store of a shell with one good note."""
    notes.brain.mkdir()
    return Path(shutil.copy(shared.brain / "brain.db", notes.brain))


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (text_file, "damaged"),
        (noise, "damaged"),
        (cut(lambda _: 0), "empty"),
        (cut(lambda _: 100), "damaged"),
        (cut(lambda size: size // 2), "damaged"),
        (cut(lambda size: size - 4_096), "damaged"),
        (with_version("99"), "version 99"),
        (with_version('"of another time"'), "damaged"),
        (of_another_program, "not a memoria store"),
    ],
    ids="text noise empty cut-100 cut-half cut-last newer no-version foreign".split(),
)
def test_a_store_that_is_none_is_told_and_left_alone(
    notes: Shell, store_file: Path, spoil: Callable[[Path], None], reason: str
) -> None:
    spoil(store_file)
    before = store_file.read_bytes()
    for args in (["search", "lighthouse"], ["doctor"], ["ingest", "notes"], ["init"]):
        complaint = refused(notes, *args)
        assert str(store_file) in complaint, args
        assert reason in complaint or args == ["doctor"], args
        assert store_file.read_bytes() == before, args


def test_every_command_tells_that_the_store_is_none(notes: Shell, store_file: Path) -> None:
    noise(store_file)
    for args in (*LOOKING, *WRITING, ["tags"], ["buckets"], ["show", "good.md"]):
        assert f"{store_file} is damaged or is not a memoria store" in refused(notes, *args), args


@pytest.mark.parametrize("part", [b"kookaburra", b"Bytes"], ids=["text", "schema"])
def test_a_store_with_odd_bytes_inside_is_told_as_damaged(notes: Shell, part: bytes) -> None:
    notes.write("notes/damaged.md", "The kookaburra laughs at the lighthouse.\n")
    run(notes, "ingest", "notes", code=0)
    store = notes.brain / "brain.db"
    data = store.read_bytes()
    assert part in data
    store.write_bytes(data.replace(part, b"\xff" * len(part)))
    for args in (["search", "lighthouse"], ["show", "damaged.md"], ["doctor"]):
        assert f"{store} is damaged" in refused(notes, *args), args


def test_a_damaged_store_is_replaced_as_the_hint_says(notes: Shell, store_file: Path) -> None:
    noise(store_file)
    assert "move it away and ingest the notes again" in refused(notes, "ingest", "notes")
    store_file.rename(notes.brain / "broken.db")
    run(notes, "ingest", "notes", code=0)
    assert found(notes, "lighthouse") == {"good.md"}


def test_a_folder_in_the_place_of_the_store_is_told(notes: Shell) -> None:
    store = notes.brain / "brain.db"
    store.mkdir(parents=True)
    assert unclear(notes, *LOOKING, *WRITING, names=str(store)) == {}
    assert not list(store.iterdir())


def test_a_brain_that_is_a_file_is_told_and_left_alone(notes: Shell) -> None:
    path = notes.write("letter.txt", "dear reader")
    assert unclear(notes, *LOOKING, *WRITING, SETTING, names=str(path), MEMORIA_BRAIN=str(path)) == {}
    assert str(path) in refused(notes, "--brain", "letter.txt", "ingest", "notes")
    assert str(path) in refused(notes, "init", "letter.txt")
    assert path.read_text() == "dear reader"


def test_a_brain_whose_name_is_not_utf8_is_told(notes: Shell) -> None:
    where = os.fsdecode(os.fsencode(notes.folder) + b"/brain\xff")
    assert unclear(notes, *LOOKING, *WRITING, SETTING, names="brain", MEMORIA_BRAIN=where) == {}


# A full disk


@pytest.fixture
def disk(notes: Shell) -> Iterator[Path]:
    """A disk of 3 MB; the shell's brain is on it, with one good note."""
    place = notes.folder / "disk"
    place.mkdir()
    options = ["-t", "tmpfs", "-o", "size=3m", "tmpfs"]
    if subprocess.run(["mount", *options, str(place)], capture_output=True, check=False).returncode:
        pytest.skip("a small disk to fill needs the right to mount one")
    try:
        notes.brain = place / "brain"
        notes.env["MEMORIA_BRAIN"] = str(notes.brain)
        notes.ok("ingest", "notes", "-q")
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def fill(disk: Path) -> Path:
    """Take the last byte of a disk."""
    filler = disk / "filler"
    room = os.statvfs(disk).f_bavail * os.statvfs(disk).f_bsize
    filler.write_bytes(b"\0" * room)
    assert os.statvfs(disk).f_bavail == 0
    return filler


def test_a_disk_that_fills_up_during_an_ingest_keeps_what_was_there(notes: Shell, disk: Path) -> None:
    rng = random.Random(6)
    for number in range(80):
        words = " ".join(f"word{rng.randrange(20_000)}" for _ in range(3_000))
        notes.write(f"many/{number}.md", f"The axolotl {words}\n")
    assert "disk is full" in refused(notes, "ingest", "many")
    assert found(notes, "lighthouse") == {"good.md"}
    run(notes, "doctor", code=0)
    subprocess.run(["mount", "-o", "remount,size=60m", str(disk)], check=True)
    run(notes, "ingest", "many", code=0)
    assert len(found(notes, "axolotl")) == 80
    run(notes, "doctor", code=0)


def test_a_disk_without_a_free_byte_is_told_and_harms_nothing(notes: Shell, disk: Path) -> None:
    notes.write("notes/new.md", "A bandicoot came later.\n")
    before = (notes.brain / "brain.db").read_bytes()
    filler = fill(disk)
    assert unclear(notes, *WRITING, SETTING, names=str(notes.brain)) == {}
    for args in LOOKING:  # may or may not need room
        ran = notes.run(*args)
        assert ran.code == 0 or is_refusal(ran), ran
        assert "damaged" not in ran.err, args
    other = disk / "other"
    assert unclear(notes, ["ingest", "notes"], names=str(other), MEMORIA_BRAIN=str(other)) == {}
    assert (notes.brain / "brain.db").read_bytes() == before
    assert not [path.name for path in notes.brain.iterdir() if ".new" in path.name]
    assert not (other / "brain.db").exists()
    filler.unlink()
    assert found(notes, "lighthouse") == {"good.md"}
    run(notes, "ingest", "notes", code=0)
    assert found(notes, "bandicoot") == {"new.md"}
    run(notes, "doctor", code=0)


# Queries


def long_query(first: str = "", last: str = "") -> str:
    rng = random.Random(5)
    words = " ".join(f"w{rng.randrange(10**9)}" for _ in range(11_000))
    return f"{first} {words[:100_000]} {last}".strip()


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("by", ["stdin", "argument"])
@pytest.mark.parametrize(
    "query",
    [
        long_query(first="lighthouse"),
        "lighthouse " + "a" * 100_000,
        "lighthouse " + "灯台" * 17_000,
        "lighthouse " * 9_100,
    ],
    ids=["words", "one-word", "one-word-cjk", "repeated"],
)
def test_a_query_of_100_kb_is_answered_without_a_flood(shared: Shell, query: str, by: str) -> None:
    assert len(query.encode()) >= 100_000
    ran = run(shared, "search", *(["-"] if by == "stdin" else ["--", query]), code=0, stdin=query)
    assert "good.md" in ran.out
    assert len(ran.err) < 2_000, ran.err[:500]


def test_words_at_the_end_of_a_long_query_count_or_are_told_not_to(shared: Shell) -> None:
    ran = shared.run("search", "-", stdin=long_query(last="lighthouse"))
    assert not ACCIDENT.search(ran.err), ran.err
    assert "good.md" in ran.out or re.search(r"first [\d,]+ words", ran.err), ran.err[-300:]


@pytest.mark.parametrize(
    "query",
    [
        "?!...",
        '"',
        "'",
        "$",
        "{",
        "}",
        "()",
        "*",
        "\\",
        "~^",
        "---",
        "-- -",
        "“”",
        "\x01\x02",
        "\ufeff",
        "AND OR NOT |",
    ],
    ids=ascii,
)
def test_a_query_of_punctuation_finds_nothing_and_says_so(shared: Shell, query: str) -> None:
    ran = run(shared, "search", "--", query, code=1)
    assert not ran.out
    assert "nothing found" in ran.err


def test_a_page_of_punctuation_from_a_pipe_finds_nothing_and_says_so(shared: Shell) -> None:
    ran = run(shared, "search", "-", code=1, stdin="?!… \"'${}()*\\ ~^ -- \n" * 5_000)
    assert not ran.out
    assert "nothing found" in ran.err


@pytest.mark.parametrize("query", ["", " ", "\n\t \n"], ids=ascii)
def test_an_empty_query_is_told(shared: Shell, query: str) -> None:
    assert "nothing to search for" in refused(shared, "search", query)
    assert "nothing to search for" in refused(shared, "search", "-", stdin=query)


@pytest.mark.parametrize("query", [b"lighthouse \xff\xfe", b"lighthouse\0stands", b"\xef\xbb\xbflighthouse"], ids=ascii)
def test_a_query_that_is_not_quite_text_still_finds(shared: Shell, query: bytes) -> None:
    assert "good.md" in run(shared, "search", "-", code=0, stdin=query).out
    if b"\0" not in query:
        assert "good.md" in run(shared, "search", os.fsdecode(query), code=0).out


# Text from a pipe, and JSON lines


@pytest.mark.parametrize("data", [b"", b" \n\t"], ids=ascii)
def test_nothing_on_stdin_is_told(shared: Shell, data: bytes) -> None:
    assert "nothing on stdin" in refused(shared, "ingest", "-", stdin=data)


def test_a_binary_on_stdin_is_told(brain: Shell) -> None:
    data = (HOSTILE / "binary.md").read_bytes()
    assert "not text" in told(run(brain, "ingest", "-", "--source", "picture", code=2, stdin=data), "picture")[0]
    assert listed(brain) == {"good.md": "good"}


@pytest.mark.parametrize("name", ["utf16-le.md", "utf16-be-bom.md", "latin1.md", "nul.md", "yaml-broken.md"])
def test_odd_text_on_stdin_is_read_as_odd_files_are(shell: Shell, name: str) -> None:
    words, reason = READ[name]
    ran = run(shell, "ingest", "-", "--source", "piped", code=0, stdin=(HOSTILE / name).read_bytes())
    assert [reason in line for line in told(ran, "piped")] == [True] * bool(reason)
    assert matched(shell, *words) == {"piped": set(words)}


BAD_LINES = {
    3: "not JSON",
    4: "text",
    5: "text",
    6: "text",
    8: "title",
    9: "tags",
    10: "2025-99-99",
    11: "empty",
    12: "not JSON",
    13: "not JSON",
}


def test_bad_json_lines_are_told_by_their_number_and_the_good_ones_are_in(shell: Shell) -> None:
    ran = run(shell, "ingest", "--jsonl", str(HOSTILE / "lines.jsonl"), code=1)
    failures = dict(re.findall(r"^failed: line (\d+): (.*)$", ran.err, re.MULTILINE))
    assert [int(number) for number in failures] == list(BAD_LINES)
    assert all(reason in failures[str(number)] for number, reason in BAD_LINES.items()), failures
    names = {"anemone", "barnacle", "dugong"}
    assert set(listed(shell)) == names
    assert matched(shell, *names) == {name: {name} for name in names}
    run(shell, "doctor", code=0)


@pytest.mark.parametrize(
    "line",
    ["[" * 100_000, '{"text":' * 50_000, "9" * 10_000, '"' * 100_000],
    ids=["lists", "objects", "number", "quotes"],
)
def test_a_json_line_that_only_wants_to_hurt_is_told_and_the_next_is_in(shell: Shell, line: str) -> None:
    good = '{"text": "The anemone is a good line.", "source": "anemone"}'
    ran = run(shell, "ingest", "--jsonl", "-", code=1, stdin=f"{good}\n{line}\n{good.replace('anemone', 'barnacle')}\n")
    assert len(told(ran, "line 2")) == 1, ran.err[:500]
    assert found(shell, "anemone", "barnacle") == {"anemone", "barnacle"}


def test_json_lines_with_a_mark_and_carriage_returns_are_read(shell: Shell) -> None:
    data = b'\xef\xbb\xbf{"text": "The anemone.", "source": "a"}\r\n\r\n{"text": "The barnacle.", "source": "b"}\r\n'
    run(shell, "ingest", "--jsonl", "-", code=0, stdin=data)
    assert matched(shell, "anemone", "barnacle") == {"a": {"anemone"}, "b": {"barnacle"}}


# Titles and labels

LABELS = ['say "no"', "it's", "$HOME", "{x}", "two\nlines", "back\\slash", "%s", "?[x] := *atom{}", "#", TEN_KB]


def one_line(text: str) -> str:
    return " ".join(text.split())


def stored(*labels: str) -> list[str]:
    """Return labels as hits have them: bare, and in order."""
    return sorted(filter(None, ("-".join(label.lower().lstrip("#").split()) for label in labels)))


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A shell with a note and a JSON line of each title, tag and bucket, ingested; for those who only look."""
    shell = Shell(tmp_path_factory.mktemp("labelled"))
    lines = []
    for number, text in enumerate(LABELS):
        quoted = json.dumps(text)
        head = f"---\ntitle: {quoted}\ntags: [{quoted}]\nbucket: [{quoted}]\n---\n"
        shell.write(f"notes/{number}.md", f"{head}\nThe axolotl n{number}.\n")
        record = {"text": f"The axolotl j{number}.", "source": text, "title": text, "tags": [text], "bucket": text}
        lines.append(json.dumps(record))
    assert "warning" not in run(shell, "ingest", "notes", code=0).err
    run(shell, "ingest", "--jsonl", "-", code=0, stdin="\n".join(lines))
    run(shell, "doctor", code=0)
    return shell


@pytest.mark.parametrize("text", LABELS, ids=lambda text: ascii(text[:20]))
def test_an_odd_title_and_an_odd_label_are_kept_and_found(labelled: Shell, text: str) -> None:
    number = LABELS.index(text)
    filters = [f"--tag={text}", f"--bucket={text}"] if stored(text) else []
    hits = records(run(labelled, "search", f"n{number}", f"j{number}", "--json", *filters, code=0))
    assert sorted(os.path.basename(hit["path"]) for hit in hits) == sorted([f"{number}.md", text])
    assert all(hit["title"] == one_line(text) for hit in hits)
    assert all(hit["tags"] == stored(text) for hit in hits)
    shown = run(labelled, "show", "--", one_line(text), code=0).out
    assert f"n{number}" in shown or f"j{number}" in shown


def test_odd_labels_given_on_the_command_line_are_kept_and_found(notes: Shell) -> None:
    run(notes, "ingest", "notes", *(f"--tag={text}" for text in LABELS), f"--bucket={LABELS[0]}", code=0)
    wanted = [f"--tag={text}" for text in LABELS if stored(text)]
    [hit] = records(run(notes, "search", "lighthouse", "--json", *wanted, f"--bucket={LABELS[0]}", code=0))
    assert hit["tags"] == stored(*LABELS)
    assert hit["buckets"] == stored(LABELS[0])
    run(notes, "doctor", code=0)


# Settings


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (b"[search]\nbudget = \n", 2, "TOML"),
        (b"\n\n[search\nbudget = 3", 3, "TOML"),
        (b"[search]\nbudget = 1\nbudget = 2\n", 3, "TOML"),
        (b"[search]\n# caf\xe9\nbudget = 2\n", 2, "UTF-8"),
        (b"# a comment\n[search]\nbudgt = 5\n", 3, "search.budget"),
        (b"a.b.c = 1\n", 1, "a.b.c"),
        (b"\nsearch = 5\n", 2, "search"),
        (b'[search]\nbudget = "many"\n', 2, "whole number"),
        (b"[search]\nbudget = true\n", 2, "whole number"),
        (b"[search]\nbudget = 0\n", 2, "at least 1"),
        (b'[search]\n# the budget\n"budget" = "many"\n', 3, "whole number"),
        (b"[bm25]\n\nk1 = nan\n", 3, "number"),
        (b"[bm25]\nb = 7\n", 2, "bm25.b"),
        (b'[ingest]\nextensions = ".md"\n', 2, "list"),
        (b"[ingest]\nextensions = [1]\n", 2, "list"),
    ],
    ids=lambda value: ascii(value[:40]) if isinstance(value, bytes) else "",
)
def test_a_bad_settings_file_is_told_by_its_line_and_left_alone(
    notes: Shell, text: bytes, line: int, reason: str
) -> None:
    path = notes.write("brain/memoria.toml", text)
    for args in (["search", "lighthouse"], SETTING):
        complaint = refused(notes, *args)
        assert str(path) in complaint, args
        assert re.search(rf"\bline {line}\b", complaint), complaint
        assert reason in complaint, complaint
    assert path.read_bytes() == text
    assert prints(notes.brain).keys() == {"memoria.toml"}


def test_a_settings_file_that_only_wants_to_hurt_is_told(notes: Shell) -> None:
    path = notes.write("brain/memoria.toml", b"x = " + b"[" * 5_000)
    assert unclear(notes, *LOOKING, *WRITING, SETTING, names=str(path)) == {}


@pytest.mark.parametrize(
    "text", [b"\xef\xbb\xbf[search]\nbudget = 33\n", b"[search]\r\nbudget = 33\r\n"], ids=["BOM", "CRLF"]
)
def test_a_settings_file_from_windows_is_read(notes: Shell, text: bytes) -> None:
    notes.write("brain/memoria.toml", text)
    assert run(notes, "config", "get", "search.budget", code=0).out == "33\n"


def test_a_folder_in_the_place_of_the_settings_is_told(brain: Shell) -> None:
    path = brain.brain / "memoria.toml"
    path.mkdir()
    assert unclear(brain, *LOOKING, *WRITING, SETTING, names=str(path)) == {}


@pytest.mark.parametrize("value", ["lots", "", "-1", "1e999", os.fsdecode(b"\xff")], ids=ascii)
def test_a_bad_setting_in_the_environment_is_told_by_its_name(shared: Shell, value: str) -> None:
    for name in ("MEMORIA_SEARCH_BUDGET", "MEMORIA_BM25_K1"):
        assert name in refused(shared, "search", "lighthouse", **{name: value})
