"""The prompt of `memoria search` without a query, on a real terminal."""

import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import Shell

PROMPT = "search> "


@pytest.fixture
def editor(vault: Shell) -> Path:
    """An editor that writes down how it was called."""
    path = vault.write("vim", '#!/bin/sh\necho "$@" >> calls\n')
    path.chmod(0o755)
    return path


def test_queries_are_answered_as_on_the_command_line(vault: Shell) -> None:
    with vault.terminal("search", "--limit", "2") as terminal:
        assert "? helps, Ctrl-D leaves" in terminal.until(PROMPT)
        terminal.type("webhook twice\n")
        came = terminal.until(PROMPT)
        expected = vault.ok("search", "--limit", "2", "webhook", "twice")
        assert expected in came
        assert "2 hits" in came
        terminal.type('"free of charge"\n')
        assert "Berth rules" in terminal.until(PROMPT)
        terminal.type("\x04")
        assert terminal.end() == 0


def test_options_hold_for_every_query(vault: Shell) -> None:
    with vault.terminal("search", "--json", "--bucket", "garden", "-n", "1") as terminal:
        for words in ("compost", "water"):
            terminal.until(PROMPT)
            terminal.type(words + "\n")
            terminal.until(words + "\n")
            hit = json.loads(terminal.until("}\n"))
            assert hit["buckets"] == ["garden"]
        terminal.type("q\n")
        assert terminal.end() == 0


def test_a_hit_is_opened_at_its_line(vault: Shell, editor: Path) -> None:
    hits = [json.loads(line) for line in vault.ok("search", "webhook twice", "-n", "3", "--json").splitlines()]
    with vault.terminal("search", "-n", "3", EDITOR=str(editor)) as terminal:
        terminal.until(PROMPT)
        terminal.type("o 1\n")
        assert "search first" in terminal.until(PROMPT)
        terminal.type("webhook twice\n")
        terminal.until(PROMPT)
        terminal.type(f"o {len(hits)}\n")
        terminal.until(PROMPT)
        terminal.type("o\n")
        terminal.until(PROMPT)
        terminal.type("o 9\n")
        assert f"there is no hit 9; the search found {len(hits)}" in terminal.until(PROMPT)
        terminal.type("q\n")
        assert terminal.end() == 0
    calls = (vault.folder / "calls").read_text().splitlines()
    assert calls == [f"+{hit['line']} {hit['path']}" for hit in (hits[-1], hits[0])]
    assert calls[0] != calls[1]


def test_what_fails_is_told_and_the_prompt_goes_on(vault: Shell) -> None:
    with vault.terminal("search", EDITOR="/no/such/editor") as terminal:
        terminal.until(PROMPT)
        for line, said in (
            ("?", "leave; Ctrl-C clears the line"),
            ("tide after:someday", "'someday' is not a date"),
            ("qqqq", "nothing found"),
            ("the of", "too common"),
            ("tide", "atoms match"),
            ("o 1", "can't be started"),
            ("o two", "no note has"),
            ("", ""),
        ):
            terminal.type(line + "\n")
            assert said in terminal.until(PROMPT)
        terminal.type("\x04")
        assert terminal.end() == 0
    assert "Traceback" not in terminal.screen


def test_ctrl_c_clears_the_line(vault: Shell) -> None:
    with vault.terminal("search") as terminal:
        terminal.until(PROMPT)
        terminal.type("webhook twi")
        terminal.until("webhook twi")
        assert "Idempotent" not in terminal.until(PROMPT, press="\x03")
        terminal.type("harbor\n")
        assert "Harbor" in terminal.until(PROMPT)
        terminal.type("\x04")
        assert terminal.end() == 0


def test_lines_are_remembered_from_one_prompt_to_the_next(vault: Shell) -> None:
    with vault.terminal("search", "--paths") as terminal:
        terminal.until(PROMPT)
        terminal.type("webhook twice\n")
        first = terminal.until(PROMPT).partition("\n")[2]
        terminal.process.kill()  # as a closed window does
    with vault.terminal("search", "--paths") as terminal:
        terminal.until(PROMPT)
        terminal.type("\x1b[A")
        terminal.until("webhook twice")
        terminal.type("\n")
        assert terminal.until(PROMPT).partition("\n")[2] == first
        terminal.type("q\n")
        assert terminal.end() == 0
    history = vault.folder / "home" / "state" / "memoria" / "search_history"
    assert history.read_text() == "webhook twice\nwebhook twice\n"
    assert history.stat().st_mode & 0o077 == 0


def test_a_history_that_cannot_be_written_is_no_accident(vault: Shell) -> None:
    (vault.folder / "home").mkdir(exist_ok=True)
    vault.write("home/state", "a file where a folder should be")
    with vault.terminal("search") as terminal:
        terminal.until(PROMPT)
        terminal.type("tide\n")
        assert "Tide gauge" in terminal.until(PROMPT)
        terminal.type("\x04")
        assert terminal.end() == 0
    assert "Traceback" not in terminal.screen


def test_an_open_prompt_finds_what_was_ingested_meanwhile(vault: Shell) -> None:
    with vault.terminal("search", "--no-walk") as terminal:
        terminal.until(PROMPT)
        terminal.type("zeppelin\n")
        assert "nothing found" in terminal.until(PROMPT)
        vault.ok("ingest", "-", "--source", "air", stdin="A zeppelin over the harbor.\n")
        terminal.type("zeppelin\n")
        assert "A zeppelin over the harbor." in terminal.until(PROMPT)
        shutil.rmtree(vault.brain)
        terminal.type("zeppelin\n")
        assert "there is no brain" in terminal.until(PROMPT)
        vault.ok("ingest", "-", "--source", "air", stdin="Another zeppelin.\n")
        terminal.type("zeppelin\n")
        came = terminal.until(PROMPT)
        assert "Another zeppelin." in came
        assert "harbor" not in came
        terminal.type("\x04")
        assert terminal.end() == 0


def test_without_a_brain_there_is_no_prompt(shell: Shell) -> None:
    with shell.terminal("search") as terminal:
        assert terminal.end() == 1
    assert "there is no brain" in terminal.screen


def test_in_a_pipe_a_query_is_needed(vault: Shell) -> None:
    ran = vault.run("search", stdin="tide\n")
    assert (ran.code, ran.out) == (2, "")
    assert "there is nothing to search for" in ran.err
    assert "Tide gauge" in vault.ok("search", "-", stdin="tide\n")


def test_opening_needs_a_query(vault: Shell) -> None:
    with vault.terminal("search", "--open", "1") as terminal:
        assert terminal.end() == 2
    assert "there is nothing to search for" in terminal.screen
