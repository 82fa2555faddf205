"""Making a store, and bringing an old one up to date."""

import os
from contextlib import suppress

from memoria.errors import StoreError
from memoria.store.engine import Engine, create_file
from memoria.store.lock import WriteLock
from memoria.store.scripts import names, script
from memoria.store.version import VERSION, version_of

_FIRST_META = (("version", VERSION), ("generation", 0), ("atoms", 0), ("sources", 0), ("dead", b""), ("next_source", 1),
               ("next_segment", 1), ("ingested", 0))  # fmt: skip


def create(path: str) -> None:
    """Make a store, whole: under another name first, so that a half-made one is never found.

    The caller holds the write lock.
    """
    draft = path + ".new"
    remove_store(draft)
    try:
        engine = create_file(draft)
        try:
            build(engine)
        finally:
            engine.close()
        os.replace(draft, path)
    except OSError as error:
        raise StoreError(f"{path} can't be made ({error.strerror})") from error
    finally:
        remove_store(draft)


def build(engine: Engine) -> None:
    """Create all relations in an empty store."""
    parts = []
    for name in names("schema"):
        text = script(name)
        parts.append(text if "\n{" in text else "{\n" + text + "}\n")
    engine.write_text("".join(parts))
    engine.write("query/put_postings", postings=[], mentions=[], lexicon=[], meta=[list(row) for row in _FIRST_META])


def remove_store(path: str) -> None:
    """Remove a store's files."""
    for ending in ("", "-wal", "-shm", "-journal"):
        with suppress(FileNotFoundError):
            os.remove(path + ending)


def migrate(engine: Engine, version: int) -> str | None:
    """Bring an old store up to date, and return where the backup is; each step is one script, whole or not at all.

    The caller holds the write lock.
    """
    steps = [name for name in names("migration") if int(name.split("/")[1].split("_")[0]) > version]
    if not steps:
        return None
    target = f"{engine.path}.v{version}.backup"
    if not os.path.exists(target):
        engine.backup(target)
    for name in steps:
        engine.write(name)
    return target


def bring_up_to_date(path: str) -> None:
    """Migrate a store, unless another process just did."""
    with WriteLock(path, 10.0):
        engine = Engine(path)
        try:
            migrate(engine, version_of(engine))
        finally:
            engine.close()
