"""Brute force for the walk: anchors in context, bridges and their sum, from docs/search.md and plain dictionaries."""

import math
import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from memoria.model import Label, source_node, source_of
from memoria.store import Store
from memoria.text import STOP_WORDS, link_key, name_key, phrase_keys, plain_words, terms
from tests.oracle import Document, documents

NEARNESS = tuple(0.5 * 0.7**step for step in range(4))
WINDOW = 1_200
FIRST_BEST = 200


class Passage(NamedTuple):
    """An atom as the walk sees it."""

    id: int
    key: str
    source: int
    place: int  # in its note, from 0
    text: str
    speaker: frozenset[str]
    labels: tuple[Label, ...]  # its own and its note's
    names: frozenset[str]  # what it names, as that is looked up
    links: tuple[str, ...]  # names of the notes that it links to
    continues: bool
    document: Document


class Vault:
    """A whole store in dictionaries."""

    def __init__(self, store: Store) -> None:
        written = {doc.atom: doc for doc in documents(store)}
        links: dict[int, list[str]] = {}
        for number, link in store.links(written):
            links.setdefault(number, []).append(link_key(link.target))
        self.passages: dict[int, Passage] = {}
        self.labels: dict[int, list[Label]] = {}  # node -> the labels it carries itself
        self.notes: dict[int, list[int]] = {}  # source -> its atoms in order
        self.called: dict[str, set[int]] = {}  # title or alias -> sources
        self.linked_as: dict[str, set[int]] = {}  # title, alias or file name -> sources
        self.known_as: dict[int, set[str]] = {}  # source -> all its names
        for source in store.sources():
            shown, atoms = store.show_source(source.id)
            around = shown.labels.get(source_node(source.id), [])
            self.labels.update(shown.labels)
            outline = {source_node(source.id) + place.ordinal: place for place in shown.outlines[source.id]}
            self.notes[source.id] = [atom.id for atom in atoms]
            file_name = source.relpath.rsplit("/", 1)[-1].removesuffix(".md")
            for name in (source.title, *source.aliases):
                if key := name_key(name):
                    self.called.setdefault(key, set()).add(source.id)
            names = {key for name in (source.title, *source.aliases, file_name) if (key := name_key(name))}
            self.known_as[source.id] = names
            for name in names:
                self.linked_as.setdefault(name, set()).add(source.id)
            for place, atom in enumerate(atoms):
                self.passages[atom.id] = Passage(
                    id=atom.id,
                    key=atom.key,
                    source=source.id,
                    place=place,
                    text=atom.text,
                    speaker=frozenset(terms(atom.speaker)),
                    labels=(*around, *shown.labels.get(atom.id, [])),
                    names=frozenset(key for phrase in atom.phrases for key in phrase_keys(phrase)),
                    links=tuple(links.get(atom.id, ())),
                    continues=outline[atom.id].continues,
                    document=written[atom.id],
                )
        self.documents = written

    def order(self, atom: int) -> tuple[str, int]:
        """Return where an atom stands: what decides between equal scores."""
        doc = self.documents[atom]
        return doc.path, doc.line

    def ranked(self, scores: dict[int, float]) -> list[tuple[int, float]]:
        """Return atoms by score, then by place."""
        return sorted(scores.items(), key=lambda item: (-item[1], self.order(item[0])))

    def naming(self, name: str) -> set[int]:
        """Return the atoms that name something in running text, or link to it."""
        return {atom for atom, passage in self.passages.items() if name in passage.names or name in passage.links}

    def labeled(self, kind: str, name: str) -> set[int]:
        """Return the nodes, notes and atoms, that carry a label themselves."""
        return {node for node, labels in self.labels.items() if any(label[:2] == (kind, name) for label in labels)}

    def idf(self, term: str) -> float:
        """Return how rare a word is; 0 for one that nobody has."""
        holding = sum(bool(doc.text[term] or doc.title[term]) for doc in self.documents.values())
        return math.log(1 + (len(self.documents) - holding + 0.5) / (holding + 0.5)) if holding else 0.0

    def around(self, passage: Passage) -> list[tuple[Passage, float]]:
        """Return what stands around a passage, with the share that counts for it."""
        found = []
        note = self.notes[passage.source]
        for side in (-1, 1):
            room = max(0.0, (WINDOW - len(passage.text)) / 2)
            for distance, nearness in enumerate(NEARNESS, 1):
                place = passage.place + side * distance
                if not 0 <= place < len(note) or room <= 0:
                    break
                other = self.passages[note[place]]
                found.append((other, nearness * min(1.0, room / max(1, len(other.text)))))
                room -= len(other.text)
        return found


