"""What people write inside a passage: tags, links, fields, persons, relations, names."""

import re
from collections.abc import Iterator
from urllib.parse import unquote

from memoria.model import Field, Link
from memoria.text import STOP_WORDS, label_name

_CODE_SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_URL = re.compile(r"\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s<>\"')\]]+")
_WIKILINK = re.compile(r"(!?)\[\[([^\[\]|\n]+?)(?:\|([^\[\]\n]*))?\]\]")
_MARKDOWN_LINK = re.compile(r"(!?)\[([^\]\n]*)\]\(\s*(?:<([^>\n]+)>|([^)\s]+))(?:\s+[\"'(][^\n]*?)?\s*\)")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//")

# Obsidian: letters of any script, digits, _ - / and pictographs, and not digits alone.
_TAG = re.compile(r"(?<![^\s(\[{<>\"'“‘,;|*_~])#([\w\-/\u2600-\u27bf\U0001f300-\U0001faff\u200d\ufe0f]+)")
_PERSON = re.compile(r"(?<![\w./@:+-])@([^\W\d_][\w-]*(?:\.\w[\w-]*)*)(?![\w/@])")

# Dataview: a line of its own, or bracketed anywhere.
_FIELD_LINE = re.compile(
    r"[ \t]*(?:>[ \t]*)*(?:[-*+][ \t]+)?(?:\[.\][ \t]+)?[*_]*([^\W_][\w /-]{0,40}?)[*_]*::(?:[ \t]+(.*)|\Z)"
)
_FIELD_BRACKET = re.compile(r"[\[(]([^\W_][\w /-]{0,40}?)::[ \t]*([^\])\n]*)[\])]")
# basic-memory: `- [category] text`, `- relation [[Target]]`.
_OBSERVATION = re.compile(r"[ \t]*[-*+][ \t]+\[([^\W_][\w /-]+)\][ \t]+(\S.*)")
_RELATION = re.compile(
    r"[ \t]*[-*+][ \t]+([^\W\d_][\w-]*(?: [\w-]+){0,3})[ \t]+"
    r"\[\[([^\[\]|#^\n]+)[^\[\]\n]*\]\][ \t]*(?:\([^)]*\))?[ \t]*\Z"
)

_CAPITAL = r"[A-Z\u00c0-\u00d6\u00d8-\u00de\u0391-\u03a9\u0410-\u042f]"
_NAME = re.compile(
    rf"{_CAPITAL}(?<!\w{_CAPITAL})[\w'’-]*(?:[ \t]+"  # the capital first: the scan for it is fast
    r"(?:(?:of the|of|the|de|da|do|dos|von|van|der|and|in|la|le|du|al|bin|for|&)[ \t]+)?"
    rf"(?:{_CAPITAL}[\w'’-]*|\d+))*"
)  # fmt: skip
_SENTENCE_START = frozenset('.!?:;"“(*[>#-|\n')
_NOT_NAMES = STOP_WORDS.union(
    "january february march april may june july august september october november december "
    "monday tuesday wednesday thursday friday saturday sunday".split()
)


def masked(text: str) -> str:
    """Return `text` with code spans and addresses blanked out, every other character in its place."""
    if "`" in text:
        text = _CODE_SPAN.sub(_blank_code, text)
    if "://" in text:
        text = _URL.sub(_blank, text)
    return text


def _blank(match: re.Match[str]) -> str:
    found = match.group()
    return re.sub(r"[^\n]", " ", found) if "\n" in found else " " * len(found)


def _blank_code(match: re.Match[str]) -> str:
    # What follows code without a space is no tag: keep a mark that says so.
    blank = _blank(match)
    return blank[:-1] + "`" if match.string.startswith("#", match.end()) else blank


def tags(text: str) -> Iterator[str]:
    """Yield the inline tags of a masked text."""
    if "#" not in text:
        return
    if "](" in text or "[[" in text:  # an anchor inside a link is not a tag
        text = _WIKILINK.sub(_blank, _MARKDOWN_LINK.sub(_blank, text))
    for found in _TAG.findall(text):
        name = label_name(found)
        if name and not name.replace("/", "").isdigit():
            yield name


def links(text: str) -> Iterator[Link]:
    """Yield the links, embeds, relations and persons of a masked text."""
    if "[[" in text:
        for match in _WIKILINK.finditer(text):
            target = re.split(r"[#^]", match.group(2), maxsplit=1)[0].strip()
            if target:
                kind = "embed" if match.group(1) else "wikilink"
                yield Link(kind, target, (match.group(3) or "").strip(), _line(text, match))
        for number, line in enumerate(text.split("\n")):
            relation = "[[" in line and _RELATION.match(line)
            if relation:
                yield Link("relation", relation.group(2).strip(), relation.group(1).lower(), number)
    if "](" in text:
        for match in _MARKDOWN_LINK.finditer(text):
            target = unquote((match.group(3) or match.group(4)).split("#", 1)[0]).strip()
            if target and "\ufffd" not in target and not _SCHEME.match(target):
                kind = "embed" if match.group(1) else "markdown"
                yield Link(kind, target, match.group(2).strip(), _line(text, match))
    if "@" in text:
        for match in _PERSON.finditer(text):
            yield Link("person", match.group(1), "", _line(text, match))


def fields(text: str) -> Iterator[Field]:
    """Yield the Dataview fields and the observations of a masked text."""
    has_fields = "::" in text
    if not has_fields and "[" not in text:
        return
    for number, line in enumerate(text.split("\n")):
        if has_fields and "::" in line:
            whole = _FIELD_LINE.match(line)
            found = [whole.groups("")] if whole else _FIELD_BRACKET.findall(line)
            for name, value in found:
                yield Field(name.strip().lower(), value.strip(), number)
        if "[" in line:
            observation = _OBSERVATION.match(line)
            if observation:
                yield Field(observation.group(1).strip().lower(), observation.group(2).strip(), number)


def phrases(text: str) -> list[str]:
    """Return the capitalised names in `text`, as they are written, each once.

    A single word at the start of a sentence is left out: it may just be a word.
    """
    found: dict[str, None] = {}
    for match in _NAME.finditer(text):
        phrase = match.group()
        if " " in phrase or "\t" in phrase:
            words = phrase.split()
            while words and words[0].lower() in _NOT_NAMES:
                words = words[1:]
            phrase = " ".join(words)
        else:
            before = match.start() - 1
            while before >= 0 and text[before] in " \t":
                before -= 1
            if before < 0 or text[before] in _SENTENCE_START or phrase.lower() in _NOT_NAMES:
                continue
        if phrase[-1:] in "'’-":
            phrase = phrase.rstrip("'’-")
        if len(phrase) >= 3:  # noqa: PLR2004
            found[phrase] = None
    return list(found)


def _line(text: str, match: re.Match[str]) -> int:
    return text.count("\n", 0, match.start())
