"""The analyzer: one way from text to terms, for notes and queries alike; and the guard of Cozo's own text search."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import chain, pairwise

from Stemmer import Stemmer

# Words that say nothing about what a note is about. Short on purpose: a word that can be looked for ("home", "test",
# "system") stays findable. Written in capitals ("IT", "US", "WHO") a stop word is a name and is kept.
STOP_WORDS = frozenset(
    """
    a an the and or but if so than then as at by for from in into of off on out over to under up down with about
    after again before between during until while because no not only too very also just now
    i me my we us our you your he him his she her they their it its
    this that these there what which who whom whose when where why how
    am is are was were be been being do does did done has have had can could would should will
    any all both each more most some such other own same s t d m re ve ll don didn doesn isn
    """.split()
)

# English forms that no stemmer joins: each line's words share the term of its first.
IRREGULAR_FORMS = """
    be am is are was were been | bear bore born borne | beat beaten | become became | begin began begun | bend bent
    bind bound | bite bit bitten | blow blew blown | break broke broken | breed bred | bring brought | build built
    burn burnt | buy bought | catch caught | choose chose chosen | come came | deal dealt | dig dug | do did done
    draw drew drawn | dream dreamt | drink drank drunk | drive drove driven | eat ate eaten | fall fell fallen
    feed fed | feel felt | fight fought | find found | flee fled | fly flew flown | forget forgot forgotten
    forgive forgave forgiven | freeze froze frozen | get got gotten | give gave given | go went gone | grind ground
    grow grew grown | hang hung | have had has | hear heard | hide hid hidden | hold held | keep kept | kneel knelt
    know knew known | lay laid | lead led | lean leant | learn learnt | leave left | lend lent | light lit | lose lost
    make made | mean meant | meet met | overcome overcame | pay paid | ride rode ridden | ring rang rung
    rise rose risen | run ran | say said | see saw seen | seek sought | sell sold | send sent | sew sewn
    shake shook shaken | shine shone | shoot shot | show showed shown | sing sang sung | sink sank sunk | sit sat
    sleep slept | speak spoke spoken | spend spent | spoil spoilt | stand stood | steal stole stolen | stick stuck
    strike struck | swear swore sworn | sweep swept | swim swam swum | take took taken | teach taught | tear tore torn
    tell told | think thought | throw threw thrown | understand understood | wake woke woken | wear wore worn
    weave wove woven | weep wept | win won | wind wound | withdraw withdrew withdrawn | write wrote written
    child children | man men | woman women | person people | foot feet | tooth teeth | mouse mice | goose geese
    wife wives | life lives | knife knives | leaf leaves | half halves | good better best | bad worse worst
    die dying dead death | marry married marriage
"""

# Scripts that are written without spaces are indexed by their characters and pairs of characters.
_UNSPACED_BLOCKS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer: letters and marks
_UNSPACED = (
    _UNSPACED_BLOCKS + "\u3005\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0dff"  # Python's \w leaves these out
_PICTOGRAPHS = "\u2600-\u27bf\U0001f1e6-\U0001faff"
_LETTER = rf"[\w{_MARKS}{_UNSPACED_BLOCKS}]"

# A raw word: letters and digits, joined by inner dots and apostrophes (node.js, don't), with the ends of C++ and C#.
_RAW_ASCII = re.compile(r"\w++(?:['.]\w++)*+(?:\+\+|#(?!\w))?+", re.ASCII)
_ACCENT = re.compile("[\u0300-\u036f]")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_NAME_HUMPS = 2
_CLITIC = re.compile(r"'(?:s|m|d|re|ve|ll)$")


@cache
def _raw() -> re.Pattern[str]:
    # Compiled when it is first needed, as the next two: their many letters cost every command 1.5 ms otherwise.
    return re.compile(rf"{_LETTER}+(?:['’.]{_LETTER}+)*(?:\+\+|#(?!\w))?|[{_PICTOGRAPHS}]")


@cache
def _unspaced_run() -> re.Pattern[str]:
    return re.compile(f"[{_UNSPACED}]+")


@cache
def _piece() -> re.Pattern[str]:
    return re.compile(rf"[^\W_{_MARKS}](?:[^\W_]|[{_MARKS}])*")


MAX_TERM_CHARS = 64  # of a longer one (a hash, a blob) the beginning is indexed, and found

_stem_word: Callable[[str], str] = Stemmer("english").stemWord
_BASE_FORM = {
    _stem_word(form): _stem_word(forms[0])
    for line in IRREGULAR_FORMS.replace("\n", "|").split("|")
    if (forms := line.split())
    for form in forms
}


def fold(text: str) -> str:
    """Return `text` as it is compared: NFKC, case folded, accents dropped."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).casefold())
    return unicodedata.normalize("NFC", _ACCENT.sub("", folded))


def stem(word: str) -> str:
    """Return the term that a folded word stands for."""
    stemmed = _stem_word(word)
    return _BASE_FORM.get(stemmed, stemmed)


class _Analysis(dict[str, tuple[str, ...]]):
    """Raw word -> its terms, remembered: a vault has far fewer words than it has occurrences of them."""

    LIMIT = 60_000

    def __missing__(self, raw: str) -> tuple[str, ...]:
        if len(self) >= self.LIMIT:
            self.clear()
        terms = self[raw] = tuple(_analyze(raw))
        return terms


