"""The tables: what was measured, as ratios, and what of it is within the targets."""

from typing import NamedTuple

from benchmarks.contest import Row

SMALL_ATOMS = 5_000
LARGE_ATOMS = 50_000


class Target(NamedTuple):
    """The most that something may be: in its unit, or as a ratio to a contestant."""

    most: float
    to: str = ""  # fts5 | rg | nothing, for a plain amount

    def verdict(self, row: Row) -> str:
        """Return the target and whether it is kept, or nothing where there is nobody to compare with."""
        value: float | None = row.memoria
        if self.to:
            value = _ratio(row.memoria, row.rg if self.to == "rg" else row.fts5)
            said = f"{self.most:g}x {'FTS5' if self.to == 'fts5' else self.to}"
        else:
            said = shown(self.most, row.unit)
        return "" if value is None else f"{said}: {'ok' if value <= self.most else 'OVER'}"


_ALWAYS = {
    "peak": [Target(150e6)],
    "peak_all": [Target(150e6)],
    "noop": [Target(0.5)],
    "changed": [Target(0.4)],
    "small_search": [Target(2.5, "fts5")],
    "activate50": [Target(0.05)],
}
_SMALL = {**_ALWAYS, "search": [Target(2.5, "fts5")]}
_LARGE = {
    **_ALWAYS,
    "cold": [Target(4, "fts5")],
    "size": [Target(2.5, "fts5")],
    "search": [Target(1.5, "fts5"), Target(1, "rg")],
    "inside50": [Target(1, "fts5")],
    "inside95": [Target(1, "fts5")],
}

_GROWING = [
    "cold",
    "cpu",
    "peak",
    "peak_all",
    "size",
    "noop",
    "changed",
    "search",
    "inside50",
    "inside95",
    "read50",
    "activate50",
]


def table(rows: list[Row]) -> str:
    """Return a vault's table."""
    atoms = next((row.memoria for row in rows if row.key == "atoms"), 0)
    targets = _SMALL if atoms < SMALL_ATOMS else _LARGE if atoms >= LARGE_ATOMS else _ALWAYS
    lines = [["", "memoria", "FTS5", "rg", "x FTS5", "x rg", "target"]]
    for row in rows:
        plain = row.unit == "count"
        ratios = ["", ""] if plain else [_times(row.memoria, row.fts5), _times(row.memoria, row.rg)]
        said = [target.verdict(row) for target in targets.get(row.key, ())]
        amounts = [shown(amount, row.unit) for amount in (row.memoria, row.fts5, row.rg)]
        lines.append([row.what, *amounts, *ratios, ", ".join(filter(None, said))])
    return aligned(lines)


def growth(vaults: list[list[Row]]) -> str:
    """Return how memoria grows with the vault, and its ratio to FTS5 at each size."""
    by_key = [{row.key: row for row in rows} for rows in vaults]
    lines = [["memoria (x FTS5)", *(f"{rows['atoms'].memoria:,.0f} atoms" for rows in by_key), "last / first"]]
    for key in _GROWING:
        found = [rows[key] for rows in by_key]
        cells = [
            shown(row.memoria, row.unit) + (f" ({times})" if (times := _times(row.memoria, row.fts5)) else "")
            for row in found
        ]
        lines.append([found[0].what, *cells, _times(found[-1].memoria, found[0].memoria)])
    atoms = [rows["atoms"].memoria for rows in by_key]
    lines.append(["atoms", *(f"{count:,.0f}" for count in atoms), _times(atoms[-1], atoms[0])])
    return aligned(lines)


def shown(amount: float | None, unit: str) -> str:
    """Return an amount as people read it."""
    if amount is None:
        return ""
    if unit == "s":
        return f"{amount:.2f} s" if amount >= 1 else f"{amount * 1000:.0f} ms" if amount >= 0.1 else _fine(amount)
    if unit == "MB":
        return f"{amount / 1e6:.0f} MB" if amount >= 1e7 else f"{amount / 1e6:.1f} MB"
    return f"{amount / 1e3:.1f} KB" if unit == "KB" else f"{amount:,.0f}"


def _fine(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds >= 0.001 else f"{seconds * 1000:.2f} ms"


def _ratio(amount: float, other: float | None) -> float | None:
    return amount / other if other else None


def _times(amount: float, other: float | None) -> str:
    ratio = _ratio(amount, other)
    return "" if ratio is None else f"{ratio:.2f}x" if ratio < 10 else f"{ratio:.0f}x"


def aligned(lines: list[list[str]]) -> str:
    """Return lines of cells as columns: numbers to the right, the first and the last column to the left."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    last = len(widths) - 1
    said = []
    for line in lines:
        cells = [
            cell.ljust(width) if place in (0, last) and not cell.endswith("x") else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        said.append("  ".join(cells).rstrip())
    return "\n".join(said)
