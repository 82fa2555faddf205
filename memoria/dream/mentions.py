"""Mentions of notes by title or alias that nobody linked."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from memoria.inline import masked
from memoria.text import fold, is_unspaced, name_key, plain_words

LINKED_PRIOR, MENTIONED_PRIOR = 0.15, 1.0
LINKED = 0.3  # linkiness from which on a name means its note
LINKED_SAFE = 0.1  # the same, for a name that hardly means anything else
LEAST_LETTERS = 3
SAFE_LETTERS = 4
SAFE_SHARE, SAFE_LEAST = 0.02, 5  # of the notes, or so many, mention a name that is no everyday word

_TARGET = re.compile(r"(?<=\])\([^)\n]*\)")


class Passage(NamedTuple):
    """Text in which names may stand: an atom that is not code, with its links."""

    atom: int
    note: int
    text: str


class Named(NamedTuple):
    """A name that one note alone has, and the other notes that mention it."""

    owner: int  # the note that is called so
    name: str  # as it is written
    mentions: list[int]  # other notes that mention it
    linked: list[int]  # those of them that link it


class Mention(NamedTuple):
    """A note's name in another note's atom."""

    atom: int
    note: int
    owner: int
    name: str  # as it is compared
    linkiness: float
    safe: bool


class MentionModel(NamedTuple):
    """The names that a scan looks for, frozen until the next full dream."""

    notes: int
    links: bool  # whether people link at all: where they don't, safe names are accepted
    names: dict[str, Named]  # as compared -> whose it is
    shared: list[str]  # names that several notes have: they mean none of them


def linkiness(linked: int, mentions: int) -> float:
    """Return how likely a mention is meant as a link: so many of the other notes that mention it link it."""
    return (linked + LINKED_PRIOR) / (mentions + MENTIONED_PRIOR)


def accepted(value: float, *, safe: bool, links: bool = True) -> bool:
    """Tell whether a mention is taken for a link."""
    return value >= LINKED or (safe and (value >= LINKED_SAFE or not links))


def fit(
    names: Iterable[tuple[int, str]], passages: Iterable[Passage], links: Mapping[int, Collection[int]]
) -> tuple[MentionModel, list[Mention]]:
    """Learn from all notes which names mean their notes; return the accepted mentions, by (atom, owner).

    `names` are (note, title or alias), `links` the notes that each note links to. Where a note both mentions and links
    another, the mention is among them; where it mentions itself, not.
    """
    unique, shared = _unique(names)
    scanner = _Scanner(unique)
    found: list[tuple[Passage, str, bool]] = []
    notes = {note for note, _ in unique.values()} | links.keys()
    mentioned: dict[str, set[int]] = {}
    for passage in passages:
        notes.add(passage.note)
        for key, exact in scanner.scan(passage):
            found.append((passage._replace(text=""), key, exact))
            mentioned.setdefault(key, set()).add(passage.note)
    model = MentionModel(
        len(notes),
        any(map(links.get, links)),
        {
            key: Named(
                owner,
                name,
                sorted(mentioned.get(key, ())),
                sorted(note for note in mentioned.get(key, ()) if owner in links.get(note, ())),
            )
            for key, (owner, name) in sorted(unique.items())
        },
        sorted(shared),
    )
    return model, _judged(model, found)


def scan(model: MentionModel, passages: Iterable[Passage]) -> list[Mention]:
    """Return the accepted mentions in some passages, by (atom, owner)."""
    scanner = _Scanner({key: (named.owner, named.name) for key, named in model.names.items()})
    return _judged(model, [(passage, key, exact) for passage in passages for key, exact in scanner.scan(passage)])


def renamed(model: MentionModel, changed: Collection[int], names: Iterable[tuple[int, str]]) -> MentionModel:
    """Return the model with the names that changed and new notes have now; deleted ones are changed, and have none."""
    kept = {key: named for key, named in model.names.items() if named.owner not in changed}
    unique, shared = _unique(names)
    shared |= {*model.shared, *(unique.keys() & kept.keys())}
    before = model.names
    for key, (owner, name) in unique.items():
        old = before.get(key)
        kept[key] = old if old and old.owner == owner else Named(owner, name, [], [])
    return model._replace(
        names={key: named for key, named in sorted(kept.items()) if key not in shared}, shared=sorted(shared)
    )


def _unique(names: Iterable[tuple[int, str]]) -> tuple[dict[str, tuple[int, str]], set[str]]:
    """Return the names that one note alone has, and those that several have."""
    owners: dict[str, tuple[int, str]] = {}
    shared = set()
    for owner, name in sorted(names):
        key = name_key(name)
        if sum(map(str.isalpha, key)) < (2 if any(map(is_unspaced, key)) else LEAST_LETTERS):
            continue
        if owners.setdefault(key, (owner, name))[0] != owner:
            shared.add(key)
    return {key: named for key, named in owners.items() if key not in shared}, shared


class _Scanner:
    """Finds names in text."""

    def __init__(self, names: Mapping[str, tuple[int, str]]) -> None:
        self._owner = {key: owner for key, (owner, _) in names.items()}
        self._written = {key: name for key, (_, name) in names.items()}
        self._sizes: dict[str, list[int]] = {}  # first word -> how many words names have that begin so
        self._unspaced: dict[str, list[str]] = {}  # first two characters -> names
        for key in names:
            if any(map(is_unspaced, key)):
                self._unspaced.setdefault(key[:2], []).append(key)
            else:
                words = key.split(" ")
                sizes = self._sizes.setdefault(words[0], [])
                if len(words) not in sizes:
                    sizes.append(len(words))
        for sizes in self._sizes.values():
            sizes.sort(reverse=True)
        for keys in self._unspaced.values():
            keys.sort(key=lambda key: (-len(key), key))

    def scan(self, passage: Passage) -> Iterator[tuple[str, bool]]:
        """Yield the other notes' names in a passage, each once, and whether it is sure to be a name as it is written.

        Of names that overlap, the longest counts.
        """
        text = masked(passage.text)
        if "](" in text:
            text = _TARGET.sub(" ", text)
        found = dict.fromkeys(self._words(plain_words(text)))
        if self._unspaced and not text.isascii():
            found |= dict.fromkeys(self._characters(fold(text)))
        for key in found:
            if self._owner[key] != passage.note:
                yield key, " " in key or _as_written(self._written[key], text)

    def _words(self, words: list[str]) -> Iterator[str]:
        sizes, owner = self._sizes, self._owner
        end = 0
        for place, word in enumerate(words):
            if word in sizes and place >= end:
                for size in sizes[word]:
                    key = word if size == 1 else " ".join(words[place : place + size])
                    if key in owner:
                        yield key
                        end = place + size
                        break

    def _characters(self, text: str) -> Iterator[str]:
        end = 0
        for place in range(len(text) - 1):
            keys = self._unspaced.get(text[place : place + 2])
            if keys and place >= end:
                for key in keys:
                    if text.startswith(key, place):
                        yield key
                        end = place + len(key)
                        break


def _as_written(name: str, text: str) -> bool:
    """Tell whether a name that has a capital, or a script without any, stands in a text just so."""
    if not any(char.isupper() or is_unspaced(char) for char in name):
        return False
    if name not in text:
        return False
    return any(map(is_unspaced, name)) or bool(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text))


def _judged(model: MentionModel, found: list[tuple[Passage, str, bool]]) -> list[Mention]:
    most = max(SAFE_LEAST, SAFE_SHARE * model.notes)
    best: dict[tuple[int, int], Mention] = {}
    for passage, key, exact in found:
        named = model.names[key]
        mentions = len(named.mentions) - (passage.note in named.mentions)
        value = linkiness(len(named.linked) - (passage.note in named.linked), mentions)
        letters = sum(map(str.isalpha, key)) * (2 if is_unspaced(key[0]) else 1)
        safe = exact and letters >= SAFE_LETTERS and mentions + 1 <= most
        if accepted(value, safe=safe, links=model.links):
            mention = Mention(passage.atom, passage.note, named.owner, key, value, safe)
            other = best.get((passage.atom, named.owner))
            if other is None or (mention.linkiness, mention.safe) > (other.linkiness, other.safe):
                best[passage.atom, named.owner] = mention
    return [best[place] for place in sorted(best)]
