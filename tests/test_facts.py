"""Facts and entities: read from notes, stated by hand, through edits, renames and deletions."""

import json
import os
import shutil
import tempfile
import time
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from memoria import config, frontmatter
from memoria.errors import AmbiguousError, NotFoundError, UsageError
from memoria.graph import byhand
from memoria.graph.entities import name_of
from memoria.graph.facts import fact_key, predicate_of, relationships
from memoria.graph.lookup import Trust, known_by, told, told_of
from memoria.graph.roster import find_entity, mentions, roster
from memoria.graph.use import fold_in
from memoria.ingest import Given, forget, ingest_files
from memoria.model import Told
from memoria.store import uselog
from memoria.store.facts import FactStore
from memoria.store.writer import StoreWriter
from tests.conftest import NOTES, Shell

DEFAULTS = {key: setting.default for key, setting in config.SETTINGS.items()}
TRUST = Trust(single=frozenset(DEFAULTS["facts.single"]))
NOW = 1_750_000_000


def ingest(store: StoreWriter, root: Path | str, now: int = NOW) -> None:
    ingest_files(store, [str(root)], Given(), DEFAULTS, now=now, force=True)


def said(store: StoreWriter) -> set[tuple[str, str, str, str, int, str]]:
    """Every fact, in words that do not depend on numbers."""
    paths = {source.id: source.relpath for source in store.sources()}
    return {
        (fact.name, fact.predicate, fact.value, paths.get(fact.source, ""), fact.line, fact.basis)
        for fact in FactStore(store).all()
    }


def about(store: StoreWriter, name: str) -> list[Told]:
    view = FactStore(store)
    known = find_entity(view, name)
    return told_of(view, [known], TRUST)[known.entity.node].about


def status(store: StoreWriter, name: str) -> dict[str, str]:
    return {f"{one.fact.predicate} {one.fact.value}": one.status for one in about(store, name)}


# From notes


def test_what_the_sample_notes_say(store: StoreWriter) -> None:
    ingest(store, NOTES)
    found = said(store)
    harbor = {
        (predicate, value, line, basis) for name, predicate, value, path, line, basis in found if name == "Harbor"
    }
    assert harbor == {
        ("status", "active", 13, "field"),
        ("owner", "Ines", 16, "field"),
        ("uses", "SQLite", 27, "relation"),
        ("led_by", "Marta Quintela", 28, "relation"),
        ("built_with", "Tomas Brandt", 29, "relation"),
        ("customer", "joao-sequeira", 30, "relation"),
        ("decision", "One server process, one data file, nightly copy to the office machine", 34, "field"),
        ("decision", "Prices are stored in cents, never as a float", 35, "field"),
        ("risk", 'Fibre to Doca Sul is promised "after Easter", nobody believes it', 36, "field"),
        ("fact", "A catamaran takes two places on the inner side and is billed 1.6 times", 37, "field"),
    }
    assert ("Marta Quintela", "colleague", "Tomas Brandt", "people/marta-quintela.md", 8, "relationship") in found
    assert ("Harbor kickoff", "people", "Tomas Brandt", "meetings/2026-01-20-harbor-kickoff.md", 4, "people") in found
    assert not {predicate for _, predicate, *_ in found} & {"due", "tags", "aliases", "created"}


def test_every_fact_stands_where_it_says(store: StoreWriter) -> None:
    ingest(store, NOTES)
    for _, predicate, value, path, line, basis in said(store):
        lines = (NOTES / path).read_text(encoding="utf-8").split("\n")
        written = lines[line - 1] + (lines[line] + lines[line + 1] if basis == "relationship" else "")
        assert predicate.replace("_", " ") in written.lower().replace("_", " "), (path, line)
        if "`" not in written and "#^" not in written:
            assert value in written.replace("[[", "").replace("]]", ""), (path, line)


