"""What a person sees on a terminal: the only user of Rich."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.request import pathname2url

from rich.console import Console, Group
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from memoria.cli import trails
from memoria.cli.session import harmless, shown_path
from memoria.cli.wording import via_sentence
from memoria.model import Activation, Answer, Hit, ShownNote
from memoria.text import terms_of_word, word_spans

if TYPE_CHECKING:
    from memoria.retrieve.recall import Recall

_PATIENCE = 0.5  # seconds until a progress bar appears


def console() -> Console:
    """Return the console for data."""
    return Console(highlight=False, soft_wrap=False)


def render_answer(answer: Answer) -> None:
    """Print hits."""
    wanted = {term for word in answer.words for term in terms_of_word(word)} | answer.idfs.keys()
    out = console()
    for hit in answer.hits:
        out.print(_hit(hit, wanted))


def _hit(hit: Hit, wanted: set[str]) -> Group:
    head = Text(f"{hit.rank:>2}. ", style="dim", no_wrap=True, overflow="ellipsis")
    head.append_text(marked(hit.title, wanted, "bold cyan"))
    for heading in hit.heading:
        head.append(" › ", style="dim")
        head.append_text(marked(heading, wanted, "cyan"))
    where = Text("    ", no_wrap=True, overflow="ellipsis")
    where.append_text(path_link(hit.path, hit.line))
    for name in hit.buckets:
        where.append(f"  @{harmless(name)}", style="magenta")
    for name in hit.tags:
        where.append(f"  #{harmless(name)}", style="green")
    for name in hit.dream_tags:
        where.append(f"  ~#{harmless(name)}", style="dim green")
    where.append(f"  {hit.score:.2f}  {hit.key}", style="dim")
    if hit.stale:
        where.append("  changed since ingest", style="yellow")
    if hit.cut:
        where.append("  cut to the budget", style="yellow")
    if hit.role == "neighbor":
        via = Text(f"    {harmless(via_sentence(hit))}", style="italic magenta", no_wrap=True, overflow="ellipsis")
        return Group(head, where, via, Padding(marked(hit.content, wanted), (0, 0, 1, 4)))
    return Group(head, where, Padding(marked(hit.content, wanted), (0, 0, 1, 4)))


def render_activation(activation: Activation, *, explain: bool) -> None:
    """Print a seed's trails as a tree."""
    out = console()
    for branch in trails.branches(activation):
        step, spot = branch.step, branch.step.spot
        line = Text()
        line.append(f"{activation.seed_rank}. " if branch.before is None else branch.head, style="dim")
        line.append(f"{step.energy:.3f}  ", style="bold yellow")
        line.append(harmless(trails.edge_words(step)), style="magenta")
        line.append(
            harmless(" › ".join([spot.title, *spot.heading])), style="italic" if spot.what != "atom" else "bold cyan"
        )
        line.append("  ")
        if spot.what == "entity":
            line.append(f"({harmless(spot.content)})", style="dim")
        elif spot.line is not None:
            line.append_text(path_link(spot.path, spot.line))
        line.append(f"  {spot.key}", style="dim")
        line.append(harmless(trails.tag_words(step)), style="green")
        out.print(line, no_wrap=True, overflow="ellipsis")
        notes = [trails.factors(branch)] if explain and branch.before else []
        notes += [f"({branch.end})"] if branch.end else []
        for text, style in [(trails.snippet(spot, 400), ""), *((note, "dim italic") for note in notes)]:
            if text:
                below = Text().append(branch.below, style="dim").append(harmless(text), style=style or "default")
                out.print(below, no_wrap=True, overflow="ellipsis")
    out.print()


