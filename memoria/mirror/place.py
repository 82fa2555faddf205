"""Where a mirror may be: in a folder that memoria made, or that is empty, and that nobody keeps notes in."""

import os
from collections.abc import Iterable, Iterator

from memoria.config import MIRROR_MARKER as MARKER
from memoria.errors import RefusedError

OWN_FILES = (MARKER, MARKER + ".lock", MARKER + ".new")
_HINT = "name an empty folder with --to, or none: memoria makes it"


def check_place(folder: str, *, roots: Iterable[str], brain: str) -> None:
    """Make sure that nothing of anybody else's is in danger.

    Raises:
        RefusedError: the folder is not one that may be written over.

    """
    reason = next(_reasons(folder, roots, brain), "")
    if reason:
        raise RefusedError(f"{folder} can't hold the mirror: {reason}", hint=_HINT)


def _reasons(folder: str, roots: Iterable[str], brain: str) -> Iterator[str]:
    real = os.path.realpath(folder)
    if os.path.islink(folder):
        yield "it is a symbolic link"
    if os.path.dirname(real) == real:
        yield "it is the root of the disk"
    if real == os.path.realpath(os.path.expanduser("~")):
        yield "it is your home folder"
    marked = os.path.exists(os.path.join(folder, MARKER))
    if _same(real, _here()) and not (marked and _same(os.path.dirname(real), os.path.realpath(brain))):
        yield "it is the current folder"
    if _holds(real, os.path.realpath(brain)):
        yield "the brain itself is in it"
    for root in roots:
        if _holds(real, os.path.realpath(root)):
            yield f"the notes in {root} are in it"
    if os.path.isdir(folder):
        if not marked and any(name not in OWN_FILES for name in os.listdir(folder)):
            yield f"it is not empty, and memoria did not make it (there is no {MARKER} in it)"
    elif os.path.lexists(folder):
        yield "it is a file"


def _here() -> str:
    try:
        return os.path.realpath(os.getcwd())
    except FileNotFoundError:
        return ""


def _same(one: str, other: str) -> bool:
    return os.path.normcase(one) == os.path.normcase(other)


def _holds(folder: str, other: str) -> bool:
    """Tell whether `other` is the folder or below it."""
    folder, other = os.path.normcase(folder), os.path.normcase(other)
    return folder == other or other.startswith(folder.rstrip(os.sep) + os.sep)
