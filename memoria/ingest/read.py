"""From a file's bytes to text: whatever the encoding, nothing lost, oddities told."""

import os
import stat
from hashlib import blake2b
from typing import NamedTuple

from memoria.errors import NoteError

_SAMPLE = 65_536
_BINARY_SHARE = 0.05
_TEXT_CONTROLS = b"\t\n\x0b\x0c\r\x1b\x08"
_CONTROLS = bytes(code for code in range(32) if code not in _TEXT_CONTROLS)


class Text(NamedTuple):
    """A note's text, and what was odd about it."""

    text: str
    hash: str
    size: int
    warning: str = ""


def read(path: str, max_bytes: int) -> Text:
    """Read a note.

    Raises:
        NoteError: it can't be read, is too large, or is not text.

    """
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise NoteError("it is not a file, but a pipe or a device")
            size = status.st_size
            if size > max_bytes:
                raise NoteError(f"it has {size / 1e6:,.0f} MB; ingest.max_megabytes allows {max_bytes / 1e6:,.0f}")
            data = file.read(max_bytes + 1)
    except FileNotFoundError:
        raise NoteError("it vanished before it could be read") from None
    except PermissionError:
        raise NoteError("no permission to read it") from None
    except IsADirectoryError:
        raise NoteError("it is a folder now") from None
    except OSError as error:
        raise NoteError(error.strerror or str(error)) from None
    return decode(data)


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe that nobody writes to would be waited for without end."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def hash_of(data: bytes) -> str:
    """Return the hash by which contents are compared."""
    return blake2b(data, digest_size=16).hexdigest()


def decode(data: bytes) -> Text:
    """Turn bytes into text with plain line ends.

    Raises:
        NoteError: they are not text.

    """
    warning = ""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text, warning = _utf16(data, "utf-16")
    elif looks_like_utf16 := _bare_utf16(data):
        text, warning = _utf16(data, looks_like_utf16)
    else:
        if _is_binary(data[:_SAMPLE]):
            raise NoteError("it is not text: a binary file")
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = data.decode("cp1252", "replace")
            warning = "it is not UTF-8 and was read as Windows-1252 (Latin-1)"
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
        warning = warning or "NUL characters in it were replaced"
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return Text(text, hash_of(data), len(data), warning)


def _is_binary(sample: bytes) -> bool:
    odd = len(sample) - len(sample.translate(None, _CONTROLS))
    return odd > 1 and odd > len(sample) * _BINARY_SHARE


def _bare_utf16(data: bytes) -> str:
    """Recognise UTF-16 without a mark by the zero in every other byte of plain text."""
    sample = data[:512]
    if len(sample) < 8 or len(data) % 2:  # noqa: PLR2004
        return ""
    half = len(sample) // 2
    if sample[1::2].count(0) > half * 0.9 and not sample[::2].count(0):
        return "utf-16-le"
    if sample[::2].count(0) > half * 0.9 and not sample[1::2].count(0):
        return "utf-16-be"
    return ""


def _utf16(data: bytes, encoding: str) -> tuple[str, str]:
    try:
        return data.decode(encoding), ""
    except UnicodeDecodeError:
        return data.decode(encoding, "replace"), "its UTF-16 is broken in places; those were replaced"