def render_note(note: ShownNote) -> None:
    """Print a note's atoms; what was asked for stands out from what is around it."""
    out = console()
    head = Text(harmless(note.source.title), style="bold cyan")
    for name in note.buckets:
        head.append(f"  @{harmless(name)}", style="magenta")
    for name in note.tags:
        head.append(f"  #{harmless(name)}", style="green")
    for name in note.dream_tags:
        head.append(f"  ~#{harmless(name)}", style="dim green")
    out.print(head)
    for atom in note.atoms:
        where = path_link(note.source.path, atom.line)
        where.append(f"  {atom.key}", style="dim")
        if atom.heading:
            where.append(f"  {harmless(' › '.join(atom.heading))}", style="cyan")
        out.print(where)
        style = "" if atom.asked else "dim"
        out.print(Padding(Text(harmless(atom.content), style=style), (0, 0, 1, 4)))


def path_link(path: str, line: int) -> Text:
    """Return path:line, clickable where the terminal can."""
    link = f" link file://{pathname2url(path)}" if path.startswith("/") else ""
    return Text(f"{harmless(shown_path(path))}:{line}", style=f"blue{link}")


def marked(content: str, wanted: set[str], style: str = "") -> Text:
    """Return text with the words that were asked for made visible."""
    content = harmless(content)
    text = Text(content, style=style)
    for start, end in word_spans(content):
        if not wanted.isdisjoint(terms_of_word(content[start:end])):
            text.stylize("bold yellow", start, end)
    return text


def render_narrative(found: "Recall", *, plain: bool) -> None:
    """Print what was recalled, a section for each entity."""
    from memoria.retrieve.recall import header, line_of

    out = console()
    section = None
    for one in found.facts:
        if one.entity != section:
            if section is not None:
                out.print()
            section = one.entity
            out.print(Text(harmless(header(one.name, plain=plain)), style="bold cyan"))
        line = Text(harmless(line_of(one, plain=plain)), style="dim" if one.way == "in" else "", overflow="fold")
        line.highlight_regex(r"^- (?:← |<- )?[^:]*:", "magenta")
        for path, number in one.told.places[:1]:
            line.append("  ")
            line.append_text(path_link(path, number))
        out.print(line)


def render_explored(sections: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Print what was explored, a panel for each section."""
    from rich.panel import Panel

    out = console()
    for title, lines in sections:
        text = Text(harmless("\n".join(lines)), overflow="fold")
        text.highlight_regex(r"(?m)^\d\.\d\d", "dim")
        text.highlight_regex(r"—[^→\n]*→", "magenta")
        text.highlight_regex(r"(?m)^ *\d{4}-\d\d-\d\d", "green")
        out.print(Panel(text, title=title, title_align="left", border_style="cyan", padding=(0, 1)))


def render_table(columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: (name, style) of each column, numbers to the right."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name, style in columns:
        right = style == "number"
        table.add_column(name, style="" if right else style, justify="right" if right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(harmless(cell)) for cell in row))
    console().print(table)


def render_facts(facts: Sequence[tuple[str, str]]) -> None:
    """Print names and values, one pair a line."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts:
        table.add_row(Text(name), Text(harmless(value)))
    console().print(table)


class Bar:
    """A progress bar on stderr that shows itself only when something takes a while."""

    def __init__(self, what: str) -> None:
        self._started = time.monotonic()
        self._what = what
        self._progress: Progress | None = None
        self._last = 0.0

    def update(self, done: int, total: int, _name: str = "") -> None:
        """Tell how far it is."""
        now = time.monotonic()
        if now - self._started < _PATIENCE or (now - self._last < 0.1 and done < total):  # noqa: PLR2004
            return
        self._last = now
        if self._progress is None:
            self._progress = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rate]}"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._progress.start()
            self._progress.add_task(self._what, total=total, rate="")
        rate = f"{done / (now - self._started):,.0f}/s"
        self._progress.update(self._progress.task_ids[0], completed=done, total=total, rate=rate)

    def stop(self) -> None:
        """Take the bar away."""
        if self._progress:
            self._progress.stop()


@contextmanager
def progress_bar(what: str) -> Iterator[Bar]:
    """Show progress while the block runs."""
    bar = Bar(what)
    try:
        yield bar
    finally:
        bar.stop()
