"""Which files below a folder are notes."""

import fnmatch
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from memoria.config import MIRROR_MARKER

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILES = (".gitignore", ".memoriaignore")


class Seen(NamedTuple):
    """A file that is a note, or a reason why one can't be listed."""

    path: str
    size: int
    mtime: int
    problem: str = ""


class Rules(NamedTuple):
    """What counts as a note."""

    extensions: tuple[str, ...]
    globs: tuple[str, ...]
    ignore: tuple[str, ...]


Places = dict[str, "Places | None"]  # name -> the places below it that are meant; None: all of it


def scan(folder: str, root: str, rules: Rules, only: Places | None = None) -> Iterator[Seen]:
    """Yield the notes below `folder`, a part of `root`, in the order of their paths; all, or those at some places."""
    specs = _specs_above(folder, root, rules)
    yield from _scan(folder, root, os.path.realpath(root), rules, specs, only)


def places(folder: str, paths: Iterable[str]) -> Places:
    """Return paths below `folder` as a tree: each folder on the way is listed once, however many they are."""
    tree: Places = {}
    for path in paths:
        here = tree
        *above, last = os.path.relpath(path, folder).split(os.sep)
        for name in above:
            below = here.setdefault(name, {})
            if below is None:
                break
            here = below
        else:
            here[last] = None
    return tree


def place_of(path: str, folder: str, root: str, rules: Rules, *, is_folder: bool) -> str | None:
    """Return where a scan of `folder` has to look after something happened at `path` below it, or None: nowhere."""
    names = os.path.relpath(path, folder).split(os.sep)
    if names == ["."]:
        return folder
    if any(name.startswith(".") for name in names[:-1]):
        return None
    if names[-1] in IGNORE_FILES:  # another rule for all that is beside and below it
        return os.path.dirname(path)
    if names[-1].startswith(".") or not (is_folder or _wanted(path, root, rules)):
        return None
    here = path
    while here != folder:
        here = os.path.dirname(here)
        if os.path.exists(os.path.join(here, MIRROR_MARKER)):
            return None
    return path


def look_at(path: str) -> Seen:
    """Look at one file."""
    try:
        status = os.stat(path)
    except OSError as error:
        return Seen(path, 0, 0, _reason(error))
    return Seen(path, status.st_size, status.st_mtime_ns)


def storable(path: str) -> bool:
    """Tell whether a path can be kept: its bytes are UTF-8."""
    return path.isascii() or not any("\ud800" <= char <= "\udfff" for char in path)


def in_mirror(path: str) -> bool:
    """Tell whether a path is a mirror's folder, or something in one."""
    here = os.path.realpath(path)
    while not os.path.isfile(os.path.join(here, MIRROR_MARKER)):
        parent = os.path.dirname(here)
        if parent == here:
            return False
        here = parent
    return True


def _scan(
    folder: str,
    root: str,
    real_root: str,
    rules: Rules,
    specs: "list[tuple[str, GitIgnoreSpec]]",
    only: Places | None,
) -> Iterator[Seen]:
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        yield Seen(folder, 0, 0, _reason(error))
        return
    names = {entry.name for entry in entries}
    if MIRROR_MARKER in names:
        return
    specs = [*specs, *((folder, spec) for name in IGNORE_FILES if name in names and (spec := _spec_of(folder, name)))]
    for entry in entries:
        if entry.name.startswith(".") or (only is not None and entry.name not in only):
            continue
        is_folder = entry.is_dir(follow_symlinks=False)
        if not is_folder and not _wanted(entry.path, root, rules):
            continue
        if specs and _ignored(entry.path, specs, is_folder=is_folder):
            continue
        if is_folder:
            yield from _scan(entry.path, root, real_root, rules, specs, only and only[entry.name])
        elif entry.is_symlink():
            target = os.path.realpath(entry.path)
            if target.startswith(real_root + os.sep) and os.path.isfile(target) and not in_mirror(target):
                yield look_at(entry.path)
        elif entry.is_file():
            yield _seen(entry)


def _seen(entry: "os.DirEntry[str]") -> Seen:
    try:
        status = entry.stat()
    except OSError as error:
        return Seen(entry.path, 0, 0, _reason(error))
    return Seen(entry.path, status.st_size, status.st_mtime_ns)


def _wanted(path: str, root: str, rules: Rules) -> bool:
    if not rules.globs:
        return path.lower().endswith(rules.extensions)
    name, below = os.path.basename(path), os.path.relpath(path, root)
    return any(fnmatch.fnmatch(name, glob) or fnmatch.fnmatch(below, glob) for glob in rules.globs)


def _spec(lines: list[str]) -> "GitIgnoreSpec":
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(lines)


def _spec_of(folder: str, name: str) -> "GitIgnoreSpec | None":
    try:
        with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError:
        return None
    return _spec(lines) if any(line.strip() and not line.startswith("#") for line in lines) else None


def _ignored(path: str, specs: "list[tuple[str, GitIgnoreSpec]]", *, is_folder: bool) -> bool:
    for base, spec in reversed(specs):  # the nearest file that has an opinion decides
        verdict = spec.check_file(os.path.relpath(path, base).replace(os.sep, "/") + ("/" if is_folder else ""))
        if verdict.include is not None:
            return verdict.include
    return False


def _specs_above(folder: str, root: str, rules: Rules) -> "list[tuple[str, GitIgnoreSpec]]":
    """Return the ignore files that hold for `folder` from above: of its root, and of the git work tree around that."""
    chain = []
    here = folder
    top = _work_tree(root) or root
    while here != top and here != os.path.dirname(here):
        here = os.path.dirname(here)
        chain.append(here)
    specs: list[tuple[str, GitIgnoreSpec]] = [(root, _spec(list(rules.ignore)))] if rules.ignore else []
    for place in reversed(chain):
        names = IGNORE_FILES if place.startswith(root) else (".gitignore",)
        specs += ((place, spec) for name in names if (spec := _spec_of(place, name)))
    if specs and _ignored(folder, specs, is_folder=True):
        return []  # asked for by name: what hides it from git does not hide it from its owner
    return specs


def _work_tree(folder: str) -> str | None:
    here = folder
    while here != os.path.dirname(here):
        if os.path.exists(os.path.join(here, ".git")):
            return here
        here = os.path.dirname(here)
    return None


def _reason(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "it vanished before it could be read"
    if isinstance(error, PermissionError):
        return "no permission to read it"
    return error.strerror or str(error)
