"""What tagging learned from a vault, as it is kept from one full dream to the next."""

import json
import zlib
from array import array
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Known(NamedTuple):
    """A tagged note, as the model keeps it."""

    id: int
    tags: list[int]
    folder: str
    degree: int  # with how many notes it is linked
    length: int
    places: list[list[int]]  # [tag, place] of the tags whose words it has


class Matrix(NamedTuple):
    """Rows of (column, count), packed: lists would take longer to read back than a prediction takes."""

    starts: "array[int]"  # of each row, and the end of the last
    columns: "array[int]"
    counts: "array[int]"

    def row(self, number: int) -> Iterator[tuple[int, int]]:
        """Yield the (column, count) of a row, by column."""
        begin, end = self.starts[number], self.starts[number + 1]
        return zip(self.columns[begin:end], self.counts[begin:end], strict=True)

    @classmethod
    def of(cls, rows: Iterable[Iterable[tuple[int, int]]]) -> "Matrix":
        """Pack rows."""
        packed = cls(array("I", [0]), array("I"), array("H"))
        for row in rows:
            for column, count in row:
                packed.columns.append(column)
                packed.counts.append(min(count, MOST_COUNTED))
            packed.starts.append(len(packed.columns))
        return packed


MOST_COUNTED = 0xFFFF


class Model(NamedTuple):
    """What `fit` learned, frozen until the next full dream. Tags and terms go by their place in the lists."""

    notes: int
    threshold: float
    tags: list[str]
    terms: list[str]  # those of the tagged notes
    holding: list[int]  # in how many notes each of them is
    known: list[Known]
    words: Matrix  # of each known note: its terms
    postings: Matrix  # of each term: the known notes, by their place


def dumps(model: Model) -> bytes:
    """Return the model as bytes to keep."""
    *plain, words, postings = model
    arrays = [*words, *postings]
    head = json.dumps([*plain, [len(packed) for packed in arrays]], separators=(",", ":"))
    return zlib.compress(b"\n".join([head.encode(), b"".join(packed.tobytes() for packed in arrays)]), 1)


def loads(data: bytes) -> Model:
    """Return a kept model."""
    head, _, body = zlib.decompress(data).partition(b"\n")
    notes, threshold, tags, terms, holding, known, sizes = json.loads(head)
    arrays = []
    begin = 0
    for kind, size in zip("IIHIIH", sizes, strict=True):
        packed = array(kind)
        end = begin + size * packed.itemsize
        packed.frombytes(body[begin:end])
        arrays.append(packed)
        begin = end
    return Model(
        notes,
        threshold,
        tags,
        terms,
        holding,
        [Known(*row) for row in known],
        Matrix(*arrays[:3]),
        Matrix(*arrays[3:]),
    )
