"""Front matter of every shape that people write, turned into one."""

import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from memoria.model import Field
from memoria.text import label_name

if TYPE_CHECKING:
    from frontmatter.default_handlers import YAMLHandler

# A larger block, or one that unfolds into more values than this, is not front matter that a person wrote.
MAX_CHARS = 64_000
MAX_VALUES = 10_000
PROSE_WORDS = 4
MAX_FIELD_WORDS = 24  # of a value that is no prose, so many make a note findable

_FENCE = re.compile(r"-{3}[ \t]*\Z")
_CLOSE = re.compile(r"(?:-{3}|\.{3})[ \t]*\Z")
_DAY = re.compile(r"(?<!\d)((?:19|20)\d\d)([-_/.]?)(0[1-9]|1[0-2])\2(0[1-9]|[12]\d|3[01])(?!\d)")
_LOOSE_DAY = re.compile(r"((?:19|20)\d\d)[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_WRITTEN_OUT = ("%d %B %Y", "%B %d, %Y", "%B %d %Y", "%d %b %Y", "%b %d, %Y", "%d.%m.%Y")
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))

# Other programs' words for tags; theirs may have spaces.
_TAG_KEYS = ("categories", "category", "topics", "topic", "keywords", "keyword")
# Read for what they are, and not kept as fields.
_OWN_KEYS = frozenset(
    ("title", "tags", "tag", "aliases", "alias", "bucket", "buckets", "date", "created", "updated", *_TAG_KEYS)
)

Value = str | list["Value"] | dict[str, "Value"]


class FrontMatter(NamedTuple):
    """What a note says about itself."""

    title: str = ""
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    buckets: tuple[str, ...] = ()
    date: str | None = None
    fields: tuple[Field, ...] = ()
    warning: str = ""


def split(lines: list[str]) -> tuple[list[str], int]:
    """Return the lines between the fences, and how many lines stand before the body; ([], 0) without front matter."""
    if lines and _FENCE.match(lines[0]):
        for number in range(1, len(lines)):
            if _CLOSE.match(lines[number]):
                return lines[1:number], number + 1
    return [], 0


def parse(lines: list[str], today: date) -> FrontMatter:
    """Read front matter; what can't be read is told in `warning` and leaves the rest of the note alone."""
    text = "\n".join(lines)
    if not text.strip():
        return FrontMatter()
    if len(text) > MAX_CHARS:
        return FrontMatter(warning=f"front matter of over {MAX_CHARS:,} characters is kept as text")
    try:
        loaded: dict[str, tuple[Value, int]] = _handler().load(text)
    except _UnreadableError as error:
        return FrontMatter(warning=f"front matter {error} and is kept as text")
    except Exception as error:
        reason = _yaml_reason(error)
        if not reason:
            raise
        return FrontMatter(warning=f"front matter is not valid YAML and is kept as text ({reason})")
    values = {key: value for key, (value, _) in loaded.items()}
    title = values.get("title", "")
    return FrontMatter(
        title=title if isinstance(title, str) else "",
        tags=tuple(
            _labels(
                [
                    *_tag_list(values.get("tags", "")),
                    *_tag_list(values.get("tag", "")),
                    *(label for key in _TAG_KEYS for label in _listed(values.get(key, ""))),
                ]
            )
        ),
        aliases=tuple(_texts([*_listed(values.get("aliases", "")), *_listed(values.get("alias", ""))])),
        buckets=tuple(_labels([*_listed(values.get("bucket", "")), *_listed(values.get("buckets", ""))])),
        date=_first_day((values.get(key, "") for key in ("date", "created", "updated")), today),
        fields=tuple(
            Field(key, text, line)
            for key, (value, line) in loaded.items()
            if key not in _OWN_KEYS and (text := _flat(_to_first(value) if key == "relationships" else value))
        ),
    )


def is_prose(value: str) -> bool:
    """Tell whether a value is text to be read (a description, an intro), and not a word or a list of names."""
    return any(len(part.split()) >= PROSE_WORDS for part in re.split(r"[,;]", value))


def day_in(text: str, today: date) -> str | None:
    """Return the first date in `text` (a name, a path) as ISO, unless it lies in the future."""
    for year, _, month, day in _DAY.findall(text):
        found = _iso(int(year), int(month), int(day), today)
        if found:
            return found
    return None


