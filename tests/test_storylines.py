"""Storylines and macros: an oracle for what is one, and what must hold for every vault."""

from datetime import date, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria.dream.profiles import cosine
from memoria.dream.storylines import Storyline, StoryNote, _span, find, is_topic

TODAY = "2026-06-01"
START = date(2024, 1, 1)
ANCHORS = ["harbor", "tea", "radar", "todo", "2024"]


@st.composite
def _vaults(draw: st.DrawFn) -> list[StoryNote]:
    days = draw(st.lists(st.integers(0, 200), min_size=12, max_size=40))
    texts = st.sampled_from(["", "The crane lifts. It is red.", "Salt and opal went in the pot again today."])
    return [
        StoryNote(
            number,
            f"n{number}.md",
            (START + timedelta(day)).isoformat(),
            tuple(draw(st.lists(st.sampled_from(ANCHORS), min_size=1, max_size=3))),
            f"Note {number}",
            draw(texts),
        )
        for number, day in enumerate(days)
    ]


def _oracle(notes: list[StoryNote]) -> list[tuple[str, tuple[int, ...]]]:
    """Return the stretches that are stories, by the rules as they are written down, dropped ones left out."""
    found = []
    for anchor in ("harbor", "tea", "radar"):
        mine = sorted((note.date, note.path, note.id) for note in notes if anchor in note.anchors)
        pieces: list[list[tuple[str, str, int]]] = []
        for row in mine:
            day = date.fromisoformat(row[0])
            if pieces and (day - date.fromisoformat(pieces[-1][-1][0])).days <= 60:
                pieces[-1].append(row)
            else:
                pieces.append([row])
        for piece in pieces:
            days = sorted({date.fromisoformat(row[0]) for row in piece})
            if len(piece) >= 5 and len(days) >= 3 and (days[-1] - days[0]).days > 3:
                found.append((-len(piece), piece[0][0], anchor, tuple(row[2] for row in piece)))
    kept: list[tuple[str, tuple[int, ...]]] = []
    for _, _, anchor, ids in sorted(found):
        mine_ids = set(ids)
        if not any(
            len(mine_ids & set(other)) / len(mine_ids | set(other)) > 0.5 or len(mine_ids & set(other)) > 0.8 * len(ids)
            for _, other in kept
        ):
            kept.append((anchor, ids))
    return sorted(kept)


@given(_vaults())
def test_storylines_are_what_the_rules_say(notes: list[StoryNote]) -> None:
    found, _ = find(notes, TODAY)
    assert sorted((line.anchor, line.notes) for line in found) == _oracle(notes)
    dates = {note.id: note.date for note in notes}
    for line in found:
        assert (line.first, line.last) == (dates[line.notes[0]], dates[line.notes[-1]])
        assert line.name.startswith(line.anchor)
        assert line.summary
        assert line.anchor not in line.aliases
    assert len({line.id for line in found}) == len(found)
    assert [line.last for line in found] == sorted((line.last for line in found), reverse=True)


@given(_vaults(), st.randoms(use_true_random=False))
def test_order_and_numbers_do_not_matter(notes: list[StoryNote], random: Random) -> None:
    assert find(random.sample(notes, len(notes)), TODAY) == find(notes, TODAY)
    numbers = random.sample(range(1_000), len(notes))
    lines, macros = find([note._replace(id=numbers[note.id]) for note in notes], TODAY)
    before, macros_before = find(notes, TODAY)
    assert [line._replace(notes=tuple(numbers.index(number) for number in line.notes)) for line in lines] == before
    assert macros == macros_before


@given(_vaults(), st.integers(0, 60))
def test_a_growing_storyline_keeps_its_id(notes: list[StoryNote], later: int) -> None:
    lines, _ = find(notes, TODAY)
    for line in lines:
        day = (date.fromisoformat(line.last) + timedelta(later)).isoformat()
        grown, _ = find([*notes, StoryNote(99, "zz.md", day, (line.anchor,), "Late", "")], TODAY)
        assert 99 in next(other for other in grown if other.id == line.id).notes


def _series(anchor: str, start: str, texts: list[str], first: int = 0, step: int = 3) -> list[StoryNote]:
    begin = date.fromisoformat(start)
    return [
        StoryNote(
            first + n, f"{anchor}{first + n}.md", (begin + timedelta(step * n)).isoformat(), (anchor,), f"Log {n}", text
        )
        for n, text in enumerate(texts)
    ]


CRANE = [
    "The dredging of the north basin began. It rained.",
    "The dredging permit for the basin arrived from the port office.",
    "| dredging | basin |\n|---|---|\n\n```\ndredging basin permit dredging basin permit\n```\n\nNothing else.",
    "Dredging went on in the basin, and the permit was extended.",
    "# Dredging basin permit dredging basin permit\n\nThe dredging of the basin is done.",
]
NOISE = _series("tea", "2020-01-01", [f"Tea number {n} was green, thing {n}." for n in range(20)], 100, 70)


def test_a_storyline_tells_what_it_is_about() -> None:
    (line,), macros = find([*NOISE, *_series("harbor", "2024-02-27", CRANE)], TODAY)
    assert line.name == "harbor: basin, dredging, permit (Feb–Mar 2024)"
    assert line.summary == (
        "The dredging permit for the basin arrived from the port office. "
        "Dredging went on in the basin, and the permit was extended."
    )
    assert (line.first, line.last, line.notes) == ("2024-02-27", "2024-03-10", (0, 1, 2, 3, 4))
    assert macros == []