def test_relationships_carry_attitude_and_proximity(store: StoreWriter) -> None:
    ingest(store, NOTES)
    by_object = {one.fact.value: one.fact for one in about(store, "Marta") if one.fact.basis == "relationship"}
    tomas = by_object["Tomas Brandt"]
    assert (tomas.predicate, tomas.attitude, tomas.proximity) == ("colleague", 4, 3)
    assert tomas.notes == "trusts his numbers, not his dates"


@given(
    st.lists(
        st.tuples(st.sampled_from(("Ana", "Ben Stone", "C++", "日本")), st.sampled_from(("", "friend", "boss")),
                  st.integers(-1, 9), st.sampled_from(("", "likes tea, not coffee", "a; b", "see: to"))),
        min_size=1, max_size=4,
    ),
    st.permutations(["to", "type", "attitude", "notes"]),
)  # fmt: skip
def test_relationships_are_read_in_whatever_order(rows: list[tuple[str, str, int, str]], order: list[str]) -> None:
    wanted = [
        {"to": to, **({"type": kind} if kind else {}), "attitude": str(grade), **({"notes": notes} if notes else {})}
        for to, kind, grade, notes in rows
    ]
    text = json.dumps([{key: row[key] for key in order if key in row} for row in wanted], ensure_ascii=False)
    fields = frontmatter.parse([f"relationships: {text}"], date(2026, 1, 1)).fields
    assert list(relationships(fields[0].value)) == wanted


@given(st.text(max_size=60))
def test_predicates_are_kept_in_one_form(text: str) -> None:
    kept = predicate_of(text)
    assert predicate_of(kept) == kept
    assert kept == kept.lower()
    assert not any(char.isspace() for char in kept)


def test_the_same_statement_has_the_same_key() -> None:
    assert fact_key("harbor", "uses", "SQLite") == fact_key("harbor", "uses", "sqlite")
    assert fact_key("harbor", "uses", "C++") != fact_key("harbor", "uses", "C")
    assert fact_key("harbor", "uses", "C++") != fact_key("harbor", "uses", "C#")


def test_lists_are_several_values_and_sentences_are_one(tmp_path: Path, store: StoreWriter) -> None:
    (tmp_path / "jacq.md").write_text(
        "---\ntype: project\nuses: [DuckDB, Next.js 16]\ndescription: It keeps, finds and tells all of it\n"
        'layout: post\nlead: "[[Ana|A.]]"\n---\n',
        encoding="utf-8",
    )
    ingest(store, tmp_path)
    assert {(predicate, value, line) for _, predicate, value, _, line, _ in said(store)} == {
        ("type", "project", 2), ("uses", "DuckDB", 3), ("uses", "Next.js 16", 3),
        ("description", "It keeps, finds and tells all of it", 4), ("lead", "Ana", 6),
    }  # fmt: skip


def test_front_matter_counts_only_where_a_note_is_about_something(tmp_path: Path, store: StoreWriter) -> None:
    (tmp_path / "post.md").write_text("---\nmood: fine\n---\nText.", encoding="utf-8")
    (tmp_path / "daily.md").write_text("---\ntype: daily\nmood: fine\n---\nslept:: 7\n", encoding="utf-8")
    ingest(store, tmp_path)
    assert {(name, predicate) for name, predicate, *_ in said(store)} == {("daily", "slept")}


# Whatever happens to the notes

LINES = ("status:: active", "status:: done", "- uses [[two]]", "- uses [[C++]]", "- part of [[Zwei]]", "plain",
         "[owner:: Ana]", "- [decision] We go on #tag")  # fmt: skip
VAULT = ("one.md", "two.md", "a/one.md", "a/three.md")
TITLED = st.builds(
    lambda title, front, body: "\n".join(["---", f"title: {title}" if title else "", *front, "---", "\n\n".join(body)]),
    st.sampled_from(("", "One", "Zwei", "Zwei (old)")),
    st.lists(
        st.sampled_from(("type: person", "people: [Ana, Ben]", "aliases: [Drei]",
                         "relationships: [{to: Ana, type: friend, attitude: 5}]")),
        unique=True,
    ),
    st.lists(st.sampled_from(LINES), max_size=4),
)  # fmt: skip


