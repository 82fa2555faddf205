"""The version of a store's schema."""

import os
from typing import TYPE_CHECKING

from memoria.errors import StoreDamagedError, StoreError, StoreMissingError, StoreVersionError

if TYPE_CHECKING:
    from memoria.store.engine import Engine

VERSION = 4


def version_of(engine: "Engine") -> int:
    """Return the version of a store.

    Raises:
        StoreMissingError: nothing is in the file yet.
        StoreDamagedError: something is, but no brain.
        StoreVersionError: it is newer than this memoria.

    """
    try:
        meta = dict(map(tuple, engine.read("query/meta")))
    except StoreError as error:
        if "stored relation" in str(error):
            if engine.holds_nothing():
                raise StoreMissingError(os.path.dirname(engine.path)) from None
            raise StoreDamagedError(engine.path, "it holds no brain") from None
        raise
    version = meta.get("version")
    if not isinstance(version, int):
        raise StoreDamagedError(engine.path, "it does not say its version")
    if version > VERSION:
        raise StoreVersionError(engine.path, version, VERSION)
    return version
