"""The pages that lead to the bundles: Home, an index note for each bucket and tag, a table, a map. Pure."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from memoria.mirror.body import plain, plain_label
from memoria.mirror.manifest import Entry, Totals
from memoria.mirror.names import UNTAGGED, index_name
from memoria.mirror.page import tag_shown, yaml_text

MOST_LISTED = 500  # links of an index note; a longer list is for the folder, or the table
_HOME_TAGS = 30
_HOME_NOTES = 15
_HOME_DREAMS = 10
_MAP_BUCKETS = 8
_MAP_TAGS = 12
_MAP_EDGES = 30
_CANVAS_TAGS = 24
_CANVAS_EDGES = 60
_RELATED = 12

HOME = "Home.md"
BASE = "Bundles.base"
CANVAS = "Tags.canvas"

Entries = Callable[[int], Entry]


class ExtraPage(NamedTuple):
    """A page that somebody else wrote for the mirror, such as a dream's diary."""

    path: str  # relative to the mirror, with slashes
    text: str

    @property
    def link(self) -> str:
        """A link to it."""
        name = self.path.rsplit("/", 1)[-1].removesuffix(".md")
        title = next((line[2:] for line in self.text.split("\n") if line.startswith("# ")), name)
        return f"[[{name}|{plain(title)}]]"


def home(totals: Totals, newest: Sequence[int], entry: Entries, extra: Sequence[ExtraPage]) -> str:
    """Return what is in this brain."""
    lines = [
        "# Home",
        "",
        ", ".join([_notes(totals.notes), _atoms(totals.atoms), *_labels(totals)]) + ".",
        "memoria writes these pages anew when the notes change: edit the notes.",
        "",
        f"All bundles: [[{BASE}|table]]. The strongest tags: [[{CANVAS}|canvas]].",
        "",
        "## Buckets",
        "",
        *_table(
            "bucket",
            ((f"@{plain_label(name)}", index_name("bucket", name), row) for name, row in _largest(totals.buckets)),
        ),
    ]
    tags = [(name, row) for name, row in _largest(totals.tags) if name != UNTAGGED and row[1]]
    if tags:
        more = f" ({_HOME_TAGS} of {len(tags):,})" if len(tags) > _HOME_TAGS else ""
        shown = ((tag_shown(name), index_name("tag", name), row) for name, row in tags[:_HOME_TAGS])
        lines += [f"## Largest tags{more}", "", *_table("tag", shown)]
    if UNTAGGED in totals.tags:
        row = totals.tags[UNTAGGED]
        link = f"[[{index_name('tag', UNTAGGED)}|without a tag]]"
        lines += [f"{_atoms(row[0])} of {_notes(len(row[1]))} are {link}.", ""]
    recent = [(number, found) for number in newest if (found := entry(number)).sets][:_HOME_NOTES]
    if recent:
        lines += ["## Newest notes", ""]
        lines += [
            f"- {found.date} [[{found.bundle()}|{_title(found)}]] @{plain_label(found.buckets[0])}"
            for _, found in recent
        ]
        lines.append("")
    if extra:
        lines += ["## Recent dreams", ""]
        lines += [f"- {page.link}" for page in extra[:_HOME_DREAMS]]
        lines.append("")
    lines += _map(totals, [name for name, _ in tags[:_MAP_TAGS]])
    return "\n".join(lines).rstrip("\n") + "\n"


def index(kind: str, name: str, totals: Totals, entry: Entries) -> str:
    """Return the index note of a tag or a bucket."""
    return _bucket_index(name, totals, entry) if kind == "bucket" else _tag_index(name, totals, entry)


def _bucket_index(name: str, totals: Totals, entry: Entries) -> str:
    atoms, numbers = totals.buckets[name]
    lines = _index_head("bucket", name, f"@{plain_label(name)}", len(numbers), atoms)
    group = totals.groups[name]
    rows = sorted(group.items(), key=lambda item: (-item[1][1], item[0]))
    lines += ["## Tags", ""]
    cells = (
        (tag_shown(tag), index_name("tag", tag), [some, range(notes)]) for tag, (notes, some) in rows[:MOST_LISTED]
    )
    lines += _table("tag", cells)
    found = sorted((entry(number) for number in numbers), key=_order)
    lines += ["## Notes", "", *_listed((found_, found_.bundle(name), found_.atoms) for found_ in found)]
    lines += _rest(len(found))
    return "\n".join(lines).rstrip("\n") + "\n"