class Vault(RuleBasedStateMachine):
    """Facts are those that a fresh brain finds, and what was stated or retracted by hand stays so."""

    def __init__(self) -> None:
        super().__init__()
        self.root = tempfile.mkdtemp()
        self.store = StoreWriter.in_memory()
        self.changed = True
        Path(self.root, "stays.md").write_text("- uses [[One]]\n\nstatus:: active\n", encoding="utf-8")
        ingest(self.store, self.root)
        byhand.add_fact(self.store, ("stays", "uses", "Tea"), None, NOW)
        byhand.decide(
            self.store, [byhand.find_fact(FactStore(self.store), ("stays", "status", "active"))], "retracted", NOW
        )

    def teardown(self) -> None:
        shutil.rmtree(self.root)

    def files(self) -> list[Path]:
        return sorted(Path(self.root).rglob("*.md"))

    @rule(path=st.sampled_from(VAULT), text=TITLED)
    def write(self, path: str, text: str) -> None:
        target = Path(self.root, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        self.changed = True

    @rule(which=st.integers(0, 20), to=st.sampled_from(VAULT))
    def move(self, which: int, to: str) -> None:
        files = [path for path in self.files() if path.name != "stays.md"]
        if files:
            target = Path(self.root, to)
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(files[which % len(files)], target)
            self.changed = True

    @rule(which=st.integers(0, 20))
    def remove(self, which: int) -> None:
        files = [path for path in self.files() if path.name != "stays.md"]
        if files:
            files[which % len(files)].unlink()
            self.changed = True

    @rule(which=st.integers(0, 20))
    def forget_and_come_back(self, which: int) -> None:
        sources = self.store.sources()
        forget(self.store, [sources[which % len(sources)]], now=NOW)
        self.changed = True

    @invariant()
    def the_same_as_from_scratch(self) -> None:
        if not self.changed:
            return
        ingest(self.store, self.root)
        fresh = StoreWriter.in_memory()
        ingest(fresh, self.root)
        assert said(self.store) == said(fresh) | {("stays", "uses", "Tea", "", 1, "hand")}
        assert self.store.disagreements() == []
        assert status(self.store, "stays") == {
            "uses Tea": "staged", "uses One": "staged", "status active": "retracted",
        }  # fmt: skip
        self.changed = False


Vault.TestCase.settings = settings(max_examples=40, stateful_step_count=10, deadline=None)
test_facts_are_those_of_a_fresh_brain = Vault.TestCase


def test_a_fact_goes_with_its_line_and_comes_back_as_it_was_decided(tmp_path: Path, store: StoreWriter) -> None:
    note = tmp_path / "jacq.md"
    note.write_text("status:: active\n\n- uses [[DuckDB]]\n", encoding="utf-8")
    ingest(store, tmp_path)
    byhand.decide(store, [byhand.find_fact(FactStore(store), ("jacq", "status", "active"))], "retracted", NOW)
    note.write_text("A new first line.\n\nstatus:: active\n\n- uses [[DuckDB]]\n", encoding="utf-8")
    ingest(store, tmp_path)
    assert status(store, "jacq") == {"status active": "retracted", "uses DuckDB": "staged"}
    assert {one.fact.value: one.places[0][1] for one in about(store, "jacq")} == {"active": 3, "DuckDB": 5}
    note.write_text("Nothing.", encoding="utf-8")
    ingest(store, tmp_path)
    assert FactStore(store).all() == []
    note.write_text("status:: active\n", encoding="utf-8")
    ingest(store, tmp_path)
    assert status(store, "jacq") == {"status active": "retracted"}
    byhand.add_fact(store, ("jacq", "status", "active"), None, NOW)
    assert status(store, "jacq") == {"status active": "staged"}


def test_a_fact_keeps_the_day_it_was_first_seen(tmp_path: Path, store: StoreWriter) -> None:
    note = tmp_path / "jacq.md"
    note.write_text("status:: active\n", encoding="utf-8")
    ingest(store, tmp_path, NOW)
    note.write_text("More.\n\nstatus:: active\n\n- uses [[Tea]]\n", encoding="utf-8")
    ingest(store, tmp_path, NOW + 1000)
    assert {one.fact.value: one.fact.made for one in about(store, "jacq")} == {"active": NOW, "Tea": NOW + 1000}


# By hand


def test_a_surer_fact_supersedes_and_the_old_one_keeps_its_span(tmp_path: Path, store: StoreWriter) -> None:
    (tmp_path / "jacq.md").write_text("status:: active\n\n- uses [[DuckDB]]\n", encoding="utf-8")
    ingest(store, tmp_path, NOW)
    byhand.add_fact(store, ("jacq", "status", "paused"), 0.9, NOW + 10)  # not over 0.9: both hold
    assert status(store, "jacq") == {"status active": "staged", "status paused": "staged", "uses DuckDB": "staged"}
    byhand.add_fact(store, ("jacq", "status", "done"), 0.95, NOW + 20)
    byhand.add_fact(store, ("jacq", "uses", "SQLite"), 0.95, NOW + 20)  # of these, several hold
    found = {one.fact.value: one for one in about(store, "jacq")}
    assert {value: one.status for value, one in found.items()} == {
        "active": "superseded", "paused": "superseded", "done": "staged", "DuckDB": "staged", "SQLite": "staged",
    }  # fmt: skip
    assert (found["active"].fact.made, found["active"].until) == (NOW, NOW + 20)
    assert (found["paused"].fact.made, found["paused"].until) == (NOW + 10, NOW + 20)
    byhand.decide(store, [found["done"].fact], "retracted", NOW + 30)
    assert status(store, "jacq")["status active"] == "staged"


def test_three_uses_confirm_a_fact(tmp_path: Path, store: StoreWriter) -> None:
    path = str(tmp_path / "brain.db")
    fact = byhand.add_fact(store, ("user", "prefers", "dark mode"), None, NOW)
    for use in (1, 2, 3):
        uselog.note(path, uselog.LISTED, [fact.key], NOW + use)
        fold_in(store, path)
        (one,) = about(store, "user")
        assert (one.uses, one.at, one.status) == (use, NOW + use, "confirmed" if use == 3 else "staged")


def test_stating_a_fact_again_changes_its_confidence(store: StoreWriter) -> None:
    byhand.add_fact(store, ("user", "prefers", "dark mode"), None, NOW)
    byhand.add_fact(store, ("User", "Prefers", "Dark  Mode"), 0.4, NOW)
    (one,) = about(store, "user")
    assert (one.confidence, one.fact.name) == (0.4, "user")


@pytest.mark.parametrize(
    "triple",
    [("", "a", "b"), ("a", " ", "b"), ("a", "b", "?!"), ("x" * 10_000, "a", "b"), ("a", "x" * 10_000, "b"),
     ("a", "b", "x" * 10_000), ("a", "b", "\udcff x")],
)  # fmt: skip
def test_what_says_nothing_or_too_much_is_refused(store: StoreWriter, triple: tuple[str, str, str]) -> None:
    with pytest.raises(UsageError):
        byhand.add_fact(store, triple, None, NOW)
    assert FactStore(store).all() == []


HOSTILE = ("[[", "]]", '"', "'", "\n", "$x", "{", "}", "\\", ":=", "*fact", "#", "--", "\t", "`", "\x00")


@given(st.lists(st.sampled_from((*HOSTILE, "a", "é", "日", " ", "1", "C++")), min_size=1, max_size=9).map("".join))
def test_any_name_can_be_stated_found_and_retracted(name: str) -> None:
    store = StoreWriter.in_memory()
    if not any(map(str.isalnum, name)):
        with pytest.raises(UsageError):
            byhand.add_fact(store, (name, "is", "x"), None, NOW)
        return
    fact = byhand.add_fact(store, (name, name, name), None, NOW)
    assert byhand.find_fact(FactStore(store), [fact.key[:6]]) == fact
    assert about(store, name)[0].fact.value == " ".join(name.split())
    byhand.decide(store, [fact], "retracted", NOW)
    assert about(store, name)[0].status == "retracted"
    assert store.disagreements() == []


def test_a_fact_is_found_by_key_or_by_what_it_says(store: StoreWriter) -> None:
    view = FactStore(store)
    fact = byhand.add_fact(store, ("Harbor", "uses", "SQLite"), None, NOW)
    assert byhand.find_fact(view, [fact.key]) == fact
    assert byhand.find_fact(view, ["harbor", "Uses", "sqlite"]) == fact
    for bad in (["zzzz"], ["ab"], ["a", "b"]):
        with pytest.raises(UsageError):
            byhand.find_fact(view, bad)
    with pytest.raises(NotFoundError):
        byhand.find_fact(view, ["Harbor", "uses", "Tea"])
    with pytest.raises(NotFoundError):
        byhand.find_fact(view, ["0" * 12])


def test_one_statement_of_two_notes_is_one_fact_with_two_places(tmp_path: Path, store: StoreWriter) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "jacq.md").write_text("- uses [[DuckDB]]\n", encoding="utf-8")
    ingest(store, tmp_path)
    byhand.add_fact(store, ("jacq", "uses", "DuckDB"), None, NOW)
    (one,) = about(store, "jacq")
    assert [os.path.relpath(path, tmp_path) for path, _ in one.places] == ["a/jacq.md", "b/jacq.md"]
    assert (one.confidence, one.fact.origin) == (0.9, "user_edit")
    shutil.rmtree(tmp_path / "a")
    ingest(store, tmp_path)
    assert len(about(store, "jacq")[0].places) == 1
    shutil.rmtree(tmp_path / "b")
    (tmp_path / "c.md").write_text("c", encoding="utf-8")
    ingest(store, tmp_path)
    (one,) = about(store, "jacq")
    assert one.places == ()


