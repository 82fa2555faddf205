"""The command line as a whole: help, lanes, lists, upkeep."""

import json
import re
import sqlite3
import subprocess
import sys
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.main import get_command

from memoria import __version__
from memoria.cli import quick, searching
from memoria.cli.app import COMMANDS, app
from memoria.cli.editor import command
from memoria.cli.search import app as search_app
from tests.conftest import CHECKOUT, Shell


def all_commands() -> list[list[str]]:
    root: Any = get_command(app)
    context = typer.Context(root)
    found = []
    for name in root.list_commands(context):
        one = root.get_command(context, name)
        found += [[name, sub] for sub in one.commands] if hasattr(one, "commands") else [[name]]
    return found


@pytest.mark.parametrize("words", all_commands(), ids=" ".join)
def test_every_command_has_help_with_an_example_and_quiet_and_verbose(shell: Shell, words: list[str]) -> None:
    text = shell.ok(*words, "--help")
    assert f"  memoria {' '.join(words)}" in text or "cd ~/notes && memoria init" in text
    assert "--quiet" in text
    assert "--verbose" in text


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_in_the_readme(name: str) -> None:
    assert f"`memoria {name}" in (CHECKOUT / "README.md").read_text(encoding="utf-8")


def test_version_and_module(shell: Shell) -> None:
    assert shell.ok("--version") == f"memoria {__version__}\n"
    assert "ingest" in shell.run().err + shell.run().out


def test_an_unknown_command_is_told(shell: Shell) -> None:
    ran = shell.run("serach", "x")
    assert (ran.code, "serach" in ran.err) == (2, True)


# The two lanes of search


def declared() -> dict[str, Any]:
    parser: Any = get_command(search_app)
    return {flag: param for param in parser.params for flag in param.opts}


def test_the_quick_lane_knows_only_what_typer_declares() -> None:
    params = declared()
    for table, kind in ((quick.FLAGS, bool), (quick.NUMBERS, int), (quick.TEXTS, str), (quick.LISTS, list)):
        for flag, name in table.items():
            param = params[flag]
            assert param.name == name
            assert param.is_flag if kind is bool else not param.is_flag
            assert param.multiple == (kind is list)
            assert param.type.name.startswith("int") == (kind is int)


WORDS = st.sampled_from(
    ["harbor", "-", "--", "--json", "--paths", "-0", "-q", "--budget", "-b", "--limit", "-n", "7", "0", "-3", "x=y",
     "--budget=9", "--tag", "--tag=a", "-n5", "--since", "2025", "--path", "*.md", "--open", "--help", "--bud", "",
     "-vq"]
)  # fmt: skip


@given(st.lists(WORDS, max_size=7))
def test_what_the_quick_lane_takes_typer_takes_alike(argv: list[str]) -> None:
    taken = quick.parse(["search", *argv])
    if taken is None:
        return
    parser: Any = get_command(search_app)
    context = parser.make_context("search", list(argv), resilient_parsing=False)
    typed = {name: value for name, value in context.params.items() if value not in (None, False, [], ())}
    quickly = {name: value for name, value in taken[1].items() if value not in (None, False, [], ())}
    assert quickly == {name: list(value) if isinstance(value, tuple) else value for name, value in typed.items()}


def test_the_quick_lane_takes_the_brain() -> None:
    assert quick.parse(["--brain", "b", "search", "x", "--json"]) == ("b", {"query": ["x"], "as_json": True})
    assert quick.parse(["status"]) is None


def test_both_lanes_have_the_same_defaults() -> None:
    defaults = searching.run.__kwdefaults__ or {}
    for param in declared().values():
        if param.name in defaults:
            assert (param.default or None) == (defaults[param.name] or None)


HEAVY = ("typer", "rich", "yaml", "pycozo", "platformdirs", "dataclasses", "inspect", "numpy", "pathlib", "sqlite3")


def test_a_piped_search_imports_nothing_heavy(vault: Shell) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "memoria", "search", "harbor", "--json"]
    done = subprocess.run(command, env=vault.env, capture_output=True, text=True, check=True)
    loaded = re.findall(r"^import time:.*\| +(\S+)$", done.stderr, re.MULTILINE)
    assert "memoria.retrieve.walker" in loaded
    assert not [name for name in HEAVY if name in loaded]


# Lists


def test_sources_tags_and_buckets(vault: Shell) -> None:
    sources = [json.loads(line) for line in vault.ok("sources", "--json").splitlines()]
    assert len(sources) == 40
    assert sources == sorted(sources, key=lambda source: source["path"])
    assert len(vault.ok("sources", "harbor").splitlines()) == 4
    assert len(vault.ok("sources", "--bucket", "journal").splitlines()) == 7
    assert vault.run("sources", "nosuch").code == 1
    tags = {tag["name"]: tag for tag in map(json.loads, vault.ok("tags", "--json").splitlines())}
    assert tags["project/harbor"]["notes"] == 5
    assert "#project/harbor\t5\t" in vault.ok("tags", "project")
    buckets = {
        bucket["name"]: bucket["notes"] for bucket in map(json.loads, vault.ok("buckets", "--json").splitlines())
    }
    assert sum(buckets.values()) == 40
    assert vault.run("tags", "nosuch").code == 1


