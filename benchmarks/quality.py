"""Search quality on prepared question sets: recall of known evidence within a budget of characters.

A set is a folder with `notes/` and `queries.jsonl`; each query has `query`, `category` and `relevant` passages
(`path`, `text`, and `id`, the block id that marks the passage in its note). Questions of the category
`adversarial` have no answer
and are left out.

    python -m benchmarks.quality FOLDER      every set below the folder
"""

import json
import math
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from memoria.text import terms

BUDGETS = (4_000, 8_000)
MODES: dict[str, list[str]] = {
    "memoria": [],
    "memoria --activate": ["--activate"],
    "memoria --no-walk": ["--no-walk"],
    "memoria --strict": ["--strict"],
    "memoria, dreamed": [],
    "--activate, dreamed": ["--activate"],
    "--strict, dreamed": ["--strict"],
}
DREAMED = ("memoria, dreamed",)  # from here on, with what a dream made of the notes
SURE_CHARS = 40  # a passage shorter than this counts only in its own note

Piece = tuple[str, str]  # path, text
Search = Callable[[str, int], list[Piece]]


class Figures(NamedTuple):
    """Recall, and how often all the evidence was found, within each budget; one entry a question."""

    recall: dict[int, list[float]]
    complete: dict[int, list[float]]

    @classmethod
    def none(cls) -> "Figures":
        """Return figures of no questions."""
        return cls({budget: [] for budget in BUDGETS}, {budget: [] for budget in BUDGETS})

    def add(self, budget: int, share: float) -> None:
        """Note one question."""
        self.recall[budget].append(share)
        self.complete[budget].append(float(share == 1))

    def line(self) -> str:
        """Return the figures in percent."""
        values = [
            self.recall[4_000], self.recall[8_000], self.complete[4_000], self.complete[8_000],
        ]  # fmt: skip
        return "  ".join(f"{100 * sum(value) / len(value):5.1f}" for value in values)


def plain(text: str) -> str:
    """Return a text as passages are compared: without bold marks, block ids and line breaks."""
    return " ".join(re.sub(r"\s\^[a-z]+\d[\w-]*", " ", text + " ").replace("**", "").split())


def found_share(relevant: list[dict[str, str]], pieces: Iterable[Piece], budget: int) -> float:
    """Return which share of the relevant passages lies within the first `budget` characters of the pieces."""
    found: set[int] = set()
    used = 0
    for path, text in pieces:
        if used >= budget:
            break
        room = budget - used
        words = plain(text)
        whole = len(words) <= room
        name = os.path.basename(path)
        for number, item in enumerate(relevant):
            here = name == os.path.basename(item["path"])
            wanted = plain(item["text"])
            by_text = wanted in words[:room] and (here or len(wanted) >= SURE_CHARS)
            if by_text or (whole and here and re.search(rf"\^{re.escape(item['id'])}(?![\w-])", text)):
                found.add(number)
        used += min(len(words), room) + 1
    return len(found) / len(relevant)


def sets_below(folder: str) -> Iterator[str]:
    """Yield the sets below a folder."""
    for place, folders, files in sorted(os.walk(folder)):
        if "queries.jsonl" in files and "notes" in folders:
            yield place


def questions(folder: str) -> list[dict[str, Any]]:
    """Return the questions of a set that have an answer."""
    with open(os.path.join(folder, "queries.jsonl"), encoding="utf-8") as file:
        loaded = [json.loads(line) for line in file]
    return [question for question in loaded if question["category"] != "adversarial"]


def blocks(folder: str) -> list[Piece]:
    """Return every paragraph of a set's notes: what the plain contestants search."""
    found: list[Piece] = []
    notes = os.path.join(folder, "notes")
    for name in sorted(os.listdir(notes)):
        with open(os.path.join(notes, name), encoding="utf-8") as file:
            body = re.sub(r"\A---\n.*?\n---\n", "", file.read(), flags=re.DOTALL)
        parts = [part.strip() for part in body.split("\n\n")]
        found += ((name, part) for part in parts if part and not part.startswith("# "))
    return found


def filled(ranked: Iterable[Piece], budget: int) -> list[Piece]:
    """Return pieces while they fit."""
    found: list[Piece] = []
    used = 0
    for piece in ranked:
        if used + len(piece[1]) + 1 <= budget:
            found.append(piece)
            used += len(piece[1]) + 1
    return found