def test_settings_say_how_sure_facts_are(store: StoreWriter) -> None:
    ingest(store, NOTES)
    view = FactStore(store)
    trust = Trust(hand=0.1, field=0.2, relation=0.3)
    byhand.add_fact(store, ("Harbor", "likes", "tea"), None, NOW)
    found = {one.fact.predicate: one.confidence for one in told(view, view.about(["harbor"]), trust)}
    assert (found["likes"], found["status"], found["uses"]) == (0.1, 0.2, 0.3)


# Entities


def test_a_name_means_the_note_that_is_called_so(store: StoreWriter) -> None:
    ingest(store, NOTES)
    view = FactStore(store)
    meant = {name: [known.entity.name for known in found] for name, found in known_by(
        view, map(name_of, ("Marta", "tbrandt", "joao-sequeira", "Berth Planner", "Ines Carvalho", "nobody"))
    ).items()}  # fmt: skip
    assert meant == {
        "marta": ["Marta Quintela"], "tbrandt": ["Tomas Brandt"], "joao sequeira": ["João Sequeira"],
        "berth planner": ["Harbor"], "ines carvalho": ["Ines Carvalho"],
    }  # fmt: skip
    kinds = {one.known.entity.name: one.known.entity.kind for one in roster(view)}
    assert (kinds["Marta Quintela"], kinds["Ines Carvalho"], kinds["SQLite"]) == ("person", "person", "concept")


