"""An atom's text as it stands on a page: nothing in it may end, swallow or reshape what is around it.

What a click would turn into a stray note becomes plain text; what points to a note points to its bundle.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from urllib.parse import unquote

Target = Callable[[str], str]  # what a link names -> the name of its bundle, or ""

_LINK = re.compile(
    r"\\[\\`\[\]]|"  # escaped
    r"(?<!`)(?P<ticks>`+)(?!`)[^\n]+?(?<!`)(?P=ticks)(?!`)|"
    r"!?\[\[(?P<wiki>[^\[\]\n]*)\]\]|"
    r"!?\[(?P<text>[^\[\]\n]*)\]\(\s*(?:<(?P<angle>[^>\n]+)>|(?P<bare>[^)\s]+))(?:\s+[\"'(][^\n]*?)?\s*\)"
)
_HALF_ESCAPED = re.compile(r"\\\[\[(?!\[)")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//")
_DEFINITION = re.compile(
    r"^([ \t>]*)\[(?!\^)(?=[^\]\n]+\]:[ \t]*\n?[ \t]*(?![a-zA-Z][a-zA-Z0-9+.-]*:)\S)", re.MULTILINE
)

_QUOTED = r"^((?:[ \t]*>)*[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)"
_HEADING = re.compile(_QUOTED + r"(#{1,6})(?=[ \t]|$)", re.MULTILINE)
_RULE = re.compile(_QUOTED + r"(=+|-+|([-*_])(?:[ \t]*\3){2,})(?=[ \t]*$)", re.MULTILINE)
_BLOCK_ID = re.compile(r"(^|[ \t])\^(?=[A-Za-z0-9-]+[ \t]*$)", re.MULTILINE)
_RAW = re.compile(_QUOTED + r"<(?=(?:script|pre|style|textarea)\b|[!?])", re.MULTILINE | re.IGNORECASE)
_RAW_BUT_COMMENTS = re.compile(_RAW.pattern.replace("[!?]", "!(?!--)|[?]"), _RAW.flags)
_FENCE = re.compile(r"^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?:`{3}|~{3})", re.MULTILINE)
_OPENING = re.compile(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})")
_TICKS = re.compile(r"`+|~+")


def guarded(text: str, kind: str, target: Target) -> str:
    """Return an atom's text, safe to stand on a page."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if kind == "code":
        return text if _is_fence(text) else fenced(text)
    if ("```" in text or "~~~" in text) and _FENCE.search(text):
        return fenced(text)  # whatever is open or closed there, nothing gets out
    if "[" in text:
        text = linked(text, target, table=kind == "table")
    if "#" in text:
        text = _HEADING.sub(lambda found: found[1] + "#" * min(len(found[2]) + 2, 6), text)
    text = _RULE.sub(r"\1\\\2", text)
    if "^" in text:
        text = _BLOCK_ID.sub(r"\1\\^", text)
    if "<" in text:
        closed = text.rfind("-->") > text.rfind("<!--")
        text = (_RAW_BUT_COMMENTS if closed else _RAW).sub(r"\1\\<", text)
    if text.count("%%") % 2:
        text = text.replace("%%", r"\%\%")
    if text.count("$$") % 2:
        text = text.replace("$$", r"\$\$")
    return text


def fenced(text: str) -> str:
    """Return text inside a fence that nothing in it can close."""
    longest = max((len(run) for run in _TICKS.findall(text) if run[0] == "`"), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def _is_fence(text: str) -> bool:
    """Tell whether a text is one fence: opened by its first line and closed by its last one, not before."""
    lines = text.split("\n")
    opening = _OPENING.match(lines[0])
    if not opening or len(lines) == 1:
        return False
    mark = opening[1]
    return [number for number, line in enumerate(lines) if number and _closes(line, mark)] == [len(lines) - 1]


def _closes(line: str, mark: str) -> bool:
    bare = line.strip(" \t")
    return bare.startswith(mark) and not bare.strip(mark[0])


def linked(text: str, target: Target, *, table: bool = False) -> str:
    """Return text whose links lead to bundles, or nowhere."""
    if "]:" in text:
        text = _DEFINITION.sub(r"\1\\[", text)
    pieces = []
    end = 0
    for found in _LINK.finditer(text):
        pieces += [_unlinked(text[end : found.start()]), _link(found, target, table=table)]
        end = found.end()
    pieces.append(_unlinked(text[end:], last=True))
    return _HALF_ESCAPED.sub(r"\\[\\[", "".join(pieces))


def shown_links(text: str) -> str:
    """Return text with links as a reader sees them."""
    return _LINK.sub(lambda found: found["text"] or _link(found, lambda _: "", table=False), text)


def _unlinked(text: str, *, last: bool = False) -> str:
    """Return what stands between links, without brackets that could make another one."""
    if "[[" in text:
        text = text.replace("[[", r"\[\[")
    return text[:-1] + r"\[" if not last and text.endswith("[") and not text.endswith(r"\[") else text


def _link(found: re.Match[str], target: Target, *, table: bool) -> str:
    wiki = found["wiki"]
    if wiki is not None:
        name, _, alias = wiki.partition("|")
        name = name.removesuffix("\\")
        shown = alias.strip() or " > ".join(part.strip() for part in re.split(r"#+", name) if part.strip())
        name = re.split(r"[#^]", name, maxsplit=1)[0]
    elif found["text"] is not None:
        destination = found["angle"] or found["bare"]
        if _SCHEME.match(destination):
            return found[0]
        name = unquote(destination.split("#", 1)[0])
        shown = found["text"].strip() or destination
    else:
        return found[0]  # code, or an escaped character
    bundle = target(name.strip()) if name.strip() else ""
    if not bundle:
        return shown
    shown = shown.replace("|", " ").replace("\\", "/")
    return f"[[{bundle}\\|{shown}]]" if table else f"[[{bundle}|{shown}]]"


# One line of text

_PLAIN = str.maketrans({"[": "", "]": "", "|": " ", "^": "", "#": "", "`": "", "\\": "", "*": "", "<": "‹", ">": "›"})
_MARKUP = re.compile(r"[\[\]|^#`\\*<>%$]")
_DOUBLED = re.compile(r"([%$])\1+")
_LEAD = re.compile(r"(?:[ \t>]*(?:`{3,}|~{3,})[^\n]*\n)?[-+*>=~| \t]*(?:\[.\][ \t])?")
_NEXT = re.compile(r"\n[ \t>]*(?:[-*+|`~]|\d+[.)][ \t]|\n|\Z)")
_SNIPPET_CHARS = 72


def plain(text: str) -> str:
    """Return text as one line without markup: for a title, a heading, a tag."""
    line = " ".join(text.split())
    if not line.isprintable():
        line = "".join(filter(str.isprintable, line))
    if _MARKUP.search(line):
        line = _DOUBLED.sub(r"\1", " ".join(line.translate(_PLAIN).split()))
    return line


plain_label = lru_cache(maxsize=65_536)(plain)  # tags, buckets and headings stand over many atoms


def snippet(text: str) -> str:
    """Return the beginning of an atom's text, as a heading: its first sentence, item or row."""
    start = _LEAD.match(text)
    head = text[start.end() if start else 0 :][: _SNIPPET_CHARS * 2]
    if following := _NEXT.search(head):
        head = head[: following.start()]
    if "[" in head:
        head = shown_links(head)
    line = plain(head)
    if len(line) <= _SNIPPET_CHARS:
        return line
    whole_words = line[: _SNIPPET_CHARS + 1].rpartition(" ")[0].rstrip(" ,;:-")
    return (whole_words or line[:_SNIPPET_CHARS]) + "…"