def test_status(vault: Shell) -> None:
    status = json.loads(vault.ok("status", "--json"))
    assert (status["sources"], status["segments"], status["writer"]) == (40, 1, "")
    assert status["roots"] == [str(vault.folder / "notes")]
    assert f"brain\t{vault.brain}" in vault.ok("status")


# Forget


def test_forget_asks_and_forgets(vault: Shell) -> None:
    ran = vault.run("forget", "journal")
    assert (ran.code, "--yes" in ran.err) == (2, True)
    assert vault.ok("forget", "journal", "--yes") == "forgot 7 notes\n"
    assert vault.run("sources", "--bucket", "journal").code == 1
    assert vault.ok("forget", "--bucket", "recipes", "-y") == "forgot 5 notes\n"
    assert vault.ok("forget", "Harbor", "-y") == "forgot 1 note\n"
    assert vault.run("forget", "nosuch", "-y").code == 1
    assert vault.run("forget", "--bucket", "nosuch", "-y").code == 1
    assert vault.run("forget").code == 2
    assert vault.run("doctor").code == 0
    assert vault.ok("forget", "notes", "-y") == "forgot 27 notes\n"
    assert json.loads(vault.ok("status", "--json"))["roots"] == []


# Doctor


def test_the_doctor_finds_damage_and_mends_it(vault: Shell) -> None:
    assert vault.run("doctor").code == 0
    before = vault.ok("search", "harbor", "--json")
    connection = sqlite3.connect(vault.brain / "brain.db")
    # Every relation's rows begin with its number: take some rows of the last ones (postings, ways back, ...) away.
    rows = [row[0] for row in connection.execute("select k from cozo").fetchall()]
    doomed = rows[len(rows) // 2 :: 97]
    connection.executemany("delete from cozo where k = ?", [(row,) for row in doomed])
    connection.commit()
    connection.close()
    ran = vault.run("doctor")
    assert ran.code == 1
    assert "damage: " in ran.out
    vault.run("doctor", "--fix")
    after = vault.run("doctor")
    if after.code:  # an atom or a source itself was hit: the notes still have it
        (vault.brain / "brain.db").unlink()
        vault.ok("ingest", "notes")
    assert vault.run("doctor").code == 0
    assert vault.ok("search", "harbor", "--json") == before


def test_a_lost_index_is_rebuilt_from_the_atoms(vault: Shell) -> None:
    from memoria.store.writer import StoreWriter

    before = vault.ok("search", "harbor", "--json")
    store = StoreWriter.open(str(vault.brain / "brain.db"))
    store.replace_index([], lambda: 0)
    store.close()
    assert vault.run("search", "harbor").code == 1
    ran = vault.run("doctor")
    assert ran.code == 1
    assert "the text index does not agree with the atoms" in ran.out
    vault.ok("doctor", "--fix")
    assert vault.ok("search", "harbor", "--json") == before


def test_duplicate_titles_are_advice(shell: Shell) -> None:
    shell.write("notes/a/x.md", "# Same\none")
    shell.write("notes/b/y.md", "# Same\ntwo")
    shell.ok("ingest", "notes")
    ran = shell.run("doctor", "--json")
    assert ran.code == 0
    assert "2 notes are called 'same'" in json.loads(ran.out)["text"]


# Editors, completion, talk


@pytest.mark.parametrize(
    ("editor", "words"),
    [
        ("vim", ["vim", "+7", "a.md"]),
        ("/usr/bin/nano -w", ["/usr/bin/nano", "-w", "+7", "a.md"]),
        ("code --wait", ["code", "--wait", "--goto", "a.md:7"]),
        ("hx", ["hx", "a.md:7"]),
        ("gedit", ["gedit", "a.md"]),
    ],
)
def test_editors_open_at_the_line(editor: str, words: list[str]) -> None:
    assert command(editor, "a.md", 7) == words


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("memoria search x --tag project/", "project/harbor"),
        ("memoria search x --bucket jour", "journal"),
        ("memoria show projects/har", "projects/harbor.md"),
        ("memoria config get search.", "search.budget"),
        ("memoria inge", "ingest"),
    ],
)
def test_the_shell_completes_tags_buckets_and_sources(vault: Shell, typed: str, found: str) -> None:
    words = len(typed.split()) - 1
    ran = vault.run(_MEMORIA_COMPLETE="complete_bash", COMP_WORDS=typed, COMP_CWORD=str(words))
    assert found in ran.out.split()


def test_completion_without_a_brain_is_empty_and_silent(shell: Shell) -> None:
    ran = shell.run(_MEMORIA_COMPLETE="complete_bash", COMP_WORDS="memoria search x --tag p", COMP_CWORD="4")
    assert (ran.out.strip(), ran.err) == ("", "")


def test_init_makes_a_brain_once(shell: Shell) -> None:
    assert shell.ok("init", "here") == f"made a brain in {shell.folder}/here\n"
    assert (shell.folder / "here" / "memoria.toml").exists()
    assert "already" in shell.ok("init", "here")