def test_an_alias_that_is_another_notes_title_means_that_note(tmp_path: Path, store: StoreWriter) -> None:
    (tmp_path / "a.md").write_text("---\ntitle: Ann\naliases: [Bo]\n---\n- knows [[Cy]]\n", encoding="utf-8")
    (tmp_path / "b.md").write_text("---\ntitle: Bo\n---\n- knows [[Di]]\n", encoding="utf-8")
    ingest(store, tmp_path)
    assert status(store, "Bo") == {"knows Di": "staged"}
    assert status(store, "Ann") == {"knows Cy": "staged"}


def test_the_list_and_the_portrait_count_the_same(store: StoreWriter) -> None:
    ingest(store, NOTES)
    view = FactStore(store)
    listed = roster(view)
    assert len(listed) > 20
    for one in listed:
        assert mentions(view, find_entity(view, one.known.entity.name)) == one
    tomas = next(one for one in listed if one.known.entity.name == "Tomas Brandt")
    linking = {
        path.name
        for path in NOTES.rglob("*.md")
        if path.name != "tomas-brandt.md"
        and any(word in path.read_text(encoding="utf-8")
                for word in ("[[Tomas", "@tomas", "[Tomas Brandt", ", Tomas Brandt", "to: Tomas Brandt", ":: Tomas)"))
    }  # fmt: skip
    assert tomas.mentions == len(linking)


