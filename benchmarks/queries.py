"""What is asked: a corpus's own titles and headings, and the queries of a file."""

import json
from random import Random

from benchmarks.fts5 import files_below

_MARKS = "\"'`*_~()[]{}<>|#!?.,:;-–—%/\\"
_HEAD_LINES = 40


def own_queries(folder: str, count: int) -> list[list[str]]:
    """Return a seeded sample of the titles and headings below a folder, each as its words."""
    found: dict[tuple[str, ...], None] = {}
    for path, _, _ in files_below(folder):
        with open(path, encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file):
                if line.startswith("#") or (number < _HEAD_LINES and line.startswith("title:")):
                    words = words_of(line.removeprefix("title:"))
                    if words and "{" not in line:
                        found[tuple(words)] = None
    # The sample is of different ones: headings that every note repeats would be most of it.
    return [list(words) for words in Random(1).sample(list(found), min(count, len(found)))]


def queries_in(path: str) -> list[list[str]]:
    """Return the queries of a JSON list of strings."""
    with open(path, encoding="utf-8") as file:
        return [words for text in json.load(file) if (words := words_of(text))]


def words_of(text: str) -> list[str]:
    """Return a query's words, without the marks around them that would be options or syntax to somebody."""
    return [word for part in text.split() if (word := part.strip(_MARKS)) and any(map(str.isalnum, word))]
