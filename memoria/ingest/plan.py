"""What an ingest has to do: what is new, changed, moved or gone, and whether that looks like an accident."""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from memoria.errors import RefusedError
from memoria.ingest.scan import Places, Rules, Seen, in_mirror, look_at, places, scan, storable
from memoria.model import Root
from memoria.store import SourceState

MASS_VANISH = 20  # so few notes may vanish without a question, whatever share of the root they are


class Given(NamedTuple):
    """What was asked for on the command line."""

    bucket: str = ""
    tags: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Tell whether anything was."""
        return bool(self.bucket or self.tags or self.globs)


class Task(NamedTuple):
    """A file that may have to be read."""

    seen: Seen
    root: str
    given: str
    known: SourceState | None


class Plan(NamedTuple):
    """What an ingest of files has to do."""

    tasks: list[Task]
    unchanged: int
    vanished: list[SourceState]
    roots: list[Root]  # to remember
    gone_roots: list[str]
    failed: list[tuple[str, str]]


def remembered(bucket: str, tags: Iterable[str], *, by_file: bool = False) -> str:
    """Return labels given on the command line, as a source keeps them; those given to a file alone stay with it."""
    tags = list(tags)
    if not bucket and not tags:
        return ""
    return json.dumps({"bucket": bucket, "tags": tags, **({"file": True} if by_file else {})}, ensure_ascii=False)


def recalled(given: str) -> tuple[str, tuple[str, ...], bool]:
    """Return bucket, tags, and whether they were given to this file alone."""
    if not given:
        return "", (), False
    loaded = json.loads(given)
    return loaded["bucket"], tuple(loaded["tags"]), bool(loaded.get("file"))


def make_plan(
    paths: list[str],
    given: Given,
    *,
    states: list[SourceState],
    roots: list[Root],
    extensions: tuple[str, ...],
    ignore: tuple[str, ...],
    force: bool,
    touched: Mapping[str, Sequence[str]] | None = None,
) -> Plan:
    """Compare folders and files with what the store knows.

    With `touched`, a folder -> the paths below it where something happened, only those are looked at, besides `paths`;
    what looks like an accident is reported then, and the rest goes on.

    Raises:
        RefusedError: so much vanished that it looks like an accident.

    """
    planner = _Planner(given, states, roots, extensions, ignore, force=force)
    return planner.plan(paths) if touched is None else planner.plan_touched(paths, touched)


class _Planner:
    def __init__(
        self,
        given: Given,
        states: list[SourceState],
        roots: list[Root],
        extensions: tuple[str, ...],
        ignore: tuple[str, ...],
        *,
        force: bool,
    ) -> None:
        self.given = given
        self.states = {state.path: state for state in states if state.root}
        self.roots = {root.path: root for root in roots}
        self.extensions = extensions
        self.ignore = ignore
        self.force = force
        self.plan_ = Plan([], 0, [], [], [], [])
        self.unchanged = 0
        self.seen: set[str] = set()

    def plan(self, paths: list[str]) -> Plan:
        for path in paths or self._everything():
            self._look(path)
        return self.plan_._replace(unchanged=self.unchanged)

    def plan_touched(self, paths: list[str], touched: Mapping[str, Sequence[str]]) -> Plan:
        for path in paths:
            self._report_refusal(path, self._look, path)
        for folder, below in touched.items():
            self._report_refusal(folder, self._touched, folder, below)
        return self.plan_._replace(unchanged=self.unchanged)

    def _report_refusal(self, path: str, act: Callable[..., None], *args: Any) -> None:
        try:
            act(*args)
        except RefusedError as error:
            self.plan_.failed.append((path, f"{error}; memoria ingest {path} --force removes them"))

    def _look(self, path: str) -> None:
        if not storable(path):
            self.plan_.failed.append((printable(path), "its name is not UTF-8; rename it, then ingest it again"))
        elif in_mirror(path):
            self.plan_.failed.append((path, "it is in a mirror, which memoria makes from notes: ingest the notes"))
        elif os.path.isdir(path):
            self._folder(path)
        elif not gone(path):
            self._file(path)
        else:
            self._missing(path)

    def _everything(self) -> list[str]:
        alone = [path for path, state in self.states.items() if state.root not in self.roots]
        return [*self.roots, *alone]

    def _root_of(self, path: str) -> Root | None:
        """Return the nearest known root that holds `path`."""
        here = path
        while True:
            if here in self.roots:
                return self.roots[here]
            parent = os.path.dirname(here)
            if parent == here:
                return None
            here = parent

    def _folder(self, path: str) -> None:
        root = self._root_of(path)
        if root is None or (self.given and root.path != path):
            root = Root(path, self.given.bucket, self.given.tags, self.given.globs)
        elif self.given:
            root = Root(
                path, self.given.bucket or root.bucket, self.given.tags or root.tags, self.given.globs or root.globs
            )
        if self.roots.get(root.path) != root:
            self.roots[root.path] = root
            self.plan_.roots.append(root)
        self._scan(path, root)
        below = self._below(path)
        self._vanished(path, below, below)

    def _touched(self, folder: str, paths: Sequence[str]) -> None:
        root = self._root_of(folder)
        if root is None or not os.path.isdir(folder):
            self._look(folder)
            return
        self._scan(folder, root, places(folder, paths))
        below = self._below(folder)
        maybe_folders = tuple(path + os.sep for path in paths if path not in self.states)
        wanted = {path for path in paths if path in self.states}
        known = [state for state in below if state.path in wanted or state.path.startswith(maybe_folders)]
        self._vanished(folder, below, known)

    def _scan(self, folder: str, root: Root, only: Places | None = None) -> None:
        for seen in scan(folder, root.path, Rules(self.extensions, root.globs, self.ignore), only):
            if not storable(seen.path):
                self.plan_.failed.append(
                    (printable(seen.path), "its name is not UTF-8; rename it, then ingest it again")
                )
                continue
            self._task(seen, root.path)

    def _below(self, folder: str) -> list[SourceState]:
        below = folder if folder.endswith(os.sep) else folder + os.sep
        return [state for name, state in self.states.items() if name.startswith(below)]

    def _file(self, path: str) -> None:
        root = self._root_of(os.path.dirname(path))
        by_file = remembered(self.given.bucket, self.given.tags, by_file=True)
        self._task(look_at(path), root.path if root else os.path.dirname(path), by_file)

    def _missing(self, path: str) -> None:
        below = path + os.sep
        lost = [state for name, state in self.states.items() if name == path or name.startswith(below)]
        if path in self.roots or (lost and not os.path.isdir(os.path.dirname(path))):
            if not self.force:
                raise RefusedError(
                    f"{path} is missing; the {len(lost)} notes that memoria knows from there stay as they are",
                    hint="bring it back (a disk that is not mounted?), or use --force to forget them",
                )
            self.plan_.vanished.extend(lost)
            if path in self.roots:
                self.plan_.gone_roots.append(path)
        elif lost:
            self._vanished(path, lost, lost)
        else:
            self.plan_.failed.append((path, "there is no such file or folder"))

    def _task(self, seen: Seen, root: str, by_file: str = "") -> None:
        if seen.path in self.seen:
            return
        self.seen.add(seen.path)
        if seen.problem:
            self.plan_.failed.append((seen.path, seen.problem))
            return
        known = self.states.get(seen.path)
        owner = self._root_of(os.path.dirname(seen.path))
        if owner:
            root = owner.path
        given = by_file
        if not given and known and recalled(known.given)[2]:
            given = known.given
        if not given and owner:
            given = remembered(owner.bucket, owner.tags)
        same = known and (known.size, known.mtime, known.given, known.root) == (seen.size, seen.mtime, given, root)
        if same:
            self.unchanged += 1
        else:
            self.plan_.tasks.append(Task(seen, root, given, known))

    def _vanished(self, scope: str, all_below: list[SourceState], candidates: list[SourceState]) -> None:
        unreadable = [path for path, _ in self.plan_.failed]
        gone = [
            state
            for state in candidates
            if state.path not in self.seen
            and not any(state.path.startswith(path + os.sep) or state.path == path for path in unreadable)
        ]
        if not self.force and len(gone) > MASS_VANISH and len(gone) * 2 > len(all_below):
            raise RefusedError(
                f"{len(gone)} of the {len(all_below)} notes below {scope} are gone; nothing was removed",
                hint="--force removes them from the brain; --dry-run lists them",
            )
        self.seen.update(state.path for state in gone)  # a folder inside another: each is gone once
        self.plan_.vanished.extend(gone)


def gone(path: str) -> bool:
    """Tell whether there is surely no such file; one that can't be looked at may be there."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def printable(path: str) -> str:
    """Return a path that can be printed, whatever bytes it has."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
