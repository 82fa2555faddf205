"""The dream: what it makes, that it changes nothing twice, that it can be undone, taught, stopped and killed."""

import json
import random
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from memoria import config
from memoria.brain import Brain
from memoria.dream.cycle import STEPS
from memoria.ingest import Given, ingest_files
from memoria.model import source_of
from memoria.store import Store
from memoria.store.dreams import DreamStore
from memoria.store.engine import Engine
from tests.conftest import NOTES, Shell
from tests.test_graph import DEFAULTS, LINES, PATHS

INDEX = ("posting", "segment", "mention", "lexicon")  # merges aside


def dump(path: Path, *, without: tuple[str, ...] = ()) -> dict[str, list[Any]]:
    """Return all rows of all relations, but those of the text index and the counters."""
    engine = Engine(str(path))
    rows: dict[str, list[Any]] = {}
    for relation in (row[0] for row in engine.write_text("::relations")):
        if ":" in relation or relation in (*INDEX, *without):
            continue
        columns = ", ".join(row[0] for row in engine.write_text(f"::columns {relation}"))
        rows[relation] = engine.write_text(f"?[{columns}] := *{relation}{{ {columns} }}")
    engine.close()
    moving = ("generation", "next_segment", "merging", "dead", "used")
    rows["meta"] = [row for row in rows["meta"] if row[0] not in moving]
    return rows


def brain_of(shell: Shell) -> Brain:
    return Brain(str(shell.brain), config.load(str(shell.brain)))


def a_vault(shell: Shell, notes: int, seed: int = 7) -> None:
    """Write notes with tags, links, names and dates, a third of them without tags."""
    draw = random.Random(seed)
    topics = {
        "garden": "tomato compost seed soil bed water prune harvest greenhouse mulch".split(),
        "harbor": "berth tide mooring rope marina ferry pilot crane lock quay".split(),
        "code": "parser token syntax compiler branch merge cache socket thread queue".split(),
        "kitchen": "dough oven yeast salt butter knife simmer broth flour starter".split(),
    }
    for number in range(notes):
        topic = draw.choice(sorted(topics))
        words = " ".join(draw.choices(topics[topic], k=40))
        tags = f"tags: [{topic}]\n" if number % 3 else ""
        day = f"date: 2025-{1 + number % 12:02}-{1 + number % 28:02}\n"
        people = "people: [Ada Byron]\n" if number % 10 == 0 else ""
        link = f"See [[note {draw.randrange(notes)}]] and [[Nobody {draw.randrange(5)}]]." if number % 2 else ""
        named = f"As in Note {draw.randrange(notes)} before."
        text = (
            f"---\n{tags}{day}{people}---\n# Note {number}\n\n{words}.\n\n## More\n\n{named} {link}\n\n{words[::-1]}\n"
        )
        shell.write(f"notes/{topic}/note {number}.md", text)
    shell.ok("ingest", "notes", "-q")


@pytest.fixture
def dreamt(shell: Shell) -> Shell:
    """A brain of 60 notes, dreamed."""
    a_vault(shell, 60)
    shell.ok("dream", "-q")
    return shell


# What it makes


def test_it_tags_finds_mentions_entities_edges_and_storylines(dreamt: Shell) -> None:
    status = json.loads(dreamt.ok("status", "--json"))
    assert status["dream_tags"] >= 15
    assert status["entities"] >= 5
    assert status["edges"] > 60
    by_note = [json.loads(line) for line in dreamt.ok("tags", "--by-note", "--json").splitlines()]
    given = [note for note in by_note if note["dream_tags"]]
    right = [note for note in given if note["dream_tags"][0]["name"] == note["path"].split("/")[0]]
    assert len(right) >= 0.9 * len(given)
    assert {tag["name"] for note in given for tag in note["dream_tags"]} <= {"garden", "harbor", "code", "kitchen"}
    assert all(0 < tag["score"] <= 1 and tag["reason"] for note in given for tag in note["dream_tags"])
    assert "damage" not in dreamt.run("doctor").out


