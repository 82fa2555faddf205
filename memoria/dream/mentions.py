"""Mentions of notes by title or alias that nobody linked."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple


class Passage(NamedTuple):
    """Text in which names may stand: an atom without its code, links included."""

    atom: int
    note: int
    text: str


class NameFigures(NamedTuple):
    """How a name is used: frozen until the next full dream."""

    owner: int  # the note that is called so
    name: str  # as it is written in the note
    mentions: int  # other notes that mention it
    linked: int  # those of them that link it
    linkiness: float
    safe: bool
    accepted: bool


class Mention(NamedTuple):
    """A note's name in another note's atom."""

    atom: int
    note: int
    owner: int
    name: str  # as it is looked up
    linkiness: float
    safe: bool


class MentionModel(NamedTuple):
    """The names that a scan looks for."""

    notes: int
    names: dict[str, NameFigures]  # key (folded words) -> figures; unique names only


def fit(
    names: Iterable[tuple[int, str]], passages: Iterable[Passage], links: Mapping[int, Collection[int]]
) -> tuple[MentionModel, list[Mention]]:
    """Learn from all notes which names mean their notes; return the accepted mentions, by (atom, owner).

    `names` are (note, title or alias), `links` the notes that each note links to. Mentions of notes that are linked
    from the same note are included (an edge has both kinds), mentions of itself are not.
    """
    raise NotImplementedError


def scan(model: MentionModel, passages: Iterable[Passage]) -> list[Mention]:
    """Return the accepted mentions in some passages, by (atom, owner)."""
    raise NotImplementedError


def renamed(model: MentionModel, names: Iterable[tuple[int, str]]) -> MentionModel:
    """Return the model with names of new and changed notes; nobody has mentioned them yet."""
    raise NotImplementedError
