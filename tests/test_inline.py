"""Tags, links, fields, persons and names inside a passage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria.inline import fields, links, masked, phrases, tags
from memoria.model import Field, Link


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("#one and #two/Three", ["one", "two/three"]),
        ("(#paren) [#x] \"#q\" *#b*", ["paren", "x", "q", "b"]),
        ("#123 #2024 #1a #y2k", ["1a", "y2k"]),
        ("#1/2", []),
        ("#café #日本 #каша", ["café", "日本", "каша"]),
        ("#🎉party", ["🎉party"]),
        ("a#b http://x.org/#frag https://y.org/a#b", []),
        ("`#code` ``a `#b` c`` #real", ["real"]),
        ("an `open code span, and `#shut`#this one", []),
        ("[x](#anchor) [[Note#Heading]] [[#Here]] [a](b.md#c)", []),
        ("# heading", []),
        ("## #tag", ["tag"]),
        ("&#39; ##no #", []),
        ("#trailing/ #a//b", ["trailing", "a/b"]),
        ("#kebab-case_and_snake.", ["kebab-case_and_snake"]),
    ],
)  # fmt: skip
def test_tags_by_obsidians_rules(text: str, found: list[str]) -> None:
    assert list(tags(masked(text))) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see [[Harbor]]", [Link("wikilink", "Harbor", "", 0)]),
        ("[[a/b|text]] ![[pic.png]]", [Link("wikilink", "a/b", "text", 0), Link("embed", "pic.png", "", 0)]),
        ("x\n[[Note#Heading]] [[Note^block]]", [Link("wikilink", "Note", "", 1), Link("wikilink", "Note", "", 1)]),
        ("[[#same note]]", []),
        ("[t](../a%20b.md#h) ![i](i.png)", [Link("markdown", "../a b.md", "t", 0), Link("embed", "i.png", "i", 0)]),
        ("[t](<a b.md>) [t](x.md \"title\")", [Link("markdown", "a b.md", "t", 0), Link("markdown", "x.md", "t", 0)]),
        ("[t](https://x.org) [m](mailto:a@b.c) [h](#x) [p](//cdn)", []),
        ("- uses [[DuckDB]]", [Link("wikilink", "DuckDB", "", 0), Link("relation", "DuckDB", "uses", 0)]),
        ("- part of [[X]] (since 2020)", [Link("wikilink", "X", "", 0), Link("relation", "X", "part of", 0)]),
        ("- see [[X]] for more", [Link("wikilink", "X", "", 0)]),
        ("ask @tomas, not a@b.org or @types/node", [Link("person", "tomas", "", 0)]),
        ("`[[code]]` `@me`", []),
    ],
)  # fmt: skip
def test_links_relations_and_persons(text: str, found: list[Link]) -> None:
    assert list(links(masked(text))) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("status:: active", [Field("status", "active", 0)]),
        ("- [ ] Due Date:: 2026-01-01", [Field("due date", "2026-01-01", 0)]),
        ("**owner**:: Ines", [Field("owner", "Ines", 0)]),
        ("a [due:: 2026-05-01] b (owner:: Ines)", [Field("due", "2026-05-01", 0), Field("owner", "Ines", 0)]),
        ("empty::", [Field("empty", "", 0)]),
        ("std::vector is a type", []),
        ("use `a:: b` here", []),
        ("x\n- [decision] go #now", [Field("decision", "go #now", 1)]),
        ("- [x] done\n- [ ] open", []),
    ],
)
def test_fields_and_observations(text: str, found: list[Field]) -> None:
    assert list(fields(masked(text))) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("We met Tomas Brandt at Casa Verde.", ["Tomas Brandt", "Casa Verde"]),
        ("Monday in the Bank of Portugal", ["Bank of Portugal"]),
        ("Then Lisbon. Berlin too", ["Lisbon"]),
        ("the iPhone and a Élan", ["Élan"]),
        ("no names here", []),
    ],
)
def test_capitalised_names(text: str, found: list[str]) -> None:
    assert phrases(text) == found


@given(st.text(max_size=300) | st.text("#[]()!@:`|^ -a1é\n", max_size=120))
def test_any_text_is_read(text: str) -> None:
    plain = masked(text)
    assert len(plain) == len(text)
    assert plain.count("\n") == text.count("\n")
    lines = text.count("\n")
    assert all(name and name == name.lower() for name in tags(plain))
    assert all(0 <= link.line <= lines and link.target for link in links(plain))
    assert all(0 <= field.line <= lines and field.name for field in fields(plain))
    assert len(set(phrases(plain))) == len(phrases(plain))
