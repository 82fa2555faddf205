"""A generated vault: the same for the same size, shaped like notes that people keep."""

import os
from itertools import accumulate
from random import Random

_WORDS = 30_000
_ONSETS = "b d f g h j k l m n p r s t v w z br dr fl gr kl pr sk sl st tr".split()
_NUCLEI = "a e i o u ai ea io ou".split()
_CODAS = ["", "", "", "l", "m", "n", "r", "s", "t", "nd", "rk", "st"]
_NOTES_A_FOLDER = 100


class Writer:
    """Makes up words and text."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.words = self._vocabulary()
        # Zipf's law, as Mandelbrot bent it at its head.
        self._weights = list(accumulate(1 / (rank + 2.7) ** 1.07 for rank in range(_WORDS)))
        self.tags = [f"{self.name(1)}/{self.name(1)}" if n % 4 == 0 else self.name(1) for n in range(200)]

    def _vocabulary(self) -> list[str]:
        """Return distinct words, the most frequent ones first and short."""
        pick = self.random.choice
        words: dict[str, None] = {}
        while len(words) < _WORDS:
            syllables = 1 if len(words) < 300 else self.random.randint(2, 4)
            words["".join(pick(_ONSETS) + pick(_NUCLEI) + pick(_CODAS) for _ in range(syllables))] = None
        return list(words)

    def name(self, count: int) -> str:
        """Return words that say something: titles are made of neither the most nor the least frequent ones."""
        ranks = (int(50 * (_WORDS / 50) ** self.random.random()) for _ in range(count))
        return " ".join(self.words[min(rank, _WORDS - 1)] for rank in ranks)

    def sentence(self) -> str:
        """Return a sentence."""
        words = self.random.choices(self.words, cum_weights=self._weights, k=self.random.randint(6, 18))
        return " ".join(words).capitalize() + "."

    def prose(self, least: int) -> str:
        """Return a paragraph of at least so many characters."""
        text = self.sentence()
        while len(text) < least:
            text += " " + self.sentence()
        return text


def write_vault(folder: str, atoms: int, seed: int = 1) -> None:
    """Write notes that come to about so many atoms."""
    writer = Writer(seed)
    titles: list[str] = []
    made = 0
    while made < atoms:
        place = os.path.join(folder, f"{len(titles) // _NOTES_A_FOLDER:04d}")
        os.makedirs(place, exist_ok=True)
        title = f"{writer.name(writer.random.randint(2, 4)).capitalize()} {len(titles)}"
        text, count = _note(writer, title, titles)
        with open(os.path.join(place, f"{title}.md"), "w", encoding="utf-8") as file:
            file.write(text)
        titles.append(title)
        made += count


def _note(writer: Writer, title: str, others: list[str]) -> tuple[str, int]:
    """Return a note, and about how many atoms it is."""
    random = writer.random
    tags = ", ".join(random.sample(writer.tags, random.randint(0, 3)))
    day = f"{random.randint(2015, 2025)}-{random.randint(1, 12):02d}-{random.randint(1, 28):02d}"
    parts = [f"---\ntitle: {title}\ntags: [{tags}]\ndate: {day}\n---", f"# {title}"]
    count = 0
    for section in range(random.randint(1, 5)):
        if section:
            parts.append(f"## {writer.name(random.randint(1, 4)).capitalize()}")
        for _ in range(random.randint(1, 4)):
            if random.random() < 0.2:
                parts.append("\n".join(f"- {writer.sentence()}" for _ in range(4)))
            else:
                parts.append(writer.prose(240))
            count += 1
        if others and random.random() < 0.5:
            parts[-1] += f" See [[{random.choice(others)}]]."
        if random.random() < 0.1:
            parts[-1] += f" #{random.choice(writer.tags)}"
    return "\n\n".join(parts) + "\n", count
