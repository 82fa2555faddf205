"""The nouns that travel between the layers.

They are named tuples: frozen, cheap to make by the hundred thousand, and without the 7 ms that importing dataclasses
would add to every command.
"""

from typing import NamedTuple

# A node is an integer: a source's number shifted left by ORDINAL_BITS, plus 0 for the source itself or the ordinal of
# one of its atoms. So an atom tells its source without a look-up, and a source's atoms lie next to each other.
ORDINAL_BITS = 20
MAX_ATOMS = (1 << ORDINAL_BITS) - 1


def source_node(source: int) -> int:
    """Return the node of a source."""
    return source << ORDINAL_BITS


def source_of(node: int) -> int:
    """Return the number of the source that a node belongs to."""
    return node >> ORDINAL_BITS


class Link(NamedTuple):
    """A pointer from an atom to a note, as it is written."""

    kind: str  # wikilink | embed | markdown | relation | person
    target: str  # what it points to: a title, a name or a relative path
    text: str  # the alias, the link text, or the type of the relation
    line: int  # counted from the first line of its atom


class Field(NamedTuple):
    """A named value: from front matter, a Dataview field, or an observation's category."""

    name: str
    value: str
    line: int  # counted from the first line of its atom; in front matter, the line of the note


class Atom(NamedTuple):
    """A passage of a note, as parsed."""

    text: str
    heading: tuple[str, ...]
    line: int
    kind: str  # text | code | table | turn | heading | properties
    speaker: str
    tags: tuple[str, ...]
    links: tuple[Link, ...]
    fields: tuple[Field, ...]
    phrases: tuple[str, ...]
    continues: bool = False  # the atom before it is the beginning of the same paragraph


class Words(NamedTuple):
    """An atom's terms: how often each, and how many in all."""

    counts: dict[str, int]
    length: int


class Note(NamedTuple):
    """A note, as parsed."""

    title: str
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    buckets: tuple[str, ...]
    date: str | None
    fields: tuple[Field, ...]
    atoms: tuple[Atom, ...]
    warnings: tuple[str, ...]


class Source(NamedTuple):
    """A note that the store knows."""

    id: int
    path: str  # absolute; for text from a pipe, the name it was given
    root: str  # the folder it was ingested from, "" for text from a pipe
    relpath: str
    title: str
    aliases: tuple[str, ...]
    hash: str
    size: int
    mtime: int  # nanoseconds
    date: str | None  # ISO, from the note or its name
    kind: str  # file | stdin
    origin: str  # file | conversation | user_edit | system
    given: str  # the labels given on the command line, so that a change of them is seen
    next: int  # the next ordinal: ordinals are never used twice
    atoms: int
    ingested: int  # seconds since the epoch


class Outline(NamedTuple):
    """One atom's place in its note."""

    ordinal: int
    line: int
    chars: int
    words: int  # terms of the text
    title_words: int  # terms of the title field
    continues: bool  # a piece of the same paragraph as the atom before


class StoredAtom(NamedTuple):
    """An atom as the store keeps it."""

    id: int
    key: str
    heading: tuple[str, ...]
    text: str
    kind: str
    speaker: str
    phrases: tuple[str, ...]


class Label(NamedTuple):
    """A tag or a bucket on a node."""

    kind: str  # tag | bucket
    name: str
    origin: str  # note | ingest | accepted | dream


class Edge(NamedTuple):
    """What leads from a node to another. The store keeps each from both ends."""

    start: int
    end: int
    kind: str  # link | relation | mention | near | about | named
    weight: float
    way: str  # out | in | both
    tags: tuple[str, ...]
    origin: str  # note | dream | hand
    why: str
    line: int | None = None  # counted from the first line of the atom that it is meant from
    type: str | None = None  # of a relationship, as the next two
    attitude: int | None = None
    proximity: int | None = None

    @property
    def rank(self) -> int:
        """By which the edges of a node are ordered: the strongest first."""
        return 1_000 - round(self.weight * 1_000)

    def turned(self) -> "Edge":
        """Return the same edge, from its other end."""
        way = {"out": "in", "in": "out"}.get(self.way, self.way)
        return self._replace(start=self.end, end=self.start, way=way)


class Entity(NamedTuple):
    """Whom or what notes name."""

    node: int  # -1 - the key as a number
    kind: str  # person | concept | entity | artifact
    name: str
    aliases: tuple[str, ...]
    last: str | None  # ISO day of the last note that names it
    origin: str  # dream | hand | note (not stored: what is told of it stands in notes)

    @property
    def key(self) -> str:
        """What people and JSON see: 12 hex digits, the same in every brain."""
        return f"{-1 - self.node:012x}"


