"""What dreams found, as pages of the mirror: a diary, and a note for each storyline and macro. Pure."""

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime

from memoria.mirror.body import plain
from memoria.mirror.names import name_of
from memoria.mirror.navigation import ExtraPage
from memoria.mirror.page import yaml_text
from memoria.model import Macro, Storyline

DIARY = "Diary.md"

LinkTo = Callable[[int], str]  # a source -> a link to its bundle


def dream_pages(
    lines: Sequence[Storyline], macros: Sequence[Macro], diary: Iterable[tuple[int, int, str]], link: LinkTo
) -> list[ExtraPage]:
    """Return the pages; none where nothing was dreamed."""
    pages = [_diary(diary)]
    by_id = {line.id: line for line in lines}
    within = {number: macro for macro in macros for number in macro.storylines}
    pages += (_storyline(line, within.get(line.id), link) for line in lines)
    pages += (_macro(macro, [by_id[number] for number in macro.storylines if number in by_id]) for macro in macros)
    return [page for page in pages if page.text]


def _diary(entries: Iterable[tuple[int, int, str]]) -> ExtraPage:
    """Return what the last dreams did, the newest first; times are UTC, so that every machine writes the same."""
    lines: list[str] = []
    for _, at, report in entries:
        lines += ["", f"## {datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC", ""]
        lines += [f"- **{step['step']}**: {plain(step['text'])}" for step in json.loads(report)["steps"]]
    return ExtraPage(DIARY, "\n".join(["# Diary of the dreams", *lines]) + "\n" if lines else "")


def _storyline(line: Storyline, macro: Macro | None, link: LinkTo) -> ExtraPage:
    about = [f"About {plain(', '.join((line.anchor, *line.aliases)))}; {len(line.sources):,} notes."]
    if macro:
        about.append(f"Part of [[{_name(macro)}|{plain(macro.name)}]].")
    timeline = ["## Timeline", "", *(f"- {link(number)}" for number in line.sources)]
    return _page("storyline", line, [" ".join(about), "", *timeline])


def _macro(macro: Macro, lines: Sequence[Storyline]) -> ExtraPage:
    listed = [f"- {line.first} to {line.last}: [[{_name(line)}|{plain(line.name)}]]" for line in lines]
    return _page("macro", macro, ["## Storylines", "", *listed])


def _page(kind: str, found: Storyline | Macro, body: list[str]) -> ExtraPage:
    head = ["---", f"kind: {kind}", f"first: {found.first}", f"last: {found.last}", f"title: {yaml_text(found.name)}"]
    lines = [*head, "---", f"# {plain(found.name)}", "", f"{found.first} to {found.last}.", ""]
    lines += [plain(found.summary), ""] if found.summary else []
    return ExtraPage(f"_{kind}s/{_name(found)}.md", "\n".join([*lines, *body]) + "\n")


def _name(found: Storyline | Macro) -> str:
    return f"{name_of(found.name)}_{found.id}"
