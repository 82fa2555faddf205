"""From a note to its atoms."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria.markdown import MAX_CHARS, SPLIT_CHARS, parse
from memoria.model import Note
from memoria.text import indexed_text

TODAY = date(2026, 11, 18)


def read(text: str, name: str = "a.md") -> Note:
    return parse(text, name, TODAY)


def texts(text: str) -> list[str]:
    return [atom.text for atom in read(text).atoms]


@pytest.mark.parametrize(
    ("text", "name", "title"),
    [
        ("---\ntitle: Front\n---\n# Head", "x/file.md", "Front"),
        ("# Head\ntext\n# Second", "x/file.md", "Head"),
        ("Head\n====\ntext", "file.md", "Head"),
        ("## Not first level", "x/my file.md", "my file"),
        ("text", "v1.2.md", "v1.2"),
        ("text", "noending", "noending"),
        ("text", ".hidden", ".hidden"),
    ],
)
def test_the_title_is_front_matter_or_the_first_h1_or_the_file_name(text: str, name: str, title: str) -> None:
    assert read(text, name).title == title


def test_every_atom_knows_its_headings_and_its_line() -> None:
    note = read("# T\n\nintro\n\n## A\n\none\n\n### B\n\ntwo\n\n## C\n\nthree")
    assert [(atom.text, atom.heading, atom.line) for atom in note.atoms] == [
        ("intro", (), 3),
        ("one", ("A",), 7),
        ("two", ("A", "B"), 11),
        ("three", ("C",), 15),
    ]


def test_lines_count_the_front_matter() -> None:
    assert [atom.line for atom in read("---\ntitle: x\n---\n\ntext").atoms] == [5]


def test_the_h1_stays_in_the_trail_where_it_is_not_the_title() -> None:
    assert read("---\ntitle: Other\n---\n# Head\ntext").atoms[0].heading == ("Head",)


def test_a_heading_without_a_body_is_an_atom_and_one_with_parts_below_is_not() -> None:
    note = read("# T\n## Empty\n## Full\ntext\n## Parent\n### Leaf")
    assert [(atom.text, atom.kind, atom.heading) for atom in note.atoms] == [
        ("## Empty", "heading", ()),
        ("text", "text", ("Full",)),
        ("### Leaf", "heading", ("Parent",)),
    ]
    assert texts("# Only a title") == ["# Only a title"]


def test_a_hash_without_a_space_is_no_heading() -> None:
    assert read("#tag text").atoms[0].tags == ("tag",)


def test_small_neighbours_are_packed_but_never_across_a_heading() -> None:
    assert texts("one\n\ntwo\n\n- three\n- four\n\n## H\n\nfive") == ["one\n\ntwo\n\n- three\n- four", "five"]
    long = "x" * 300 + "."
    assert texts(f"{long}\n\n{long}") == [long, long]


def test_long_text_is_split_at_sentence_ends() -> None:
    sentences = [f"Sentence number {n} says that Dr. Smith met Mr. X, i.e. nobody." for n in range(30)]
    found = texts(" ".join(sentences))
    assert len(found) > 3
    assert " ".join(found) == " ".join(sentences)
    assert all(len(text) <= SPLIT_CHARS and text.endswith("nobody.") for text in found)


def test_chinese_is_split_at_its_own_full_stops() -> None:
    found = texts("今天天气很好我们去公园散步。" * 60)
    assert all(text.endswith("。") and len(text) <= SPLIT_CHARS for text in found)
    assert max(map(len, found)) < 1.4 * min(map(len, found))


def test_a_text_without_sentence_ends_is_cut_between_words() -> None:
    words = " ".join(f"word{n}" for n in range(2_000))
    found = texts(words)
    assert " ".join(found) == words
    assert all(len(text) <= MAX_CHARS for text in found)
    blob = "x" * 5_000
    assert "".join(texts(blob)) == blob


def test_split_pieces_know_their_lines() -> None:
    lines = [f"Line {n} is here and has a few words more to say." for n in range(40)]
    for atom in read("\n".join(lines)).atoms:
        assert lines[atom.line - 1] == atom.text.split("\n")[0]


def test_a_chat_turn_is_one_atom_with_its_speaker() -> None:
    note = read("**Ines:** hello\n\n**Tomas:** " + "long. " * 150 + "\n**Ines:** bye\n\nafter")
    assert [(atom.kind, atom.speaker) for atom in note.atoms] == [
        ("turn", "Ines"),
        ("turn", "Tomas"),
        ("turn", "Ines"),
        ("text", ""),
    ]
    assert len(note.atoms[1].text) > SPLIT_CHARS


def test_a_fence_is_its_own_atom_and_nothing_in_it_is_markdown() -> None:
    note = read("before #a\n```py\n# no heading\n#no-tag [[no]] x:: y\n\n| a | b |\n```\nafter")
    assert [(atom.kind, atom.tags, atom.links, atom.fields) for atom in note.atoms] == [
        ("text", ("a",), (), ()),
        ("code", (), (), ()),
        ("text", (), (), ()),
    ]
    assert note.atoms[1].text == "```py\n# no heading\n#no-tag [[no]] x:: y\n\n| a | b |\n```"
    assert note.atoms[1].line == 2


def test_a_fence_closes_only_with_its_own_kind() -> None:
    assert texts("````\n```\n~~~\n````\nx") == ["````\n```\n~~~\n````", "x"]


def test_an_unclosed_fence_reaches_to_the_end_and_is_shown_closed() -> None:
    assert texts("a\n```\nb\n# c") == ["a", "```\nb\n# c\n```"]


def test_a_long_fence_is_split_at_line_ends_and_each_part_is_fenced() -> None:
    rows = [f"line {n} of the program" for n in range(300)]
    atoms = read("```py\n" + "\n".join(rows) + "\n```").atoms
    assert len(atoms) > 1
    inner = []
    for atom in atoms:
        lines = atom.text.split("\n")
        assert (lines[0], lines[-1]) == ("```py", "```")
        assert rows[atom.line - 2] == lines[1]
        inner += lines[1:-1]
    assert inner == rows


def test_a_table_is_its_own_atom_and_a_long_one_keeps_its_head() -> None:
    rows = [f"| {n} | value {n} |" for n in range(200)]
    note = read("text\n\n| a | b |\n|---|---|\n" + "\n".join(rows) + "\n\nafter")
    tables = [atom for atom in note.atoms if atom.kind == "table"]
    assert len(tables) > 1
    assert all(atom.text.startswith("| a | b |\n|---|---|\n") for atom in tables)
    assert [row for atom in tables for row in atom.text.split("\n")[2:]] == rows
    assert note.atoms[-1].text == "after"


def test_inline_tags_stay_with_their_atom_and_front_matter_tags_with_the_note() -> None:
    note = read("---\ntags: [whole]\n---\none #first\n\n## H\n\ntwo #second #first")
    assert note.tags == ("whole",)
    assert [atom.tags for atom in note.atoms] == [("first",), ("second", "first")]


def test_links_and_fields_count_lines_from_their_atom() -> None:
    note = read("# T\n\nfirst\nsee [[X]]\nstatus:: on")
    atom = note.atoms[0]
    assert (atom.line, atom.links[0].line, atom.fields[0].line) == (3, 1, 2)


def test_front_matter_prose_is_an_atom_and_short_values_are_not() -> None:
    note = read("---\nintro: How to reset a lost password\nstatus: done\n---\n# T\ntext")
    assert [(atom.kind, atom.text, atom.line) for atom in note.atoms] == [
        ("properties", "intro: How to reset a lost password", 2),
        ("text", "text", 6),
    ]


def test_block_ids_are_not_searched() -> None:
    assert indexed_text("Decided. ^decision-1\nMore ^x\n2^n stays") == "Decided. \nMore \n2^n stays"


def test_rules_are_no_text_and_end_a_block() -> None:
    assert texts("a\n\n***\n\nb\n\n---\n") == ["a\n\nb"]


def test_an_item_keeps_its_continuation_lines() -> None:
    item = "- one\n  more\n\n  still one"
    assert texts(f"{item}\n- {'two ' * 120}")[0] == item


def test_an_empty_note_has_no_atoms() -> None:
    assert texts("") == texts("\n\n \n") == texts("---\n---\n") == []


@pytest.mark.parametrize("text", ["---\nnever closed\n\ntext", "---"])
def test_front_matter_that_never_closes_is_text(text: str) -> None:
    assert not read(text).warnings
    assert read(text).title == "a"
    if "text" in text:
        assert "text" in "".join(atom.text for atom in read(text).atoms)


BITS = st.lists(
    st.sampled_from(
        [
            "# H", "## H2", "text here.", "- item", "1. item", "> quote", "```", "~~~", "| a | b |", "|---|---|", "",
            "    code", "**A:** hi", "---", "===", "key:: value", "[[x]]", "long " * 150, "x" * 900, "#tag", "^id",
            "\t- x", "***", "Sentence one. Sentence two! " * 20,
        ]
    ),
    max_size=25,
)  # fmt: skip


@given(BITS)
def test_no_word_is_lost_and_no_atom_is_too_large(lines: list[str]) -> None:
    note = read("\n".join(lines))
    for atom in note.atoms:
        assert atom.text.strip()
        assert atom.line >= 1
        assert len(atom.text) <= MAX_CHARS + 400
    found = " ".join([note.title, *(" ".join((atom.text, *atom.heading)) for atom in note.atoms)])
    for word in ("text", "item", "quote", "code", "Sentence", "long"):
        if any(word in line for line in lines):
            assert word in found


@given(st.text(max_size=600))
def test_any_text_is_parsed(text: str) -> None:
    note = read(text)
    lines = text.count("\n") + 1
    assert all(1 <= atom.line <= lines for atom in note.atoms)


@given(BITS)
def test_fences_stay_whole(lines: list[str]) -> None:
    for atom in read("\n".join(lines)).atoms:
        if atom.kind != "code":
            assert not any(line.lstrip(" >").startswith(("```", "~~~")) for line in atom.text.split("\n"))