class Fact(NamedTuple):
    """What a note or a person says about somebody or something, in one place."""

    subject: str  # whom or what it is about, as entities are looked up by it
    key: str  # 12 hex digits: the same statement has the same one everywhere
    source: int  # the note; 0 by hand
    line: int  # of the note; by hand, a number that counts
    name: str  # the subject as it is written
    predicate: str
    object: str  # the value, as entities are looked up by it; "" where it is too long for a name
    value: str
    basis: str  # hand | field | people | relationship | relation | inferred
    confidence: float | None  # given by hand
    origin: str  # user_edit | file | system | conversation
    made: int  # seconds since the epoch
    attitude: int | None = None
    proximity: int | None = None
    notes: str = ""


class Told(NamedTuple):
    """A fact with all that is known about it."""

    fact: Fact  # as its surest place says it
    confidence: float
    status: str  # staged | confirmed | superseded | retracted
    until: int | None  # seconds since the epoch, for what was superseded
    uses: int
    at: int  # seconds since the epoch: the last use, else when it was made
    places: tuple[tuple[str, int], ...]  # path and line of each note that says it; none by hand


class Root(NamedTuple):
    """A folder that was ingested, and what was asked for then."""

    path: str
    bucket: str
    tags: tuple[str, ...]
    globs: tuple[str, ...]


class Bridge(NamedTuple):
    """What leads from an anchor to a neighbor."""

    kind: str  # tag | bucket | title | backlink | name
    name: str
    weight: float  # what it lends at the most
    anchor: int  # the atom that it leads from


class Why(NamedTuple):
    """How a hit came to its score, which is `anchor` + `neighbor`."""

    anchor: float  # (sum of words * labels * speaker + title) / best
    words: dict[str, float]  # term -> what it adds: text, title and context together
    labels: float  # factor for a tag or bucket that holds a word of the query
    speaker: float  # factor for a chat turn whose speaker the query names
    title: float  # added where the query names the note
    best: float  # the best score of this query
    neighbor: float  # what the strongest bridge lends
    bridges: tuple[Bridge, ...]  # all that lead here from the same atom, the strongest first
    anchor_key: str  # the key of that atom


class Hit(NamedTuple):
    """An atom, or several that touch, that answer a query."""

    rank: int
    key: str  # of the best atom
    keys: tuple[str, ...]  # of all, in the order of the note
    path: str
    relpath: str
    line: int
    title: str
    heading: tuple[str, ...]
    buckets: tuple[str, ...]
    tags: tuple[str, ...]  # of people
    dream_tags: tuple[str, ...]
    date: str | None
    score: float
    role: str  # anchor | neighbor
    why: Why
    content: str
    cut: bool  # the atom alone is larger than the budget
    stale: bool  # the file is not what was ingested any more


class Answer(NamedTuple):
    """What a search returns."""

    hits: tuple[Hit, ...]
    found: int  # atoms that match by words, shown or not
    neighbors: int  # atoms that are reached over bridges alone
    unknown: dict[str, str | None]  # word that occurs nowhere -> the nearest one that does
    near: dict[str, dict[str, float]]  # word that occurs nowhere -> what was asked for instead, with weights
    words: tuple[str, ...]  # the query's raw words, for highlighting
    atoms: int  # atoms in the brain
    idfs: dict[str, float]
    holding: dict[str, int]  # term -> in how many atoms
    bridges: tuple[Bridge, ...]
    used: int  # characters
    used_by_neighbors: int
    budget: int | None


class MirrorReport(NamedTuple):
    """What a sync of the mirror did."""

    folder: str
    written: int = 0  # files
    removed: int = 0
    kept: int = 0  # as they were
    notes: int = 0
    atoms: int = 0
    saved: tuple[str, ...] = ()  # what people had edited, set aside
    foreign: tuple[str, ...] = ()  # files that memoria did not put there
    seconds: float = 0.0


class Spot(NamedTuple):
    """A node of the graph, as it is shown: an atom; a note, by its first atom; or an entity, by its name."""

    what: str  # atom | note | entity
    key: str  # of an atom or an entity; "" for a note
    path: str  # "" for an entity
    relpath: str
    line: int | None
    title: str  # of the note; the name of an entity
    heading: tuple[str, ...]
    content: str


