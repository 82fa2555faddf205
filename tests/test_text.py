"""The analyzer, and the guard of Cozo's text search."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria.store.writer import StoreWriter
from memoria.text import (
    MAX_TERM_CHARS,
    STOP_WORDS,
    fold,
    label_name,
    link_name,
    raw_words,
    sanitize_fts_query,
    terms,
    terms_of_word,
    word_spans,
)


@pytest.mark.parametrize(
    "word",
    ["node.js", "C++", "C#", ".org", "parse_config", "parseConfig", "ORACLE", "don't", "café", "你好", "IT", "🎉"],
)
def test_a_word_finds_itself(word: str) -> None:
    asked = set(terms(word))
    assert asked
    assert asked <= set(terms(f"we spoke about {word} yesterday"))


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ("cafe", "café"),
        ("café", "cafe"),
        ("你好", "你好世界"),
        ("猫", "黑猫警长"),
        ("child", "children"),
        ("won", "winning"),
        ("boats", "boat"),
        ("boat", "boats"),
        ("config", "parse_config"),
        ("config", "parseConfig"),
        ("client", "HttpClientPool"),
        ("dont", "don't"),
        ("don't", "don’t"),
        ("Caroline", "Caroline’s"),
        ("eau", "l'eau"),
        ("strasse", "Straße"),
        ("node", "node.js"),
        ("ﬁnd", "find"),
        ("สวัสดี", "สวัสดีครับ"),
        ("हिन्दी", "हिन्दी में"),
    ],
)
def test_one_form_finds_another(asked: str, written: str) -> None:
    assert set(terms(asked)) & set(terms(written))


@pytest.mark.parametrize(
    ("asked", "written"),
    [("Java", "JavaScript"), ("Git", "GitHub"), ("c", "C++"), ("us", "bus"), ("hub", "GitHub")],
)
def test_a_name_is_not_its_parts(asked: str, written: str) -> None:
    assert not set(terms(asked)) & set(terms(written))


def test_a_possessive_is_its_word() -> None:
    assert terms("the repository's") == terms("repository") == terms("a repository’s")


def test_stop_words_say_nothing_unless_they_are_written_as_names() -> None:
    assert terms("what is it to the who") == []
    assert terms("the WHO and the IT department") == ["who", "it", "depart"]


def test_a_blob_is_indexed_by_its_beginning() -> None:
    blob = "a" * 500
    assert terms(blob) == ["a" * MAX_TERM_CHARS]


def test_irregular_forms_meet_in_one_term() -> None:
    assert len({terms(word)[0] for word in ("write", "wrote", "written", "writes", "writing")}) == 1
    assert len({terms(word)[0] for word in ("person", "people", "persons")}) == 1


@given(st.text(max_size=300))
def test_any_text_has_terms_that_find_it_again(text: str) -> None:
    found = terms(text)
    assert all(term and len(term) <= MAX_TERM_CHARS * 2 for term in found)
    assert terms(text) == found
    for raw in raw_words(text):
        assert set(terms_of_word(raw)) <= set(found)


@given(st.text(max_size=200))
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(st.text(max_size=200))
def test_spans_lie_inside_the_text_in_order(text: str) -> None:
    end = 0
    for start, stop in word_spans(text):
        assert end <= start < stop <= len(text)
        end = stop


@given(st.text(max_size=80))
def test_a_label_is_bare_lower_case_and_stays_as_it_is(text: str) -> None:
    name = label_name(text)
    assert name == name.lower()
    assert not name.startswith(("#", "/"))
    assert not name.endswith("/")
    assert label_name(name) == name
    assert len(name.split()) <= 1


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("Harbor", "harbor"),
        ("../people/Tomás Brandt.md", "tomas brandt"),
        ("a\\b\\C.markdown", "c"),
        ("v1.2", "v1.2"),
        ("x/", "x"),
    ],
)
def test_a_link_is_compared_by_its_last_part(target: str, name: str) -> None:
    assert link_name(target) == name


def test_no_stop_word_is_longer_than_a_term() -> None:
    assert all(word == fold(word) for word in STOP_WORDS)


# sanitize_fts_query: whatever comes in, Cozo's parser must neither raise nor panic nor crash.

NASTY = [
    "", " ", ".org", "node.js", "C++", "a/b", "@x", "-", ":", "don't", '"', "((", "AND", "OR", "NOT", "NEAR", "a AND",
    "ORACLE", "ANDROID", "NOTES", "find ORACLE", "#tag", "hello^2", "\0", "a\0b", "\x1b[31m", "\ud800", "*", "a*", "\\",
    "(" * 10_000, "a OR " * 10_000, "x" * 100_000, "🎉", "你好", "NEAR(a b, 3)", "{}", "$q", "?[a] := *name{a}",
]  # fmt: skip


@pytest.fixture(scope="module")
def names() -> StoreWriter:
    store = StoreWriter.in_memory()
    batch = store.batch()
    rows = [("oracl", "Oracle"), ("node js node.js", "Node"), ("你好 世界", "你好世界"), ("org", ".org")]
    batch.rows["names"] += (["title", name, number, words] for number, (words, name) in enumerate(rows, 1))
    store.write(batch, now=0)
    return store


@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
def test_sanitized_text_never_breaks_the_engine(names: StoreWriter, text: str) -> None:
    for prefix in (False, True):
        query = sanitize_fts_query(text, prefix=prefix)
        if query:
            names._engine.read("query/find_names", query=query, most=5)


@given(st.text(max_size=400) | st.text("ANDORNEAT()\"*^:#'-. \0", max_size=60))
def test_sanitized_arbitrary_text_never_breaks_the_engine(names: StoreWriter, text: str) -> None:
    names.find_names(text)
    names.find_names(text, prefix=True)
    query = sanitize_fts_query(text)
    if query:
        names._engine.read("query/find_names", query=query, most=5)


def test_names_are_found_by_words_and_by_beginnings(names: StoreWriter) -> None:
    assert names.find_names("who knows ORACLE")[0] == ("title", "Oracle", 1)
    assert names.find_names("nod", prefix=True)[0] == ("title", "Node", 2)
    assert names.find_names("你好")[0] == ("title", "你好世界", 3)
    assert names.find_names("!!!") == []
