"""Search by words: what is found, in which order, within which limits, and what is printed."""

import json
import os
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria.errors import UsageError
from memoria.model import source_node
from memoria.retrieve.budget import Ranked, Shares, cut_at_sentence, fit
from memoria.retrieve.filters import parse_day
from tests.conftest import Shell

FIELDS = [
    "type", "schema", "rank", "key", "keys", "path", "relpath", "line", "title", "heading", "buckets", "tags",
    "dream_tags", "date", "score", "role", "why", "content", "cut", "stale",
]  # fmt: skip


def hits(shell: Shell, *args: str) -> list[dict[str, object]]:
    ran = shell.run("search", "--json", *args)
    assert ran.code == (0 if ran.out else 1), ran
    return [json.loads(line) for line in ran.out.splitlines()]


def found(shell: Shell, *args: str) -> list[object]:
    return [hit["relpath"] for hit in hits(shell, *args)]


# What is found


@pytest.mark.parametrize(
    "word", ["café", "cafe", "你好", "node.js", "C++", ".org", "parse_config", "parseConfig", "ORACLE", "don't"]
)
def test_a_word_finds_the_note_that_has_it(shell: Shell, word: str) -> None:
    shell.write("notes/a.md", "café 你好世界 node.js C++ .org parse_config parseConfig ORACLE don't")
    shell.write("notes/b.md", "nothing of the kind")
    shell.ok("ingest", "notes")
    assert found(shell, "--", word) == ["a.md"]


def test_a_passage_is_found_by_title_heading_tag_bucket_field_and_date(shell: Shell) -> None:
    shell.write(
        "notes/area/x.md",
        "---\ntitle: Zebra\ntags: [quagga]\nowner: Ines\ndate: 2025-03-14\n---\n## Okapi\n\ntext #eland",
    )
    shell.ok("ingest", "notes")
    for word in ("zebra", "okapi", "quagga", "eland", "area", "ines", "march", "2025"):
        assert found(shell, word) == ["area/x.md"], word
    assert found(shell, "giraffe") == []


def test_the_rarer_word_weighs_more(shell: Shell) -> None:
    for name in ("a", "b", "c", "d"):
        shell.write(f"notes/{name}.md", "boat boat boat")
    shell.write("notes/e.md", "boat tide")
    shell.ok("ingest", "notes")
    assert found(shell, "boat", "tide")[0] == "e.md"


def test_equal_hits_are_ordered_by_path_and_line_whatever_the_order_of_ingest(shell: Shell) -> None:
    for name in ("c.md", "a.md", "b.md"):
        shell.write(f"notes/{name}", "same words here")
    for name in ("b.md", "c.md", "a.md"):
        shell.ok("ingest", f"notes/{name}")
    assert found(shell, "same words") == ["a.md", "b.md", "c.md"]


# Limits


def test_the_budget_is_never_exceeded_and_a_limit_alone_lifts_it(vault: Shell) -> None:
    for budget in (1, 50, 400, 2_000):
        assert sum(len(str(hit["content"])) for hit in hits(vault, "harbor", "--budget", str(budget))) <= budget
    many = hits(vault, "the harbor and ines", "--limit", "30")
    assert sum(len(hit["keys"]) for hit in many if isinstance(hit["keys"], list)) == 30
    assert sum(len(str(hit["content"])) for hit in many) > 4_000
    both = hits(vault, "harbor", "--limit", "2", "--budget", "10000")
    assert 1 <= len(both) <= 2
    assert sum(len(str(hit["content"])) for hit in hits(vault, "harbor")) <= 4_000
    vault.ok("config", "set", "search.budget", "300")
    assert sum(len(str(hit["content"])) for hit in hits(vault, "harbor")) <= 300
    ran = vault.run("search", "harbor", "--json", MEMORIA_SEARCH_BUDGET="900")
    assert 300 < sum(len(json.loads(line)["content"]) for line in ran.out.splitlines()) <= 900


def test_an_atom_larger_than_the_budget_is_cut_at_a_sentence_and_says_so(shell: Shell) -> None:
    shell.write("a.md", "First sentence about tide. Second one, which is longer. Third.")
    shell.ok("ingest", "a.md")
    (hit,) = hits(shell, "tide", "--budget", "40")
    assert (hit["content"], hit["cut"]) == ("First sentence about tide.", True)
    (hit,) = hits(shell, "tide", "--budget", "8")
    assert (hit["content"], hit["cut"]) == ("First", True)


ITEMS = st.lists(st.tuples(st.text("ab. \n", min_size=1, max_size=60), st.booleans()), max_size=12)