def saturated(tf: float, length: float) -> float:
    """Return what a word's count is worth, by the textbook."""
    return tf * 2.5 / (tf + 1.5 * (0.25 + 0.75 * length / 70)) if tf else 0.0


def words_in_context(vault: Vault, query: str) -> dict[int, float]:
    """Return BM25 with what stands around, of the best by BM25 alone and the four atoms on each side of them."""
    wanted = Counter(terms(query))
    rarities = {term: count * vault.idf(term) for term, count in wanted.items()}
    plain = {
        atom: sum(
            rarity * saturated(doc.text[term] + 2 * doc.title[term], doc.length + 2 * doc.title_length)
            for term, rarity in rarities.items()
        )
        for atom, doc in vault.documents.items()
    }
    best = [atom for atom, value in vault.ranked(plain) if value > 0][:FIRST_BEST]
    near = {
        other
        for atom in best
        for other in vault.notes[vault.passages[atom].source]
        if abs(vault.passages[other].place - vault.passages[atom].place) <= len(NEARNESS)
    }
    scores = {}
    for atom in near:
        doc = vault.documents[atom]
        around = vault.around(vault.passages[atom])
        length = doc.length + 2 * doc.title_length + sum(share * other.document.length for other, share in around)
        scores[atom] = sum(
            rarity
            * saturated(
                doc.text[term]
                + 2 * doc.title[term]
                + sum(share * other.document.text[term] for other, share in around),
                length,
            )
            for term, rarity in rarities.items()
        )
    return {atom: value for atom, value in scores.items() if value > 0}


def boosted(passage: Passage, wanted: Iterable[str]) -> bool:
    """Tell whether a label that a person gave holds a word of the query."""
    asked = set(wanted)
    return any(
        label.origin != "dream" and label != Label("bucket", "inbox", label.origin) and asked & set(terms(label.name))
        for label in passage.labels
    )


def titles_in(vault: Vault, text: str, *, as_names: bool) -> list[str]:
    """Return the names of notes in a text, from left to right, of those that begin at a word the longest.

    In a note a name begins with a capital or a digit; in a query people do not care.
    """
    written = re.findall(r"[^\W_]+", text)
    words = plain_words(text)
    assert len(written) == len(words)
    found = []
    start = 0
    while start < len(words):
        runs = [" ".join(words[start : start + size]) for size in range(min(8, len(words) - start), 0, -1)]
        named = next((run for run in runs if run in vault.called), None)
        if named and as_names and not (written[start][0].isupper() or written[start][0].isdigit()):
            named = None
        if named:
            found.append(named)
        start += len(named.split()) if named else 1
    return list(dict.fromkeys(found))


def anchors(vault: Vault, query: str, boost: float = 2.0) -> dict[int, float]:
    """Return the anchors' scores, from 0 to 1."""
    scores = words_in_context(vault, query)
    wanted = terms(query)
    for atom in scores:
        passage = vault.passages[atom]
        if boosted(passage, wanted):
            scores[atom] *= boost
        if passage.speaker and passage.speaker <= set(wanted):
            scores[atom] *= 1.4
    best = max(scores.values(), default=0.0)
    if not best:
        return {}
    for name in titles_in(vault, query, as_names=False):
        words = [word for word in name.split() if word not in STOP_WORDS]
        asked = [vault.idf(term) for word in words for term in terms(word)]
        rarity = sum(asked) / max(1, len(asked))
        bonus = 0.8 * best * rarity / math.log(1 + len(vault.passages)) * min(1.0, len(name.split()) / 2)
        for source in vault.called[name]:
            for atom in vault.notes[source]:
                scores[atom] = scores.get(atom, 0.0) + bonus
    best = max(scores.values())
    return {atom: value / best for atom, value in scores.items() if value > 0}


def rarity(total: int, holding: int) -> float:
    """Return how much something may lend that so many have."""
    return math.log(1 + total / max(1, holding)) / math.log(1 + total)


