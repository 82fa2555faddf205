"""A note as it is tagged: its words, and where it has the words of a tag."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memoria.text import fold, is_unspaced, terms

BODY_CHARS = 6_000
TITLE_COUNTS = 2  # a word of the title or of the file name counts as so many in the text, besides
HEADING_COUNTS = 1

# Where a tag's words stand in a note: the first that holds counts.
IN_TITLE, IN_HEADINGS, IN_TEXT_OFTEN, IN_TEXT = range(4)
PLACES = ("title", "headings", "text, 3 times or more", "text")
OFTEN = 3


class TagNote(NamedTuple):
    """A note, as it is tagged."""

    id: int
    title: str
    name: str  # of the file, without ending
    folders: tuple[str, ...]  # below the root, outermost first
    headings: tuple[str, ...]
    text: str  # its atoms' texts, joined; the first 6,000 characters count, more need not be given
    tags: tuple[str, ...]  # human ones, of the note and of its atoms; dream tags never
    links: tuple[int, ...]  # notes that it links to or that link to it; `fit` mirrors them, `predict` does not


class Words(NamedTuple):
    """A note's words, read once."""

    counts: dict[str, int]
    title: list[str]
    headings: list[str]
    body: list[str]
    raw: tuple[str, str, str]  # title, headings and text, folded; for scripts without spaces


# What is written, and not said: addresses, the targets of links, HTML; and fenced code.
ADDRESS = r"\b[a-zA-Z][a-zA-Z0-9+.-]{0,20}://\S+|(?<=\])\([^)\n]*\)|<[^<>\n]{1,200}>"
FENCED = r"^(?:```|~~~).*?(?:^(?:```|~~~)[^\n]*$|\Z)"  # with re.DOTALL and re.MULTILINE

_ADDRESS = re.compile(ADDRESS)
_INLINE_TAG = re.compile(r"(?<![^\s(\[{<>\"'“‘,;|*_~])#[^\W\d][\w/-]*")


def read(note: TagNote) -> Words:
    """Read a note's words: title and file name, headings, text."""
    title = f"{note.title}\n{note.name.replace('-', ' ').replace('_', ' ')}"
    headings = "\n".join(note.headings)
    text = _ADDRESS.sub(" ", note.text[:BODY_CHARS])
    if "#" in text:
        text = _INLINE_TAG.sub(" ", text)
    read = terms(title), terms(headings), terms(text)
    counts = Counter(read[2])
    for term in read[0]:
        counts[term] += TITLE_COUNTS
    for term in read[1]:
        counts[term] += HEADING_COUNTS
    plain = title.isascii() and headings.isascii() and text.isascii()
    return Words(counts, *read, ("", "", "") if plain else (fold(title), fold(headings), fold(text)))


class Phrases:
    """The words of the tags, and where a note has them."""

    def __init__(self, tags: Sequence[str]) -> None:
        self._by_term: dict[str, list[tuple[int, tuple[str, ...], str]]] = {}
        for number, tag in enumerate(tags):
            name = tag.rsplit("/", 1)[-1].replace("-", " ").replace("_", " ")
            unspaced = any(map(is_unspaced, name))
            words = tuple(terms(name))
            if words:
                entry = (number, words, fold(name) if unspaced else "")
                self._by_term.setdefault(words[-1], []).append(entry)

    def places(self, note: Words) -> Iterator[tuple[int, int]]:
        """Yield (tag, place) of the tags whose words the note has, in the first place that holds."""
        counts = note.counts
        for term in sorted(self._by_term.keys() & counts.keys()):
            for tag, words, raw in self._by_term[term]:
                if len(words) == 1 or all(map(counts.__contains__, words)):
                    place = _place(note, words, raw)
                    if place is not None:
                        yield tag, place


def _place(note: Words, words: tuple[str, ...], raw: str) -> int | None:
    if _times(note.title, words, raw, note.raw[0]):
        return IN_TITLE
    if _times(note.headings, words, raw, note.raw[1]):
        return IN_HEADINGS
    times = _times(note.body, words, raw, note.raw[2])
    if times:
        return IN_TEXT_OFTEN if times >= OFTEN else IN_TEXT
    return None


def _times(field: list[str], words: tuple[str, ...], raw: str, text: str) -> int:
    if raw:
        return text.count(raw)
    if len(words) == 1:
        return field.count(words[0])
    first, size, place, times = words[0], len(words), -1, 0
    try:
        while True:
            place = field.index(first, place + 1)
            times += tuple(field[place : place + size]) == words
    except ValueError:
        return times
