"""Lists: a table on a terminal, tab separated in a pipe."""

from collections.abc import Sequence

from memoria.cli.boundary import emit
from memoria.cli.session import decorated


def table(columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]) -> None:
    """Print rows; each column is (name, style), with `number` as the style of numbers."""
    if decorated() and rows:
        from memoria.cli.render import render_table

        render_table(columns, rows)
        return
    for row in rows:
        emit("\t".join(" ".join(cell.split()) for cell in row))


def facts(lines: Sequence[tuple[str, str]]) -> None:
    """Print names and values, one pair a line."""
    if decorated():
        from memoria.cli.render import render_facts

        render_facts(lines)
        return
    for name, value in lines:
        emit(f"{name}\t{value}")
