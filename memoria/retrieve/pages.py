"""Atoms of a ranking, read a page at a time."""

from collections.abc import Iterator
from heapq import nlargest

from memoria.model import source_node, source_of
from memoria.store import Shown, Store

_PAGE = 32


class Pages:
    """Reads what is shown of atoms as it is needed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._places: dict[int, tuple[str, int, int]] = {}
        self.shown = Shown({}, {}, {}, {})

    def ranked(self, scores: dict[int, float], most: int | None = None) -> Iterator[tuple[int, float]]:
        """Yield (atom, score), best first; equal ones by path and line, whatever the order of ingest."""
        wanted = min(_PAGE, most or _PAGE)
        given: set[int] = set()
        while True:
            # All that reach the score of the last wanted one: equal scores are ordered by place, so they come together.
            least = nlargest(wanted, scores.values())[-1] if wanted < len(scores) else 0.0
            page = [item for item in scores.items() if item[1] >= least and item[0] not in given]
            if not page:
                return
            self.read(atom for atom, _ in page)
            page = [item for item in page if item[0] in self.shown.atoms]
            if not page:
                return
            page.sort(key=lambda item: (-item[1], self.place(item[0])))
            yield from page
            given.update(atom for atom, _ in page)
            wanted = len(given) + 4 * _PAGE

    def read(self, atoms: Iterator[int]) -> None:
        """Read atoms, with their sources, places and labels."""
        missing = [atom for atom in atoms if atom not in self.shown.atoms]
        if not missing:
            return
        shown = self._store.show(missing)
        self.shown.atoms.update(shown.atoms)
        self.shown.sources.update(shown.sources)
        self.shown.labels.update(shown.labels)
        for source, outline in shown.outlines.items():
            if source not in self.shown.outlines:
                self.shown.outlines[source] = outline
                path, node = shown.sources[source].path, source_node(source)
                for position, here in enumerate(outline):
                    self._places[node + here.ordinal] = (path, here.line, position)

    def text(self, atom: int) -> str:
        """Return an atom's text."""
        return self.shown.atoms[atom].text

    def place(self, atom: int) -> tuple[str, int, int]:
        """Return where an atom stands: path, line, and how many atoms stand before it."""
        return self._places.get(atom, ("", 0, 0))

    def touches(self, atom: int, others: set[int]) -> bool:
        """Tell whether an atom stands right before or after one of the others."""
        outline = self.shown.outlines[source_of(atom)]
        position = self.place(atom)[2]
        node = source_node(source_of(atom))
        return any(
            0 <= beside < len(outline) and node + outline[beside].ordinal in others
            for beside in (position - 1, position + 1)
        )
