"""Bringing the folder in step with the store: what a wipe and a rebuild would make, at the cost of what changed."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from heapq import nlargest
from typing import NamedTuple

from memoria.links import Resolver, names_asked, names_of
from memoria.mirror.body import plain
from memoria.mirror.disk import Disk, Page, hash_of
from memoria.mirror.manifest import Entry, Manifest
from memoria.mirror.names import index_path, short_hash
from memoria.mirror.navigation import BASE, CANVAS, HOME, ExtraPage, base, canvas, home, index
from memoria.mirror.page import Bundler, shape_of
from memoria.model import Source, source_of
from memoria.store import Content, Store

RENDERING = 1  # grows when the same brain is rendered otherwise: every page is looked at again then
_RUN = 100  # sources that are read together
_MOST_HELD = 20_000  # atoms that wait in memory between the two looks at their source
_NEWEST = 40
_MOST_PASSES = 5

Progress = Callable[[int, int, str], None]
Extra = Callable[[Callable[[int], str]], Sequence[ExtraPage]]  # what makes more pages, from what links to a source


class Settings(NamedTuple):
    """How a mirror is rendered."""

    link: str = "none"  # none | file | obsidian

    @property
    def key(self) -> str:
        """What the manifest remembers of them."""
        return f"{RENDERING} {self.link}"


class Sync:
    """One sync. The caller holds the mirror's lock."""

    def __init__(
        self,
        store: Store,
        manifest: Manifest,
        disk: Disk,
        settings: Settings,
        extra: Extra,
        progress: Progress | None = None,
    ) -> None:
        self._store = store
        self._manifest = manifest
        self._disk = disk
        self._settings = settings
        self._make_extra = extra
        self._extra: Sequence[ExtraPage] = ()
        self._progress = progress
        self._entries: dict[int, Entry] = {}  # of this pass
        self._by_name: dict[str, list[int]] | None = None
        self._held: dict[int, Content] = {}
        self._held_atoms = 0

    def run(self) -> None:
        """Make passes until the store is what it was when the pass began."""
        self._disk.look()
        for _ in range(_MOST_PASSES):
            generation = self._store.meta()["generation"]
            self._pass(generation)
            if self._store.meta()["generation"] == generation:
                return

    def _pass(self, generation: int) -> None:
        manifest, disk = self._manifest, self._disk
        self._entries, self._by_name, self._held, self._held_atoms = {}, None, {}, 0
        fingerprints: dict[int, str] = {}
        changed: set[int] = set()
        gone: set[int] = set()
        whole = manifest.settings != self._settings.key
        if whole or manifest.generation != generation:
            fingerprints = self._fingerprints()
            changed = {
                number
                for number, fingerprint in fingerprints.items()
                if whole or number not in manifest.lines or manifest.lines[number].split("\t", 2)[1] != fingerprint
            }
            gone = manifest.lines.keys() - fingerprints.keys()
            disk.changed = True
        broken = disk.lost | disk.edited
        owners = manifest.owners(broken) if broken else {}
        changed |= {number for number in owners.values() if number not in gone}
        navigation_broken = bool(broken - owners.keys())
        old = {number: manifest.entry(number) for number in (changed | gone) & manifest.lines.keys()}
        self._shape(changed, fingerprints, old)
        names = set() if whole else self._moved_names(old, gone)
        if names:
            linking = manifest.linking(names) - changed - gone
            old |= {number: manifest.entry(number) for number in linking}
            self._shape(linking, fingerprints, old)
        claimed = self._render()
        touched = self._count(old)
        unused = {path for entry in old.values() for path in entry.files()} - claimed
        if navigation_broken or whole:
            touched |= {("bucket", name) for name in manifest.totals.buckets}
            touched |= {("tag", name) for name in manifest.totals.tags}
        self._extra = self._make_extra(self._link)
        extra = {page.path: hash_of(page.text.encode("utf-8", "replace")) for page in self._extra}
        if touched or navigation_broken or disk.changed or extra != manifest.extra:
            unused |= self._navigate(touched) | (manifest.extra.keys() - extra.keys())
            manifest.extra = extra
        disk.remove(sorted(unused))
        disk.remove_orphans()
        manifest.generation, manifest.settings = generation, self._settings.key
        if disk.changed:
            disk.save(manifest)
            disk.changed = False

    def _fingerprints(self) -> dict[int, str]:
        """Return, for every source, what changes when anything does that its own pages show; and note the newest."""
        later: dict[int, list[str]] = {}
        for node, label in self._store.later_labels():
            later.setdefault(source_of(node), []).append(f"{node}{label.kind}\0{label.name}\0{label.origin}")
        roots: dict[str, str] = {}
        seen: dict[str, int] = {}
        found: dict[int, str] = {}
        dated = []
        for number, root, relpath, digest, following, ingested, date in self._store.mirror_sources():
            place = roots.get(root) or roots.setdefault(root, short_hash(root))
            # Of several roots, each may have a note with this path.
            copy = seen[relpath] = seen.get(relpath, 0) + 1
            path = relpath if relpath.isprintable() else ascii(relpath)
            labels = short_hash(*later[number]) if number in later else ""
            found[number] = f"{digest} {following} {ingested} {place} {copy} {labels} {path}"
            if date:
                dated.append((date, relpath, number))
        self._manifest.newest = [number for _, _, number in nlargest(_NEWEST, dated)]
        return found

    def _shape(self, numbers: set[int], fingerprints: dict[int, str], old: dict[int, Entry]) -> None:
        """Find out where the atoms of these sources will stand."""
        for content in self._contents(numbers, texts=None):
            if content.atoms:
                self._held[content.source.id] = content
                self._held_atoms += len(content.atoms)
            source = content.source
            fingerprint = fingerprints.get(source.id) or old[source.id].fingerprint
            copy = fingerprint.split(" ", 5)[4]
            shape = shape_of(content)
            self._entries[source.id] = Entry(
                fingerprint=fingerprint,
                names=frozenset(names_of(source)),
                asked=frozenset(),  # told by the pages themselves, when they are rendered
                title=source.title,
                date=source.date,
                seed=source.relpath if copy == "1" else f"{source.relpath}\0{copy}",
                buckets=shape.buckets,
                sets=tuple(shape.sets()),
            )

    def _moved_names(self, old: dict[int, Entry], gone: set[int]) -> set[str]:
        """Return the names by which a link may find something else now, or find it elsewhere."""
        names: set[str] = set()
        for number in old.keys() | self._entries.keys():
            before, after = old.get(number), self._entries.get(number) if number not in gone else None
            if before is None or after is None or _identity(before) != _identity(after):
                names |= before.names if before else frozenset()
                names |= after.names if after else frozenset()
        return names

    def _render(self) -> set[str]:
        """Write the bundles of all sources of this pass; return their paths."""
        claimed: set[str] = set()
        done = 0
        for run in _runs(self._entries):
            contents = [self._held.pop(number) for number in run if number in self._held]
            contents += self._contents(set(run) - {content.source.id for content in contents}, texts=True)
            targets = self._targets({target for content in contents for target in content.targets})
            for content in contents:
                number = content.source.id
                asked: set[str] = set()
                bundler = self._bundler(content, targets, asked)
                claimed.update(self._disk.put(bundler.pages()))
                self._entries[number] = self._entries[number]._replace(
                    pages=tuple(sorted(bundler.many.items())), asked=frozenset(asked)
                )
                done += 1
            if self._progress:
                self._progress(done, len(self._entries), "")
        return claimed

    def _targets(self, targets: set[str]) -> Callable[[str, Source], Source | None]:
        """Return what finds the note that a link means: those of a run of notes are looked up together."""
        names = {name for target in targets for name in names_asked(target)}
        together = Resolver(self._candidates(names))

        def resolve(target: str, origin: Source) -> Source | None:
            asked = names_asked(target)
            resolver = together if asked <= names else Resolver(self._candidates(asked))
            return resolver.resolve(target, origin)

        return resolve

    def _bundler(self, content: Content, resolve: Callable[[str, Source], Source | None], asked: set[str]) -> Bundler:
        entry = self._entries[content.source.id]

        def target(name: str) -> str:
            asked.update(names_asked(name))
            found = resolve(name, content.source)
            return self._entry(found.id).bundle() if found else ""

        return Bundler(content, shape_of(content), entry.seed, self._settings.link, target)

    def _candidates(self, names: AbstractSet[str]) -> list[Source]:
        """Return the sources that have one of these names."""
        if not names:
            return []
        if self._by_name is None:
            self._by_name = {}
            for name, numbers in self._manifest.by_name.items():
                self._by_name[name] = [number for number in numbers if number not in self._entries]
            for number, entry in self._entries.items():
                for name in entry.names:
                    self._by_name.setdefault(name, []).append(number)
        wanted = {number for name in names for number in self._by_name.get(name, ())}
        return list(self._store.show((), wanted).sources.values()) if wanted else []

    def _link(self, number: int) -> str:
        """Return a link to a source's bundle, with its date; plain text where it has none."""
        entry = self._entry(number)
        bundle = entry.bundle()
        title = plain(entry.title)
        return f"{entry.date or ''} {f'[[{bundle}|{title}]]' if bundle else title}".strip()

    def _entry(self, number: int) -> Entry:
        return self._entries[number] if number in self._entries else self._manifest.entry(number)

    def _count(self, old: dict[int, Entry]) -> set[tuple[str, str]]:
        """Bring the totals and the manifest's lines up to date; return the labels whose index notes may change."""
        totals, lines = self._manifest.totals, self._manifest.lines
        touched: set[tuple[str, str]] = set()
        for number in old.keys() | self._entries.keys():
            before, after = old.get(number), self._entries.get(number)
            if after is None:  # gone, now or since the pass began
                lines.pop(number, None)
            else:
                lines[number] = after.line(number)
            if before and after and before.shown == after.shown:
                continue
            if before:
                touched |= totals.count(number, before, -1)
            if after:
                touched |= totals.count(number, after, 1)
        if "by_name" in vars(self._manifest):
            del self._manifest.by_name
        nested = [name.split("/") for kind, name in touched if kind == "tag" and "/" in name]
        above = {"/".join(parts[:count]) for parts in nested for count in range(1, len(parts))}
        return touched | {("tag", name) for name in above if name in totals.tags}  # their indexes name those below

    def _navigate(self, touched: set[tuple[str, str]]) -> set[str]:
        """Write the pages that lead to the bundles; return the paths of those that nothing needs any more."""
        totals = self._manifest.totals
        used = {label for label in touched if label[1] in (totals.tags if label[0] == "tag" else totals.buckets)}
        self._disk.put(
            (index_path(kind, name), index(kind, name, totals, self._entry).encode("utf-8", "replace"))
            for kind, name in sorted(used)
        )
        newest = [number for number in self._manifest.newest if number in self._manifest.lines]
        top: list[Page] = [(page.path, page.text.encode("utf-8", "replace")) for page in self._extra]
        top += [
            (HOME, home(totals, newest, self._entry, self._extra).encode("utf-8", "replace")),
            (BASE, base().encode()),
            (CANVAS, canvas(totals).encode("utf-8", "replace")),
        ]
        self._disk.put(top)
        return {index_path(*label) for label in touched - used}

    def _contents(self, numbers: Iterable[int], *, texts: bool | None) -> Iterator[Content]:
        """Yield sources: with their atoms, without, or (None) with them as long as there is room."""
        for run in _runs(numbers):
            wanted = set(run)
            with_atoms = self._held_atoms < _MOST_HELD if texts is None else texts
            found = self._store.contents(run[0], run[-1], texts=with_atoms)
            yield from (content for content in found if content.source.id in wanted)


def _identity(entry: Entry) -> tuple[frozenset[str], str, str]:
    """Return what links to a source depend on."""
    place = entry.fingerprint.split(" ", 6)
    return entry.names, entry.bundle(), f"{place[3]} {place[6]}"


def _runs(numbers: Iterable[int]) -> Iterator[list[int]]:
    """Yield the numbers in order, those that lie close together as one list."""
    run: list[int] = []
    for number in sorted(numbers):
        if run and (number > run[-1] + 3 or len(run) == _RUN):
            yield run
            run = []
        run.append(number)
    if run:
        yield run