def test_dream_tags_are_told_apart_everywhere(dreamt: Shell) -> None:
    by_note = [json.loads(line) for line in dreamt.ok("tags", "--by-note", "--json").splitlines()]
    note = next(note for note in by_note if note["dream_tags"])
    tag = note["dream_tags"][0]["name"]
    path = str(dreamt.folder / "notes" / note["path"])
    assert f"~#{tag}" in dreamt.ok("show", path)
    shown = json.loads(dreamt.ok("show", path, "--json").splitlines()[0])
    assert tag in shown["dream_tags"]
    assert tag not in shown["tags"]
    title = Path(note["path"]).stem
    hits = [json.loads(line) for line in dreamt.ok("search", title, "--json", "--tag", tag).splitlines()]
    assert any(hit["path"] == path and hit["dream_tags"] == [tag] for hit in hits)
    hits = [
        json.loads(line) for line in dreamt.ok("search", title, "--json", "--tag", tag, "--no-dream-tags").splitlines()
    ]
    assert all(hit["path"] != path and not hit["dream_tags"] for hit in hits)
    listed = {json.loads(line)["name"]: json.loads(line) for line in dreamt.ok("tags", "--json").splitlines()}
    assert listed[tag]["dream_notes"] > 0
    without = [json.loads(line) for line in dreamt.ok("tags", "--json", "--no-dream-tags").splitlines()]
    assert all("dream_notes" not in line for line in without)
    plain = [json.loads(line) for line in dreamt.ok("tags", "--by-note", "--json", "--no-dream-tags").splitlines()]
    assert all(not line["dream_tags"] for line in plain)


def test_a_search_is_the_same_before_and_after_a_dream(shell: Shell) -> None:
    a_vault(shell, 40)
    queries = ["tomato", "garden compost", "note 7", "berth tide code"]

    def answers() -> list[Any]:
        found = [json.loads(line) for query in queries for line in shell.ok("search", query, "--json").splitlines()]
        return [(hit["key"], hit["score"], hit["why"]) for hit in found]

    before = answers()
    shell.ok("dream", "-q")
    assert answers() == before


def test_without_human_tags_phrases_are_tags_each_on_three_notes(shell: Shell) -> None:
    for number in range(30):
        thing = ("solar panel", "heat pump", "wind turbine")[number % 3]
        shell.write(f"notes/{number}.md", f"# {thing.title()} {number}\n\nThe {thing} here. A {thing} again, {number}.")
    shell.ok("ingest", "notes", "-q")
    shell.ok("dream", "-q", "--only", "tags")
    given = [json.loads(line)["dream_notes"] for line in shell.ok("tags", "--json").splitlines()]
    assert given
    assert min(given) >= 3


# Nothing twice, all undone


def test_a_dream_with_nothing_new_changes_nothing(dreamt: Shell) -> None:
    before = dump(dreamt.brain / "brain.db")
    generation = json.loads(dreamt.ok("status", "--json"))["generation"]
    assert "nothing new" in dreamt.run("dream").err
    dreamt.ok("dream", "--full", "-q")
    assert dump(dreamt.brain / "brain.db") == before
    assert json.loads(dreamt.ok("status", "--json"))["generation"] == generation


def test_undo_restores_every_relation(shell: Shell) -> None:
    a_vault(shell, 40)
    before = dump(shell.brain / "brain.db")
    shell.ok("dream", "-q")
    assert dump(shell.brain / "brain.db") != before
    shell.ok("dream", "--undo", "-q")
    assert dump(shell.brain / "brain.db") == before


def test_a_dry_run_changes_nothing_and_says_what_would(shell: Shell) -> None:
    a_vault(shell, 40)
    before = dump(shell.brain / "brain.db")
    said = shell.ok("dream", "--dry-run", "--only", "tags")
    assert dump(shell.brain / "brain.db") == before
    assert "+ #" in said
    assert "nearest notes" in said or "words in" in said or "folder" in said
    record = json.loads(shell.ok("dream", "--dry-run", "--json"))
    assert record["dry_run"]
    assert [step["step"] for step in record["steps"]] == list(STEPS)


