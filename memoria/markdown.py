"""From a note's text to its atoms: a line scanner, not a markdown parser (60 times faster on real vaults)."""

import re
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from memoria import frontmatter, inline
from memoria.frontmatter import FrontMatter
from memoria.model import Atom, Note

# Measured on real questions: with context in the score, recall is flat up to about 400 characters and falls from 800.
PACK_CHARS = 400
SPLIT_CHARS = 600
MAX_CHARS = 2_000  # of a fence or a table, of a chat turn, and of text without sentence ends

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*\Z")
_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})([^`]*)\Z")
_ITEM = re.compile(r"[ \t>]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|\Z)")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})\Z")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*\Z")
_TABLE_RULE = re.compile(r"[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*\Z")
_TURN = re.compile(r"\*\*([^*:\n]{1,40}):\*\*|\*\*([^*:\n]{1,40})\*\*:")
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]*_]*(?=\s)|[。！？]+[」』”’）]*")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[A-Za-z]|(?:[A-Za-z]\.)+[A-Za-z]|Mrs?|Ms|Dr|Prof|St|Jr|Sr|vs|etc|cf|no|No|Nr|bzw|ca|approx|Inc|Ltd|Co|al|fig|Fig|pp)\.\Z"
)


class _Block(NamedTuple):
    kind: str  # text | item | code | table | turn | heading
    line: int
    text: str
    heading: tuple[str, ...]
    speaker: str = ""
    continues: bool = False


def parse(text: str, name: str, today: date) -> Note:
    """Parse a note. `name` is its path below the root: title and date may come from there."""
    lines = text.split("\n")
    front_lines, start = frontmatter.split(lines)
    front = frontmatter.parse(front_lines, today)
    # What can't be read as front matter is text, perhaps between two rules: nothing is lost.
    blocks, first_h1 = _blocks(lines, 0 if front.warning else start)
    title = front.title or first_h1 or _stem(name)
    atoms = list(_properties(front))
    atoms += (_atom(block, title) for block in _sized(_packed(blocks)))
    if not atoms and start and not front.warning and (written := "\n".join(front_lines).strip()):
        atoms = [Atom(written[:MAX_CHARS], (), 2, "properties", "", (), (), (), ())]  # all that the note says
    return Note(
        title=title,
        aliases=front.aliases,
        tags=front.tags,
        buckets=front.buckets,
        date=front.date or frontmatter.day_in(name, today),
        fields=front.fields,
        atoms=tuple(atoms),
        warnings=(front.warning,) if front.warning else (),
    )


def _stem(name: str) -> str:
    base = name.rsplit("/", 1)[-1]
    stem, dot, extension = base.rpartition(".")
    return stem if dot and stem and len(extension) <= 8 else base  # noqa: PLR2004


def _properties(front: FrontMatter) -> Iterator[Atom]:
    """Front matter values that are prose (a description, an intro) are searched as text."""
    prose = [field for field in front.fields if frontmatter.is_prose(field.value)]
    if prose:
        text = "\n".join(f"{field.name}: {field.value}" for field in prose)[:MAX_CHARS]
        yield Atom(text, (), prose[0].line, "properties", "", (), (), (), tuple(inline.phrases(text)))


def _atom(block: _Block, title: str) -> Atom:
    heading = block.heading[1:] if block.heading[:1] == (title,) else block.heading
    text = block.text
    if block.kind in ("code", "table-code"):
        return Atom(text, heading, block.line, "code", "", (), (), (), ())
    plain = inline.masked(text)
    return Atom(
        text=text,
        heading=heading,
        line=block.line,
        kind="text" if block.kind == "item" else block.kind,
        speaker=block.speaker,
        tags=tuple(dict.fromkeys(inline.tags(plain))) if "#" in plain else (),
        links=tuple(inline.links(plain)) if "[" in plain or "@" in plain else (),
        fields=tuple(inline.fields(plain)) if "::" in plain or "[" in plain else (),
        phrases=tuple(inline.phrases(plain)),
        continues=block.continues,
    )


class _Scanner:
    """Collects blocks while the lines go by."""

    def __init__(self) -> None:
        self.blocks: list[_Block] = []
        self.trail: list[tuple[int, str]] = []
        self.heading: tuple[str, ...] = ()
        self.first_h1 = ""
        self.open: list[str] = []  # the lines of the block that is being read
        self.line = 0
        self.kind = "text"
        self.speaker = ""
        self.bare: tuple[int, str, int] | None = None  # the last heading, while nothing stands below it

    def begin(self, kind: str, line: int, speaker: str = "") -> None:
        self.flush()
        self.kind, self.line, self.speaker = kind, line, speaker

    def flush(self) -> None:
        if self.open:
            self.add(self.kind, self.line, "\n".join(self.open).rstrip(), self.speaker)
            self.open = []
        self.kind, self.speaker = "text", ""

    def add(self, kind: str, line: int, text: str, speaker: str = "") -> None:
        self.bare = None
        self.blocks.append(_Block(kind, line, text, self.heading, speaker))

    def enter(self, level: int, name: str, line: int, written: str) -> None:
        """Enter a section. A section that ends with nothing in it is an atom by itself."""
        self.flush()
        self.leave(level)
        if level == 1 and name and not self.first_h1:
            self.first_h1 = name
        while self.trail and self.trail[-1][0] >= level:
            self.trail.pop()
        self.above = self.heading = tuple(heading for _, heading in self.trail)
        if name:
            self.trail.append((level, name))
            self.heading = (*self.heading, name)
            self.bare = (line, written, level)

    def leave(self, level: int) -> None:
        if self.bare and self.bare[2] >= level:
            line, written, _ = self.bare
            self.blocks.append(_Block("heading", line, written, self.heading[:-1]))
        self.bare = None


def _blocks(lines: list[str], start: int) -> tuple[list[_Block], str]:
    scanner = _Scanner()
    number = start
    end = len(lines)
    while number < end:
        line = lines[number]
        bare = line.lstrip(" \t>")
        number += 1
        if not bare:
            if scanner.kind != "item" or not _continues_item(lines, number):
                scanner.flush()
            elif scanner.open:
                scanner.open.append("")
            continue
        first = bare[0]
        if first == "#" and (heading := _HEADING.match(line)):
            name = (heading.group(2) or "").strip()
            scanner.enter(len(heading.group(1)), name, number, line.strip())
        elif first in "`~" and (fence := _FENCE.match(line)):
            scanner.flush()
            number = _fence(scanner, lines, number, fence)
        elif "|" in line and number < end and _is_table(line, lines[number]):
            scanner.flush()
            number = _table(scanner, lines, number)
        elif first in "=-" and len(scanner.open) == 1 and scanner.kind == "text" and _UNDERLINE.match(line):
            written = scanner.open.pop()
            scanner.enter(1 if first == "=" else 2, written.strip(), number - 1, written.strip())
        elif first in "-*_" and _RULE.match(line):
            scanner.flush()
        elif (first in "-*+" or first.isdigit()) and _ITEM.match(line):
            scanner.begin("item", number)
            scanner.open.append(line)
        elif first == "*" and (turn := _TURN.match(line)):
            scanner.begin("turn", number, (turn.group(1) or turn.group(2)).strip())
            scanner.open.append(line)
        else:
            if not scanner.open:
                scanner.line = number
                if line.startswith(("    ", "\t")):
                    scanner.kind = "code"
            scanner.open.append(line)
    scanner.flush()
    scanner.leave(0)
    return scanner.blocks, scanner.first_h1


def _continues_item(lines: list[str], number: int) -> bool:
    """A blank line inside a list item: the next line is indented, and not an item of its own."""
    line = lines[number] if number < len(lines) else ""
    return line.startswith(("  ", "\t")) and bool(line.strip()) and not _ITEM.match(line) and not _FENCE.match(line)


def _fence(scanner: _Scanner, lines: list[str], number: int, opening: re.Match[str]) -> int:
    mark = opening.group(1)
    head = number - 1
    while number < len(lines):
        bare = lines[number].strip(" \t>")
        number += 1
        if bare.startswith(mark) and not bare.strip(mark[0]):
            scanner.add("code", head + 1, "\n".join(lines[head:number]))
            return number
    # Never closed: it reaches to the end of the note, and is shown closed.
    scanner.add("code", head + 1, "\n".join([*lines[head:number], mark]).rstrip("\n"))
    return number


def _is_table(line: str, following: str) -> bool:
    return "-" in following and "|" in following + line and bool(_TABLE_RULE.match(following)) and not _ITEM.match(line)


def _table(scanner: _Scanner, lines: list[str], number: int) -> int:
    head = number - 1
    while number < len(lines) and "|" in lines[number]:
        number += 1
    scanner.add("table", head + 1, "\n".join(lines[head:number]).rstrip())
    return number


def _packed(blocks: list[_Block]) -> Iterator[_Block]:
    """Join small neighbours of one section up to PACK_CHARS."""
    held: _Block | None = None
    for block in blocks:
        if block.kind not in ("text", "item"):
            if held:
                yield held
                held = None
            yield block
            continue
        if held and held.heading == block.heading:
            gap = "\n" if block.line == held.line + held.text.count("\n") + 1 else "\n\n"
            if len(held.text) + len(gap) + len(block.text) <= PACK_CHARS:
                held = held._replace(text=held.text + gap + block.text, kind="text")
                continue
        if held:
            yield held
        held = block
    if held:
        yield held


def _sized(blocks: Iterator[_Block]) -> Iterator[_Block]:
    """Split what is too large: fences and tables at line ends, text at sentence ends."""
    for block in blocks:
        if block.kind in ("code", "table"):
            yield from _split_lines(block) if len(block.text) > MAX_CHARS else (block,)
        elif len(block.text) > (MAX_CHARS if block.kind == "turn" else SPLIT_CHARS):
            yield from _split_sentences(block)
        else:
            yield block


def _split_lines(block: _Block) -> Iterator[_Block]:
    """Split a fence or a table; each part is shown with the fence, or with the table's head."""
    lines = block.text.split("\n")
    head, foot, above = [], [], 0
    if block.kind == "table":
        head, lines, above = lines[:2], lines[2:], 2
    elif fence := _FENCE.match(lines[0]):
        head, foot, lines, above = [lines[0][:200]], [fence.group(1)], lines[1:-1], 1
    part: list[str] = []
    size = 0
    line = first = block.line + above
    for row in lines:
        for piece in _hard_split(row):
            if part and size + len(piece) > MAX_CHARS:
                yield block._replace(line=first, text="\n".join([*head, *part, *foot]))
                part, size, first = [], 0, line
            part.append(piece)
            size += len(piece) + 1
        line += 1
    if part:
        yield block._replace(line=first, text="\n".join([*head, *part, *foot]))


def _split_sentences(block: _Block) -> Iterator[_Block]:
    text = block.text
    start = 0
    line = block.line
    most = MAX_CHARS if block.kind == "turn" else SPLIT_CHARS
    even = len(text) / -(-len(text) // most)  # as many pieces as are needed, of about one size
    for end in _breaks(text, min(most, even * 1.15)):
        piece = text[start:end]
        kept = piece.strip()
        if kept:
            lead = len(piece) - len(piece.lstrip())
            yield block._replace(line=line + piece.count("\n", 0, lead), text=kept, continues=start > 0)
        line += piece.count("\n")
        start = end


def _breaks(text: str, target: float) -> Iterator[int]:
    """Yield where to cut: after the last sentence that keeps a piece within `target` characters."""
    start = last = 0
    for end in _sentence_ends(text):
        if end - start > target and last > start:
            yield last
            start = last
        while end - start > MAX_CHARS:  # no sentence is that long: a log, a list of words, a single line of data
            start += len(next(_hard_split(text[start : start + MAX_CHARS + 1])))
            yield start
        last = end
    if start < len(text):
        yield len(text)


def _sentence_ends(text: str) -> Iterator[int]:
    for match in _SENTENCE_END.finditer(text):
        end = match.end()
        if not (match.group().startswith(".") and _ABBREVIATION.search(text, max(0, end - 12), end)):
            yield end
    yield len(text)


def _hard_split(text: str) -> Iterator[str]:
    """Cut an over-long line at its last line end or space within MAX_CHARS, else right there."""
    start = 0
    while len(text) - start > MAX_CHARS:
        window = text[start : start + MAX_CHARS]
        end = window.rfind("\n") + 1 or window.rfind(" ") + 1 or MAX_CHARS
        yield text[start : start + end]
        start += end
    yield text[start:]
