"""A batch of changes, as rows: written together or not at all."""

from collections.abc import Container, Iterable
from hashlib import blake2b
from typing import Any

from memoria.model import Atom, Field, Label, Outline, Root, Source, StoredAtom, source_node
from memoria.store.packing import pack_outline
from memoria.store.segment import Entry, SegmentWriter, lexicon
from memoria.text import link_key, name_key, plain_words, terms


def another_key(key: str, *taken: Container[str]) -> str:
    """Return a key for an atom whose own is taken: two roots may hold the same passage under the same path."""
    while any(key in keys for keys in taken):
        key = blake2b(key.encode(), digest_size=6).hexdigest()
    return key


class Batch:
    """Rows to put and rows to remove."""

    def __init__(self, next_source: int) -> None:
        self.next_source = next_source
        self.chars = 0
        self.added = 0
        self.sources = 0  # more than before
        self.dead: list[int] = []  # atoms that index segments still hold
        self.index = SegmentWriter()
        self.new_keys: dict[str, int] = {}  # key -> atom
        self._kept_keys: dict[str, int] = {}
        self.atoms: dict[int, list[Any]] = {}
        self.labels_seen: set[tuple[str, str]] = set()
        self.rows: dict[str, list[list[Any]]] = {
            name: []
            for name in (
                "gone_nodes gone_atoms gone_keys gone_sources gone_paths gone_roots gone_names gone_called "
                "gone_labels cut_nodes undreamt gone_ids unsettled roots sources paths outlines labels names "
                "label_names called links fields"
            ).split()
        }

    def absorb(self, other: "Batch") -> None:
        """Take over all that another batch of new notes holds."""
        for name, rows in other.rows.items():
            self.rows[name] += rows
        self.labels_seen |= other.labels_seen
        for key in self.new_keys.keys() & other.new_keys.keys():
            other.rename_key(key, another_key(key, self.new_keys, other.new_keys))
        self.new_keys.update(other.new_keys)
        self.atoms.update(other.atoms)
        self.index.absorb(other.index)
        self.chars += other.chars
        self.added += other.added
        self.sources += other.sources

    @property
    def empty(self) -> bool:
        """Whether there is nothing to write."""
        return not (self.atoms or any(self.rows.values()))

    def new_source_id(self) -> int:
        """Return a number that no source ever had."""
        self.next_source += 1
        return self.next_source - 1

    def put_root(self, root: Root) -> None:
        """Remember a folder."""
        self.rows["roots"].append([root.path, root.bucket, list(root.tags), list(root.globs)])

    def drop_root(self, path: str) -> None:
        """Forget a folder."""
        self.rows["gone_roots"].append([path])

    def put_source(self, source: Source) -> None:
        """Write a source's row."""
        row: list[Any] = list(source)
        row[Source._fields.index("aliases")] = list(source.aliases)
        self.rows["sources"].append(row)

    def put_names(self, source: Source, old: Source | None) -> None:
        """Write where a source is found, and by which names."""
        if old:
            if old.path != source.path:
                self.rows["gone_paths"].append([old.path])
            self._drop_names(old)
            self.rows["undreamt"].append([source_node(source.id)])
        self.sources += old is None
        self.rows["paths"].append([source.path, source.id])
        self.rows["names"] += ([kind, name, source.id, " ".join(terms(name))] for kind, name in _names(source))

        self.rows["called"] += _called(source)

    def unsettle(self, source: Source, *others: Source) -> None:
        """Have a source's links resolved, and with `others` (as it was, as it is) the links that name it, too."""
        names = dict.fromkeys(name for other in others for name in _link_names(other))
        self.rows["unsettled"].append([source.id, list(names)])

    def _drop_names(self, source: Source) -> None:
        self.rows["gone_names"] += ([kind, name, source.id] for kind, name in _names(source))
        self.rows["gone_called"] += _called(source)

    def put_outline(self, source: int, places: list[Outline]) -> None:
        """Write the order of a source's atoms."""
        self.rows["outlines"].append([source, pack_outline(places)])

    def put_labels(self, node: int, labels: Iterable[Label]) -> None:
        """Put labels on a node."""
        for label in labels:
            self.rows["labels"].append([node, *label])
            if (label.kind, label.name) not in self.labels_seen:
                self.labels_seen.add((label.kind, label.name))
                self.rows["label_names"].append([label.kind, label.name, " ".join(terms(label.name))])

    def put_fields(self, node: int, fields: Iterable[Field]) -> None:
        """Put named values on a node."""
        self.rows["fields"] += ([node, n, *field] for n, field in enumerate(fields))

    def put_atom(self, key: str, atom: Atom, entry: Entry, *, new_key: bool) -> None:
        """Write an atom and its place in the text index."""
        node = entry.atom
        (self.new_keys if new_key else self._kept_keys)[key] = node
        self.atoms[node] = [
            node, key, "\n".join(atom.heading), atom.text, atom.kind, atom.speaker, "\n".join(atom.phrases),
        ]  # fmt: skip
        self.rows["links"] += (
            [node, n, link.kind, link_key(link.target), link.target, link.text, link.line]
            for n, link in enumerate(atom.links)
        )
        if atom.fields:
            self.put_fields(node, atom.fields)
        if atom.tags:
            self.put_labels(node, (Label("tag", tag, "note") for tag in atom.tags))
        self.index.add(entry)
        self.chars += len(atom.text)
        self.added += 1

    def drop_atom(self, atom: StoredAtom, *, keep_key: bool) -> None:
        """Remove an atom; its key stays where another atom takes it over."""
        self.rows["gone_atoms"].append([atom.id])
        self.rows["gone_nodes"].append([atom.id])
        self.rows["cut_nodes"].append([atom.id])
        if not keep_key:
            self.rows["gone_keys"].append([atom.key])
        self.dead.append(atom.id)

    def drop_labels(self, node: int, labels: Iterable[Label]) -> None:
        """Remove what hangs on a node; `labels` are those it had."""
        self.rows["gone_nodes"].append([node])
        self.unused_labels(labels)

    def unused_labels(self, labels: Iterable[Label]) -> None:
        """Name labels that may be on nothing any more."""
        self.rows["gone_labels"] += ([label.kind, label.name] for label in labels)

    def drop_source(self, source: Source) -> None:
        """Remove a source's own rows."""
        self.sources -= 1
        self.rows["gone_sources"].append([source.id])
        self.rows["gone_paths"].append([source.path])
        self._drop_names(source)
        self.rows["gone_ids"].append([source.id])
        for what in ("gone_nodes", "cut_nodes", "undreamt"):
            self.rows[what].append([source_node(source.id)])
        self.unsettle(source, source)

    def rename_key(self, old: str, new: str) -> None:
        """Give a new atom another key: the one it had is taken."""
        node = self.new_keys.pop(old)
        self.new_keys[new] = node
        self.atoms[node][1] = new

    def params(self, segment: int) -> dict[str, Any]:
        """Return the parameters of query/write_batch, without its totals."""
        postings = self.index.rows(segment)
        return {
            **self.rows,
            "atoms": list(self.atoms.values()),
            "keys": [list(pair) for pair in self._kept_keys.items()],
            "new_keys": [list(pair) for pair in self.new_keys.items()],
            "postings": postings,
            "mentions": self.index.mention_rows(segment),
            "lexicon": lexicon(postings),
            "segments": [[segment, self.index.atoms, self.index.postings]] if self.index.atoms else [],
        }


def _names(source: Source) -> list[tuple[str, str]]:
    return [("title", source.title), *(("alias", alias) for alias in source.aliases)]


def _link_names(source: Source) -> list[str]:
    """Return the names of links that may mean a source, as the store keeps them."""
    names = (source.relpath, source.title, *source.aliases)
    return [key for name in names for key in (link_key(name), " ".join(plain_words(name)))]


def _called(source: Source) -> list[list[Any]]:
    keys = [*((kind, name_key(name)) for kind, name in _names(source)), ("file", link_key(source.relpath))]
    return [[key, source.id, kind] for kind, key in keys if key]
