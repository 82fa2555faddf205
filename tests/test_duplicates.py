"""Near-duplicate atoms against a comparison of all pairs."""

from itertools import combinations
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from memoria.dream.duplicates import Duplicate, find_duplicates

_word = st.sampled_from("alpha bravo delta echo golf hotel".split())
_text = st.lists(_word, max_size=24)


@st.composite
def _atoms(draw: st.DrawFn) -> list[tuple[int, str]]:
    """Draw texts, and texts made of them by changing a word: random ones alone are never alike."""
    texts = draw(st.lists(_text, max_size=8))
    for words in list(texts):
        place = draw(st.integers(-1, len(words) - 1))
        if place >= 0:
            texts.append([*words[:place], draw(_word), *words[place + 1 :]])
    numbers = draw(st.permutations(range(len(texts))))
    return [(number, " ".join(words)) for number, words in zip(numbers, texts, strict=True)]


def _jaccard(one: str, other: str) -> float:
    sets = []
    for text in (one, other):
        words = text.split()
        sets.append({" ".join(words[place : place + 3]) for place in range(len(words) - 2)})
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


@given(_atoms())
def test_all_pairs_that_are_alike_and_no_other(atoms: list[tuple[int, str]]) -> None:
    first: dict[str, int] = {}
    for number, text in sorted(atoms):
        first.setdefault(text, number)
    long = {number: text for number, text in atoms if len(text.split()) >= 8}
    expected = {
        (first[text], number): 1.0 for number, text in long.items() if first[text] != number
    }  # each copy with the first
    for one, other in combinations(sorted(first[text] for text in set(long.values())), 2):
        similarity = _jaccard(long[one], long[other])
        if similarity >= 0.7:
            expected[one, other] = similarity
    found = find_duplicates(atoms)
    assert {(pair.atom, pair.other): pair.similarity for pair in found} == expected
    assert found == sorted(found)


@given(_atoms(), st.randoms(use_true_random=False))
def test_order_does_not_matter(atoms: list[tuple[int, str]], random: Random) -> None:
    assert find_duplicates(random.sample(atoms, len(atoms))) == find_duplicates(atoms)


def test_one_word_of_a_paragraph_changed() -> None:
    words = "the north crane of the harbor was repaired on monday after the storm had bent its arm in the night".split()
    text = " ".join(words)
    found = find_duplicates([(5, text.upper() + "!"), (3, text), (9, text.replace("night", "dark")), (7, "short text")])
    assert found == [Duplicate(3, 5, 1.0), Duplicate(3, 9, 17 / 19)]


def test_where_likeness_begins() -> None:
    words = [f"w{number}" for number in range(30)]
    shorter = (1, " ".join(words[:14]))
    assert find_duplicates([shorter, (2, " ".join(words[:19]))]) == [Duplicate(1, 2, 12 / 17)]
    assert find_duplicates([shorter, (2, " ".join(words[:20]))]) == []


def test_scripts_without_spaces() -> None:
    one = "机器学习是人工智能的一个重要分支和研究领域"
    assert [
        pair[:2] for pair in find_duplicates([(1, one), (2, one[:-1]), (3, "今天天气很好我们去公园散步吧朋友们")])
    ] == [(1, 2)]


def test_a_template_with_thousands_of_copies() -> None:
    form = "daily note {} with the same questions about sleep food work and mood as on every other day of the year"
    same = [(number, form.format("x")) for number in range(5_000)]
    assert len(find_duplicates(same)) == 4_999
    nearly = [(number, form.format(f"x{number}")) for number in range(2_000)]
    found = find_duplicates(nearly)
    assert len({number for pair in found for number in pair[:2]}) == 2_000
    assert len(found) <= 2_000 * 20


def test_nothing_to_compare() -> None:
    assert find_duplicates([]) == []
    assert find_duplicates([(1, ""), (2, ""), (3, "```"), (4, "a a a a a a a a a")]) == []
