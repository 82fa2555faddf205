"""Watching folders: what happens below them becomes one run after the other. Knows nothing of stores and notes."""

import logging
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import NamedTuple

from watchdog import events
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from memoria.errors import MemoriaError, StoreBusyError, StoreDamagedError, StoreError, StoreVersionError
from memoria.model import IngestReport

SETTLE = 1.0  # seconds without an event until what happened is ingested
LONGEST = 10  # settle times: a burst without an end is not waited for any longer
MANY = 500  # places below one folder: to look at all of it is as quick, and sees what an overflowing queue lost
LOOK = 2.0  # seconds between two looks at the watched folders themselves
POLL_SHARE = 0.1  # of the time at the most is spent on lists of the files, where that is how changes are found
RESCAN = 300.0  # seconds until all is looked at again: not every system tells everything
RETRY, LAST_RETRY = 1.0, 60.0  # seconds between two tries where the store can't be written

Listing = dict[str, tuple[int, int]]  # path -> size and time


class Happened(NamedTuple):
    """Something to tell: watching, polling, ingest, waiting, back, busy, failed, dream."""

    kind: str
    path: str = ""
    text: str = ""
    report: IngestReport | None = None
    places: tuple[str, ...] = ()


class Notes(NamedTuple):
    """What a watch needs to know of notes."""

    ingest: Callable[[list[str], Mapping[str, Sequence[str]]], IngestReport]  # whole targets; target -> places below
    place_of: Callable[[str, str, bool], str | None]  # target, path, whether a folder -> where to look, if anywhere
    listing: Callable[[str], Listing]
    dream: Callable[[], str] = str  # what it found, in words


