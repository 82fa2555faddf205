"""Unlinked mentions: the accept rule against an oracle, and what must hold for every vault."""

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria.dream.mentions import Mention, MentionModel, Passage, accepted, fit, linkiness, renamed, scan

NAMES = ["Harbor", "North Harbor", "North Harbor Crane", "tea", "Tea Plan", "Salt", "salt", "ox", "Ines Kahlo"]
_words = st.sampled_from([*"harbor Harbor north crane tea Tea plan salt Salt ox ines Kahlo and".split(), *NAMES])

Vault = tuple[list[tuple[int, str]], list[Passage], dict[int, set[int]]]


@st.composite
def _vaults(draw: st.DrawFn) -> Vault:
    size = draw(st.integers(1, 8))
    names = [(draw(st.integers(1, size)), name) for name in draw(st.lists(st.sampled_from(NAMES), max_size=9))]
    passages = [
        Passage(number, draw(st.integers(1, size)), " ".join(draw(st.lists(_words, max_size=12))))
        for number in range(draw(st.integers(0, 10)))
    ]
    links = {note: draw(st.sets(st.integers(1, size), max_size=3)) for note in range(1, size + 1)}
    return names, passages, links


def _oracle(
    names: list[tuple[int, str]], passages: list[Passage], links: dict[int, set[int]]
) -> set[tuple[int, int, float, bool]]:
    """Judge every name in every passage by the rule as it is written down; longer names are cut out first."""
    owners: dict[str, set[int]] = {}
    written: dict[str, str] = {}
    for owner, name in sorted(names):
        if sum(char.isalpha() for char in name) >= 3:
            owners.setdefault(name.lower(), set()).add(owner)
            written.setdefault(name.lower(), name)
    unique = {name: next(iter(found)) for name, found in owners.items() if len(found) == 1}

    def said(text: str) -> dict[str, bool]:
        found: dict[str, bool] = {}
        rest = f" {text} "
        while True:  # from left to right, the longest first
            starts = [
                (match.start(), -len(name), name)
                for name in unique
                if (match := re.search(rf"(?<= ){re.escape(name)}(?= )", rest, re.IGNORECASE))
            ]
            if not starts:
                return found
            start, length, name = min(starts)
            exact = written[name] in text.split() and any(map(str.isupper, written[name]))
            found[name] = " " in name or exact
            rest = " " + rest[start - length :]
            rest = rest if rest.startswith("  ") else rest[0] + rest.lstrip()
            rest = " " + rest.strip() + " "

    mentions = [
        (passage, name, sure)
        for passage in passages
        for name, sure in said(passage.text).items()
        if unique[name] != passage.note
    ]
    notes = len({passage.note for passage in passages} | set(links) | set(unique.values()))
    result: dict[tuple[int, int], tuple[float, bool]] = {}
    for passage, name, sure in mentions:
        owner = unique[name]
        others = {other.note for other, what, _ in mentions if what == name} - {passage.note}
        value = (sum(owner in links[other] for other in others) + 0.15) / (len(others) + 1)
        letters = sum(char.isalpha() for char in name)
        safe = sure and letters >= 4 and len(others) + 1 <= max(5, 0.02 * notes)
        if value >= 0.3 or (safe and (value >= 0.1 or not any(links.values()))):
            place = passage.atom, owner
            result[place] = max(result.get(place, (0.0, False)), (value, safe))
    return {(atom, owner, value, safe) for (atom, owner), (value, safe) in result.items()}


@given(_vaults())
def test_mentions_are_accepted_by_the_rule(
    vault: Vault,
) -> None:
    _, found = fit(*vault)
    assert {(m.atom, m.owner, m.linkiness, m.safe) for m in found} == _oracle(*vault)


@given(_vaults(), st.randoms(use_true_random=False))
def test_order_does_not_matter_and_a_scan_finds_the_same(vault: Vault, random: Random) -> None:
    names, passages, links = vault
    model, found = fit(names, passages, links)
    assert fit(random.sample(names, len(names)), random.sample(passages, len(passages)), links) == (model, found)
    assert scan(model, passages) == found
    assert [m for passage in passages for m in scan(model, [passage])] == found


@given(st.integers(0, 50), st.integers(0, 50))
def test_linkiness(linked: int, unlinked: int) -> None:
    value = linkiness(linked, linked + unlinked)
    assert 0 < value < 1
    assert linkiness(linked + 1, linked + 1 + unlinked) > value > linkiness(linked, linked + unlinked + 1)
    assert accepted(value, safe=True) or not accepted(value, safe=False)


