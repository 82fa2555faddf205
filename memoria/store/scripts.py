"""The CozoScript files: all query text lives there, loaded by name."""

import os
from functools import cache

from memoria.errors import StoreError

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# In a wheel the scripts are inside the package; in a checkout they stand beside it.
_FOLDERS = (os.path.join(_PACKAGE, "cozo_schema"), os.path.join(os.path.dirname(_PACKAGE), "cozo_schema"))


@cache
def folder() -> str:
    """Return the folder of the scripts."""
    for place in _FOLDERS:
        if os.path.isdir(place):
            return place
    raise StoreError("cozo_schema is missing from this installation", hint="install memoria again")


@cache
def script(name: str) -> str:
    """Return the text of a script, such as "query/postings"."""
    with open(os.path.join(folder(), name + ".cozo"), encoding="utf-8") as file:
        return file.read()


def names(kind: str) -> list[str]:
    """Return the names of all scripts of a kind, in order."""
    files = sorted(os.listdir(os.path.join(folder(), kind)))
    return [f"{kind}/{file[:-5]}" for file in files if file.endswith(".cozo")]
