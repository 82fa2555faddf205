"""A source as bundles: which atoms stand where, and what each page says. Pure: the same brain gives the same bytes."""

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote

from memoria.mirror.body import Target, guarded, plain, plain_label, snippet
from memoria.mirror.names import UNTAGGED, bundle_name, folder_of, index_name, page_name
from memoria.model import Label, Source, StoredAtom, source_node
from memoria.store import Content

MAX_PAGE_ATOMS = 100
MAX_PAGE_BYTES = 300_000
_HEAD_BYTES = 10_000  # kept free for what stands above the atoms
_BETWEEN = b"\n\n---\n\n"
DEFAULT_BUCKET = "inbox"


class Labels(NamedTuple):
    """The tags of an atom."""

    human: tuple[str, ...]
    dream: tuple[str, ...]

    @property
    def placed(self) -> tuple[str, ...]:
        """The tags it stands under: people's, else the dream's, else none."""
        return self.human or self.dream or (UNTAGGED,)


class Shape(NamedTuple):
    """What of a source decides where its atoms stand."""

    buckets: tuple[str, ...]
    labels: list[Labels]  # of each atom, in the order of the note

    def sets(self) -> list[tuple[int, Labels]]:
        """Return the combinations of tags, with how many atoms have each."""
        counts: dict[Labels, int] = {}
        for labels in self.labels:
            counts[labels] = counts.get(labels, 0) + 1
        return sorted((count, labels) for labels, count in counts.items())

    def tags(self) -> list[str]:
        """Return the tags that it has bundles under, the first of them its main one."""
        return sorted({tag for labels in set(self.labels) for tag in labels.placed})


def shape_of(content: Content) -> Shape:
    """Return where the atoms of a source stand."""
    node = source_node(content.source.id)
    whole = content.labels.get(node, [])
    buckets = sorted({label.name for label in whole if label.kind == "bucket"}) or [DEFAULT_BUCKET]
    common = _labels(whole, ())
    own = content.labels
    return Shape(
        tuple(buckets),
        [
            _labels(whole, own[node + place.ordinal]) if node + place.ordinal in own else common
            for place in content.places
        ],
    )


def _labels(whole: Iterable[Label], own: Iterable[Label]) -> Labels:
    human: set[str] = set()
    dream: set[str] = set()
    for label in (*whole, *own):
        if label.kind == "tag":
            (dream if label.origin == "dream" else human).add(label.name)
    return Labels(tuple(sorted(human)), tuple(sorted(dream - human)))


