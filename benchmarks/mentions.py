"""Unlinked mentions on a generated vault, in which it is known what each name means: precision and recall.

Notes are called by names of two words, by names of one word, by everyday words, and several by the same name. Their
names stand in other notes: meant (some of these are linked, and not counted), or by chance, as everyday words do.

    python -m benchmarks.mentions
"""

from collections.abc import Iterable
from datetime import date
from random import Random
from typing import NamedTuple

from benchmarks.vault import Writer
from memoria import markdown
from memoria.dream.mentions import Mention, Passage, fit

NOTES = 1_200
EVERYDAY = 300  # of the most frequent words are also titles of notes, now and then
Pair = tuple[int, int]  # who mentions whom


class Planted(NamedTuple):
    """A vault, and what is meant in it."""

    titles: list[str]
    texts: list[str]
    meant: set[Pair]  # and not linked
    linked: dict[int, set[int]]


def plant(*, linking: bool, seed: int = 1) -> Planted:
    """Make up a vault; in one of two, people link."""
    writer, random = Writer(seed), Random(seed)
    titles = [_title(writer, random, number) for number in range(NOTES)]
    owners: dict[str, list[int]] = {}
    for number, title in enumerate(titles):
        owners.setdefault(title.lower(), []).append(number)
    told = [number for number, title in enumerate(titles) if title[0].isupper() and len(owners[title.lower()]) == 1]
    habit = {number: random.uniform(0.2, 0.9) for number in told}  # how often a note is linked where it is meant
    texts: list[str] = []
    meant: set[Pair] = set()
    linked: dict[int, set[int]] = {}
    for number in range(NOTES):
        sentences = [writer.sentence() for _ in range(random.randint(4, 15))]
        linked[number] = set()
        for other in random.choices(told, k=random.randint(0, 4)):
            if other == number:
                continue
            link = linking and random.random() < habit[other]
            if link:
                linked[number].add(other)
            place = random.randrange(len(sentences))
            words = sentences[place].split(" ")
            words.insert(random.randrange(1, len(words)), f"[[{titles[other]}]]" if link else titles[other])
            sentences[place] = " ".join(words)
            meant.add((number, other))
        texts.append(f"# {titles[number]}\n\n{' '.join(sentences)}\n")
    return Planted(titles, texts, {(one, two) for one, two in meant if two not in linked[one]}, linked)


def _title(writer: Writer, random: Random, number: int) -> str:
    """Return a name of two words, a name of one (a rare word), an everyday word, or a name that others have, too."""
    kind = random.random()
    if kind < 0.5:
        return writer.name(2).title()
    if kind < 0.75:
        return writer.name(1).capitalize()
    if kind < 0.95:
        word = writer.words[random.randrange(EVERYDAY)]
        return random.choice((word, word.capitalize()))
    return f"Meeting {number % 7}"


def scores(found: Iterable[Mention], planted: Planted) -> tuple[float, float]:
    """Return precision and recall of mentions that nobody linked."""
    pairs = {(mention.note, mention.owner) for mention in found}
    pairs = {(one, two) for one, two in pairs if two not in planted.linked[one]}
    right = len(pairs & planted.meant)
    return right / max(1, len(pairs)), right / max(1, len(planted.meant))


def measure(planted: Planted) -> tuple[float, float]:
    """Return precision and recall on a vault."""
    passages = []
    for number, text in enumerate(planted.texts):
        note = markdown.parse(text, f"{number}.md", date(2026, 1, 1))
        passages += [Passage(number << 20 | place, number, atom.text) for place, atom in enumerate(note.atoms)]
    _, found = fit(list(enumerate(planted.titles)), passages, planted.linked)
    return scores(found, planted)


def main() -> None:
    """Print precision and recall."""
    print("mentions             prec     rec")
    for name, linking in (("with links", True), ("without links", False)):
        precision, recall = measure(plant(linking=linking))
        print(f"{name:16}  {precision:6.3f}  {recall:6.3f}")


if __name__ == "__main__":
    main()
