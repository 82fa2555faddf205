"""Everything that can go wrong in a way that a person can act on.

MemoriaError                     exit 2; one sentence, and a hint
├── UsageError                   what was asked for can't be done as asked
│   ├── ConfigError              memoria.toml or MEMORIA_* holds something unusable
│   ├── NotFoundError            no such atom, source, tag ... (exit 1)
│   ├── AmbiguousError           a name that fits several things (exit 1)
│   └── RefusedError             would remove too much; --force says that it is meant
├── MirrorError                  the mirror can't be written
├── NoteError                    one note can't be read; the others still are
└── StoreError                   the brain's store failed
    ├── StoreBusyError           another process writes (exit 75)
    ├── StoreMissingError        there is no brain here yet (exit 1)
    ├── StoreDamagedError        the store's file is not one, or is broken
    └── StoreVersionError        the store was written by a newer memoria
"""


class MemoriaError(Exception):
    """A failure that is told in one sentence, with a way out."""

    exit_code = 2
    hint = ""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        if hint:
            self.hint = hint


class UsageError(MemoriaError):
    """What was asked for can't be done as asked."""


class ConfigError(UsageError):
    """A setting is unknown or has a value that it can't have."""


class NotFoundError(UsageError):
    """A name that nothing in the brain answers to."""

    exit_code = 1


class AmbiguousError(UsageError):
    """A name that fits several things."""

    exit_code = 1

    def __init__(self, name: str, candidates: list[str]) -> None:
        super().__init__(f"{name!r} fits {len(candidates)} things:\n  " + "\n  ".join(candidates))
        self.hint = "name one of them more fully"


class RefusedError(UsageError):
    """An operation that looks like an accident."""


class MirrorError(MemoriaError):
    """The mirror could not be written; the brain itself is well."""


class NoteError(MemoriaError):
    """A note that can't be read."""


class StoreError(MemoriaError):
    """The store could not do what it was asked to."""


class StoreBusyError(StoreError):
    """Another process holds the brain's write lock."""

    exit_code = 75  # EX_TEMPFAIL: a script may try again
    hint = "wait for the other memoria to finish, or raise --wait"

    def __init__(self, path: str, holder: str) -> None:
        super().__init__(f"{path} is being written by {holder}")


class StoreMissingError(StoreError):
    """There is no brain where one was looked for, or nothing is in it."""

    exit_code = 1
    hint = "memoria ingest PATH makes one; --brain DIR or MEMORIA_BRAIN names another place"

    def __init__(self, folder: str) -> None:
        super().__init__(f"there is no brain in {folder} yet")


class StoreDamagedError(StoreError):
    """The store's file can't be used."""

    hint = "put a backup in its place, or move it away and ingest the notes again: they are never changed"

    def __init__(self, path: str, cause: str) -> None:
        super().__init__(f"{path} is damaged or is not a memoria store ({cause})")


class StoreVersionError(StoreError):
    """The store was written by a newer memoria."""

    hint = "upgrade memoria, or name another brain with --brain"

    def __init__(self, path: str, found: int, known: int) -> None:
        super().__init__(f"{path} has version {found}, and this memoria knows versions up to {known}")