class Bundler:
    """Renders the bundles of one source."""

    def __init__(self, content: Content, shape: Shape, seed: str, link: str, target: Target) -> None:
        self.many: dict[str, int] = {}  # tag -> pages, where there is more than one
        self._source = content.source
        self._shape = shape
        self._seed = seed
        self._title = plain(content.source.title) or "Untitled"
        self._where = _one_line(content.source.relpath)
        self._link = _source_link(content.source, link, self._where)
        self._said: dict[tuple[Labels, tuple[str, ...]], str] = {}  # of the atoms that share labels and headings
        node = source_node(content.source.id)
        self._parts = [
            self._atom(content.atoms[node + place.ordinal], place.line, labels, target)
            for place, labels in zip(content.places, shape.labels, strict=True)
        ]

    def pages(self) -> Iterator[tuple[str, bytes]]:
        """Yield (path relative to the mirror, contents) of every page."""
        for tag in self._shape.tags():
            chosen = [number for number, labels in enumerate(self._shape.labels) if tag in labels.placed]
            pages = list(self._paged(chosen))
            if len(pages) > 1:
                self.many[tag] = len(pages)
            for bucket in self._shape.buckets:
                name = bundle_name(self._source.title, self._seed, bucket, tag)
                folder = folder_of(bucket, tag)
                for page, numbers in enumerate(pages, 1):
                    head = self._head(name, bucket, tag, page, len(pages), len(chosen), numbers)
                    body = _BETWEEN.join([self._parts[number] for number in numbers])
                    yield f"{folder}/{page_name(name, page)}.md", head.encode("utf-8", "replace") + body + b"\n"

    def _paged(self, chosen: list[int]) -> Iterator[list[int]]:
        page: list[int] = []
        size = 0
        for number in chosen:
            more = len(self._parts[number]) + len(_BETWEEN)
            if page and (len(page) == MAX_PAGE_ATOMS or size + more > MAX_PAGE_BYTES - _HEAD_BYTES):
                yield page
                page, size = [], 0
            page.append(number)
            size += more
        if page:
            yield page

    def _head(self, name: str, bucket: str, tag: str, page: int, pages: int, total: int, numbers: list[int]) -> str:
        here = [self._shape.labels[number] for number in numbers]
        human = sorted({tag for labels in set(here) for tag in labels.human})
        dream = sorted({tag for labels in set(here) for tag in labels.dream})
        lines = [
            "---",
            f"title: {yaml_text(self._title)}",
            f"source: {yaml_text(self._source.relpath)}",
            f"bucket: {yaml_text(bucket)}",
            f"tag: {yaml_text(tag)}",
            f"page: {page}",
            f"atoms: {len(numbers)}",
            *yaml_list("tags", human),
            *(yaml_list("dream_tags", dream) if dream else ()),
            *((f"date: {self._source.date}",) if self._source.date else ()),
            "---",
            f"# {self._title}",
            "",
        ]
        count = f"{total:,} {'atom' if total == 1 else 'atoms'}"
        way = [
            "[[Home]]",
            f"[[{index_name('bucket', bucket)}|@{plain_label(bucket)}]]",
            f"[[{index_name('tag', tag)}|{tag_shown(tag)}]]",
            self._link,
            count if pages == 1 else f"{count}, page {page} of {pages}",
        ]
        if page > 1:
            way.append(f"[[{page_name(name, page - 1)}|previous]]")
        if page < pages:
            way.append(f"[[{page_name(name, page + 1)}|next]]")
        return "\n".join([*lines, " · ".join(way), "", ""])

    def _atom(self, atom: StoredAtom, line: int, labels: Labels, target: Target) -> bytes:
        about = self._said.get((labels, atom.heading))
        if about is None:
            about = self._said[labels, atom.heading] = self._about(labels, atom.heading)
        where = _code(f"{self._where}:{line}")
        body = guarded(atom.text, atom.kind, target)
        text = f"## [{atom.key}] {snippet(atom.text)}\n\n{where}{about} ^{atom.key}\n\n{body}"
        return text.encode("utf-8", "replace")

    def _about(self, labels: Labels, heading: tuple[str, ...]) -> str:
        said = [
            self._source.date or "",
            " ".join([f"#{plain_label(tag)}" for tag in labels.human]),
            f"dream: {', '.join([plain_label(tag) for tag in labels.dream])}" if labels.dream else "",
            " › ".join([plain_label(name) for name in heading]),
        ]
        return "".join([f" · {part}" for part in said if part])


def tag_shown(tag: str) -> str:
    """Return a tag as a link's text."""
    return "untagged" if tag == UNTAGGED else f"#{plain_label(tag)}"


def _source_link(source: Source, link: str, where: str) -> str:
    """Return the path of the note; as a link only where one was asked for, since that names a place on this machine."""
    if link == "none" or source.kind != "file":
        return _code(where)
    path = quote(source.path.replace("\\", "/"))
    address = f"file://{path}" if link == "file" else f"obsidian://open?path={quote(source.path, safe='')}"
    return f"[{plain(where)}](<{address}>)"


_UNSAFE = re.compile(r"[^ -~\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


@lru_cache(maxsize=65_536)
def yaml_text(text: str) -> str:
    """Return text as a YAML string, whatever is in it."""
    quoted = json.dumps(text, ensure_ascii=False)
    return _UNSAFE.sub(lambda found: f"\\u{min(ord(found[0]), 0xFFFD):04x}", quoted)


def yaml_list(name: str, values: Iterable[str]) -> list[str]:
    """Return a YAML list of strings, as lines."""
    items = [f"  - {yaml_text(value)}" for value in values]
    return [f"{name}:", *items] if items else [f"{name}: []"]


def _one_line(text: str) -> str:
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def _code(text: str) -> str:
    if "`" not in text:
        return f"`{text}`"
    ticks = "`" * (max(map(len, re.findall("`+", text))) + 1)
    return f"{ticks} {text} {ticks}"