def test_two_names_are_merged_into_one_entity(tmp_path: Path, store: StoreWriter) -> None:
    (tmp_path / "a.md").write_text("---\npeople: [Ines Carvalho]\n---\n@ines said [owner:: Ines]\n", encoding="utf-8")
    (tmp_path / "ines.md").write_text("---\ntype: person\ntitle: Ines\n---\n- knows [[Cy]]\n", encoding="utf-8")
    ingest(store, tmp_path)
    byhand.add_fact(store, ("Ines Carvalho", "likes", "tea"), None, NOW)
    byhand.merge_entities(store, "Ines", "Ines Carvalho")
    for name in ("Ines", "ines carvalho"):
        known = find_entity(FactStore(store), name)
        assert (known.entity.name, known.entity.aliases) == ("Ines Carvalho", ("Ines",))
        assert status(store, name) == {"likes tea": "staged", "type person": "staged", "knows Cy": "staged"}
    ines = find_entity(FactStore(store), "Ines")
    sides = told_of(FactStore(store), [ines], TRUST)[ines.entity.node]
    assert {one.fact.predicate for one in sides.leading} == {"people", "owner"}
    ingest(store, tmp_path)
    assert find_entity(FactStore(store), "Ines").entity.name == "Ines Carvalho"
    with pytest.raises(UsageError, match="one already"):
        byhand.merge_entities(store, "Ines", "Ines Carvalho")


def test_dreams_keep_what_people_said_of_names(vault: Shell) -> None:
    vault.ok("dream", "-q")
    vault.ok("entity", "merge", "Olga Ferraz", "João Sequeira")
    vault.ok("entity", "rename", "Marta", "The Boss")
    before = vault.ok("entity", "list")
    for full in ([], ["--full"]):
        vault.ok("dream", "-q", *full)
        assert vault.ok("entity", "list") == before
        assert json.loads(vault.ok("entity", "show", "Dona Olga", "--json"))["name"] == "João Sequeira"
    assert vault.run("doctor").code == 0


def test_an_entity_is_renamed_and_keeps_its_facts(store: StoreWriter) -> None:
    byhand.add_fact(store, ("tbrandt", "likes", "tea"), None, NOW)
    byhand.rename_entity(store, "tbrandt", "Tomas Brandt")
    byhand.add_fact(store, ("Tomas Brandt", "likes", "logs"), None, NOW)
    assert find_entity(FactStore(store), "tbrandt").entity.name == "Tomas Brandt"
    assert status(store, "tbrandt") == {"likes tea": "staged", "likes logs": "staged"}


def test_a_name_that_is_taken_is_not_given_to_another(store: StoreWriter) -> None:
    byhand.add_entity(store, "Ana", "person", ["Annie"])
    byhand.add_entity(store, "Ben", "person", [])
    for act in (byhand.rename_entity, lambda store, name, new: byhand.alias_entity(store, name, [new])):
        with pytest.raises(UsageError, match="already means Ana"):
            act(store, "Ben", "Annie")
    with pytest.raises(UsageError, match="no kind"):
        byhand.add_entity(store, "Cy", "robot", [])
    with pytest.raises(NotFoundError):
        find_entity(FactStore(store), "Cy")


