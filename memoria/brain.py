"""The brain: one object for everything a command can ask for."""

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from memoria import config
from memoria.errors import MemoriaError, NoteError, NotFoundError, StoreMissingError, UsageError
from memoria.model import (
    Answer,
    DreamReport,
    IngestReport,
    Macro,
    MirrorReport,
    Root,
    ShownNote,
    Source,
    Storyline,
    Tie,
    source_node,
    source_of,
)
from memoria.retrieve.budget import Shares
from memoria.retrieve.filters import Filters
from memoria.retrieve.harvest import Walk
from memoria.retrieve.query import Query
from memoria.retrieve.walker import Request, search
from memoria.scoring import Bm25
from memoria.store import Seen, Store
from memoria.text import label_name

if TYPE_CHECKING:
    from memoria.ingest import Given, TextNote
    from memoria.mirror import Difference, ExtraPage, Mirror
    from memoria.retrieve.activation import Limits
    from memoria.retrieve.trails import Activating
    from memoria.store.writer import StoreWriter
    from memoria.upkeep import Finding
    from memoria.watch import Happened, Watch


MOST_DREAMS = 10  # in the mirror's diary
MAX_STARTS = 40  # atoms of a note that a walk begins from


class Brain:
    """A brain's folder, and what can be done with it."""

    def __init__(self, folder: str, settings: config.Config) -> None:
        self.folder = folder
        self.config = settings
        self.store_path = os.path.join(folder, config.STORE_NAME)
        self.mirror_path = os.path.join(folder, config.MIRROR_NAME)

    @classmethod
    def find(cls, flag: str | None) -> "Brain":
        """Find the brain that is meant."""
        folder = config.find_brain(flag)
        return cls(folder, config.load(folder))

    # Reading

    @contextmanager
    def reading(self) -> Iterator[Store]:
        """Open the store to read; takes no lock and makes nothing."""
        store = Store.open(self.store_path)
        try:
            yield store
        finally:
            store.close()

    def _seen(self, look: Callable[[Store], Seen]) -> Seen:
        """Return what `look` sees in the store, of one state."""
        with self.reading() as store:
            return store.of_one_state(lambda: look(store))

    def search(self, request: Request, *, mode: str = "walk", shares: Shares | None = None) -> Answer:
        """Answer a query; a limit alone lifts the budget. `mode` is walk, no-walk, strict or activate."""
        with self.reading() as store:
            return self.answer(store, request, mode=mode, shares=shares)

    def answer(self, store: Store, request: Request, *, mode: str = "walk", shares: Shares | None = None) -> Answer:
        """Answer a query from an open store."""
        if request.budget is None and request.limit is None:
            request = request._replace(budget=self.config["search.budget"])
        request = request._replace(filters=request.filters.joined(request.query.filters))
        walk = self.walk(mode, shares)
        # To the letter, what a dream tagged is what leads on. Fused with the words' own ranking it gained nothing.
        walk = walk._replace(dreamed=walk.strict and not request.filters.no_dream_tags)
        answer = search(store, request, walk, changed=file_changed)
        if answer.unknown:
            from memoria.retrieve.nearest import written_form

            found = {word: near and written_form(store, near) for word, near in answer.unknown.items()}
            answer = answer._replace(unknown=found)
        return answer

    def walk(self, mode: str = "walk", shares: Shares | None = None) -> Walk:
        """Return the settings of the walk."""
        return Walk(
            bm25=Bm25(*(self.config[f"bm25.{name}"] for name in Bm25._fields)),
            boost_labels=self.config["walk.boost_labels"],
            harvest_top=self.config["walk.harvest_top"],
            ignore=self.config["walk.ignore"],
            shares=shares or Shares(self.config["walk.share"]),
            walking=mode != "no-walk",
            strict=mode == "strict",
            activating=self.limits() if mode == "activate" else None,
        )

    def similar(self, name: str, *, budget: int | None = None, limit: int | None = None) -> Answer:
        """Return what is associated with an atom, or with a note.

        Raises:
            NotFoundError: nothing is called so.

        """
        from memoria.retrieve.resolve import find
        from memoria.retrieve.walker import similar

        if budget is None and limit is None:
            budget = self.config["search.budget"]

        def look(store: Store) -> Answer:
            named = find(store, name)
            if named.atom is not None:
                starts = [named.atom]
            else:
                outline = store.outlines([named.sources[0].id]).get(named.sources[0].id, [])
                starts = [source_node(named.sources[0].id) + here.ordinal for here in outline[:MAX_STARTS]]
            return similar(store, starts, self.walk(), budget=budget, limit=limit, changed=file_changed)

        return self._seen(look)

    def limits(self, **given: float | None) -> "Limits":
        """Return how far activation spreads: as given, else as set."""
        from memoria.retrieve.activation import Limits

        return Limits(
            **{name: self.config[f"activate.{name}"] for name in Limits._fields}
            | {name: value for name, value in given.items() if value is not None}
        )

    @contextmanager
    def activating(
        self, query: Query, named: Sequence[tuple[str, float]], tags: Iterable[str], limits: "Limits", seeds: int | None
    ) -> "Iterator[Activating]":
        """Spread energy from the seeds that are named, else from the best atoms for a query."""
        from memoria.retrieve.trails import Activating, activate, named_seed, query_tags, seeds_of

        with self.reading() as store:
            answer = None
            if named:
                found = store.of_one_state(
                    lambda: [named_seed(store, rank, name, energy) for rank, (name, energy) in enumerate(named, 1)]
                )
            else:
                answer = self.answer(store, Request(query, limit=seeds or self.config["activate.seeds"]))
                found = seeds_of(store, answer)
            mentioned = store.of_one_state(lambda: query_tags(store, query))
            asked = list(dict.fromkeys([*filter(None, map(label_name, tags)), *mentioned]))
            results = activate(store, found, asked, limits)
            try:
                yield Activating(answer, found, asked, results)
            finally:
                results.close()

    def related_tags(self, tag: str) -> list[tuple[str, int, int, float]]:
        """Return (tag, its notes, how many of them are shared, closeness) of the tags on the same notes.

        Raises:
            NotFoundError: there is no such tag.

        """
        wanted = label_name(tag)
        notes: dict[str, set[int]] = {}
        with self.reading() as store:
            for name, node, _ in store.labels("tag"):
                notes.setdefault(name, set()).add(source_of(node))
        if wanted not in notes:
            raise NotFoundError(f"there is no tag {tag!r}", hint="memoria tags lists them")
        mine = notes.pop(wanted)
        found = [
            (name, len(theirs), shared, shared / math.sqrt(len(mine) * len(theirs)))
            for name, theirs in notes.items()
            if (shared := len(mine & theirs))
        ]
        return sorted(found, key=lambda item: (-item[3], item[0]))

    def used(self, keys: Iterable[str], *, opened: bool = False) -> None:
        """Note that atoms or facts were listed, or opened; never waits, never fails."""
        from memoria.store import uselog

        noted = list(keys)
        if noted:
            uselog.note(self.store_path, uselog.OPENED if opened else uselog.LISTED, noted, time.time())

    def status(self) -> dict[str, Any]:
        """Return what is in the brain, and where."""
        from memoria.store.lock import holder_of

        def look(store: Store) -> dict[str, Any]:
            meta, sizes = store.meta(), store.sizes()
            return {
                "brain": self.folder,
                "store": self.store_path,
                "store_bytes": sum(
                    os.path.getsize(self.store_path + end)
                    for end in ("", "-wal")
                    if os.path.exists(self.store_path + end)
                ),
                "version": meta["version"],
                "generation": meta["generation"],
                **{name: sizes.get(name, 0) for name in ("sources", "atoms", "links", "terms")},
                "tags": len({name for name, _, _ in store.labels("tag")}),
                "buckets": len({name for name, _, _ in store.labels("bucket")}),
                **store.graph_sizes(),
                "segments": len(store.segments()),
                "last_ingest": meta["ingested"] or None,
                "roots": [root.path for root in store.roots()],
                "writer": holder_of(self.store_path),
                "mirror": self._mirror_state(store),
            }

        return self._seen(look)

    def sources(self, text: str, filters: Filters) -> list[Source]:
        """Return the sources with `text` in their title or path, within the filters."""
        from memoria.retrieve.filters import allowed, source_passes
        from memoria.text import fold

        wanted = fold(text)

        def look(store: Store) -> list[Source]:
            labels = filters._replace(paths=(), sources=(), since=None, until=None)
            passes = allowed(store, labels)
            return [
                source
                for source in store.sources()
                if (wanted in fold(source.title) or wanted in fold(source.relpath))
                and source_passes(source, filters)
                and (passes is None or passes(source_node(source.id)))
            ]

        return self._seen(look)

    def labels(self, kind: str, text: str, *, dreamed: bool = True) -> list[tuple[str, int, int, int]]:
        """Return (name, notes, atoms, notes by dreams) of the tags or buckets with `text` in their name.

        Notes and atoms are those that people labeled; the most used come first.
        """
        notes: dict[str, set[int]] = {}
        atoms: dict[str, int] = {}
        dreams: dict[str, int] = {}
        labels, sizes = self._seen(lambda store: (store.labels(kind), store.source_sizes()))
        for name, node, origin in labels:
            if text.lower().lstrip("#@") not in name or (origin == "dream" and not dreamed):
                continue
            found = notes.setdefault(name, set())
            if origin == "dream":
                dreams[name] = dreams.get(name, 0) + 1
                continue
            whole = node == source_node(source_of(node))
            found.add(source_of(node))
            atoms[name] = atoms.get(name, 0) + (sizes.get(source_of(node), 0) if whole else 1)
        listed = [(name, len(sources), atoms.get(name, 0), dreams.get(name, 0)) for name, sources in notes.items()]
        return sorted(listed, key=lambda item: (-item[1], -item[3], item[0]))

    def tags_by_note(self) -> "list[tuple[Source, list[str], list[tuple[str, float, str]]]]":
        """Return each note's tags of people, and those of dreams (name, score, reason), best first."""
        from memoria.store.dreams import DreamStore

        labels, dreamed, sources = self._seen(
            lambda store: (store.labels("tag"), DreamStore(store).tags(), store.sources())
        )
        human: dict[int, set[str]] = {}
        for name, node, origin in labels:
            if origin != "dream":
                human.setdefault(source_of(node), set()).add(name)
        return [(source, sorted(human.get(source.id, ())), dreamed.get(source.id, [])) for source in sources]

    def judge_tag(self, tag: str, verdict: str, note: str | None, wait: float | None = None) -> tuple[int, str]:
        """Accept or reject a tag of dreams, on a note or wherever it is.

        Return on how many notes that changed, and why the mirror is not in step.

        Raises:
            NotFoundError: no dream gave that tag, or not to that note.

        """
        from memoria.dream.judge import judge
        from memoria.retrieve.resolve import find

        if not self.exists:
            raise StoreMissingError(self.folder)
        with self.writing(wait) as store:
            sources = None
            if note is not None:
                named = find(store, note)
                sources = [source_of(named.atom)] if named.atom is not None else [one.id for one in named.sources]
            count = judge(store, label_name(tag), verdict, sources, now=int(time.time()))
        return count, self._mirror_again()

    def storylines(self) -> tuple[list[Storyline], list[Macro], dict[int, Source]]:
        """Return the storylines and macros, the newest first, and the notes in them."""
        from memoria.store.dreams import DreamStore

        def look(store: Store) -> tuple[list[Storyline], list[Macro], dict[int, Source]]:
            view = DreamStore(store)
            lines = view.storylines()
            sources = store.show((), {number for line in lines for number in line.sources}).sources if lines else {}
            return lines, view.macros(), sources

        return self._seen(look)

    def show(self, name: str, context: int) -> list[ShownNote]:
        """Return an atom with its neighbours, or the notes that are called so."""
        from memoria.retrieve.shown import show

        return self._seen(lambda store: show(store, name, context))

    def links(self, name: str) -> list[Tie]:
        """Return what an atom or a note is tied to.

        Raises:
            NotFoundError: nothing is called so.

        """
        from memoria.graph.view import ties
        from memoria.retrieve.resolve import find

        def look(store: Store) -> list[Tie]:
            named = find(store, name)
            sources = named.sources or store.show([named.atom] if named.atom else []).sources.values()
            return ties(store, sources, named.atom)

        return self._seen(look)

    def orphans(self) -> list[tuple[Source, int]]:
        """Return the notes that no link leads from or to, and how many ties dreams found for each."""

        def look(store: Store) -> list[tuple[Source, int]]:
            linked = store.linked_sources()
            alone = [source for source in store.sources() if source.id not in linked]
            degrees = store.degrees([source_node(source.id) for source in alone])
            return [(source, degrees.get(source_node(source.id), 0)) for source in alone]

        return self._seen(look)

    # Writing

    @contextmanager
    def writing(self, wait: float | None = None) -> "Iterator[StoreWriter]":
        """Open the store to write, under the lock; makes the brain where there is none."""
        from memoria.store.lock import WriteLock
        from memoria.store.writer import StoreWriter

        self.make_folder()
        with WriteLock(self.store_path, self.config["store.wait"] if wait is None else wait):
            store = StoreWriter.open(self.store_path)
            try:
                self._fold_in(store)
                yield store
            finally:
                store.close()

    def make(self, wait: float | None = None) -> bool:
        """Make the brain here, with a memoria.toml that names every setting; False if there is one."""
        made = not self.exists
        with self.writing(wait):
            path = os.path.join(self.folder, config.CONFIG_NAME)
            if not os.path.exists(path):
                config.write_whole(path, config.template())
        return made

    def make_folder(self) -> None:
        """Make the brain's folder."""
        try:
            os.makedirs(self.folder, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"{self.folder} can't be made ({error.strerror})", hint="name another place with --brain"
            ) from error
        ignored = os.path.join(self.folder, ".gitignore")
        if not self.exists and not os.path.lexists(ignored):
            config.write_whole(ignored, f"/{config.STORE_NAME}*\n/{config.MIRROR_NAME}/\n")

    @property
    def exists(self) -> bool:
        """Whether there is a store."""
        return os.path.exists(self.store_path)

    def ingest(
        self,
        paths: Iterable[str],
        given: "Given",
        *,
        wait: float | None = None,
        mirror: bool = True,
        mirror_progress: "Callable[[int, int, str], None] | None" = None,
        **options: Any,
    ) -> IngestReport:
        """Ingest files and folders, or all known ones again; then bring the mirror in step."""
        from memoria.ingest import ingest_files

        report = self._ingest(
            lambda store: ingest_files(store, paths, given, self.config, now=time.time(), **options), wait
        )
        return self._mirrored(report, mirror_progress) if mirror else report

    def watch(self, paths: Iterable[str], tell: "Callable[[Happened], None]", **options: Any) -> "Watch":
        """Return what keeps the brain in step with files and folders, or with all known ones, once it is run.

        Raises:
            UsageError: there is no such file or folder, or nothing is known yet.

        """
        from memoria.ingest import Given
        from memoria.ingest.scan import Rules, look_at, place_of, scan
        from memoria.watch import Notes, Watch

        progress = options.pop("progress", None)
        roots = {root.path: root for root in self._known_roots()}
        targets = self._watchable(list(map(os.path.abspath, paths)), roots)

        def rules_of(target: str) -> tuple[str, Rules]:
            here = target
            while here not in roots and here != os.path.dirname(here):
                here = os.path.dirname(here)
            root = roots.get(here)
            extensions, ignore = tuple(self.config["ingest.extensions"]), tuple(self.config["ingest.ignore"])
            return root.path if root else target, Rules(extensions, root.globs if root else (), ignore)

        def ingest(whole: list[str], touched: Mapping[str, Sequence[str]]) -> IngestReport:
            # Waits for another writer only shortly: the watch tries again, and hears Ctrl-C in between.
            report = self.ingest(
                whole, Given(), wait=1.0, touched=touched, progress=progress, stopped=lambda: watch.stopped
            )
            roots.update((root.path, root) for root in self._known_roots())
            return report

        def place(target: str, path: str, is_folder: bool) -> str | None:  # noqa: FBT001
            if targets[target] != target:  # a file: its neighbours are none of our business
                return target if path == target else None
            return place_of(path, target, *rules_of(target), is_folder=is_folder)

        def listing(target: str) -> dict[str, tuple[int, int]]:
            found = scan(target, *rules_of(target)) if targets[target] == target else [look_at(target)]
            return {seen.path: (seen.size, seen.mtime) for seen in found}

        def dream() -> str:
            report = self.dream(wait=1.0, stopped=lambda: watch.stopped)
            return "; ".join(f"{step.step}: {step.text}" for step in report.steps if step.added or step.removed)

        watch = Watch(targets, Notes(ingest, place, listing, dream), tell, **options)
        return watch

    def _known_roots(self) -> list[Root]:
        if not self.exists:
            return []
        with self.reading() as store:
            return store.roots()

    def _watchable(self, paths: list[str], roots: Mapping[str, Root]) -> dict[str, str]:
        """Return what to watch -> the folder that must be there for it."""
        for path in paths:
            if not os.path.lexists(path) and path not in roots:
                raise UsageError(f"there is no file or folder {path}")
        if not paths and self.exists:
            with self.reading() as store:
                alone = [state.path for state in store.source_states() if state.root and state.root not in roots]
            paths = [*roots, *alone]
        if not paths:
            raise UsageError(
                "there is nothing to watch yet", hint="memoria watch PATH takes a folder in, and watches it"
            )
        return {path: path if path in roots or os.path.isdir(path) else os.path.dirname(path) for path in paths}

    def ingest_texts(
        self,
        notes: "Iterable[TextNote | NoteError | None]",
        *,
        wait: float | None = None,
        mirror: bool = True,
        **options: Any,
    ) -> IngestReport:
        """Ingest notes that come as text; then bring the mirror in step."""
        from memoria.ingest import ingest_texts

        report = self._ingest(lambda store: ingest_texts(store, notes, self.config, now=time.time(), **options), wait)
        return self._mirrored(report) if mirror else report

    def _ingest(self, run: "Callable[[StoreWriter], IngestReport]", wait: float | None) -> IngestReport:
        created = not self.exists
        with self.writing(wait) as store:
            report = run(store)
        return report._replace(brain=self.folder, created=created)

    def _mirrored(
        self, report: IngestReport, progress: "Callable[[int, int, str], None] | None" = None
    ) -> IngestReport:
        """Bring the mirror in step with what an ingest changed. What was ingested stays so, whatever becomes of it."""
        if report.dry_run or not (report.new or report.changed or report.moved or report.removed):
            return report
        try:
            return report._replace(mirror=self.mirror_if_enabled(progress=progress))
        except MemoriaError as error:
            return report._replace(warnings=(*report.warnings, (self.mirror_path, _in_one_sentence(error))))

    def dream(
        self,
        *,
        only: Iterable[str] = (),
        full: bool = False,
        dry_run: bool = False,
        mirror: bool = True,
        wait: float | None = None,
        **options: Any,
    ) -> DreamReport:
        """Dream once, and bring the mirror in step; a dry run dreams in a copy of the store."""
        if not self.exists:
            raise StoreMissingError(self.folder)
        if dry_run:
            from tempfile import TemporaryDirectory

            with TemporaryDirectory() as folder:
                copy = Brain(folder, self.config)
                with self.writing(wait) as store:
                    store.backup(copy.store_path)
                report = copy.dream(only=only, full=full, mirror=False, wait=wait, **options)
            return report._replace(dry_run=True)
        from datetime import UTC, datetime

        from memoria.dream.cycle import dream

        with self.reading() as store:
            today = datetime.now(UTC).astimezone().date().isoformat()
            report = dream(
                store,
                lambda: self._writing_with(store, wait),
                now=time.time(),
                today=today,
                only=only,
                full=full,
                **options,
            )
        return report._replace(warning=self._mirror_again()) if report.changed and mirror else report

    @contextmanager
    def _writing_with(self, store: Store, wait: float | None) -> "Iterator[StoreWriter]":
        """Write through a store that is open already, under the lock."""
        from memoria.store.lock import WriteLock
        from memoria.store.writer import StoreWriter

        with WriteLock(self.store_path, self.config["store.wait"] if wait is None else wait):
            writer = StoreWriter.of(store)
            self._fold_in(writer)
            yield writer

    def _fold_in(self, store: "StoreWriter") -> None:
        """Fold in what was used since the last write."""
        if os.path.exists(self.store_path + ".used") or os.path.exists(self.store_path + ".used.folding"):
            from memoria.graph.use import fold_in

            fold_in(store, self.store_path)

    def last_write(self) -> float:
        """Return when the store was written last, in seconds since the epoch; now, where somebody is about to."""
        from memoria.store.lock import holder_of

        if holder_of(self.store_path):
            return time.time()
        paths = (self.store_path, self.store_path + "-wal")
        return max((os.path.getmtime(path) for path in paths if os.path.exists(path)), default=0.0)

    def undo_dreams(self, wait: float | None = None) -> str:
        """Remove all that dreams made; return why the mirror is not in step, or ""."""
        from memoria.store.dreams import DreamStore

        if not self.exists:
            raise StoreMissingError(self.folder)
        with self.writing(wait) as store:
            DreamStore(store).undo()
        return self._mirror_again()

    def diary(self, most: int = 10) -> list[tuple[int, int, str]]:
        """Return (n, when, report) of the last dreams that changed something, the newest first."""
        from memoria.store.dreams import DreamStore

        with self.reading() as store:
            return DreamStore(store).diary(most)

    def find_to_forget(self, names: Sequence[str], bucket: str) -> list[Source]:
        """Return the sources that are meant.

        Raises:
            NotFoundError: nothing is called so.

        """
        from memoria.retrieve.resolve import find_sources

        def look(store: Store) -> list[Source]:
            found: dict[int, Source] = {}
            for name in names:
                sources = find_sources(store, name)
                roots = [root.path for root in store.roots()]
                if not sources and os.path.abspath(name) not in roots:
                    raise NotFoundError(f"nothing is called {name!r}", hint="memoria sources lists what is known")
                found.update((source.id, source) for source in sources)
            if bucket:
                nodes = store.nodes_with("bucket", label_name(bucket))
                if not nodes:
                    raise NotFoundError(f"there is no bucket {bucket!r}", hint="memoria buckets lists them")
                found.update(store.show((), {source_of(node) for node in nodes}).sources)
            return sorted(found.values(), key=lambda source: source.path)

        return self._seen(look)

    def forget(self, sources: Iterable[Source], names: Iterable[str], wait: float | None = None) -> tuple[int, str]:
        """Remove sources, and the roots among `names`; return how many sources, and why the mirror is not in step."""
        from memoria.ingest import forget

        with self.writing(wait) as store:
            named = {os.path.abspath(name) for name in names}
            roots = [root.path for root in store.roots() if root.path in named]
            count = forget(store, sources, roots=roots, now=time.time())
        return count, self._mirror_again()

    # The mirror

    def _mirror_again(self) -> str:
        """Bring the mirror in step; return why it is not, or ""."""
        try:
            self.mirror_if_enabled()
        except MemoriaError as error:
            return _in_one_sentence(error)
        return ""

    def mirror_if_enabled(self, **options: Any) -> MirrorReport | None:
        """Bring the mirror in step, unless the settings say that there is none."""
        return self.sync_mirror(**options) if self.config["mirror.enabled"] else None

    def sync_mirror(self, to: str = "", *, wait: float | None = None, **options: Any) -> MirrorReport:
        """Bring a mirror in step with the store: the brain's own, or one in another folder."""
        with self.reading() as store:
            wait = self.config["store.wait"] if wait is None else wait
            return self._mirror(store, to).sync(store, brain=self.folder, wait=wait, **options)

    def check_mirror(
        self, to: str = "", progress: "Callable[[int, int, str], None] | None" = None
    ) -> "list[Difference]":
        """Return what of a mirror is not what a rebuild would make."""
        with self.reading() as store:
            return self._mirror(store, to).check(store, progress)

    def _mirror(self, store: Store, to: str = "") -> "Mirror":
        from memoria.mirror import Mirror, Settings

        return Mirror(to or self.mirror_path, Settings(self.config["mirror.link"]), self._extra_pages(store))

    def _extra_pages(self, store: Store) -> "Callable[[Callable[[int], str]], list[ExtraPage]]":
        """Return what makes the pages of the mirror that no note has: what dreams found."""
        from memoria.mirror.dreams import dream_pages
        from memoria.store.dreams import DreamStore

        view = DreamStore(store)
        return lambda link: dream_pages(view.storylines(), view.macros(), view.diary(MOST_DREAMS), link)

    def _mirror_state(self, store: Store) -> str:
        """Return how the mirror is, at a glance: off, none, in step or behind."""
        if not self.config["mirror.enabled"]:
            return "off"
        if not os.path.exists(os.path.join(self.mirror_path, config.MIRROR_MARKER)):
            return "none"
        return "behind" if self._mirror(store).behind(store) else "in step"

    def check(
        self, *, fix: bool, wait: float | None = None, progress: "Callable[[int, int, str], None] | None" = None
    ) -> "list[Finding]":
        """Check the brain, and with `fix` mend what can be derived from the atoms."""
        from memoria import upkeep

        if not self.exists:
            raise StoreMissingError(self.folder)
        findings = upkeep.check_file(self.store_path)
        if fix:
            with self.writing(wait) as writer:
                upkeep.rebuild(writer, progress)
        findings += self._seen(lambda store: [*upkeep.check_store(store, progress), *upkeep.advise(store)])
        if self._seen(self._mirror_state) == "behind":
            findings.append(
                upkeep.Finding("advice", "the mirror is behind the brain; memoria mirror brings it in step")
            )
        return findings


def _in_one_sentence(error: MemoriaError) -> str:
    return f"the mirror is not in step: {error}" + (f" ({error.hint})" if error.hint else "")


def file_changed(source: Source) -> bool:
    """Tell whether a source's file is not what was ingested any more."""
    if source.kind != "file":
        return False
    try:
        status = os.stat(source.path)
    except OSError:
        return True
    return (status.st_size, status.st_mtime_ns) != (source.size, source.mtime)