def test_only_new_and_changed_notes_are_dreamed(dreamt: Shell) -> None:
    dreamt.write("notes/garden/fresh.md", "# Fresh\n\ncompost tomato soil seed mulch greenhouse, and Note 3.")
    dreamt.ok("ingest", "notes", "-q")
    record = json.loads(dreamt.ok("dream", "--json"))
    steps = {step["step"]: step for step in record["steps"]}
    assert not steps["tags"]["full"]
    assert steps["tags"]["notes"] == steps["edges"]["notes"] == 1
    fresh = next(
        note
        for note in map(json.loads, dreamt.ok("tags", "--by-note", "--json").splitlines())
        if note["path"] == "garden/fresh.md"
    )
    assert fresh["tags"] == ["garden"]
    ties = [json.loads(line) for line in dreamt.ok("links", "Fresh", "--json").splitlines()]
    assert {"near"} <= {tie["kind"] for tie in ties}
    for number in range(4):
        dreamt.write(f"notes/garden/fresh{number}.md", f"# Fresh {number}\n\ncompost tomato soil {number}")
    dreamt.ok("ingest", "notes", "-q")
    assert json.loads(dreamt.ok("dream", "--json"))["steps"][0]["full"]


def test_a_note_that_changes_leaves_nothing_of_its_dream_behind(dreamt: Shell) -> None:
    store = Store.open(str(dreamt.brain / "brain.db"))
    victim = next(iter(DreamStore(store).tags()))
    source = store.show((), [victim]).sources[victim]
    store.close()
    Path(source.path).write_text("# Empty\n", encoding="utf-8")
    dreamt.ok("ingest", "notes", "-q")
    store = Store.open(str(dreamt.brain / "brain.db"))
    assert victim not in DreamStore(store).tags()
    assert not [edge for edge in DreamStore(store).edges(["near", "mention", "about", "named"])
                if victim in (source_of(edge.start), source_of(edge.end))]  # fmt: skip
    assert store.disagreements() == []
    store.close()
    Path(source.path).unlink()
    dreamt.ok("ingest", "notes", "-q")
    store = Store.open(str(dreamt.brain / "brain.db"))
    assert victim not in DreamStore(store).dreamed("tags")
    assert store.disagreements() == []


# Teaching


def tags_of(shell: Shell, path: str) -> dict[str, Any]:
    lines = map(json.loads, shell.ok("tags", "--by-note", "--json").splitlines())
    return next(line for line in lines if line["path"] == path)


def test_a_rejected_tag_never_returns_and_an_accepted_one_is_human(dreamt: Shell) -> None:
    notes = [json.loads(line) for line in dreamt.ok("tags", "--by-note", "--json").splitlines()]
    given = [note for note in notes if note["dream_tags"]]
    one, two = given[0], given[1]
    tag, other = one["dream_tags"][0]["name"], two["dream_tags"][0]["name"]
    dreamt.ok("tags", "reject", tag, str(dreamt.folder / "notes" / one["path"]))
    dreamt.ok("tags", "accept", f"#{other}", str(dreamt.folder / "notes" / two["path"]))
    assert tag not in tags_of(dreamt, one["path"])["tags"]
    assert tags_of(dreamt, two["path"]) == {**two, "tags": [other], "dream_tags": []}
    for path in (one["path"], two["path"]):
        with open(dreamt.folder / "notes" / path, "a", encoding="utf-8") as file:
            file.write("\nOne more line.\n")
    dreamt.ok("ingest", "notes", "-q")
    dreamt.ok("dream", "--full", "-q")
    assert tag not in tags_of(dreamt, one["path"])["tags"]
    assert tags_of(dreamt, two["path"])["tags"][0] == other
    assert other not in [given["name"] for given in tags_of(dreamt, two["path"])["dream_tags"]]
    store = Store.open(str(dreamt.brain / "brain.db"))
    source = store.source_ids([str(dreamt.folder / "notes" / two["path"])]).popitem()[1]
    assert source in {source_of(node) for node in store.human_nodes([("tag", other)])}
    assert store.disagreements() == []
    store.close()
    dreamt.ok("tags", "reject", other)
    dreamt.ok("dream", "--full", "-q")
    lines = [json.loads(line) for line in dreamt.ok("tags", "--json").splitlines()]
    assert next(line for line in lines if line["name"] == other)["dream_notes"] == 0
    assert "damage" not in dreamt.run("doctor").out