def _tag_index(name: str, totals: Totals, entry: Entries) -> str:
    atoms, numbers, dreamed = totals.tags[name]
    lines = _index_head(
        "tag", name, "Without a tag" if name == UNTAGGED else f"Tag {plain_label(name)}", len(numbers), atoms
    )
    below = sorted(other for other in totals.tags if other.startswith(name + "/"))
    if below:
        links = [f"[[{index_name('tag', other)}|{tag_shown(other)}]]" for other in below[:MOST_LISTED]]
        lines += [f"Below it: {', '.join(links)}", ""]
    related = sorted(totals.pairs.get(name, {}).items(), key=lambda item: (-item[1], item[0]))[:_RELATED]
    if related:
        links = [f"[[{index_name('tag', other)}|{tag_shown(other)}]] {some:,}" for other, some in related]
        lines += [f"Shares atoms with: {', '.join(links)}", ""]
    by_bucket: dict[str, list[Entry]] = {}
    for found in sorted(map(entry, numbers), key=_order):
        for bucket in found.buckets:
            by_bucket.setdefault(bucket, []).append(found)
    room = MOST_LISTED
    for bucket in sorted(by_bucket):
        notes, some = totals.groups[bucket][name]
        link = f"[[{index_name('bucket', bucket)}|@{plain_label(bucket)}]]"
        lines += [f"## {link}", "", f"{_notes(notes)}, {_atoms(some)}", ""]
        listed = by_bucket[bucket][:room]
        lines += _listed((found, found.bundle(bucket, name), found.placed()[name]) for found in listed)
        lines += _rest(len(by_bucket[bucket]), len(listed))
        room -= len(listed)
    if dreamed:
        lines += ["## Dreamed", "", "Notes that have other tags; the dream found this one in them.", ""]
        found_ = sorted(map(entry, dreamed), key=_order)
        lines += _listed((found, found.bundle(), found.dreamed()[name]) for found in found_[:MOST_LISTED])
        lines += _rest(len(found_))
    return "\n".join(lines).rstrip("\n") + "\n"


def _index_head(kind: str, name: str, heading: str, notes: int, atoms: int) -> list[str]:
    return [
        "---",
        f"{kind}: {yaml_text(name)}",
        f"notes: {notes}",
        "---",
        f"# {heading}",
        "",
        f"[[Home]] · {_notes(notes)} · {_atoms(atoms)}",
        "",
    ]


def _listed(rows: Iterable[tuple[Entry, str, int]]) -> list[str]:
    lines = []
    for number, (entry, bundle, atoms) in enumerate(rows):
        if number == MOST_LISTED:
            break
        when = f" · {entry.date}" if entry.date else ""
        lines.append(f"- [[{bundle}|{_title(entry)}]] · {_atoms(atoms)}{when}")
    return [*lines, ""]


def _rest(all_: int, listed: int = MOST_LISTED) -> list[str]:
    return (
        [f"… and {all_ - listed:,} more: they are in the folder, and in the [[{BASE}|table]].", ""]
        if all_ > listed
        else []
    )


def _table(what: str, rows: Iterable[tuple[str, str, Sequence[object]]]) -> list[str]:
    lines = [f"| {what} | notes | atoms |", "|---|--:|--:|"]
    for shown, link, row in rows:
        lines.append(f"| [[{link}\\|{shown}]] | {len(row[1]):,} | {row[0]:,} |")  # type: ignore[arg-type]
    return [*lines, ""]


def _largest(table: dict[str, list[object]]) -> list[tuple[str, list[object]]]:
    return sorted(table.items(), key=lambda item: (-item[1][0], item[0]))  # type: ignore[operator]


def _order(entry: Entry) -> tuple[str, str]:
    return entry.title.casefold(), entry.seed


def _title(entry: Entry) -> str:
    return plain(entry.title) or "Untitled"


def _labels(totals: Totals) -> list[str]:
    return [_count(len(totals.buckets), "bucket"), _count(len(totals.tags) - (UNTAGGED in totals.tags), "tag")]