def bm25(folder: str) -> Search:
    """Return plain BM25 over paragraphs."""
    pieces = blocks(folder)
    counts = [Counter(terms(text)) for _, text in pieces]
    lengths = [sum(count.values()) for count in counts]
    average = sum(lengths) / len(lengths)
    holding: dict[str, list[int]] = {}
    for number, count in enumerate(counts):
        for term in count:
            holding.setdefault(term, []).append(number)

    def search(query: str, budget: int) -> list[Piece]:
        scores: Counter[int] = Counter()
        for term in set(terms(query)):
            held = holding.get(term, [])
            rarity = math.log(1 + (len(pieces) - len(held) + 0.5) / (len(held) + 0.5))
            for number in held:
                tf = counts[number][term]
                scores[number] += rarity * tf * 2.5 / (tf + 1.5 * (0.25 + 0.75 * lengths[number] / average))  # type: ignore[assignment]
        return filled((pieces[number] for number, _ in scores.most_common(400)), budget)

    return search


def fts5(folder: str) -> Search:
    """Return SQLite FTS5 over paragraphs, with Porter stems."""
    database = sqlite3.connect(":memory:")
    database.execute("create virtual table piece using fts5(path unindexed, text, tokenize = 'porter unicode61')")
    database.executemany("insert into piece values (?, ?)", blocks(folder))

    def search(query: str, budget: int) -> list[Piece]:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query))
        rows = database.execute(
            "select path, text from piece where piece match ? order by bm25(piece) limit 400", (words,)
        )
        return filled(rows.fetchall(), budget)

    return search


def memoria_answers(folder: str, brain: str, flags: list[str], budget: int) -> dict[str, list[Piece]]:
    """Return what the command answers to all questions of a set."""
    command = [sys.executable, "-m", "memoria", "--brain", brain, "search", "--json", "--budget", str(budget), *flags]
    done = subprocess.run(
        [*command, "--batch", os.path.join(folder, "queries.jsonl")], capture_output=True, text=True, check=True
    )
    answers: dict[str, list[Piece]] = {}
    for line in done.stdout.splitlines():
        hit = json.loads(line)
        answers.setdefault(hit["query_id"], []).append((hit["path"], hit["content"]))
    return answers


def measure(folder: str, totals: dict[str, Figures]) -> None:
    """Measure all contestants on one set."""
    asked = questions(folder)
    for name, search in (("BM25", bm25(folder)), ("SQLite FTS5", fts5(folder))):
        for budget in BUDGETS:
            for question in asked:
                share = found_share(question["relevant"], search(question["query"], budget), budget)
                totals.setdefault(name, Figures.none()).add(budget, share)
    with tempfile.TemporaryDirectory() as brain:
        ingest = [sys.executable, "-m", "memoria", "--brain", brain, "ingest", "-q", os.path.join(folder, "notes")]
        subprocess.run(ingest, check=True)
        for name, flags in MODES.items():
            if name in DREAMED:
                subprocess.run([sys.executable, "-m", "memoria", "--brain", brain, "dream", "-q"], check=True)
            for budget in BUDGETS:
                answers = memoria_answers(folder, brain, flags, budget)
                for question in asked:
                    share = found_share(question["relevant"], answers.get(question["id"], []), budget)
                    totals.setdefault(name, Figures.none()).add(budget, share)


def main(folder: str) -> None:
    """Print the figures of every group of sets below a folder."""
    groups: dict[str, list[str]] = {}
    if os.path.isdir(inner := os.path.join(folder, "data")):
        folder = inner
    for place in sets_below(folder):
        groups.setdefault(os.path.relpath(place, folder).split(os.sep)[0], []).append(place)
    if not groups:
        print(f"there are no question sets in {folder}: nothing to measure")
        return
    for group, places in groups.items():
        totals: dict[str, Figures] = {}
        for place in places:
            measure(place, totals)
        count = len(totals["BM25"].recall[BUDGETS[0]])
        print(f"\n{group}: {count} questions, recall and complete answers in percent")
        print(f"{'':<20}    R4k    R8k  All4k  All8k")
        for name, figures in totals.items():
            print(f"{name:<20}  {figures.line()}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else os.path.join("..", "shared", "eval"))