def test_a_name_of_several_is_told_with_their_keys(store: StoreWriter) -> None:
    for name in ("Ana Long", "Ana Short"):
        byhand.add_entity(store, name, "person", [])
    view = FactStore(store)
    view.put(names=[("ana", find_entity(view, name).entity.node) for name in ("Ana Long", "Ana Short")])
    with pytest.raises(AmbiguousError, match="Ana Short"):
        find_entity(view, "Ana")
    assert find_entity(view, find_entity(view, "Ana Long").entity.key).entity.name == "Ana Long"


# The commands


def test_facts_on_the_command_line(vault: Shell) -> None:
    key, *rest = vault.ok("fact", "add", "user", "prefers", "dark mode").rstrip("\n").split("\t")
    assert rest == ["user", "prefers", "dark mode", "0.90", "staged", "by hand"]
    assert vault.ok("fact", "confirm", key[:6]).split("\t")[5] == "confirmed"
    assert vault.ok("fact", "retract", "user", "prefers", "dark mode").split("\t")[5] == "retracted"
    ran = vault.run("fact", "list", "user")
    assert (ran.code, ran.out, ran.err) == (1, "", "no facts about 'user'\n")
    assert "retracted" in vault.ok("fact", "list", "user", "--all")
    records = [json.loads(line) for line in vault.ok("fact", "list", "Harbor", "--json").splitlines()]
    uses = next(record for record in records if record["predicate"] == "uses")
    assert uses["places"] == [{"path": str(vault.folder / "notes/projects/harbor.md"), "line": 27}]
    assert (uses["schema"], uses["object"], uses["confidence"]) == ("memoria.fact/1", "SQLite", 0.7)
    ran = vault.run("fact", "add", "Harbor", "status", "paused")
    assert "Harbor status is also 'active' (notes/projects/harbor.md:13); --confidence 0.95" in ran.err
    vault.ok("fact", "add", "Harbor", "status", "paused", "--confidence", "0.95")
    day = time.strftime("%Y-%m-%d", time.localtime())
    assert f"superseded ({day} to {day})" in vault.ok("fact", "list", "--predicate", "status", "--all")
    for bad in (("fact", "list", "--status", "odd"), ("fact", "confirm", "zz"), ("fact", "add", "a", "b", "")):
        ran = vault.run(*bad)
        assert (ran.code, ran.err.startswith("memoria: ")) == (2, True), ran


def test_entities_on_the_command_line(vault: Shell) -> None:
    assert vault.ok("entity", "list", "--kind", "person").split("\t")[0] == "Tomas Brandt"
    shown = vault.ok("entity", "show", "marta")
    assert "colleague\tTomas Brandt\n" in shown
    assert "← led_by\tHarbor\n" in shown
    record = json.loads(vault.ok("entity", "show", "Harbor", "--json"))
    assert (record["schema"], record["mentions"], record["facts"]) == ("memoria.entity/1", 6, 10)
    assert {fact["predicate"] for fact in record["incoming"]} == {"part_of"}
    vault.ok("entity", "alias", "Ines Carvalho", "Ines")
    assert "← owner\tHarbor\n" in vault.ok("entity", "show", "ines")
    vault.ok("entity", "add", "Doca Sul", "--kind", "entity", "--alias", "the south dock")
    vault.ok("entity", "rename", "Doca Sul", "South Dock")
    assert vault.ok("entity", "list", "dock").split("\t")[:2] == ["South Dock", "entity"]
    ran = vault.run("entity", "show", "Harbr")
    assert ran.code == 1
    assert "nobody and nothing is called" in ran.err
    assert vault.run("doctor").code == 0


def test_an_upgraded_brain_has_its_facts_with_the_next_writer(shell: Shell) -> None:
    shell.brain.mkdir()
    shutil.copy(Path(__file__).parent / "data" / "v1" / "brain.db", shell.brain / "brain.db")
    assert shell.run("fact", "list").code == 1
    shell.ok("fact", "add", "user", "prefers", "tea")
    assert "user" in shell.ok("fact", "list")
