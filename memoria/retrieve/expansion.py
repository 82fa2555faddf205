"""From one query to two or three complementary ones: what happened, who is in it, what it is about."""

import re

from memoria.graph.lookup import HOLDING, Known, Trust, known_by, told_of
from memoria.model import Answer
from memoria.retrieve.explore import RELATION_BASES, Asked
from memoria.retrieve.matching import Matcher
from memoria.retrieve.query import Query
from memoria.store.facts import FactStore
from memoria.text import distinct, terms_of_word

RARE_WORDS = 4
MOST_NAMES = 4
TOP_HITS = 5
_DATE = re.compile(
    r"\b(?:\d{4}(?:-\d\d){0,2}|january|february|march|april|may|june|july|august|september|october|november|december|"
    r"monday|tuesday|wednesday|thursday|friday|saturday|sunday|yesterday|today)\b",
    re.IGNORECASE,
)


def expand(view: FactStore, query: Query, answer: Answer, trust: Trust, threshold: float) -> list[Asked]:
    """Return queries that complement one: episodic, people, concepts; each only where there is something to ask for."""
    matcher = Matcher(query)
    found = known_by(view, matcher.spans)
    named = {known.entity.node: known for meant in found.values() for known in meant}
    persons = [known for known in named.values() if known.entity.kind == "person"][:MOST_NAMES]
    rare = sorted(
        (word for word in query.raw if terms_of_word(word)),
        key=lambda word: -max(answer.idfs.get(term, float("inf")) for term in terms_of_word(word)),
    )[:RARE_WORDS]
    names = [known.entity.name for known in named.values()][:MOST_NAMES]
    texts = {
        "episodic": [*names, *_DATE.findall(query.text), *rare],
        "people": [*(person.entity.name for person in persons), *_relations(view, persons, trust)],
        "concepts": _concepts(named, answer),
    }
    return [Asked(" ".join(distinct(words)), threshold, scope) for scope, words in texts.items() if words]


def _relations(view: FactStore, persons: list[Known], trust: Trust) -> list[str]:
    """Return how persons are related to others, and to whom."""
    words = []
    for sides in told_of(view, persons, trust).values():
        for one in sides.about:
            if one.fact.basis in RELATION_BASES and one.status in HOLDING:
                words += [one.fact.predicate.replace("_", " "), one.fact.value]
    return distinct(words)[: 2 * MOST_NAMES]


def _concepts(named: dict[int, Known], answer: Answer) -> list[str]:
    """Return the tags of the best hits, and the concepts that the query names."""
    tags = [tag.replace("/", " ").replace("-", " ") for hit in answer.hits[:TOP_HITS] for tag in hit.tags]
    concepts = [known.entity.name for known in named.values() if known.entity.kind == "concept"]
    return distinct([*concepts[:MOST_NAMES], *tags[:MOST_NAMES]])
