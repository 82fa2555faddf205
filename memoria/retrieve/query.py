"""What a query asks for: words, phrases that must stand, words that must not, and filters written inline."""

import re
from collections.abc import Container, Iterator
from datetime import date
from typing import NamedTuple

from memoria.retrieve.filters import Filters, parse_day
from memoria.text import distinct, is_unspaced, plain_words, raw_words, terms, terms_of_word

MAX_WORDS = 1_000
OPERATOR_WORDS = 32  # a longer query is a pasted text, and its quotes and dashes are just text

_OPERATOR = re.compile(
    r"(?<!\S)(?:"
    r'(?P<minus>-?)"(?P<phrase>[^"]+)"'
    r'|(?P<name>tag|not-tag|bucket|path|source|since|after|until|before):(?P<value>"[^"]+"|\S+)'
    r"|-(?P<word>[^\W_]\S*)"
    r")(?!\S)"
)


# In a question the quotes are quotes: "who sings 'Home Alone' with ..." does not ask for that phrase alone.
_QUESTION = re.compile(
    r"\?\s*\Z|\A\s*(?:who|whom|whose|what|which|when|where|why|how|did|does|do|is|are|was|were)\b", re.IGNORECASE
)


class Query(NamedTuple):
    """A query, understood."""

    text: str
    raw: tuple[str, ...]  # the words that are asked for, as they are written
    terms: dict[str, float]  # term -> how often it was said
    phrases: tuple[tuple[str, ...], ...] = ()  # words that must stand together in the text
    excluded: tuple[str, ...] = ()  # terms that an answer must not have
    excluded_phrases: tuple[tuple[str, ...], ...] = ()
    filters: Filters = Filters()

    @property
    def plain(self) -> list[str]:
        """The words as names are compared with them."""
        return plain_words(self.text)

    def unknown_words(self, known: Container[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the words none of whose terms is known, with those terms."""
        for word in self.raw:
            found = terms_of_word(word)
            if found and not any(term in known for term in found):
                yield word, found

    @classmethod
    def parse(cls, text: str, today: date | None = None) -> "Query":
        """Understand a query. `today` is needed for relative dates.

        Raises:
            UsageError: a filter names no day.

        """
        phrases: list[tuple[str, ...]] = []
        banned: list[tuple[str, ...]] = []
        excluded: list[str] = []
        given: dict[str, list[str]] = {}
        if len(text.split()) <= OPERATOR_WORDS and not _QUESTION.search(text):

            def take(match: re.Match[str]) -> str:
                if match["phrase"]:
                    (banned if match["minus"] else phrases).append(tuple(plain_words(match["phrase"])))
                    return "" if match["minus"] else f" {match['phrase']} "
                if match["name"]:
                    given.setdefault(match["name"], []).append(match["value"].strip('"'))
                elif is_unspaced(match["word"][0]):
                    banned.append(tuple(plain_words(match["word"])))
                else:
                    excluded.extend(terms(match["word"])[:1])
                return " "

            text = _OPERATOR.sub(take, text)
        raw = raw_words(text)[:MAX_WORDS]
        weights: dict[str, float] = {}
        for word in raw:
            for term in terms_of_word(word):
                weights[term] = weights.get(term, 0.0) + 1.0
        return cls(
            text=text,
            raw=tuple(distinct(raw)),
            terms=weights,
            phrases=tuple(filter(None, phrases)),
            excluded=tuple(excluded),
            excluded_phrases=tuple(filter(None, banned)),
            filters=_filters(given, today) if given else Filters(),
        )


def _filters(given: dict[str, list[str]], today: date | None) -> Filters:
    today = today or date.today()  # noqa: DTZ011 - the user's own day
    since = [*given.get("since", ()), *given.get("after", ())]
    until = [*given.get("until", ()), *given.get("before", ())]
    return Filters(
        buckets=tuple(given.get("bucket", ())),
        tags=tuple(given.get("tag", ())),
        not_tags=tuple(given.get("not-tag", ())),
        paths=tuple(given.get("path", ())),
        sources=tuple(given.get("source", ())),
        since=max(parse_day(text, today) for text in since) if since else None,
        until=min(parse_day(text, today, end=True) for text in until) if until else None,
    )


def stands(words: tuple[str, ...], text: str) -> bool:
    """Tell whether words stand together in a text."""
    phrase = " ".join(words)
    before, after = ("" if is_unspaced(char) else " " for char in (phrase[0], phrase[-1]))
    return f"{before}{phrase}{after}" in f" {' '.join(plain_words(text))} "
