"""How much a text matches a query, 0 to 1: names exactly or nearly, words by their rarity."""

from collections.abc import Iterable, Mapping

from memoria.graph.entities import name_of
from memoria.model import Answer
from memoria.retrieve.query import Query
from memoria.scoring import fuzzy, idf
from memoria.text import MAX_NAME_WORDS, STOP_WORDS, plain_words

LEAST_FUZZY = 0.75  # below, two words have little to do with each other
_MOST_SPANS = 400


class Matcher:
    """A query, as names are compared with it."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.words = plain_words(query.text)
        self.telling = {word for word in self.words if word not in STOP_WORDS}
        self.spans: dict[str, None] = {}
        for start in range(len(self.words)):
            for end in range(start + 1, min(len(self.words), start + MAX_NAME_WORDS) + 1):
                span = " ".join(self.words[start:end])
                if not STOP_WORDS.issuperset(self.words[start:end]) and len(self.spans) < _MOST_SPANS:
                    self.spans[span] = None
        self.spans.update((name_of(raw), None) for raw in query.raw if "+" in raw or "#" in raw)

    def name(self, name: str) -> float:
        """Return how much the query names this: 1 as a whole, else by edits, or by the share of its words."""
        if name in self.spans:
            return 1.0
        words = name.split()
        if not words:
            return 0.0
        share = sum(word in self.telling for word in words) / len(words)
        return max(share, self._nearly(name, len(words)))

    def _nearly(self, name: str, words: int) -> float:
        from rapidfuzz.distance import Levenshtein

        best = 0.0
        for span in self.spans:
            longest = max(len(span), len(name))
            if abs(span.count(" ") + 1 - words) <= 1 and abs(len(span) - len(name)) <= (1 - LEAST_FUZZY) * longest:
                best = max(best, fuzzy(Levenshtein.distance(span, name), longest))
        return best if best >= LEAST_FUZZY else 0.0

    def text(self, text: str) -> float:
        """Return the share of the query's words that a text has."""
        words = set(plain_words(text))
        return len(self.telling & words) / len(self.telling) if self.telling else 0.0


def similarities(answer: Answer, terms: Iterable[str]) -> dict[str, float]:
    """Return the hits' similarity, by key: the best one's is the share of the query's words that it has, by rarity.

    The others follow in the proportion of their scores.
    """
    if not answer.hits:
        return {}
    wanted = set(terms)
    rarities: Mapping[str, float] = {term: answer.idfs.get(term, idf(answer.atoms, 0)) for term in wanted}
    best = max(answer.hits, key=lambda hit: hit.score)
    meant = {
        *best.why.words,
        *(word for word, near in answer.near.items() if not best.why.words.keys().isdisjoint(near)),
    }
    whole = sum(rarities.values())
    share = sum(weight for term, weight in rarities.items() if term in meant) / whole if whole else 0.0
    return {hit.key: share * min(1.0, hit.score / best.score) if best.score else 0.0 for hit in answer.hits}