def _notes(count: int) -> str:
    return _count(count, "note")


def _atoms(count: int) -> str:
    return _count(count, "atom")


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun if count == 1 else noun + 's'}"


def _map(totals: Totals, tags: list[str]) -> list[str]:
    """Return the largest buckets and tags as a Mermaid graph: a line is a bucket's tag, thicker with more atoms."""
    buckets = [name for name, _ in _largest(totals.buckets)[:_MAP_BUCKETS]]
    edges = sorted(
        (
            (-totals.groups[bucket][tag][1], bucket, tag)
            for bucket in buckets
            for tag in tags
            if tag in totals.groups.get(bucket, {})
        ),
    )[:_MAP_EDGES]
    if not edges:
        return []
    lines = ["## Map", "", "```mermaid", "graph LR"]
    places = {bucket: f"b{number}" for number, bucket in enumerate(buckets)}
    marks = {tag: f"t{number}" for number, tag in enumerate(tags)}
    drawn = {bucket for _, bucket, _ in edges}, {tag for _, _, tag in edges}
    lines += [f'  {places[name]}["@{_quoted(name)}"]' for name in buckets if name in drawn[0]]
    lines += [f'  {marks[name]}("#35;{_quoted(name)}")' for name in tags if name in drawn[1]]
    lines += [f"  {places[bucket]} ---|{-atoms:,}| {marks[tag]}" for atoms, bucket, tag in edges]
    return [*lines, "```", ""]


def _quoted(text: str) -> str:
    """Return text inside a Mermaid label: its own quotes and entities are not ours."""
    return plain_label(text).translate(_MERMAID)


_MERMAID = str.maketrans({'"': "#quot;", "&": "#amp;", ";": "#59;", "‹": "#lt;", "›": "#gt;"})


def base() -> str:
    """Return an Obsidian base: the bundles as tables."""
    return """filters:
  and:
    - file.ext == "md"
    - file.hasProperty("atoms")
formulas:
  bundle: file.asLink(title)
properties:
  formula.bundle:
    displayName: note
views:
  - type: table
    name: All bundles
    order: [formula.bundle, bucket, tag, page, atoms, date, source, tags]
    sort:
      - property: note.bucket
        direction: ASC
      - property: note.tag
        direction: ASC
      - property: note.title
        direction: ASC
  - type: table
    name: By tag
    groupBy:
      property: note.tag
      direction: ASC
    order: [formula.bundle, bucket, atoms, date]
  - type: table
    name: Newest
    order: [date, formula.bundle, bucket, tag, atoms]
    sort:
      - property: note.date
        direction: DESC
"""


def canvas(totals: Totals) -> str:
    """Return a JSON Canvas of the strongest tags, on a ring, and how they share atoms."""
    from math import cos, pi, sin

    tags = [name for name, row in _largest(totals.tags) if name != UNTAGGED and row[1]][:_CANVAS_TAGS]
    radius = 180 + 55 * len(tags)
    nodes = []
    for number, name in enumerate(tags):
        angle = 2 * pi * number / len(tags)
        atoms, numbers, _ = totals.tags[name]
        link = f"[[{index_name('tag', name)}|{tag_shown(name)}]]"
        nodes.append(
            {
                "id": f"t{number}",
                "type": "text",
                "text": f"## {link}\n{_notes(len(numbers))}, {_atoms(atoms)}",
                "x": round(radius * cos(angle)) - 120,
                "y": round(radius * sin(angle)) - 50,
                "width": 240,
                "height": 100,
                "color": str(1 + number * 6 // max(1, len(tags))),
            }
        )
    places = {name: number for number, name in enumerate(tags)}
    shared = sorted(
        (-atoms, places[one], places[other])
        for one in tags
        for other, atoms in totals.pairs.get(one, {}).items()
        if other in places and places[one] < places[other]
    )
    edges = [
        {
            "id": f"e{one}-{other}",
            "fromNode": f"t{one}",
            "toNode": f"t{other}",
            "toEnd": "none",
            "label": f"{-atoms:,}",
        }
        for atoms, one, other in shared[:_CANVAS_EDGES]
    ]
    return json.dumps({"nodes": nodes, "edges": edges}, ensure_ascii=False, indent=1) + "\n"