@given(ITEMS, st.integers(1, 150), st.none() | st.integers(1, 8), st.sampled_from([0.0, 0.3, 1.0]))
def test_what_fits_fits(items: list[tuple[str, bool]], budget: int, limit: int | None, share: float) -> None:
    texts = {source_node(number) + 1: text for number, (text, _) in enumerate(items, 1)}
    ranked = [
        Ranked(source_node(number) + 1, float(-number), neighbor) for number, (_, neighbor) in enumerate(items, 1)
    ]
    fitted = fit(
        ranked,
        texts.__getitem__,
        lambda *_: False,
        budget=budget,
        limit=limit,
        shares=Shares(share),
        overhead=lambda _: 2,
    )
    taken = fitted.taken
    shown = [fitted.cut] if fitted.cut is not None else [texts[item.atom] for item in taken]
    assert fitted.cut is not None or sum(len(text) + 2 for text in shown) + 2 * max(0, len(shown) - 1) <= budget
    assert limit is None or len(taken) <= limit
    assert taken == [item for item in ranked if item in taken]
    reached = [item for item in taken if item.neighbor]
    assert len(reached) <= 3 or fitted.by_neighbors <= share * budget
    assert fitted.cut is None or len(taken) == 1
    assert bool(taken) == bool(ranked and budget > 2)


@given(st.text(max_size=200), st.integers(1, 100))
def test_a_cut_text_is_a_beginning_within_the_budget(text: str, budget: int) -> None:
    cut = cut_at_sentence(text, budget)
    assert len(cut) <= budget
    assert text.startswith(cut)


# Filters


@pytest.fixture
def filtered(shell: Shell) -> Shell:
    shell.write("notes/work/a.md", "---\ntags: [x, p/q]\ndate: 2025-03-10\n---\ntide alpha")
    shell.write("notes/work/b.md", "---\ntags: [x, y]\ndate: 2025-04-10\n---\ntide beta")
    shell.write("notes/home/c.md", "---\ntags: [y]\n---\ntide gamma #inline\n\n## H\n\n" + "tide delta " * 60)
    os.utime(shell.folder / "notes/home/c.md", (0, 1_700_000_000))
    shell.ok("ingest", "notes")
    shell.ok("ingest", "-", "--source", "log", stdin="tide piped")
    return shell


@pytest.mark.parametrize(
    ("args", "names"),
    [
        (["--bucket", "work"], {"work/a.md", "work/b.md"}),
        (["--bucket", "WORK", "--bucket", "home"], {"work/a.md", "work/b.md", "home/c.md"}),
        (["--tag", "x"], {"work/a.md", "work/b.md"}),
        (["--tag", "#x", "--tag", "y"], {"work/b.md"}),
        (["--any-tag", "p", "--any-tag", "inline"], {"work/a.md", "home/c.md"}),
        (["--tag", "p"], {"work/a.md"}),
        (["--not-tag", "y"], {"work/a.md", "log"}),
        (["--path", "work/*"], {"work/a.md", "work/b.md"}),
        (["--path", "work"], {"work/a.md", "work/b.md"}),
        (["--path", "*/c.md"], {"home/c.md"}),
        (["--path", "c.md"], {"home/c.md"}),
        (["--source", "log"], {"log"}),
        (["--source", "notes/work/a.md"], {"work/a.md"}),
        (["--since", "2025-03-15", "--until", "2025"], {"work/b.md"}),
        (["--until", "2025-03"], {"work/a.md", "home/c.md"}),
        (["--until", "2023-12"], {"home/c.md"}),
        (["--since", "7d"], {"log"}),
        (["--tag", "nowhere"], set()),
    ],
)
def test_filters(filtered: Shell, args: list[str], names: set[str]) -> None:
    assert set(found(filtered, "tide", "--limit", "100", *args)) == names


def test_an_inline_tag_is_on_its_own_passage_only(filtered: Shell) -> None:
    (hit,) = hits(filtered, "tide", "--tag", "inline")
    assert hit["content"] == "tide gamma #inline"


TODAY = date(2026, 11, 18)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2025-03-01", "2025-03-01", "2025-03-01"),
        ("2025/03/01", "2025-03-01", "2025-03-01"),
        ("2025-02", "2025-02-01", "2025-02-28"),
        ("2024", "2024-01-01", "2024-12-31"),
        ("7d", "2026-11-11", "2026-11-11"),
        ("2w", "2026-11-04", "2026-11-04"),
        ("1y", "2025-11-18", "2025-11-18"),
        ("today", "2026-11-18", "2026-11-18"),
        ("yesterday", "2026-11-17", "2026-11-17"),
        ("99999y", "0001-01-01", "0001-01-01"),
    ],
)
def test_days(text: str, first: str, last: str) -> None:
    assert parse_day(text, TODAY).isoformat() == first
    assert parse_day(text, TODAY, end=True).isoformat() == last


@given(st.text(max_size=12))
def test_any_other_day_is_told(text: str) -> None:
    try:
        parse_day(text, TODAY)
    except UsageError as error:
        assert "is not a date" in str(error)


# What is printed


