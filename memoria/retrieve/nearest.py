"""The nearest known word for one that occurs nowhere."""

from memoria.model import source_of
from memoria.store import Store
from memoria.text import fold, raw_words, stem, terms_of_word

MIN_LETTERS = 4
FAR_LETTERS = 7  # from so many letters on, two of them may be wrong


def near_terms(store: Store, word: str) -> list[tuple[str, int]]:
    """Return up to three known terms near an unknown word, nearest and most used first, with their distance."""
    term = stem(fold(word))
    if len(term) < MIN_LETTERS or term.isdigit():
        return []
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    most = 1 if len(term) < FAR_LETTERS else 2
    # As a typist errs: rarely in the first letter.
    known = [other for other in sorted(store.terms_from(term[0])) if abs(len(other) - len(term)) <= most]
    near = process.extract(term, known, scorer=OSA.distance, score_cutoff=most, limit=24)
    if not near:
        return []
    found = store.postings([other for other, _, _ in near])
    uses = {
        other: sum(len(ids) - len(found.dead.intersection(ids)) for ids, _ in rows)
        for other, rows in found.postings.items()
    }
    ranked = sorted((distance, -uses.get(other, 0), other) for other, distance, _ in near if uses.get(other, 0))
    return [(other, int(distance)) for distance, _, other in ranked[:3]]


def written_form(store: Store, term: str) -> str:
    """Return a term as the notes write it: terms are stems, and nobody searches for "carolin"."""
    found = store.postings([term])
    for ids, _ in found.postings.get(term, ()):
        for atom in ids:
            if atom in found.dead:
                continue
            shown = store.show([atom])
            texts = [shown.atoms[atom].text] if atom in shown.atoms else []
            source = shown.sources.get(source_of(atom))
            if source:
                texts += [" ".join(shown.atoms[atom].heading) if texts else "", source.title]
            for text in texts:
                for raw in raw_words(text):
                    if term in terms_of_word(raw):
                        return raw
            return term
    return term
