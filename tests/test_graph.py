"""The graph: edges that people wrote, through edits, renames and deletions; what is implied; links, orphans."""

import json
import os
import shutil
import tempfile
import time
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from memoria import config
from memoria.graph.explicit import edge_tags
from memoria.ingest import Given, forget, ingest_files
from memoria.model import source_node, source_of
from memoria.store.writer import StoreWriter
from tests.conftest import Shell

DEFAULTS = {key: setting.default for key, setting in config.SETTINGS.items()}

Seen = tuple[tuple[str, int], str, str, float, tuple[str, ...], int | None, str | None]


def ingest(store: StoreWriter, root: str) -> None:
    ingest_files(store, [root], Given(), DEFAULTS, now=time.time(), force=True)


def edges(store: StoreWriter) -> set[Seen]:
    """Every edge that people wrote, in words that do not depend on numbers."""
    paths = {source.id: source.relpath for source in store.sources()}
    places = {
        source_node(source) + here.ordinal: position
        for source, outline in store.outlines(paths).items()
        for position, here in enumerate(outline)
    }
    return {
        (
            (paths[source_of(edge.start)], places[edge.start]),
            paths[source_of(edge.end)],
            edge.kind,
            edge.weight,
            edge.tags,
            edge.line,
            edge.type,
        )
        for edge in store.meant_edges()
    }


FOLDERS = ("", "a/", "a/b/", "c/")
NAMES = ("one", "two", "three")
PATHS = [folder + name + ".md" for folder in FOLDERS for name in NAMES]
TITLES = ("One", "Zwei", "TCP/IP", "two", "???")
LINES = (
    *(f"[[{target}]]" for target in ("one", "two", "a/one", "b/three", "Zwei", "TCP/IP", "Alias", "???", "gone", "..")),
    "- uses [[two]]", "- part of [[Zwei]]", "[see](one.md)", "[see](../two.md)", "![[three]]", "#tag", "#other [[one]]",
    "plain",
)  # fmt: skip
NOTES = st.builds(
    lambda title, alias, tags, body: "\n".join(
        ["---", f"title: {json.dumps(title)}" if title else "", f"aliases: [{alias}]" if alias else "",
         f"tags: [{', '.join(tags)}]", "---", "\n\n".join(body)]
    ),
    st.sampled_from(("", *TITLES)), st.sampled_from(("", "Alias", "three")),
    st.lists(st.sampled_from(("tag", "red", "blue")), max_size=2), st.lists(st.sampled_from(LINES), max_size=5),
)  # fmt: skip


class Vault(RuleBasedStateMachine):
    """Whatever happens to the notes, the edges are those that a fresh brain finds."""

    def __init__(self) -> None:
        super().__init__()
        self.root = tempfile.mkdtemp()
        self.store = StoreWriter.in_memory()
        self.changed = True
        Path(self.root, "stays.md").write_text("[[one]] and [[Zwei]] #tag", encoding="utf-8")

    def teardown(self) -> None:
        shutil.rmtree(self.root)

    def files(self) -> list[Path]:
        return sorted(Path(self.root).rglob("*.md"))

    @rule(path=st.sampled_from(PATHS), text=NOTES)
    def write(self, path: str, text: str) -> None:
        target = Path(self.root, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        self.changed = True

    @rule(which=st.integers(0, 20), to=st.sampled_from(PATHS))
    def move(self, which: int, to: str) -> None:
        files = self.files()
        target = Path(self.root, to)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(files[which % len(files)], target)
        self.changed = True

    @rule(which=st.integers(0, 20))
    def remove(self, which: int) -> None:
        files = self.files()
        if len(files) > 1:
            files[which % len(files)].unlink()
            self.changed = True

    @rule(which=st.integers(0, 20))
    def forget_and_come_back(self, which: int) -> None:
        sources = self.store.sources()
        if sources:
            forget(self.store, [sources[which % len(sources)]], now=time.time())
            self.changed = True

    @invariant()
    def the_same_as_from_scratch(self) -> None:
        if not self.changed:
            return
        ingest(self.store, self.root)
        fresh = StoreWriter.in_memory()
        ingest(fresh, self.root)
        assert edges(self.store) == edges(fresh)
        assert self.store.disagreements() == []
        assert self.store.unsettled() == {}
        self.changed = False


Vault.TestCase.settings = settings(max_examples=60, stateful_step_count=12, deadline=None)
test_edges_are_those_of_a_fresh_brain = Vault.TestCase


def test_the_edges_of_a_small_vault(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "See [[b]].\n\n# Two\n\n- uses [[c]]\n\n# Three\n\n[[a]] itself, [[nowhere]]", encoding="utf-8"
    )
    (tmp_path / "b.md").write_text("Back to [[a]].", encoding="utf-8")
    (tmp_path / "c.md").write_text("Nothing.", encoding="utf-8")
    store = StoreWriter.in_memory()
    ingest(store, str(tmp_path))
    assert edges(store) == {
        (("a.md", 0), "b.md", "link", 1.0, (), 0, None),  # both ways
        (("a.md", 1), "c.md", "relation", 1.0, (), 0, "uses"),
        (("b.md", 0), "a.md", "link", 1.0, (), 0, None),
    }
    (tmp_path / "b.md").write_text("No more.", encoding="utf-8")
    (tmp_path / "nowhere.md").write_text("Here now.", encoding="utf-8")
    ingest(store, str(tmp_path))
    assert edges(store) == {
        (("a.md", 0), "b.md", "link", 0.9, (), 0, None),
        (("a.md", 1), "c.md", "relation", 1.0, (), 0, "uses"),
        (("a.md", 2), "nowhere.md", "link", 0.9, (), 0, None),
    }


def test_edges_carry_what_both_ends_share() -> None:
    assert edge_tags(["b", "a"], ["b", "c"]) == ("b",)
    assert edge_tags(["z", "y", "x", "w"], ["a"]) == ("a", "w", "x", "y")
    assert edge_tags([], []) == ()


def test_a_killed_ingest_is_settled_by_the_next_writer(shell: Shell) -> None:
    """A batch that was written and never settled: what kill -9 leaves between the two."""
    shell.write("notes/a.md", "[[b]]")
    shell.write("notes/b.md", "b")
    shell.ok("ingest", "notes", "-q")
    store = StoreWriter.open(str(shell.brain / "brain.db"))
    store.put_edges(store.meant_edges(), [])
    store.mend_copies()
    store.close()
    shell.ok("ingest", "notes", "-q")
    store = StoreWriter.open(str(shell.brain / "brain.db"))
    assert len(store.meant_edges()) == 1
    assert store.unsettled() == {}
