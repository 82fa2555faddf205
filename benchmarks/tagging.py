"""Auto-tags on vaults with half of the human tags hidden: precision, recall, F1.

A vault is a folder with `vault/` (the notes), `truth.jsonl` ({path, tags} of the notes whose tags are hidden) and
`visible.json` (how often each visible tag is used).

    python -m benchmarks.tagging FOLDER      every vault below the folder
"""

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator
from datetime import date
from typing import NamedTuple

from memoria import markdown
from memoria.dream import tagging
from memoria.dream.tagwords import BODY_CHARS, TagNote

Tags = dict[str, list[str]]  # path -> its tags, best first


class Figures(NamedTuple):
    """How good the tags of a vault's hidden notes are."""

    precision: float
    recall: float
    f1: float
    right: float  # share of the notes with at least one right tag
    cover: float  # share of the notes with a tag
    new: int  # tags that nobody used

    def line(self) -> str:
        """Return the figures as a line of a table."""
        return "  ".join(f"{value:6.3f}" for value in self[:5]) + f"  {self.new:4d}"


def figures(truth: Tags, given: Tags, visible: Iterable[str]) -> Figures:
    """Hold the tags that were given against the hidden ones."""
    right = sum(len(set(truth[path]) & set(given.get(path, []))) for path in truth)
    all_given = sum(len(given.get(path, [])) for path in truth)
    precision = right / max(1, all_given)
    recall = right / max(1, sum(map(len, truth.values())))
    notes = max(1, len(truth))
    return Figures(
        precision,
        recall,
        2 * precision * recall / max(1e-9, precision + recall),
        sum(bool(set(truth[path]) & set(given.get(path, []))) for path in truth) / notes,
        sum(bool(given.get(path)) for path in truth) / notes,
        len({tag for tags in given.values() for tag in tags}.difference(visible)),
    )


def read(vault: str) -> Iterator[tuple[str, TagNote]]:
    """Read a vault's notes, as a dream sees them."""
    today = date(2026, 1, 1)
    paths = sorted(
        os.path.relpath(os.path.join(folder, name), vault)
        for folder, _, names in os.walk(vault)
        for name in names
        if name.endswith(".md")
    )
    parsed = []
    for path in paths:
        with open(os.path.join(vault, path), encoding="utf-8", errors="replace") as file:
            parsed.append((path, markdown.parse(file.read(), path, today)))
    named = {os.path.splitext(os.path.basename(path))[0].lower(): number for number, (path, _) in enumerate(parsed)}
    for number, (path, note) in enumerate(parsed):
        folders, name = os.path.split(path)
        targets = (link.target for atom in note.atoms for link in atom.links)
        found = (named.get(os.path.splitext(os.path.basename(target))[0].lower()) for target in targets)
        yield (
            path,
            TagNote(
                number,
                note.title,
                os.path.splitext(name)[0],
                tuple(folders.split("/")) if folders else (),
                tuple(dict.fromkeys(heading for atom in note.atoms for heading in atom.heading)),
                "\n".join(atom.text for atom in note.atoms)[:BODY_CHARS],
                tuple(dict.fromkeys([*note.tags, *(tag for atom in note.atoms for tag in atom.tags)])),
                tuple(sorted({other for other in found if other is not None and other != number})),
            ),
        )


def measure(prepared: str) -> tuple[Figures, float]:
    """Tag a vault; return the figures, and the seconds it took."""
    with open(os.path.join(prepared, "truth.jsonl"), encoding="utf-8") as file:
        truth = {row["path"]: row["tags"] for row in map(json.loads, file)}
    with open(os.path.join(prepared, "visible.json"), encoding="utf-8") as file:
        visible = json.load(file)
    notes = list(read(os.path.join(prepared, "vault")))
    begun = time.perf_counter()
    model = tagging.fit(note for _, note in notes)
    tags = tagging.predict(model, (note for _, note in notes if not note.tags))
    seconds = time.perf_counter() - begun
    given = {path: [tag.tag for tag in tags[note.id]] for path, note in notes if not note.tags}
    return figures(truth, given, visible), seconds


def main(folder: str) -> None:
    """Print a line per vault."""
    places = [
        place for place, folders, names in sorted(os.walk(folder)) if "truth.jsonl" in names and "vault" in folders
    ]
    if not places:
        print(f"there are no vaults with hidden tags in {folder}: nothing to measure")
        return
    print("auto-tags       prec     rec      F1   right   cover   new  seconds")
    for place in places:
        found, seconds = measure(place)
        print(f"{os.path.basename(place):12}  {found.line()}  {seconds:7.2f}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else os.path.join("..", "shared", "eval"))