def test_what_no_dream_gave_cannot_be_judged(dreamt: Shell) -> None:
    ran = dreamt.run("tags", "accept", "nonsense")
    assert ran.code == 1
    assert "no dream gave #nonsense" in ran.err
    assert dreamt.run("tags", "accept", "garden", "no such note").code == 1
    assert dreamt.run("tags", "accept", "a", "b", "c").code == 2


# Use


def use_of(shell: Shell) -> dict[str, tuple[float, int, int]]:
    store = Store.open(str(shell.brain / "brain.db"))
    try:
        keys = [row[0] for row in store._engine.write_text("?[key] := *use{ key }")]
        return DreamStore(store).uses(keys)
    finally:
        store.close()


def test_use_is_noted_without_a_lock_and_folded_in_by_the_next_writer(vault: Shell) -> None:
    log = vault.brain / "brain.db.used"
    keys = [json.loads(line)["keys"] for line in vault.ok("search", "harbor", "-n", "2", "--json").splitlines()]
    listed = [key for some in keys for key in some]
    assert log.read_text().count("listed") == 1
    vault.ok("show", listed[0], "-q")
    assert log.read_text().count("opened") == 1
    vault.ok("ingest", "-q")
    assert not log.exists()
    found = use_of(vault)
    assert set(found) == set(listed)
    assert found[listed[0]][2] == 2
    assert found[listed[0]][0] == pytest.approx(0.65, abs=1e-4)
    assert found[listed[1]][0] == pytest.approx(0.55, abs=1e-4)


@pytest.mark.parametrize("command", [("search", "harbor", "--no-touch"), ("search", "--batch", "-"), ("status",)])
def test_what_leaves_no_trace(vault: Shell, command: tuple[str, ...]) -> None:
    vault.run(*command, stdin="harbor\n")
    assert not (vault.brain / "brain.db.used").exists()


def test_a_log_that_cannot_be_written_is_no_failure(vault: Shell) -> None:
    (vault.brain / "brain.db.used").mkdir()
    assert vault.run("search", "harbor").code == 0
    assert vault.run("ingest", "-q").code == 0


def test_a_log_is_folded_in_once_whatever_happens_in_between(vault: Shell) -> None:
    vault.ok("search", "harbor", "-n", "1", "-q")
    log, aside = vault.brain / "brain.db.used", vault.brain / "brain.db.used.folding"
    shutil.copy2(log, vault.folder / "kept")
    log.rename(aside)  # killed before anything was written
    (vault.brain / "brain.db.used").write_text("nonsense\n99 listed\n\x00\xff listed x\n", encoding="latin-1")
    vault.ok("ingest", "-q")
    assert [count for _, _, count in use_of(vault).values()] == [1]
    assert not aside.exists()
    vault.ok("ingest", "-q")
    assert [count for _, _, count in use_of(vault).values()] == [1]


# All edges equal those of a fresh brain, after a full dream