class Watch:
    """Keeps a brain in step with some folders and files."""

    def __init__(
        self,
        targets: Mapping[str, str],  # what to watch -> the folder that must be there: itself, or the one a file is in
        notes: Notes,
        tell: Callable[[Happened], None],
        *,
        settle: float = SETTLE,
        poll: bool = False,
        dream_every: float = math.inf,
    ) -> None:
        self.stopped = False
        self._dream_every = dream_every
        self._next_dream = time.monotonic() + dream_every
        self._notes = notes
        self._tell = tell
        self._settle = settle
        self._poll = poll
        self._queue: SimpleQueue[tuple[str, str, bool] | None] = SimpleQueue()
        self._folder_of = targets
        self._there: dict[str, tuple[int, int] | None] = dict.fromkeys(targets)  # target -> which folder is there
        self._last_there: dict[str, tuple[int, int]] = {}
        self._observers: dict[str, BaseObserver] = {}
        self._listings: dict[str, Listing] = {}
        self._touched: dict[str, set[str]] = {}  # target -> places below it; itself: all of it
        self._first = self._last = 0.0  # when the burst that is waited for began, and when it last went on
        self._has_run = False
        self._tries = 0
        self._not_before = self._next_look = self._next_list = 0.0
        self._next_rescan = math.inf

    def stop(self) -> None:
        """End after the current run. May be called from a signal handler."""
        self.stopped = True
        self._queue.put(None)

    def run(self) -> None:
        """Watch until stopped. Begins with a look at everything: something may have happened while nobody watched.

        Raises:
            MemoriaError: nothing can be written here; what passes (a busy store, a full disk) is tried again.

        """
        logger = logging.getLogger("watchdog")
        logger.propagate = False
        overflow = _Overflow(self._touch_all_later)
        logger.addHandler(overflow)
        try:
            self._look_after_targets()
            for target, there in self._there.items():
                if there is None:
                    self._tell(Happened("waiting", target))
            self._last = 0.0  # the first look needs no settling
            self._run_if_due()
            if not self.stopped:
                self._tell(Happened("watching", places=tuple(self._there)))
            while not self.stopped:
                self._hear()
                self._look_after_targets()
                self._list_files()
                if not self._touched:
                    self._rest()
                self._run_if_due()
        finally:
            logger.removeHandler(overflow)
            for target in list(self._observers):
                self._close(target)

    # What happens

    def _hear(self) -> None:
        """Wait for an event, or until something else is to be done."""
        until = min(self._due(), self._next_look, self._next_rescan, self._next_dream)
        if self._listings:
            until = min(until, self._next_list)
        with suppress(Empty):
            event = self._queue.get(timeout=max(0.0, until - time.monotonic()))
            while True:
                if event is not None:
                    self._take(*event)
                event = self._queue.get_nowait()

    def _take(self, target: str, path: str, is_folder: bool) -> None:  # noqa: FBT001 - from the queue
        if path and self._target_of(path) != target:
            return  # a target inside another: the inner one hears of it, too
        place = self._notes.place_of(target, path, is_folder) if path else target
        if place is not None:
            self._touch(target, [place])

    def _touch(self, target: str, places: Iterable[str]) -> None:
        now = time.monotonic()
        if not self._touched:
            self._first = now
        self._last = now
        self._touched.setdefault(target, set()).update(places)

    def _touch_all_later(self) -> None:
        for target in self._there:
            self._queue.put((target, "", True))

    def _target_of(self, path: str) -> str | None:
        while path not in self._there:
            parent = os.path.dirname(path)
            if parent == path:
                return None
            path = parent
        return path

    def _rest(self) -> None:
        """Do what is done while nothing happens."""
        if time.monotonic() >= self._next_dream:
            self._dream()
        if time.monotonic() >= self._next_rescan:
            self._next_rescan = time.monotonic() + RESCAN
            for target in self._there:
                self._touch(target, [target])

    def _dream(self) -> None:
        try:
            found = self._notes.dream()
        except StoreBusyError:
            self._next_dream = time.monotonic() + RETRY
            return
        except MemoriaError as error:
            found = str(error)
        self._next_dream = time.monotonic() + self._dream_every
        if found:
            self._tell(Happened("dream", text=found))

    # Runs

    def _due(self) -> float:
        if not self._touched:
            return math.inf
        return max(self._not_before, min(self._last + self._settle, self._first + LONGEST * self._settle))

    def _run_if_due(self) -> None:
        if time.monotonic() < self._due():
            return
        self._look_after_targets(at_once=True)
        # What is below a folder that is gone is looked at when it is back; its notes stay.
        touched = {target: places for target, places in self._touched.items() if self._there[target]}
        self._touched = touched
        if not touched:
            return
        whole = [target for target, places in touched.items() if target in places or len(places) > MANY]
        places = {target: sorted(places) for target, places in touched.items() if target not in whole}
        try:
            report = self._notes.ingest(whole, places)
        except MemoriaError as error:
            passing = self._has_run or isinstance(error, StoreError)
            if not passing or isinstance(error, StoreDamagedError | StoreVersionError):
                raise
            self._try_again(error)
            return
        self._has_run = True
        self._tries = 0
        self._touched = {}
        if whole:
            self._next_rescan = time.monotonic() + RESCAN
        happened = [place for found in places.values() for place in found]
        self._tell(Happened("ingest", report=report, places=(*whole, *happened)))

    def _try_again(self, error: MemoriaError) -> None:
        busy = isinstance(error, StoreBusyError)
        if not self._tries:
            self._tell(Happened("busy" if busy else "failed", text=str(error)))
        self._not_before = time.monotonic() + (RETRY if busy else min(RETRY * 2**self._tries, LAST_RETRY))
        self._tries += 1

    # The folders themselves

    def _look_after_targets(self, *, at_once: bool = False) -> None:
        """Notice a folder that vanished, came back, or became another one."""
        now = time.monotonic()
        if now < self._next_look and not at_once:
            return
        self._next_look = now + LOOK
        for target, before in self._there.items():
            deaf = self._is_deaf(target)  # its folder was removed; one in its place may have the same number
            there = self._identity(target, surely_new=deaf)
            if there == before and not deaf:
                continue
            self._there[target] = there
            self._close(target)
            if there is None:
                self._tell(Happened("waiting", target))
                continue
            if target in self._last_there:
                self._tell(Happened("back", target))
            self._last_there[target] = there
            self._open(target)
            self._touch(target, [target])

    def _is_deaf(self, target: str) -> bool:
        observer = self._observers.get(target)
        return observer is not None and not all(emitter.is_alive() for emitter in observer.emitters)

    def _identity(self, target: str, *, surely_new: bool) -> tuple[int, int] | None:
        """Return what tells a target's folder from another in its place; None: there is none."""
        folder = self._folder_of[target]
        try:
            status = os.stat(folder)
            found = (status.st_dev, status.st_ino)
            # Another folder with nothing in it is a mount point whose disk is gone, or one that is being made anew.
            is_new = surely_new or self._last_there.get(target, found) != found
            if is_new and not os.listdir(folder):
                return None
        except OSError:
            return None
        return found

    def _open(self, target: str) -> None:
        """Begin to hear of what happens below a target."""
        if not self._poll:
            try:
                self._observers[target] = self._observer(target)
            except OSError as error:
                self._poll = True
                self._tell(Happened("polling", target, error.strerror or str(error)))
                for other in list(self._observers):
                    self._close(other)
                    self._listings[other] = self._notes.listing(other)
        if self._poll:
            self._listings[target] = self._notes.listing(target)

    def _observer(self, target: str) -> BaseObserver:
        folder = self._folder_of[target]
        ear = _Ear(lambda path, is_folder: self._queue.put((target, path, is_folder)), folder)
        observer = Observer()
        observer.schedule(ear, ear.real, recursive=folder == target, event_filter=_EVENTS)
        observer.start()
        return observer

    def _close(self, target: str) -> None:
        self._listings.pop(target, None)
        observer = self._observers.pop(target, None)
        if observer:
            observer.stop()
            observer.join()

    def _list_files(self) -> None:
        """Where events don't arrive: compare what is there with what was."""
        began = time.monotonic()
        if not self._listings or began < self._next_list:
            return
        for target, before in self._listings.items():
            now = self._notes.listing(target)
            changed = {path for path, _ in now.items() ^ before.items()}
            if changed:
                self._listings[target] = now
                self._touch(target, changed)
        took = time.monotonic() - began
        self._next_list = began + max(self._settle / 2, took / POLL_SHARE)


# Not that a file was opened or closed again: the ingest's own reading would wake the watch.
_EVENTS = [
    events.FileCreatedEvent, events.FileModifiedEvent, events.FileClosedEvent, events.FileDeletedEvent,
    events.FileMovedEvent, events.DirCreatedEvent, events.DirDeletedEvent, events.DirMovedEvent,
]  # fmt: skip


class _Ear(events.FileSystemEventHandler):
    """Hears of events in watchdog's thread, and passes them on."""

    def __init__(self, hear: Callable[[str, bool], None], folder: str) -> None:
        self._hear = hear
        self._folder = folder
        self.real = os.path.realpath(folder)  # a link to a folder has no events

    def on_any_event(self, event: events.FileSystemEvent) -> None:
        for path in (event.src_path, event.dest_path):
            if not path:
                continue
            below = os.fsdecode(path).removeprefix(self.real).lstrip(os.sep)
            self._hear(os.path.join(self._folder, below) if below else self._folder, event.is_directory)


class _Overflow(logging.Handler):
    """Acts where watchdog says that events were lost."""

    def __init__(self, act: Callable[[], None]) -> None:
        super().__init__(logging.WARNING)
        self._act = act

    def emit(self, record: logging.LogRecord) -> None:
        if "overflow" in record.getMessage():
            self._act()
