"""The bytes inside the store's rows: postings, atom ids, outlines."""

import struct
from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from memoria.model import Outline

ID_BYTES = 8
SHAPE_BYTES = 4
POSTING_BYTES = ID_BYTES + SHAPE_BYTES

# A posting's shape is one number; what does not fit counts as the largest that does.
MAX_TEXT_TF, MAX_TITLE_TF, MAX_TEXT_LENGTH, MAX_TITLE_LENGTH = 255, 15, 4095, 255

Postings = tuple[Sequence[int], Sequence[int]]  # atom ids, and their shapes


def pack_postings(ids: Sequence[int], shapes: Sequence[int]) -> bytes:
    """Return a row's data."""
    return array("Q", ids).tobytes() + array("I", shapes).tobytes()


def unpack_postings(data: bytes) -> Postings:
    """Return the atom ids and shapes of a row's data."""
    count = len(data) // POSTING_BYTES
    view = memoryview(data)
    return view[: count * ID_BYTES].cast("Q"), view[count * ID_BYTES :].cast("I")


def pack_mentions(pairs: Iterable[tuple[int, int]]) -> bytes:
    """Return (phrase hash, atom id) pairs as bytes, ascending."""
    ordered = sorted(pairs)
    return array("Q", [pair[0] for pair in ordered]).tobytes() + array("Q", [pair[1] for pair in ordered]).tobytes()


def unpack_mentions(data: bytes) -> Postings:
    """Return phrase hashes, ascending, and the atom of each."""
    half = len(data) // 2
    view = memoryview(data)
    return view[:half].cast("Q"), view[half:].cast("Q")


def pack_ids(ids: Iterable[int]) -> bytes:
    """Return atom ids as bytes, ascending."""
    return array("Q", sorted(ids)).tobytes()


def unpack_ids(data: bytes) -> Sequence[int]:
    """Return atom ids from bytes."""
    return memoryview(data).cast("Q")


_OUTLINE = struct.Struct("<IIIHB?")


_new_outline: Callable[[tuple[Any, ...]], Outline] = partial(tuple.__new__, Outline)  # what _make does, without Python


def pack_outline(places: Iterable[Outline]) -> bytes:
    """Return a source's outline as bytes."""
    return b"".join(_OUTLINE.pack(*place) for place in places)


def unpack_outline(data: bytes) -> list[Outline]:
    """Return a source's outline."""
    return list(map(_new_outline, _OUTLINE.iter_unpack(data)))
