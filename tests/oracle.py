"""Brute force: the same answers from plain dictionaries, written without a look at the product's index."""

import math
from collections import Counter
from datetime import date
from typing import NamedTuple

from memoria.frontmatter import is_prose
from memoria.model import source_node
from memoria.store import Store
from memoria.text import indexed_text, terms

MONTHS = "January February March April May June July August September October November December".split()


class Document(NamedTuple):
    """An atom as brute force sees it: all its words."""

    atom: int
    text: Counter[str]
    title: Counter[str]
    length: int
    title_length: int
    path: str
    line: int


def documents(store: Store) -> list[Document]:
    """Return all live atoms, read straight from the relations."""
    found = []
    for source in store.sources():
        shown, atoms = store.show_source(source.id)
        node = source_node(source.id)
        title = terms(source.title)
        if source.date:
            day = date.fromisoformat(source.date)
            title += [t for t in terms(f"{day.day} {MONTHS[day.month - 1]} {day.year}") if t not in title]
        names = [label.name for label in shown.labels.get(node, [])] + list(source.aliases)
        values = [field for _, field in store.fields([node])]
        lines = {node + place.ordinal: place.line for place in shown.outlines[source.id]}
        for position, atom in enumerate(atoms):
            words = terms(indexed_text(atom.text))
            counts = Counter(words)
            own = [*names, *atom.heading, *(label.name for label in shown.labels.get(atom.id, []))]
            if position == 0:
                own += [f"{v.name} {v.value}" for v in values if not is_prose(v.value)]
            for name in own:
                for term in terms(name):
                    if term not in counts and term not in title:
                        counts[term] = 1
            found.append(Document(atom.id, counts, Counter(title), len(words), len(title), source.path, lines[atom.id]))
    return found


def bm25(docs: list[Document], query: str, k1: float = 1.5, b: float = 0.75, average: float = 70.0) -> dict[int, float]:
    """Score by the textbook, the title counted twice."""
    scores: dict[int, float] = {}
    for term, weight in Counter(terms(query)).items():
        holding = [doc for doc in docs if doc.text[term] or doc.title[term]]
        rarity = math.log(1 + (len(docs) - len(holding) + 0.5) / (len(holding) + 0.5))
        for doc in holding:
            tf = min(doc.text[term], 255) + 2 * min(doc.title[term], 15)
            length = min(doc.length, 4095) + 2 * min(doc.title_length, 255)
            part = tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / average))
            scores[doc.atom] = scores.get(doc.atom, 0.0) + weight * rarity * part
    return scores
