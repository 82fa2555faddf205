"""Phrases as tags, where no note has a human tag."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from memoria.dream.tagging import DreamTag, TagNote


class Vocabulary(NamedTuple):
    """The phrases that are tags, frozen until the next full dream."""

    notes: int  # in how many notes they were counted
    phrases: dict[str, tuple[str, int]]  # key -> tag as it is shown, in how many notes it occurs


def fit(notes: Iterable[TagNote]) -> tuple[Vocabulary, dict[int, list[DreamTag]]]:
    """Choose phrases that at least 3 notes are about; return them, and the tags of all notes."""
    raise NotImplementedError


def predict(
    vocabulary: Vocabulary,
    notes: Iterable[TagNote],
    *,
    rejected: Mapping[int, Collection[str]] | None = None,
    banned: Collection[str] = (),
) -> dict[int, list[DreamTag]]:
    """Return at most 3 tags from the vocabulary for each note, best first."""
    raise NotImplementedError
