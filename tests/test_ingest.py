"""Ingest: what is new, changed, moved, gone; keys that stay; notes that are never touched."""

import json
import os
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria import config
from memoria.config import MIRROR_MARKER
from memoria.errors import RefusedError
from memoria.ingest import Given, ingest_files
from memoria.model import IngestReport
from memoria.store.writer import StoreWriter
from tests.conftest import NOTES, Shell

NOW = 1_763_000_000.0


class Notes:
    """A folder of notes and a store in memory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = StoreWriter.in_memory()
        self.settings = config.load(str(folder))

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def ingest(self, *names: str, given: Given | None = None, **options: Any) -> IngestReport:
        paths = [str(self.folder / name) for name in names or ("",)]
        return ingest_files(
            self.store, [path.rstrip("/") for path in paths], given or Given(), self.settings, now=NOW, **options
        )

    def keys(self, name: str) -> list[str]:
        number = self.store.source_ids([str(self.folder / name)])[str(self.folder / name)]
        return [atom.key for atom in self.store.show_source(number)[1]]

    def labels(self, name: str) -> set[str]:
        number = self.store.source_ids([str(self.folder / name)])[str(self.folder / name)]
        shown, _ = self.store.show_source(number)
        return {f"{label.kind}:{label.name}:{label.origin}" for labels in shown.labels.values() for label in labels}

    def names(self) -> list[str]:
        return [source.relpath for source in self.store.sources()]


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    return Notes(tmp_path)


def counts(report: IngestReport) -> tuple[int, int, int, int, int]:
    return report.new, report.changed, report.moved, report.removed, report.skipped


LONG = "{} is a passage that is long enough not to be packed with its neighbour, " + "since it goes on and on. " * 14


def three(first: str = "One", second: str = "Two", third: str = "Three") -> str:
    return "\n\n".join(LONG.format(word) for word in (first, second, third))


# Keys


def test_a_key_survives_an_edit_above_and_an_edit_inside(notes: Notes) -> None:
    notes.write("a.md", three())
    notes.ingest()
    before = notes.keys("a.md")
    assert len(set(before)) == 3
    notes.write("a.md", LONG.format("Zero") + "\n\n" + three(second="Two, edited,"))
    assert counts(notes.ingest()) == (0, 1, 0, 0, 0)
    after = notes.keys("a.md")
    assert after[1:] == before
    assert after[0] not in before


def test_unchanged_atoms_of_a_changed_note_keep_their_rows(notes: Notes) -> None:
    notes.write("a.md", three())
    notes.ingest()
    notes.write("a.md", LONG.format("Zero") + "\n\n" + three())
    assert notes.ingest().atoms == 1


def test_a_key_survives_a_rename_and_a_move_to_another_folder(notes: Notes) -> None:
    path = notes.write("a.md", three())
    notes.ingest()
    before = notes.keys("a.md")
    (notes.folder / "sub").mkdir()
    path.rename(notes.folder / "sub" / "b.md")
    assert counts(notes.ingest()) == (0, 0, 1, 0, 0)
    assert notes.keys("sub/b.md") == before


def test_a_vault_that_moved_keeps_its_keys(notes: Notes) -> None:
    notes.write("old/a.md", three())
    notes.write("old/b.md", three("Other"))
    notes.ingest("old")
    before = notes.keys("old/a.md")
    (notes.folder / "old").rename(notes.folder / "new")
    assert notes.ingest("new").moved == 2
    assert notes.keys("new/a.md") == before
    assert len(notes.store.sources()) == 2


def test_the_same_vault_has_the_same_keys_in_every_brain(
    notes: Notes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = Notes(tmp_path_factory.mktemp("elsewhere"))
    for brain in (notes, other):
        brain.write("x/a.md", three())
        brain.ingest()
    assert notes.keys("x/a.md") == other.keys("x/a.md")


def test_the_same_note_in_two_roots_has_different_keys(notes: Notes) -> None:
    notes.write("one/a.md", three())
    notes.write("two/a.md", three())
    notes.ingest("one")
    notes.ingest("two")
    assert not set(notes.keys("one/a.md")) & set(notes.keys("two/a.md"))
    both = Notes(notes.folder)
    both.ingest("one", "two")
    assert not set(both.keys("one/a.md")) & set(both.keys("two/a.md"))


def test_equal_passages_of_a_note_have_different_keys(notes: Notes) -> None:
    notes.write("a.md", three("Same", "Same", "Same"))
    notes.ingest()
    assert len(set(notes.keys("a.md"))) == 3


@given(st.lists(st.integers(0, 5), max_size=8), st.lists(st.integers(0, 5), max_size=8))
def test_passages_that_stay_keep_their_keys_whatever_else_changes(before: list[int], after: list[int]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        notes = Notes(Path(folder))
        notes.write("a.md", "\n\n".join(LONG.format(f"Number {n}") for n in before))
        notes.ingest()
        old = notes.keys("a.md")
        notes.write("a.md", "\n\n".join(LONG.format(f"Number {n}") for n in after))
        notes.ingest()
        new = notes.keys("a.md")
        assert len(set(new)) == len(new) == len(after)
        kept = sum(min(before.count(n), after.count(n)) for n in set(before))
        assert len(set(old) & set(new)) >= kept


# What has to be done


def test_nothing_changed_nothing_done(notes: Notes) -> None:
    notes.write("a.md", "text")
    notes.ingest()
    generation = notes.store.meta()["generation"]
    assert counts(notes.ingest()) == (0, 0, 0, 0, 1)
    assert notes.store.meta()["generation"] == generation


def test_a_touched_note_is_not_parsed_again(notes: Notes) -> None:
    path = notes.write("a.md", "text")
    notes.ingest()
    os.utime(path, (1, 1))
    report = notes.ingest()
    assert (counts(report), report.atoms) == ((0, 0, 0, 0, 1), 0)
    assert notes.store.sources()[0].mtime == 1_000_000_000


def test_a_vanished_note_is_removed_with_all_that_hung_on_it(notes: Notes) -> None:
    path = notes.write("a.md", "---\ntags: [gone]\nstatus: x\n---\n[[Other]] #inline @ana")
    notes.write("b.md", "stays")
    notes.ingest()
    path.unlink()
    assert counts(notes.ingest()) == (0, 0, 0, 1, 1)
    assert notes.names() == ["b.md"]
    assert notes.store.labels("tag") == []
    assert notes.store.find_labels(["gone", "inlin"], most=9) == []
    assert notes.store.all_links() == []
    assert notes.store.fields([1 << 20]) == []
    assert notes.store.meta()["atoms"] == 1


def test_the_order_of_ingest_does_not_show(notes: Notes, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = Notes(tmp_path_factory.mktemp("other"))
    for name in ("a.md", "b.md", "c.md"):
        notes.write(name, f"about {name}")
        notes.ingest(name)
    for name in ("c.md", "b.md", "a.md"):
        other.write(name, f"about {name}")
    other.ingest("c.md")
    other.ingest()
    assert [notes.keys(name) for name in notes.names()] == [other.keys(name) for name in other.names()]


def test_a_dry_run_says_and_changes_nothing(notes: Notes) -> None:
    notes.write("a.md", "text")
    report = notes.ingest(dry_run=True)
    assert (report.new, report.atoms) == (1, 1)
    assert notes.store.sources() == []
    assert notes.store.roots() == []


# Roots, labels, identity


def test_a_file_belongs_to_the_root_that_holds_it(notes: Notes) -> None:
    notes.write("notes/work/a.md", "text")
    notes.ingest("notes", given=Given("mine", ("given",)))
    notes.write("notes/work/a.md", "other text")
    report = notes.ingest("notes/work/a.md")
    assert counts(report) == (0, 1, 0, 0, 0)
    assert notes.names() == ["work/a.md"]
    assert notes.labels("notes/work/a.md") == {"bucket:mine:ingest", "tag:given:ingest"}


def test_a_file_that_came_first_joins_the_root_that_comes_later(notes: Notes) -> None:
    notes.write("notes/work/a.md", "text")
    notes.ingest("notes/work/a.md")
    assert notes.names() == ["a.md"]
    assert notes.labels("notes/work/a.md") == {"bucket:inbox:ingest"}
    notes.ingest("notes")
    assert notes.names() == ["work/a.md"]
    assert notes.labels("notes/work/a.md") == {"bucket:work:ingest"}


def test_the_bucket_is_given_or_written_or_the_first_folder_or_inbox(notes: Notes) -> None:
    notes.write("a.md", "text")
    notes.write("Side Projects/b.md", "text")
    notes.write("deep/er/c.md", "---\nbuckets: [x, y]\n---\ntext")
    notes.ingest()
    assert notes.labels("a.md") == {"bucket:inbox:ingest"}
    assert notes.labels("Side Projects/b.md") == {"bucket:side-projects:ingest"}
    assert notes.labels("deep/er/c.md") == {"bucket:x:note", "bucket:y:note"}
    notes.ingest(given=Given("all"))
    assert notes.labels("deep/er/c.md") == {"bucket:all:ingest"}


def test_labels_given_once_are_remembered(notes: Notes) -> None:
    notes.write("a.md", "text")
    notes.ingest(given=Given("work", ("t",)))
    notes.write("b.md", "text two")
    notes.ingest()
    assert notes.labels("a.md") == notes.labels("b.md") == {"bucket:work:ingest", "tag:t:ingest"}


def test_labels_given_to_a_file_stay_with_it(notes: Notes) -> None:
    notes.write("a.md", "text")
    notes.ingest()
    notes.ingest("a.md", given=Given("", ("special",)))
    notes.ingest()
    assert notes.labels("a.md") == {"bucket:inbox:ingest", "tag:special:ingest"}


def test_without_a_path_everything_known_is_ingested_again(notes: Notes) -> None:
    notes.write("one/a.md", "a")
    notes.write("two/b.md", "b")
    notes.write("three/c.md", "c")
    notes.ingest("one", "two", "three/c.md")
    notes.write("one/new.md", "n")
    notes.write("three/c.md", "c changed")
    notes.write("three/unasked.md", "u")
    report = ingest_files(notes.store, [], Given(), notes.settings, now=NOW)
    assert counts(report) == (1, 1, 0, 0, 2)


# Accidents


def test_a_missing_root_is_refused(notes: Notes) -> None:
    notes.write("vault/a.md", "text")
    notes.ingest("vault")
    shutil.rmtree(notes.folder / "vault")
    with pytest.raises(RefusedError, match="is missing"):
        notes.ingest("vault")
    with pytest.raises(RefusedError, match="is missing"):
        ingest_files(notes.store, [], Given(), notes.settings, now=NOW)
    assert len(notes.store.sources()) == 1
    assert notes.ingest("vault", force=True).removed == 1
    assert notes.store.roots() == []


def test_a_mass_vanish_is_refused_and_a_small_one_is_not(notes: Notes) -> None:
    for number in range(50):
        notes.write(f"{number}.md", f"text {number}")
    notes.ingest()
    for number in range(20):
        (notes.folder / f"{number}.md").unlink()
    assert notes.ingest().removed == 20
    for number in range(20, 45):
        (notes.folder / f"{number}.md").unlink()
    with pytest.raises(RefusedError, match="25 of the 30"):
        notes.ingest()
    assert len(notes.store.sources()) == 30
    assert notes.ingest(force=True).removed == 25


def test_a_folder_that_can_not_be_listed_is_not_taken_for_gone(notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    notes.write("ok/a.md", "a")
    notes.write("locked/b.md", "b")
    notes.ingest()
    scandir = os.scandir

    def refuse(path: str) -> Any:
        if path.endswith("locked"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    report = notes.ingest()
    assert report.removed == 0
    assert report.failed == ((str(notes.folder / "locked"), "no permission to read it"),)


# What counts as a note


def test_only_notes_are_read(notes: Notes) -> None:
    for name in ("a.md", "b.markdown", "c.txt", "d.MD", "e.py", ".hidden.md", ".obsidian/f.md", ".trash/g.md"):
        notes.write(name, f"text of {name}")
    notes.write(f"mirror/{MIRROR_MARKER}", "")
    notes.write("mirror/@b/h.md", "mirrored")
    notes.ingest()
    assert sorted(notes.names()) == ["a.md", "b.markdown", "c.txt", "d.MD"]


def test_ignore_files_are_honoured(notes: Notes) -> None:
    notes.write(".gitignore", "drafts/\n*.tmp.md\n!keep.tmp.md\n")
    notes.write("sub/.memoriaignore", "secret.md\n/top.md\n")
    for name in ("a.md", "drafts/b.md", "x.tmp.md", "keep.tmp.md", "sub/secret.md", "sub/top.md", "sub/in/top.md"):
        notes.write(name, f"text of {name}")
    notes.ingest()
    assert sorted(notes.names()) == ["a.md", "keep.tmp.md", "sub/in/top.md"]
    other = Notes(notes.folder)
    other.ingest("sub")
    assert other.names() == ["in/top.md"]


def test_a_folder_that_git_ignores_is_read_when_it_is_asked_for(notes: Notes) -> None:
    (notes.folder / ".git").mkdir()
    notes.write(".gitignore", "private/\n")
    notes.write("private/a.md", "text")
    notes.ingest("private")
    assert notes.names() == ["a.md"]


def test_a_glob_chooses_other_files_and_is_remembered(notes: Notes) -> None:
    notes.write("a.org", "text")
    notes.write("b.md", "text b")
    notes.ingest(given=Given(globs=("*.org",)))
    assert notes.names() == ["a.org"]
    notes.write("c.org", "text c")
    notes.ingest()
    assert notes.names() == ["a.org", "c.org"]


def test_links_out_of_the_root_are_not_followed(notes: Notes, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.md").write_text("secret", encoding="utf-8")
    notes.write("a.md", "text")
    (notes.folder / "out.md").symlink_to(outside / "secret.md")
    (notes.folder / "outdir").symlink_to(outside)
    (notes.folder / "loop").symlink_to(notes.folder)
    (notes.folder / "in.md").symlink_to(notes.folder / "a.md")
    notes.ingest()
    assert notes.names() == ["a.md", "in.md"]


# Through the command line


def test_notes_are_read_and_never_written(shell: Shell) -> None:
    folder = shell.folder / "notes"
    shutil.copytree(NOTES, folder)

    def picture() -> dict[str, tuple[str, int, int]]:
        found = {}
        for path in [folder, *sorted(folder.rglob("*"))]:
            status = path.lstat()
            digest = sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
            found[str(path)] = (digest, status.st_mtime_ns, status.st_mode)
        return found

    before = picture()
    shell.ok("ingest", "notes")
    shell.ok("ingest")
    shell.ok("search", "harbor")
    shell.ok("forget", "notes/journal", "--yes")
    shell.ok("doctor", "--fix")
    assert picture() == before


def test_the_summary_counts(shell: Shell) -> None:
    shell.write("notes/a.md", "alpha")
    shell.write("notes/b.md", "---\nbroken: [\n---\nbeta")
    ran = shell.run("ingest", "notes", "--json")
    assert ran.code == 0
    summary = json.loads(ran.out)
    assert {key: summary[key] for key in ("new", "changed", "moved", "removed", "skipped", "failed", "atoms")} == {
        "new": 2, "changed": 0, "moved": 0, "removed": 0, "skipped": 0, "failed": 0, "atoms": 2,
    }  # fmt: skip
    assert summary["warnings"][0]["path"].endswith("b.md")
    assert "made a brain in" in ran.err
    assert "warning: notes/b.md: front matter is not valid YAML" in ran.err
    assert shell.ok("search", "beta", "--paths").strip().endswith("b.md")


def test_stdin_by_name_replaces_appends_and_by_content_is_the_same(shell: Shell) -> None:
    shell.ok("ingest", "-", "--source", "log", "--tag", "git", stdin="first entry")
    assert "1 skipped" in shell.ok("ingest", "-", "--source", "log", "--tag", "git", stdin="first entry")
    shell.ok("ingest", "-", "--source", "log", "--append", stdin="second entry")
    out = shell.ok("search", "entry", "--json")
    hits = [json.loads(line) for line in out.splitlines()]
    assert [hit["content"] for hit in hits] == ["first entry\n\nsecond entry"]
    assert {hit["path"] for hit in hits} == {"log"}
    assert all(hit["tags"] == ["git"] and hit["buckets"] == ["inbox"] for hit in hits)
    shell.ok("ingest", "-", "--source", "log", stdin="third entry")
    assert "first" not in shell.ok("search", "entry")
    shell.ok("ingest", "-", stdin="nameless text")
    assert "1 skipped" in shell.ok("ingest", "-", stdin="nameless text")
    assert len(shell.ok("sources").splitlines()) == 2


def test_jsonl_takes_a_note_a_line_and_tells_which_are_bad(shell: Shell) -> None:
    lines = [
        {"text": "# Alpha\nfirst", "source": "one", "bucket": "Work", "tags": ["A b"], "date": "2025-01-02"},
        {"text": "second", "title": "Beta"},
        {"no": "text"},
        {"text": "x", "tags": [1]},
        {"text": "x", "date": "soon"},
    ]
    data = "\n".join(json.dumps(line) for line in lines) + "\nnot json\n\n"
    ran = shell.run("ingest", "--jsonl", "-", stdin=data)
    assert ran.code == 1
    assert ran.err.count("failed: line") == 4
    assert "2 new" in ran.out
    hit = json.loads(shell.ok("search", "first", "--json"))
    assert (hit["path"], hit["title"], hit["buckets"], hit["tags"], hit["date"]) == (
        "one", "Alpha", ["work"], ["a-b"], "2025-01-02",
    )  # fmt: skip
    assert json.loads(shell.ok("search", "second", "--json"))["title"] == "Beta"


def test_paths_come_from_a_list(shell: Shell) -> None:
    a, b = shell.write("x/a b.md", "alpha"), shell.write("x/b\nc.md", "beta")
    shell.ok("ingest", "--files-from", "-", "-0", stdin=f"{a}\0{b}\0")
    assert len(shell.ok("sources").splitlines()) == 2
    listed = shell.write("list", f"{shell.write('y/c.md', 'gamma')}\n")
    shell.ok("ingest", "--files-from", str(listed))
    assert len(shell.ok("sources").splitlines()) == 3


@pytest.mark.parametrize(
    "args",
    [
        ("ingest", "missing.md"),
        ("ingest", "-", "other.md"),
        ("ingest", "--jsonl", "missing.jsonl"),
        ("ingest", "--files-from", "missing"),
        ("ingest", "--source", "x", "."),
        ("ingest", "--nonsense"),
    ],
)
def test_bad_usage_is_told_in_a_sentence(shell: Shell, args: tuple[str, ...]) -> None:
    ran = shell.run(*args, stdin="text")
    assert ran.code == 2
    assert ran.err.strip()
    assert "Traceback" not in ran.err


def test_a_missing_path_beside_a_good_one_is_part_of_the_work(shell: Shell) -> None:
    shell.write("a.md", "alpha")
    ran = shell.run("ingest", "a.md", "missing.md")
    assert ran.code == 1
    assert "failed: missing.md: there is no such file or folder" in ran.err
    assert "1 new" in ran.out


def test_no_mirror_is_accepted(shell: Shell) -> None:
    shell.write("a.md", "alpha")
    shell.ok("ingest", "a.md", "--no-mirror")
