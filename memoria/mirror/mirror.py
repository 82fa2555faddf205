"""A mirror: its folder, its lock, and whether it is in step."""

import os
import time
from collections.abc import Iterable
from typing import NamedTuple

from memoria.config import MIRROR_MARKER
from memoria.errors import MirrorError
from memoria.mirror.disk import Disk, Page
from memoria.mirror.manifest import Manifest, generation_in
from memoria.mirror.place import check_place
from memoria.mirror.sync import Extra, Progress, Settings, Sync
from memoria.model import MirrorReport
from memoria.store import Store
from memoria.store.lock import WriteLock


class Difference(NamedTuple):
    """A file that is not what a rebuild would make."""

    what: str  # missing | different | left over
    path: str


class Mirror:
    """A folder that shows what is in a brain."""

    def __init__(self, folder: str, settings: Settings, extra: Extra = lambda _: ()) -> None:
        self.folder = folder
        self._settings = settings
        self._extra = extra

    def sync(
        self,
        store: Store,
        *,
        brain: str,
        wait: float,
        full: bool = False,
        clean: bool = False,
        look_around: bool = False,
        progress: Progress | None = None,
    ) -> MirrorReport:
        """Bring the folder in step with the store; `full` wipes it first, `clean` removes what is not memoria's.

        Raises:
            RefusedError: the folder is not one that may be written over.
            StoreBusyError: another process is at it, and still is after the wait.
            MirrorError: the disk refuses.

        """
        started = time.perf_counter()
        check_place(self.folder, roots=[root.path for root in store.roots()], brain=brain)
        try:
            os.makedirs(self.folder, exist_ok=True)
            with WriteLock(os.path.join(self.folder, MIRROR_MARKER), wait):
                manifest = Manifest.read(self.folder)
                disk = Disk(self.folder, manifest)
                if not os.path.exists(os.path.join(self.folder, MIRROR_MARKER)):
                    disk.save(manifest)  # before anything else: an ingest must not take half a mirror for notes
                if full:
                    disk.look()
                    disk.wipe()
                    saved = disk.saved
                    manifest = Manifest()
                    disk = Disk(self.folder, manifest)
                    disk.saved = saved
                try:
                    Sync(store, manifest, disk, self._settings, self._extra, progress).run()
                finally:
                    disk.close()
                foreign = disk.foreign() if look_around or clean else []
                if clean:
                    disk.clean(foreign)
                    foreign = []
        except OSError as error:
            raise MirrorError(
                f"the mirror in {self.folder} can't be written ({error.strerror or error})",
                hint="what was ingested is safe; mend that, then run memoria mirror",
            ) from error
        return MirrorReport(
            folder=self.folder,
            written=disk.written,
            removed=disk.removed,
            kept=len(manifest.files) - disk.written,
            notes=manifest.totals.notes,
            atoms=manifest.totals.atoms,
            saved=tuple(disk.saved),
            foreign=tuple(foreign),
            seconds=time.perf_counter() - started,
        )

    def check(self, store: Store, progress: Progress | None = None) -> list[Difference]:
        """Render everything, and compare it with the folder byte for byte; write nothing."""
        known = Manifest.read(self.folder).files
        comparer = Comparer(self.folder)
        Sync(store, Manifest(), comparer, self._settings, self._extra, progress).run()
        left_over = (path for path in known if path not in comparer.seen and os.path.lexists(f"{self.folder}/{path}"))
        return sorted([*comparer.found, *(Difference("left over", path) for path in left_over)])

    def behind(self, store: Store) -> bool:
        """Tell at a glance whether something happened since the last sync."""
        return bool(generation_in(self.folder) != store.meta()["generation"])


class Comparer(Disk):
    """Takes pages as a disk does, and only looks whether they are there."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder, Manifest())
        self.found: list[Difference] = []
        self.seen: set[str] = set()

    def put(self, pages: Iterable[Page]) -> list[str]:
        """Compare pages with the folder."""
        paths = []
        for path, data in pages:
            paths.append(path)
            self.seen.add(path)
            try:
                with open(self._full(path), "rb") as file:
                    if file.read() != data:
                        self.found.append(Difference("different", path))
            except OSError:
                self.found.append(Difference("missing", path))
        return paths

    def save(self, manifest: Manifest) -> None:
        """Save nothing."""