class Vault(RuleBasedStateMachine):
    """Whatever happens to the notes: after a full dream, all edges and tags are those of a fresh brain's dream."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.root = self.folder / "notes"
        self.brain = Brain(str(self.folder / "brain"), DEFAULTS)
        self.root.mkdir()
        (self.root / "stays.md").write_text("# Stays\n\nTwo and [[one]] #tag by @ann", encoding="utf-8")
        self.count = 0

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @rule(path=st.sampled_from(PATHS), lines=st.lists(st.sampled_from(LINES), min_size=1, max_size=6))
    def write(self, path: str, lines: list[str]) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("\n\n".join([*lines, "Zwei and One and Three, said @ann."]), encoding="utf-8")

    @rule(which=st.integers(0, 20), to=st.sampled_from(PATHS))
    def move(self, which: int, to: str) -> None:
        files = sorted(self.root.rglob("*.md"))
        target = self.root / to
        target.parent.mkdir(parents=True, exist_ok=True)
        files[which % len(files)].replace(target)

    @rule(which=st.integers(0, 20))
    def remove(self, which: int) -> None:
        files = sorted(self.root.rglob("*.md"))
        if len(files) > 1:
            files[which % len(files)].unlink()

    @rule()
    def dream(self) -> None:
        self.ingest(self.brain)
        self.brain.dream()

    def ingest(self, brain: Brain) -> None:
        with brain.writing() as store:
            ingest_files(store, [str(self.root)], Given(), DEFAULTS, now=time.time(), force=True)

    @invariant()
    def the_same_as_from_scratch(self) -> None:
        self.ingest(self.brain)
        with self.brain.reading() as store:
            assert store.disagreements() == []
        self.count += 1
        if self.count % 3:
            return
        self.brain.dream(full=True)
        fresh = Brain(str(self.folder / f"fresh{self.count}"), DEFAULTS)
        self.ingest(fresh)
        fresh.dream()
        assert everything(self.brain) == everything(fresh)
        with self.brain.reading() as store:
            assert store.disagreements() == []


def everything(brain: Brain) -> list[Any]:
    """Return edges, tags and entities in words that do not depend on numbers."""
    with brain.reading() as store:
        view = DreamStore(store)
        paths = {source.id: source.relpath for source in store.sources()}
        places = {
            source * 2**20 + here.ordinal: f"{paths[source]} {position}"
            for source, outline in store.outlines(paths).items()
            for position, here in enumerate(outline)
        } | {source * 2**20: path for source, path in paths.items()}
        names = {entity.node: entity.name for entity, _ in view.entities()} | places
        dreamed = view.edges(["near", "mention", "about", "named"])
        edges = [
            (*sorted((names[edge.start], names[edge.end])), edge.kind, edge.weight, edge.tags, edge.line)
            for edge in [*store.meant_edges(), *dreamed]
        ]
        tags = [(paths[source], name, score) for source, tags in view.tags().items() for name, score, _ in tags]
        entities = [(entity, edges) for entity, edges in view.entities()]
        return [sorted(edges, key=str), sorted(tags), entities]


Vault.TestCase.settings = settings(max_examples=12, stateful_step_count=8, deadline=None)
test_a_full_dream_is_that_of_a_fresh_brain = Vault.TestCase


# Faults


def killed(shell: Shell, after: float, *args: str) -> bool:
    """Run a command and kill it after some seconds; tell whether it was still running."""
    process = shell.start(*args)
    try:
        process.wait(after)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return True
    process.communicate()
    return False


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_killed_in_any_step_the_store_is_whole_and_the_next_dream_goes_on(shell: Shell, step: str) -> None:
    a_vault(shell, 400)
    before = [name for name in STEPS[: STEPS.index(step)] if name != "index"]
    if before:
        shell.ok("dream", "-q", "--only", ",".join(before))
    path = shell.brain / "brain.db"
    kept = shell.folder / "kept.db"
    source = sqlite3.connect(path)
    target = sqlite3.connect(kept)
    source.backup(target)
    source.close()
    target.close()
    started = time.monotonic()
    shell.ok("dream", "-q", "--only", step)
    took = time.monotonic() - started
    whole = dump(path, without=("diary",))
    for ending in ("", "-wal", "-shm"):
        (shell.brain / f"brain.db{ending}").unlink(missing_ok=True)
    shutil.copy(kept, path)
    sqlite3.connect(path).execute("pragma journal_mode = wal").connection.close()
    draw = random.Random(step)
    kills = sum(killed(shell, took * draw.uniform(0.3, 1.0), "dream", "-q", "--only", step) for _ in range(20))
    store = Store.open(str(path))
    assert store.disagreements() == []
    store.close()
    assert kills
    shell.ok("dream", "-q", "--only", step)
    assert dump(path, without=("diary",)) == whole


def test_an_interrupted_dream_says_so_and_the_next_one_completes_it(shell: Shell) -> None:
    a_vault(shell, 700)
    process = shell.start("dream")
    time.sleep(0.9)
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode in (0, 130)
    shell.ok("dream", "-q")
    left = dump(shell.brain / "brain.db", without=("diary",))
    shell.ok("dream", "--undo", "-q")
    shell.ok("dream", "-q")
    assert dump(shell.brain / "brain.db", without=("diary",)) == left


@pytest.mark.slow
def test_a_dream_an_ingest_and_searches_at_once(shell: Shell) -> None:
    a_vault(shell, 300)
    dreaming = shell.start("--wait", "60", "dream", "--full")
    for number in range(8):
        shell.write(f"notes/harbor/more {number}.md", f"# More {number}\n\nberth tide rope {number} [[Note 5]]")
        assert shell.run("--wait", "60", "ingest", "notes", "-q").code == 0
        assert shell.run("search", "tide").code == 0
    out, err = dreaming.communicate(timeout=120)
    assert dreaming.returncode == 0, err
    assert b"Traceback" not in err + out
    store = Store.open(str(shell.brain / "brain.db"))
    assert store.disagreements() == []
    store.close()
    shell.ok("dream", "--full", "-q")
    left = dump(shell.brain / "brain.db", without=("diary",))
    shell.ok("dream", "--undo", "-q")
    shell.ok("dream", "-q")
    assert dump(shell.brain / "brain.db", without=("diary",)) == left


# Hostile vaults


def hostile() -> Iterator[tuple[str, dict[str, str]]]:
    yield "one tag on every note", {f"{n}.md": f"#all words {n}" for n in range(150)}
    yield "many tags used once", {f"{n}.md": " ".join(f"#t{n}x{m}" for m in range(100)) for n in range(30)}
    yield "the same title", {f"{n}/same.md": f"# Same\n\n[[Same]] {n}" for n in range(300)}
    yield "links to itself and in circles", {
        "a.md": "[[a]] [[b]]", "b.md": "[[c]] [[b]]", "c.md": "[[a]]", "d.md": "[[d]]",
    }  # fmt: skip
    yield (
        "odd dates",
        {
            f"{n}.md": f"---\ndate: {day}\ntags: [x]\n---\n# N {n}\n\nbody {n}"
            for n, day in enumerate(["1900-01-01", "2099-12-31", "0001-01-01", "9999-12-31", "never", "2025-02-31"] * 3)
        },
    )
    yield "many links", {"hub.md": " ".join(f"[[t{n % 50}]]" for n in range(20_000)), "t1.md": "# t1\n\n[[hub]]"}
    yield "only code", {f"{n}.md": "```python\nimport os\nprint('x')\n```" for n in range(10)}
    yield (
        "hostile names",
        {
            "a.md": '---\ntitle: "[[x]] \\"q\\" \\n $y"\npeople: ["[[", "@", "x\\0y", "", "\'"]\ntype: person\n---\n'
            '@ann [[" :put"]]',
            "b.md": "# *\n\n[[" + "x" * 5000 + "]] [[]] [[|]] [[../../etc/passwd]] ![[a.png]] [[\u202e]]",
        },
    )
    yield "nothing", {"a.md": "", "b.md": "   \n"}


@pytest.mark.parametrize(("name", "notes"), list(hostile()), ids=[name for name, _ in hostile()])
def test_a_hostile_vault_is_dreamed_about_calmly(shell: Shell, name: str, notes: dict[str, str]) -> None:
    for path, text in notes.items():
        shell.write(f"notes/{path}", text)
    shell.run("ingest", "notes", "-q")
    for _ in range(2):
        ran = shell.run("dream")
        assert ran.code == 0, ran
        assert "Traceback" not in ran.err
    assert "damage" not in shell.run("doctor").out
    again = shell.run("dream", "--json")
    assert not json.loads(again.out)["changed"]


# The command


def test_bad_input_is_one_sentence(vault: Shell) -> None:
    for args, said in (
        (("dream", "--only", "sleep"), "there is no step 'sleep'"),
        (("dream", "--only", ","), "--only names no step"),
        (("dream", "--every", "soon"), "'soon' is not a time"),
        (("dream", "--every", "0m"), "'0m' is not a time"),
        (("dream", "--every", "1m", "--dry-run"), "choose one"),
        (("dream", "--undo", "--log"), "stands alone"),
        (("storylines", "x"), "no storylines yet"),
        (("macros",), "no macros yet"),
    ):
        ran = vault.run(*args)
        assert ran.code in (1, 2)
        assert said in ran.err
        assert "Traceback" not in ran.err


def test_there_is_nothing_to_dream_about_without_a_brain(shell: Shell) -> None:
    for args in (("dream",), ("dream", "--undo"), ("dream", "--dry-run"), ("dream", "--log"), ("tags", "reject", "x")):
        ran = shell.run(*args)
        assert ran.code == 1
        assert "there is no brain" in ran.err
    assert not shell.brain.exists()


def test_the_diary_tells_what_dreams_did(dreamt: Shell) -> None:
    pages = [json.loads(line) for line in dreamt.ok("dream", "--log", "--json").splitlines()]
    assert [page["n"] for page in pages] == [1]
    assert "tags given" in pages[0]["steps"][0]["text"]
    assert "edges" in dreamt.ok("dream", "--log")
    dreamt.ok("dream", "-q")
    assert len(dreamt.ok("dream", "--log", "--json").splitlines()) == 1


def test_every_dreams_again_and_stops_when_asked(shell: Shell) -> None:
    a_vault(shell, 10)
    process = shell.start("dream", "--every", "1s")
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and json.loads(shell.ok("status", "--json"))["edges"] < 20:
            time.sleep(0.2)
        shell.write("notes/garden/late.md", "# Late\n\ntomato compost seed soil bed")
        shell.ok("--wait", "30", "ingest", "notes", "-q")
        while time.monotonic() < deadline and shell.run("links", "Late").code:
            time.sleep(0.2)
        assert shell.run("links", "Late").code == 0
    finally:
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=30)
    assert process.returncode in (0, 130), err


def test_storylines_and_macros_are_listed_and_shown(shell: Shell) -> None:
    for month in (1, 2, 6, 7):
        for day in range(1, 25, 4):
            body = f"The harbor crane {'lifts' if month < 5 else 'rusts'}. We met at the quay on day {day}."
            text = f"---\ntags: [harbor]\n---\n# Crane day {day}\n\n{body}\n"
            shell.write(f"notes/2025-{month:02}-{day:02}.md", text)
    for number in range(100):
        shell.write(f"notes/other/{number}.md", f"# Other {number}\n\nword{number} [[Other {number + 1}]]")
    shell.ok("ingest", "notes", "-q")
    shell.ok("dream", "-q")
    lines = [json.loads(line) for line in shell.ok("storylines", "--json").splitlines()]
    assert [(line["first"], line["last"], len(line["sources"])) for line in lines] == [
        ("2025-06-01", "2025-07-21", 12), ("2025-01-01", "2025-02-21", 12),
    ]  # fmt: skip
    assert all("harbor" in line["name"].lower() and line["summary"] for line in lines)
    shown = shell.ok("storylines", lines[0]["id"])
    assert "2025-06-05\tCrane day 5" in shown
    assert shell.run("storylines", "harbor").code == 1  # there are two
    macro = json.loads(shell.ok("macros", "--json"))
    assert [line["id"] for line in macro["storylines"]] == [lines[1]["id"], lines[0]["id"]]
    assert lines[0]["name"] in shell.ok("macros", macro["id"])
    assert shell.run("storylines", "nowhere").code == 1


def test_the_sample_notes_dream_well(vault: Shell) -> None:
    assert NOTES.exists()
    vault.ok("dream", "-q")
    ties = [json.loads(line) for line in vault.ok("links", "Olga Ferraz", "--json").splitlines()]
    assert ("mention", "in") in {(tie["kind"], tie["way"]) for tie in ties}
    assert any(tie["kind"] == "about" and tie["title"] == "Olga Ferraz" for tie in ties)