def _analyze(raw: str) -> Iterator[str]:
    if not raw.isascii() and _unspaced_run().search(raw):
        for run in _unspaced_run().findall(raw):
            yield from run
            yield from map("".join, pairwise(run))
        for rest in _unspaced_run().split(raw):
            yield from _analysis[rest]
        return
    word = _CLITIC.sub("", fold(raw).replace("’", "'")).strip("_")[:MAX_TERM_CHARS]
    if word.isalnum():
        humps = _HUMP.findall(raw[: len(word)]) if raw.isascii() and not raw.isupper() else []
        # Two capitals make a name (GitHub, JavaScript) and not two words; parseConfig and HttpClientPool are code.
        if len(humps) > _NAME_HUMPS or (len(humps) == _NAME_HUMPS and raw[0].islower() and not raw[-1].isdigit()):
            yield word
            yield from (stem(hump.lower()) for hump in humps if hump.lower() not in STOP_WORDS)
        elif word not in STOP_WORDS or (raw.isupper() and len(raw) > 1):
            yield stem(word)
        return
    if not word:
        return
    if word.endswith(("#", "++")):
        yield word
        return
    yield word.replace("'", "")
    pieces = _piece().findall(word)
    if len(pieces) > 1:
        shortest = 3 if "'" in word else 1
        yield from (stem(piece) for piece in pieces if len(piece) >= shortest and piece not in STOP_WORDS)


_analysis = _Analysis()


def raw_words(text: str) -> list[str]:
    """Return the words of `text` as they are written, in order."""
    if text.isascii():
        return _RAW_ASCII.findall(text)
    return _raw().findall(unicodedata.normalize("NFKC", text))


def terms(text: str) -> list[str]:
    """Return the terms of `text` in order: what is indexed, and what a query asks for."""
    return list(chain.from_iterable(map(_analysis.__getitem__, raw_words(text))))


_BLOCK_ID = re.compile(r"(?:(?<=\s)|^)\^[A-Za-z0-9-]+[ \t]*$", re.MULTILINE)


def indexed_text(atom_text: str) -> str:
    """Return the text that is searched: without block ids, which are addresses and not words."""
    return _BLOCK_ID.sub("", atom_text) if "^" in atom_text else atom_text


def is_unspaced(char: str) -> bool:
    """Tell whether a character is of a script that is written without spaces."""
    return not char.isascii() and bool(_unspaced_run().match(char))


def terms_of_word(raw: str) -> tuple[str, ...]:
    """Return the terms of one raw word."""
    return _analysis[raw]


# The parser of Cozo's text search raises, panics or crashes on most punctuation, on its keywords and on very long
# input; quoted plain words joined by OR are safe, whatever the text was.
MAX_FTS_WORDS = 64
MAX_FTS_WORD_CHARS = 64
_FTS_WORD = re.compile(r"\w+")


def sanitize_fts_query(text: str, *, prefix: bool = False) -> str:
    """Return a query that Cozo's text search can't misread, or "" where nothing is left to ask.

    With `prefix` the last word also matches the beginnings of words.
    """
    safe = text.encode("utf-8", "ignore").decode("utf-8")
    words = [word[:MAX_FTS_WORD_CHARS] for word in _FTS_WORD.findall(safe)[:MAX_FTS_WORDS]]
    quoted = [f'"{word}"' for word in words]
    if prefix and quoted:
        quoted[-1] += "*"
    return " OR ".join(quoted)


def distinct(words: Iterable[str]) -> list[str]:
    """Return `words` without repetitions, in the order of their first occurrence."""
    return list(dict.fromkeys(words))


def label_name(text: str) -> str:
    """Return the stored form of a tag or bucket: bare, lower case, without spaces; "" if nothing is left."""
    parts = ("-".join(part.split()) for part in text.strip().lstrip("#").lower().split("/"))
    return "/".join(part for part in parts if part)


def link_name(target: str) -> str:
    """Return what a link's target is compared with: its last part, without ending, folded."""
    base = target.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    stem, dot, extension = base.rpartition(".")
    if dot and stem and extension.lower() in ("md", "markdown", "txt"):
        base = stem
    return " ".join(fold(base).split())


def word_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the words of `text` begin and end."""
    for match in (_RAW_ASCII if text.isascii() else _raw()).finditer(text):
        yield match.span()


# Names as text mentions them

MAX_NAME_WORDS = 8
_PLAIN_WORD = re.compile(r"[^\W_]+")
_PARENTHESES = re.compile(r"\s*[(\[（].*?[)\]）]")


def plain_words(text: str) -> list[str]:
    """Return the words of `text` by which names are compared: letters and digits only, folded."""
    return _PLAIN_WORD.findall(fold(text))


def words_as_written(text: str) -> list[str]:
    """Return the words of `text` by which names are compared, with their capitals."""
    return _PLAIN_WORD.findall(text)


def name_key(name: str) -> str:
    """Return a title or alias as it is looked up in running text; "" where it is too long or too common for that."""
    words = plain_words(_PARENTHESES.sub("", name))
    if not words or len(words) > MAX_NAME_WORDS or STOP_WORDS.issuperset(words):
        return ""
    return " ".join(words)


def link_key(target: str) -> str:
    """Return the name that a link's target mentions: the words of its last part."""
    return " ".join(plain_words(link_name(target)))


def phrase_keys(phrase: str) -> list[str]:
    """Return a capitalised phrase and the phrases inside it, as they are looked up, the whole one first.

    "President Barack Obama" also mentions Barack Obama.
    """
    if " " not in phrase:
        return [key] if (key := " ".join(plain_words(phrase))) else []
    words = phrase.split(" ")
    ends = [place for place, word in enumerate(words) if not word[0].islower() and word != "&"]
    found = (
        " ".join(plain_words(" ".join(words[start : end + 1])))
        for start in ends
        for end in reversed(ends)
        if start <= end < start + MAX_NAME_WORDS
    )
    return [key for key in dict.fromkeys(found) if key and key not in STOP_WORDS]