def test_the_json_contract(vault: Shell) -> None:
    documented = (Path(__file__).parent.parent / "docs" / "json.md").read_text(encoding="utf-8")
    for hit in hits(vault, "harbor", "migration"):
        assert list(hit) == FIELDS
        assert (hit["type"], hit["schema"]) == ("hit", "memoria.hit/2")
        assert hit["role"] in ("anchor", "neighbor")
        assert os.path.isabs(str(hit["path"]))
        assert str(hit["path"]).endswith(str(hit["relpath"]))
        why = hit["why"]
        assert isinstance(why, dict)
        assert why["anchor"] + why["neighbor"] == pytest.approx(hit["score"], abs=1e-4)
        reckoned = (sum(why["words"].values()) * why["labels"] * why["speaker"] + why["title"]) / why["best"]
        assert reckoned == pytest.approx(why["anchor"], abs=1e-4)
        assert (why["via"] is None) == (not why["bridges"]) == (why["from"] is None)
        lines = Path(str(hit["path"])).read_text(encoding="utf-8").split("\n")
        line = hit["line"]
        assert isinstance(line, int)
        assert lines[line - 1].strip()
    for field in FIELDS:
        assert f"`{field}`" in documented


def test_plain_output_is_the_same_without_decoration(vault: Shell) -> None:
    out = vault.ok("search", "harbor", "migration", "--limit", "2")
    assert "\x1b" not in out
    assert out.startswith("1. Harbor data migration")
    assert "projects/harbor-migration.md:" in out
    decorated = vault.run("search", "harbor", "migration", "--limit", "2", NO_COLOR="", FORCE_COLOR="1")
    assert "\x1b[" in decorated.out
    assert "Harbor" in decorated.out


def test_paths_come_once_each_and_may_end_with_nul(vault: Shell) -> None:
    paths = vault.ok("search", "harbor", "--paths").splitlines()
    assert len(set(paths)) == len(paths) > 1
    assert all(os.path.isfile(path) for path in paths)
    assert vault.ok("search", "harbor", "--paths", "-0").split("\0")[:-1] == paths


def test_unknown_words_are_told_with_the_nearest_known_one(vault: Shell) -> None:
    ran = vault.run("search", "harbour", "sourdogh", "qqqqqq")
    assert 'no note has "sourdogh"; searched for "sourdough" instead' in ran.err.lower()
    assert 'no note has "qqqqqq"\n' in ran.err


def test_a_hit_whose_file_changed_says_so(shell: Shell) -> None:
    path = shell.write("a.md", "tide")
    shell.ok("ingest", "a.md")
    assert hits(shell, "tide")[0]["stale"] is False
    path.write_text("tide, and more", encoding="utf-8")
    assert hits(shell, "tide")[0]["stale"] is True
    assert "(changed since ingest)" in shell.ok("search", "tide")
    path.unlink()
    assert hits(shell, "tide")[0]["stale"] is True


def test_the_query_may_come_from_a_pipe_or_begin_with_a_dash(vault: Shell) -> None:
    assert vault.ok("search", "-", "--paths", stdin="harbor migration") == vault.ok(
        "search", "harbor", "migration", "--paths"
    )
    assert vault.run("search", "--", "-harbor tide").code == 0


def test_open_starts_the_editor_at_the_line(vault: Shell) -> None:
    log = vault.folder / "opened"
    editor = vault.write("bin/nano", f'#!/bin/sh\nprintf "%s\\n" "$@" > {log}\n')
    editor.chmod(0o755)
    vault.ok("search", "harbor", "migration", "--open", "1", EDITOR=str(editor))
    first = hits(vault, "harbor", "migration")[0]
    assert log.read_text(encoding="utf-8").split() == [f"+{first['line']}", str(first["path"])]
    ran = vault.run("search", "harbor", "--open", "999", EDITOR=str(editor))
    assert (ran.code, "there is no hit 999" in ran.err) == (2, True)
    ran = vault.run("search", "harbor", "--open", "1", EDITOR="", VISUAL="")
    assert (ran.code, "no editor is set" in ran.err) == (2, True)


# Exit codes


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["harbor"], 0, "atoms match"),
        (["qqqq"], 1, "nothing found"),
        (["!!! ..."], 1, "there is no word in that"),
        (["the and of"], 1, "too common"),
        (["harbor", "--tag", "nowhere"], 1, "within these limits"),
        ([""], 2, "nothing to search for"),
        (["  "], 2, "nothing to search for"),
        ([], 2, "nothing to search for"),
        (["x", "--since", "soon"], 2, "is not a date"),
        (["x", "--budget", "0"], 2, "--budget"),
        (["x", "--budget", "many"], 2, "--budget"),
        (["x", "--nonsense"], 2, "--nonsense"),
    ],
)
def test_exit_codes(vault: Shell, args: list[str], code: int, said: str) -> None:
    ran = vault.run("search", *args)
    assert (ran.code, said in ran.err) == (code, True), ran


def test_an_empty_brain_and_no_brain_find_nothing(shell: Shell) -> None:
    ran = shell.run("search", "x")
    assert (ran.code, "there is no brain" in ran.err) == (1, True)
    assert not shell.brain.exists()
    shell.ok("init")
    ran = shell.run("search", "x", "--json")
    assert (ran.code, ran.out, "the brain is empty" in ran.err) == (1, "", True)


def test_quiet_prints_data_only(vault: Shell) -> None:
    assert vault.run("search", "harbor", "-q").err == ""
    assert vault.run("search", "qqqqqqq", "-q") == (1, "", "")