class Lending:
    """What bridges lend; of several that lead to an atom, the strongest counts."""

    def __init__(self, vault: Vault, scores: dict[int, float]) -> None:
        self.vault = vault
        self.scores = scores
        self.lent: dict[int, float] = {}
        self.lender = 0.0  # the score of the anchor that lends now
        self.lenders: dict[int, float] = {}  # atom -> the best score among the anchors that lend to it

    def to_atom(self, atom: int, value: float) -> None:
        self.lent[atom] = max(value, self.lent.get(atom, 0.0))
        self.lenders[atom] = max(self.lender, self.lenders.get(atom, 0.0))

    def held_back(self) -> dict[int, float]:
        """Return what is lent; it never lifts above 99% of the anchor it comes from."""
        rooms = {atom: 0.99 * lender - self.scores.get(atom, 0.0) for atom, lender in self.lenders.items()}
        return {atom: min(value, rooms[atom]) for atom, value in self.lent.items() if min(value, rooms[atom]) > 0}

    def to_note(self, source: int, value: float) -> None:
        atoms = self.vault.notes[source]
        best = max(atoms, key=lambda atom: self.scores.get(atom, 0.0), default=None)
        for atom in atoms:
            self.to_atom(atom, value if atom == best else value / 2)

    def over_titles(self, anchor: Passage, x: float, names: Iterable[str]) -> None:
        own = self.vault.known_as[anchor.source]
        for name in set(names) - own:
            found = (
                self.vault.linked_as.get(name, set()) if name in anchor.links else self.vault.called.get(name, set())
            )
            for source in found:
                mentions = len(self.vault.naming(name))
                self.to_note(source, 0.7 * x * rarity(len(self.vault.passages), mentions) / math.sqrt(len(found)))

    def over_backlinks(self, anchor: Passage, x: float) -> None:
        own = self.vault.known_as[anchor.source]
        naming = {atom for name in own for atom in self.vault.naming(name)}
        others = [self.vault.passages[atom] for atom in naming if self.vault.passages[atom].source != anchor.source]
        for other in others:
            share = 0.21
            if own & set(other.links):  # one of two links says more than one of twenty
                share = max(share, 0.5 / math.sqrt(max(1.0, len(other.links) / 2)))
            self.to_atom(other.id, share * x * rarity(len(self.vault.passages), len(others)) / math.sqrt(len(others)))

    def over_shared_names(self, anchor: Passage, x: float, query: str) -> None:
        for name in anchor.names:
            holders = self.vault.naming(name)
            if not 2 <= len(holders) <= 30 or set(name.split()) <= set(plain_words(query)):
                continue
            value = 0.4 * x * rarity(len(self.vault.passages), len(holders)) / (len(holders) - 1) ** 0.7
            for atom in holders:
                if self.vault.passages[atom].source != anchor.source:
                    self.to_atom(atom, value * (2 if " " in name else 1))

    def over_labels(self, anchor: Passage, x: float, ignore: Iterable[str]) -> None:
        for kind, name in {label[:2] for label in anchor.labels}:
            holders = self.vault.labeled(kind, name)
            notes = {source_of(node) for node in holders}
            most = max(2, min(30, 0.1 * len(self.vault.notes)))
            if name in ignore or not 2 <= len(notes) <= most:
                continue
            value = 0.4 * x * rarity(len(self.vault.notes), len(notes)) / (len(notes) - 1) ** 0.7
            value *= 2 if kind == "tag" else 1
            for node in holders:
                if source_of(node) == anchor.source:
                    continue
                if node == source_node(source_of(node)):
                    self.to_note(source_of(node), value)
                else:
                    self.to_atom(node, value)


def lent_by(vault: Vault, scores: dict[int, float], query: str, ignore: Iterable[str] = ("inbox",)) -> dict[int, float]:
    """Return what the best three anchors lend to whom."""
    lending = Lending(vault, scores)
    tops = vault.ranked(scores)[:3]
    lead = {}
    for atom, x in reversed(tops):
        for other in vault.notes[vault.passages[atom].source]:
            lead[other] = x / 2
    lead.update(tops)
    for atom, x in lead.items():
        passage = vault.passages[atom]
        lending.lender = x if (atom, x) in tops else 2 * x
        if (atom, x) in tops:
            lending.over_titles(passage, x, [*passage.links, *titles_in(vault, passage.text, as_names=True)])
            lending.over_backlinks(passage, x)
            lending.over_labels(passage, x, ignore)
        else:
            lending.over_titles(passage, x, [*passage.links, *passage.names])
        lending.over_shared_names(passage, x, query)
    return lending.held_back()


def fused(vault: Vault, scores: dict[int, float], lent: dict[int, float]) -> dict[int, float]:
    """Return anchor + neighbor of all atoms; pieces of one paragraph stand by each other."""
    total = {atom: scores.get(atom, 0.0) + lent.get(atom, 0.0) for atom in scores.keys() | lent.keys()}
    lifted = dict(total)
    for atom, value in vault.ranked(total)[:24]:
        passage = vault.passages[atom]
        note = vault.notes[passage.source]
        beside = [passage.place - 1] if passage.continues else []
        if passage.place + 1 < len(note) and vault.passages[note[passage.place + 1]].continues:
            beside.append(passage.place + 1)
        for place in beside:
            lifted[note[place]] = max(lifted.get(note[place], 0.0), 0.8 * value)
    return {atom: value for atom, value in lifted.items() if value > 0}