class _UnreadableError(Exception):
    pass


@cache
def _handler() -> "YAMLHandler":
    # Imported here: YAML costs a command 12 ms, and only ingest needs it.
    import yaml
    from frontmatter.default_handlers import YAMLHandler

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

    class Handler(YAMLHandler):
        """Reads values as they are written, with their lines.

        YAML's own types would turn a title 2026-03-14 into a date, 1.10 into 1.1 and `no` into False; and without
        building objects there is nothing that !!python/object could do.
        """

        def load(self, fm: str, **_: object) -> dict[str, tuple[Value, int]]:
            root = yaml.compose(fm, Loader=loader)
            if root is None:
                return {}
            if not isinstance(root, yaml.MappingNode):
                raise _UnreadableError("is not a list of `name: value` lines")
            budget = [MAX_VALUES]
            found = {}
            for key, node in root.value:
                name = key.value.strip().lower() if isinstance(key, yaml.ScalarNode) else ""
                if name:
                    found[name] = (_plain(node, budget), key.start_mark.line + 2)
            if root.value and not found:  # {{title}}: a template that was never filled in
                raise _UnreadableError("is not a list of `name: value` lines")
            return found

    return Handler()


def _plain(node: Any, budget: list[int]) -> Value:
    budget[0] -= 1
    if budget[0] < 0:  # aliases that unfold without end
        raise _UnreadableError(f"unfolds into over {MAX_VALUES:,} values")
    if node.id == "scalar":
        quoted = node.style in ("'", '"', "|", ">")
        return "" if not quoted and node.value in _NULLS else " ".join(node.value.split())
    if node.id == "sequence":
        return [_plain(item, budget) for item in node.value]
    return {str(_flat(_plain(key, budget))): _plain(item, budget) for key, item in node.value}


def _yaml_reason(error: Exception) -> str:
    """Return why YAML could not be read, or "" where the error is not about YAML."""
    import yaml

    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if not isinstance(error, (yaml.YAMLError, ValueError)):
        return ""
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).split("\n", 1)[0] or type(error).__name__
    return f"line {mark.line + 2}: {problem}" if mark else str(problem)


def _listed(value: Value) -> Iterable[Value]:
    if isinstance(value, str):
        return value.split(",")
    return value if isinstance(value, list) else ()


def _tag_list(value: Value) -> Iterable[Value]:
    if isinstance(value, str) and "," not in value:
        return value.split()  # `tags: one two` are two: a tag has no spaces
    return _listed(value)


def _texts(values: Iterable[Value]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str) and value.strip():
            yield value.strip()


def _labels(values: Iterable[Value]) -> Iterator[str]:
    yield from dict.fromkeys(filter(None, map(label_name, _texts(values))))


def _first_day(values: Iterable[Value], today: date) -> str | None:
    for value in values:
        found = _day_of(value, today) if isinstance(value, str) and value else None
        if found:
            return found
    return None


def _day_of(text: str, today: date) -> str | None:
    loose = _LOOSE_DAY.match(text)
    if loose:
        return _iso(int(loose[1]), int(loose[2]), int(loose[3]), today)
    found = day_in(text[:40], today)
    if found:
        return found
    for form in _WRITTEN_OUT:
        try:
            day = datetime.strptime(text[:40], form)  # noqa: DTZ007 - a day, not a moment
        except ValueError:
            continue
        return _iso(day.year, day.month, day.day, today)
    return None


def _iso(year: int, month: int, day: int, today: date) -> str | None:
    try:
        found = date(year, month, day)
    except ValueError:
        return None
    return found.isoformat() if found <= today else None


def _to_first(value: Value) -> Value:
    """Return relationships so that each begins with whom it leads to and ends with the notes on it."""
    if isinstance(value, dict):
        order = {"to": -1, "notes": 1}
        return dict(sorted(value.items(), key=lambda item: order.get(item[0], 0)))
    return [_to_first(item) for item in value] if isinstance(value, list) else value


def _flat(value: Value) -> str:
    """Return a value on one line: lists by comma, mappings as `name: value; …`."""
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_flat(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(filter(None, map(_flat, value)))
    return value
