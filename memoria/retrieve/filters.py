"""Which atoms a search may return: by bucket, tag, path, date and source."""

import os
import re
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from fnmatch import fnmatchcase
from typing import NamedTuple

from memoria.errors import UsageError
from memoria.model import Source, source_node, source_of
from memoria.store import Store
from memoria.text import label_name

_AGO = re.compile(r"(\d{1,5})([dwmy])\Z")
_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}
_PART_OF_YEAR = re.compile(r"(\d{4})(?:-(\d{1,2}))?\Z")


class Filters(NamedTuple):
    """What a search is limited to."""

    buckets: tuple[str, ...] = ()  # any of them
    tags: tuple[str, ...] = ()  # all of them
    any_tags: tuple[str, ...] = ()
    not_tags: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()  # globs, any of them
    sources: tuple[str, ...] = ()  # names or paths, any of them
    since: date | None = None
    until: date | None = None
    no_dream_tags: bool = False  # only the tags of people count

    @property
    def on_sources(self) -> bool:
        """Whether the sources have to be looked at."""
        return bool(self.paths or self.sources or self.since or self.until)

    def joined(self, other: "Filters") -> "Filters":
        """Return the limits of both."""
        return Filters(
            buckets=(*self.buckets, *other.buckets),
            tags=(*self.tags, *other.tags),
            any_tags=(*self.any_tags, *other.any_tags),
            not_tags=(*self.not_tags, *other.not_tags),
            paths=(*self.paths, *other.paths),
            sources=(*self.sources, *other.sources),
            since=max(filter(None, (self.since, other.since)), default=None),
            until=min(filter(None, (self.until, other.until)), default=None),
            no_dream_tags=self.no_dream_tags or other.no_dream_tags,
        )


def parse_day(text: str, today: date, *, end: bool = False) -> date:
    """Return the day that `2025-03-01`, `2025-03`, `2025`, `7d`, `2w`, `today` or `yesterday` names.

    A month or a year is its first day, or with `end` its last.

    Raises:
        UsageError: it names no day.

    """
    word = text.strip().lower()
    if word in ("today", "yesterday"):
        return today - timedelta(days=word == "yesterday")
    ago = _AGO.match(word)
    if ago:
        days = int(ago[1]) * _DAYS[ago[2]]
        return today - timedelta(days=min(days, today.toordinal() - 1))
    part = _PART_OF_YEAR.match(word)
    try:
        if part:
            year, month = int(part[1]), int(part[2] or (12 if end else 1))
            first = date(year, month, 1)
            return (first + timedelta(days=31)).replace(day=1) - timedelta(days=1) if end else first
        return date.fromisoformat(word.replace("/", "-"))
    except ValueError:
        raise UsageError(f"{text!r} is not a date", hint="write 2025-03-01, 2025-03, 2025, 7d, 2w, 6m or 1y") from None


def allowed(store: Store, filters: Filters) -> Callable[[int], bool] | None:
    """Return a test for atoms, or None where everything may be returned."""
    tests: list[Callable[[int], bool]] = []
    if filters.buckets:
        tests.append(_carrying(_nodes(store, "bucket", filters.buckets)))
    dreamed = not filters.no_dream_tags
    tests += (_carrying(_nodes(store, "tag", [tag], dreamed=dreamed)) for tag in filters.tags)
    if filters.any_tags:
        tests.append(_carrying(_nodes(store, "tag", filters.any_tags, dreamed=dreamed)))
    if filters.not_tags:
        tests.append(_not(_carrying(_nodes(store, "tag", filters.not_tags, dreamed=dreamed))))
    if filters.on_sources:
        wanted = {source.id for source in store.sources() if source_passes(source, filters)}
        tests.append(lambda node: source_of(node) in wanted)
    if not tests:
        return None
    return lambda node: all(test(node) for test in tests)


def source_passes(source: Source, filters: Filters) -> bool:
    """Tell whether a source is within the limits of path, name and date."""
    if filters.paths and not any(_path_matches(source, glob) for glob in filters.paths):
        return False
    if filters.sources and not any(_named(source, name) for name in filters.sources):
        return False
    if filters.since or filters.until:
        # A note without a date counts by the day its file was changed.
        day = date.fromisoformat(source.date) if source.date else datetime.fromtimestamp(source.mtime / 1e9, UTC).date()
        if (filters.since and day < filters.since) or (filters.until and day > filters.until):
            return False
    return True


def _path_matches(source: Source, glob: str) -> bool:
    glob = glob.removeprefix("./")
    candidates = (source.relpath, source.path, os.path.basename(source.path))
    return any(fnmatchcase(path, glob) or fnmatchcase(path, glob.rstrip("/") + "/*") for path in candidates)


def _named(source: Source, name: str) -> bool:
    return name in (source.path, source.relpath, os.path.basename(source.path)) or os.path.abspath(name) == source.path


def _nodes(store: Store, kind: str, names: Iterable[str], *, dreamed: bool = True) -> set[int]:
    return set().union(*(store.nodes_with(kind, label_name(name), dreamed=dreamed) for name in names))


def _carrying(nodes: set[int]) -> Callable[[int], bool]:
    return lambda node: node in nodes or source_node(source_of(node)) in nodes


def _not(test: Callable[[int], bool]) -> Callable[[int], bool]:
    return lambda node: not test(node)
