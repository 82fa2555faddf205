"""Storylines: what many notes of a stretch of time are about; macros: storylines that belong together."""

from collections.abc import Iterable
from typing import NamedTuple


class StoryNote(NamedTuple):
    """A dated note, as storylines see it."""

    id: int
    path: str  # breaks ties, so that the order of ingest does not matter
    date: str  # ISO day
    anchors: tuple[str, ...]  # its tags (human and dream), entities or cold-start phrases
    title: str
    text: str  # prose, without code and tables; the first 6,000 characters count


class Storyline(NamedTuple):
    """Notes of one stretch of time about one thing, oldest first."""

    id: str  # 12 hex of (anchor, first day): a growing one keeps it
    anchor: str
    aliases: tuple[str, ...]  # anchors of (nearly) the same notes
    name: str
    summary: str
    first: str
    last: str
    notes: tuple[int, ...]  # by (date, path)


class Macro(NamedTuple):
    """Storylines that belong together, oldest first."""

    id: str
    kind: str  # anchor: one thing at several times | theme: the same words
    name: str
    summary: str
    first: str
    last: str
    storylines: tuple[str, ...]


def find_storylines(notes: Iterable[StoryNote], today: str) -> list[Storyline]:
    """Return the storylines, newest first; dates after `today` are dropped."""
    raise NotImplementedError


def find_macros(storylines: Iterable[Storyline], notes: Iterable[StoryNote]) -> list[Macro]:
    """Return the macros, newest first."""
    raise NotImplementedError