def test_worked_examples() -> None:
    assert linkiness(0, 0) == 0.15  # said for the first time: accepted only where it is safe
    assert accepted(linkiness(0, 0), safe=True)
    assert not accepted(linkiness(0, 0), safe=False)
    assert not accepted(linkiness(0, 1), safe=True)
    assert accepted(linkiness(0, 1), safe=True, links=False)
    assert accepted(linkiness(1, 2), safe=False)


def _found(names: list[tuple[int, str]], text: str) -> list[tuple[int, str, bool]]:
    _, mentions = fit(names, [Passage(1, 99, text)], {})
    return [(mention.owner, mention.name, mention.safe) for mention in mentions]


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("North Harbor", "at the north-harbor, again", True),
        ("Harbor", "the Harbor is full", True),
        ("Harbor", "the harbor is full", False),
        ("Harbor", "Harbormaster", False),
        ("Harbor", "`Harbor` and https://x.org/Harbor and [x](Harbor.md)", False),
        ("Harbor", "see [[Harbor|the port]] and [Harbor](x.md)", True),
        ("Éclair", "an Éclair, please", True),
        ("Tea", "Tea", False),
        ("Salt", "Salt", True),
        ("the", "the", False),
        ("机器学习", "深度学习与机器学习的区别", True),
        ("2024-01-02", "on 2024-01-02", False),
        ("[[", "[[", False),
        ("", "", False),
    ],
)  # fmt: skip
def test_what_counts_as_a_mention(name: str, text: str, *, found: bool) -> None:
    assert bool(_found([(1, name)], text)) == found


def test_a_name_of_several_notes_means_none_of_them() -> None:
    assert _found([(1, "North Harbor"), (2, "north harbor")], "the North Harbor") == []
    assert _found([(1, "North Harbor"), (1, "north harbor")], "the North Harbor") == [(1, "north harbor", True)]


def test_five_thousand_notes_of_one_title_cost_nothing() -> None:
    names = [(number, "Daily Note") for number in range(5_000)]
    model, found = fit(names, [Passage(n, n, "the Daily Note of today") for n in range(5_000)], {})
    assert model.names == {}
    assert model.shared == ["daily note"]
    assert found == []


def test_names_that_change_between_full_dreams() -> None:
    passages = [Passage(7, 3, "North Harbor, Old Mill, Red Barn")]
    model, _ = fit([(1, "North Harbor"), (2, "Old Mill")], passages, {})
    assert [m.owner for m in scan(model, passages)] == [1, 2]
    model = renamed(model, {2, 4}, [(2, "Red Barn"), (4, "North Harbor")])
    assert [m.owner for m in scan(model, passages)] == [2]
    assert model.shared == ["north harbor"]
    assert scan(renamed(model, {2}, []), passages) == []


@given(_vaults())
def test_renaming_nothing_changes_nothing(
    vault: Vault,
) -> None:
    names, _, _ = vault
    model, _ = fit(*vault)
    assert renamed(model, (), []) == model
    owners = {owner for owner, _ in names}
    again = renamed(model, owners, names)
    assert again.names == model.names
    assert again.shared == model.shared


def test_a_safe_name_is_not_in_every_other_note() -> None:
    passages = [Passage(number, number, "North Harbor") for number in range(1, 6)]
    assert len(fit([(0, "North Harbor")], passages, {})[1]) == 5
    assert fit([(0, "North Harbor")], [*passages, Passage(6, 6, "North Harbor")], {})[1] == []
    many = [*passages, Passage(6, 6, "North Harbor"), *(Passage(n, n, "nothing") for n in range(7, 300))]
    assert len(fit([(0, "North Harbor")], many, {})[1]) == 6


def test_of_names_that_overlap_the_longest_counts() -> None:
    names = [(1, "North Harbor"), (2, "North Harbor Crane"), (3, "Crane")]
    assert [owner for owner, _, _ in _found(names, "the North Harbor Crane")] == [2]
    assert [owner for owner, _, _ in _found(names, "the North Harbor, and a Crane")] == [1, 3]


def test_an_empty_vault() -> None:
    assert fit([], [], {}) == (MentionModel(0, False, {}, []), [])  # noqa: FBT003


def test_code_is_not_searched() -> None:
    assert _found([(1, "North Harbor")], "`North Harbor`") == []
    assert fit([(1, "North Harbor")], [Passage(1, 2, "North Harbor")], {})[1] == [
        Mention(1, 2, 1, "north harbor", 0.15, safe=True)
    ]
