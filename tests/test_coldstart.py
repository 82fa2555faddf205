"""Phrases as tags where nobody gave any."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria.dream.coldstart import Vocabulary, fit, predict
from memoria.dream.tagwords import TagNote

_words = st.lists(
    st.sampled_from("harbor crane basin permit salt opal radar the of and using north 12 机器学习 笔记 café".split()),
    max_size=14,
).map(" ".join)
_clauses = st.lists(_words, max_size=3).map(", ".join)


@st.composite
def _vaults(draw: st.DrawFn) -> list[TagNote]:
    return [
        TagNote(n, draw(_words), f"n{n}", (), tuple(draw(st.lists(_words, max_size=1))), draw(_clauses), (), ())
        for n in range(draw(st.integers(0, 30)))
    ]


@given(_vaults())
def test_every_phrase_is_on_three_notes_and_in_them(notes: list[TagNote]) -> None:
    vocabulary, tags = fit(notes)
    given_to = Counter(tag.tag for found in tags.values() for tag in found)
    assert all(number >= 3 for number in given_to.values())
    assert {name for name, _ in vocabulary.phrases.values()} == set(given_to)
    assert tags.keys() == {note.id for note in notes}
    for note in notes:
        found = tags[note.id]
        assert len(found) == len({tag.tag for tag in found}) <= 3
        text = f"{note.title}\n{' '.join(note.headings)}\n{note.text}".replace(" ", "-")
        for tag in found:
            assert tag.tag in text
            assert 0 < tag.score < 1
            assert tag.reason


@given(_vaults(), st.randoms(use_true_random=False))
def test_order_does_not_matter_and_some_notes_are_tagged_as_all_are(notes: list[TagNote], random: Random) -> None:
    vocabulary, tags = fit(notes)
    assert fit(random.sample(notes, len(notes))) == (vocabulary, tags)
    again = predict(vocabulary, notes)
    for note in notes:  # a phrase that was dropped last may have kept another one out
        assert {tag.tag for tag in tags[note.id]} <= {tag.tag for tag in again[note.id]}
        few = predict(vocabulary, [note], rejected={note.id: [tag.tag for tag in again[note.id]]})
        assert not {tag.tag for tag in few[note.id]} & {tag.tag for tag in again[note.id]}


def _about(texts: list[str], others: int = 40) -> list[TagNote]:
    random = Random(3)
    filler = [
        " ".join(f"{random.choice('bdfgklmnprstvz')}u{random.randrange(999)}x" for _ in range(9)) for _ in range(others)
    ]
    return [TagNote(n, f"Log {n}", f"log {n}", (), (), text, (), ()) for n, text in enumerate([*texts, *filler])]


def _tags(texts: list[str], others: int = 40) -> list[list[str]]:
    _, found = fit(_about(texts, others))
    return [[tag.tag for tag in found[number]] for number in range(len(texts))]


def test_phrases_are_shown_as_they_are_mostly_written() -> None:
    text = "Machine Learning here. machine learning there, and machine learnings."
    assert _tags([text] * 3) == [["machine-learning"]] * 3
    assert _tags(["Le café noir. Un café noir."] * 3) == [["café-noir"]] * 3


def test_pairs_of_characters_are_joined_again() -> None:
    assert _tags(["机器学习。再说机器学习。"] * 3) == [["机器学习"]] * 3


def test_a_phrase_stays_within_its_clause_and_its_notes() -> None:
    assert _tags(["red harbor, blue crane. red harbor; blue crane"] * 3) == [["blue-crane", "red-harbor"]] * 3
    assert _tags(["harbor harbor"] * 2) == [[], []]
    assert _tags(["harbor once"] * 3) == [[], [], []]


def test_words_of_grammar_only_inside() -> None:
    assert _tags(["the port of call. A port of call"] * 3) == [["port-of-call"]] * 3


@pytest.mark.parametrize(
    "noise",
    [
        "$\\alpha harbor$ $$harbor harbor$$",
        "&harbor; &harbor;",
        "%% harbor harbor %%",
        "```\nharbor harbor\n```",
        "<harbor> <harbor>",
        "https://harbor.org/harbor https://harbor.org",
        "==⚠  Switch to EXCALIDRAW VIEW ⚠==\n# Excalidraw Data\nharbor harbor",
        "2024 2024 12 12 a b a b",
    ],
)
def test_what_is_no_phrase(noise: str) -> None:
    assert _tags([noise] * 3) == [[]] * 3


def test_what_everybody_says_is_no_topic() -> None:
    assert _tags(["harbor harbor"] * 11, others=0) == [[]] * 11
    assert _tags(["harbor harbor"] * 11, others=100) == [[]] * 11
    assert _tags(["harbor harbor"] * 11, others=300) == [["harbor"]] * 11


def test_titles_weigh_more() -> None:
    notes = _about(["quiet evening"] * 3)
    notes = [note._replace(title="Harbor") if note.id < 3 else note for note in notes]
    _, found = fit(notes)
    assert [(tag.tag, tag.reason) for tag in found[0]] == [("harbor", "phrase in title")]


def test_hostile_vaults() -> None:
    assert fit([]) == (Vocabulary(0, {}), {})
    empty = [TagNote(n, "", "", (), (), "", (), ()) for n in range(50)]
    assert fit(empty)[1] == {n: [] for n in range(50)}
    same = [TagNote(n, "Untitled", f"n{n}", (), (), "Untitled", (), ()) for n in range(5_000)]
    assert fit(same)[0].phrases == {}