def test_an_anchor_with_several_storylines_is_a_macro() -> None:
    notes = [*NOISE, *_series("harbor", "2023-01-01", CRANE), *_series("harbor", "2024-01-01", CRANE, 10)]
    lines, (macro,) = find(notes, TODAY)
    assert (macro.kind, macro.name, macro.first, macro.last) == (
        "anchor", "harbor (Jan 2023–Jan 2024)", "2023-01-01", "2024-01-13",
    )  # fmt: skip
    assert macro.storylines == tuple(line.id for line in reversed(lines))
    assert macro.summary.startswith("2 storylines, 10 notes: harbor: ")
    later = [*notes, *_series("harbor", "2025-01-01", CRANE, 20)]
    assert find(later, TODAY)[1][0].id == macro.id


def test_storylines_with_the_same_words_are_a_theme() -> None:
    notes = [
        *NOISE,
        *_series("harbor", "2023-01-01", CRANE),
        *_series("port", "2024-01-01", CRANE, 10),
        *_series("bread", "2024-01-01", [f"Sourdough with rye flour in the oven {n}." for n in range(6)], 20),
    ]
    lines, (macro,) = find(notes, TODAY)
    assert macro.kind == "theme"
    assert macro.name == "port and harbor: basin, dredging (Jan 2023–Jan 2024)"
    assert set(macro.storylines) == {line.id for line in lines if line.anchor != "bread"}


@pytest.mark.parametrize(
    ("days", "story"),
    [([0, 0, 0, 0, 4], False), ([0, 0, 2, 2, 3], False), ([0, 0, 2, 2, 4], True), ([0, 2, 4, 6], False)],
    ids=["two days", "three days long", "a story", "four notes"],
)
def test_when_a_story_begins(days: list[int], *, story: bool) -> None:
    notes = [
        StoryNote(n, f"{n}", (START + timedelta(day)).isoformat(), ("harbor",), "", "") for n, day in enumerate(days)
    ]
    assert bool(find(notes, TODAY)[0]) == story


@pytest.mark.parametrize(
    ("harbor", "port", "both", "storylines"),
    [(13, 13, 9, 1), (12, 12, 8, 2), (20, 5, 5, 1), (20, 5, 4, 2)],
    ids=["over half the same", "half the same", "inside", "four fifths inside"],
)
def test_when_two_stories_are_one(harbor: int, port: int, both: int, storylines: int) -> None:
    anchors = [("harbor",)] * (harbor - both) + [("harbor", "port")] * both + [("port",)] * (port - both)
    notes = [
        StoryNote(n, f"{n:02}", (START + timedelta(2 * n)).isoformat(), found, "", "")
        for n, found in enumerate(anchors)
    ]
    assert len(find(notes, TODAY)[0]) == storylines


def test_anchors_of_the_same_notes_are_aliases() -> None:
    notes = [note._replace(anchors=("harbor", "basin")) for note in _series("harbor", "2024-01-01", CRANE)]
    (line,), _ = find([*NOISE, *notes], TODAY)
    assert (line.anchor, line.aliases) == ("basin", ("harbor",))


@pytest.mark.parametrize(
    ("anchor", "topic"),
    [
        ("harbor", True), ("2024", False), ("2024/05", False), ("2024-05-01", False), ("todo", False), ("TODO", False),
        ("status/done", False), ("project/2024", True), ("q1", False), ("1984", False), ("web3", True), ("3d", True),
    ],
)  # fmt: skip
def test_what_is_no_topic(anchor: str, *, topic: bool) -> None:
    assert is_topic(anchor) == topic


@pytest.mark.parametrize(
    ("first", "last", "said"),
    [
        ("2024-03-01", "2024-03-31", "Mar 2024"),
        ("2024-03-01", "2024-05-01", "Mar–May 2024"),
        ("2023-11-01", "2024-02-01", "Nov 2023–Feb 2024"),
    ],
)
def test_months(first: str, last: str, said: str) -> None:
    assert _span(first, last) == said


def test_dates_of_other_centuries() -> None:
    old = _series("harbor", "1900-01-01", CRANE)
    future = _series("radar", "2099-01-01", CRANE, 10)
    lines, _ = find([*old, *future], TODAY)
    assert [(line.anchor, line.first) for line in lines] == [("harbor", "1900-01-01")]


def test_an_anchor_of_too_many_notes_is_no_story() -> None:
    notes = _series("harbor", "2024-01-01", ["x"] * 61, step=1)
    assert find(notes, TODAY) == ([], [])
    assert len(find(notes[:60], TODAY)[0]) == 1
    assert len(find([*notes, *_series("", "2010-01-01", [""] * 600, 100)], TODAY)[0]) == 1


def test_nothing_to_tell() -> None:
    assert find([], TODAY) == ([], [])
    (line,), _ = find(_series("harbor", "2024-01-01", [""] * 5), TODAY)
    assert line.summary == "From “Log 0” to “Log 4”."
    assert isinstance(line, Storyline)


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.floats(0.01, 10)),
    st.dictionaries(st.sampled_from("abcdef"), st.floats(0.01, 10)),
)
def test_likeness(one: dict[str, float], other: dict[str, float]) -> None:
    assert 0 <= cosine(one, other) <= 1
    assert cosine(one, other) == pytest.approx(cosine(other, one))
    if one:
        assert cosine(one, one) == pytest.approx(1)
