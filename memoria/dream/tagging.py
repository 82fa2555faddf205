"""Tags for notes that people left untagged, learned from the tags that people gave.

`fit` reads all notes once (a full dream); its Model is kept, and `predict` then tags some notes against it.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple


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


class DreamTag(NamedTuple):
    """A tag that a dream gives."""

    tag: str
    score: float  # 0..1
    reason: str  # "like 6 of 10 nearest notes, words in title"


class Model(NamedTuple):
    """What `fit` learned, frozen until the next full dream."""


def fit(notes: Iterable[TagNote]) -> Model:
    """Learn from all notes: rarity of words, which tags go with what, and from which score on a tag is given."""
    raise NotImplementedError


def predict(
    model: Model,
    notes: Iterable[TagNote],
    *,
    rejected: Mapping[int, Collection[str]] | None = None,
    banned: Collection[str] = (),
) -> dict[int, list[DreamTag]]:
    """Return at most MAX_TAGS tags for each note, best first, its own human tags and rejected ones left out.

    `rejected` are tags per note, `banned` tags everywhere. A note that the model knows is left out of its evidence.
    """
    raise NotImplementedError


def dumps(model: Model) -> bytes:
    """Return the model as bytes to keep."""
    raise NotImplementedError


def loads(data: bytes) -> Model:
    """Return a kept model."""
    raise NotImplementedError