class Step(NamedTuple):
    """A node that activation reached: energy = the energy before * weight / sqrt(degree) * tag_sim."""

    parent: int | None  # where in `Activation.steps` it came from; None for the seed
    depth: int
    spot: Spot
    energy: float  # what arrived; of the seed, its score
    weight: float | None = None  # of the edge
    degree: int | None = None  # of the node that was left
    tag_sim: float | None = None
    kind: str = ""  # of the edge: as stored, or part (note and atom), next (atoms of a note)
    type: str | None = None  # of a relationship
    way: str = ""  # out | in | both
    tags: tuple[str, ...] = ()  # of the edge


class Trail(NamedTuple):
    """A way from the seed to where it ended."""

    steps: tuple[int, ...]  # places in `Activation.steps`, the seed first
    end: str  # max_depth | below_threshold | dead_end | all_claimed


class Capped(NamedTuple):
    """A hub of which only the strongest edges were read, where a weaker one might have passed on more."""

    spot: Spot
    read: int
    degree: int


class Activation(NamedTuple):
    """What one seed activated."""

    seed_rank: int  # 1 for the first
    name: str  # what the seed was called by, or its key
    energy: float  # R of the seed
    steps: tuple[Step, ...]  # the seed first, then level by level
    trails: tuple[Trail, ...]
    end: str  # max_depth | empty_frontier | seed_not_found | failed
    capped: tuple[Capped, ...] = ()
    problem: str = ""  # why there is nothing


class IngestReport(NamedTuple):
    """What an ingest did."""

    new: int = 0
    changed: int = 0
    moved: int = 0
    removed: int = 0
    skipped: int = 0  # unchanged
    failed: tuple[tuple[str, str], ...] = ()
    warnings: tuple[tuple[str, str], ...] = ()
    atoms: int = 0  # written
    seconds: float = 0.0
    dry_run: bool = False
    interrupted: bool = False
    brain: str = ""
    created: bool = False
    mirror: MirrorReport | None = None  # None where it was left alone, or failed


class ShownAtom(NamedTuple):
    """An atom as `show` shows it."""

    key: str
    line: int
    heading: tuple[str, ...]
    kind: str
    tags: tuple[str, ...]  # of people
    links: tuple[tuple[Link, str | None], ...]  # and the path of the note that each leads to
    content: str
    asked: bool  # what was asked for, and not what stands around it


class Storyline(NamedTuple):
    """Notes of one stretch of time about one thing."""

    id: str
    anchor: str
    aliases: tuple[str, ...]
    name: str
    summary: str
    first: str
    last: str
    sources: tuple[int, ...]  # oldest first


class Macro(NamedTuple):
    """Storylines that belong together."""

    id: str
    kind: str  # anchor | theme
    name: str
    summary: str
    first: str
    last: str
    storylines: tuple[str, ...]  # oldest first


class StepReport(NamedTuple):
    """What one step of a dream did."""

    step: str
    seconds: float = 0.0
    notes: int = 0  # looked at
    full: bool = False
    added: int = 0
    removed: int = 0
    text: str = ""
    changes: tuple[str, ...] = ()  # one a line, for those who want to see all


class DreamReport(NamedTuple):
    """What a dream did."""

    steps: tuple[StepReport, ...] = ()
    seconds: float = 0.0
    dry_run: bool = False
    interrupted: bool = False
    warning: str = ""  # why the mirror is not in step

    @property
    def changed(self) -> bool:
        """Whether anything is different now."""
        return any(step.added or step.removed for step in self.steps)


class Tie(NamedTuple):
    """An edge as `links` shows it: from an atom or a note to what stands at its other end."""

    way: str  # out | in | both
    kind: str  # as an edge's; or unresolved, near-by
    weight: float | None
    tags: tuple[str, ...]
    why: str
    origin: str
    from_key: str  # of the atom that it leads from; "" for the note as a whole
    from_line: int | None
    key: str  # of the atom or entity at the other end; "" for a note as a whole
    path: str  # of its note; "" for an entity, and for a link that leads nowhere
    relpath: str
    line: int | None
    title: str


class ShownNote(NamedTuple):
    """A note as `show` shows it."""

    source: Source
    buckets: tuple[str, ...]
    tags: tuple[str, ...]  # of people
    dream_tags: tuple[str, ...]
    atoms: tuple[ShownAtom, ...]
    whole: bool
