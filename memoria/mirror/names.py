"""Names in the mirror: whatever a tag or a title is, it becomes a name that every disk takes, and no other has.

A bundle's name ends with a hash of source, bucket and tag, so it is unique in the whole mirror: links go by name alone,
since a `#` in a link's path would be read as the beginning of a heading.
"""

import re
import unicodedata
from functools import lru_cache
from hashlib import blake2b

UNTAGGED = "_untagged"
MAX_NAME_BYTES = 100
MAX_FOLDER_BYTES = 200  # of all parts of a nested tag: Windows allows a path 260 characters
_HASH_BYTES = 6
_LABEL_HASH_BYTES = 4

# What Obsidian's links, Windows, macOS or Linux refuse in a name; and the control characters.
_REFUSED = re.compile(
    r"[#^\[\]|<>:\"/\\?*%$`\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)
_SPACE = re.compile(r"[\s_]+")
# https://learn.microsoft.com/windows/win32/fileio/naming-a-file
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?:\.|\Z)", re.IGNORECASE)
_LIKE_A_HASH = re.compile(r"_[0-9a-f]{8}\Z|\.md\Z")


@lru_cache(maxsize=65_536)
def name_of(title: str) -> str:
    """Return a title as the first part of a file's name."""
    name = _clean(title)
    return (name.replace(".", "_") if _RESERVED.match(name) else name) or "_"


def _clean(text: str) -> str:
    return cut(_SPACE.sub("_", _REFUSED.sub("_", unicodedata.normalize("NFC", text))).strip("._ "))


def cut(name: str) -> str:
    """Return as much of a name as fits, never half a character."""
    data = name.encode("utf-8", "replace")
    if len(data) <= MAX_NAME_BYTES:
        return data.decode()
    kept = data[:MAX_NAME_BYTES].decode("utf-8", "ignore")
    while kept and unicodedata.combining(name[len(kept)]):  # nor a letter without its accent
        kept = kept[:-1]
    return kept.rstrip("._ ")


def short_hash(*parts: str, size: int = _HASH_BYTES) -> str:
    """Return a hash of several texts."""
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()


def bundle_name(title: str, seed: str, bucket: str, tag: str) -> str:
    """Return the name of a bundle's first page, without its ending. `seed` stands for the source."""
    return f"{name_of(title)}_{short_hash(seed, bucket, tag)}"


def page_name(bundle: str, page: int) -> str:
    """Return the name of a bundle's page."""
    return bundle if page == 1 else f"{bundle}_{page}"


@lru_cache(maxsize=65_536)
def folder_of(bucket: str, tag: str) -> str:
    """Return the folder of a bucket's tag, relative to the mirror, with slashes."""
    return f"@{_label(bucket.replace('/', ' '), bucket)}/#{_nested(tag)}"


@lru_cache(maxsize=65_536)
def index_name(kind: str, label: str) -> str:
    """Return the name of the index note of a tag or a bucket, without its ending."""
    return f"{name_of(label)}_{short_hash(kind, label)}"


def index_path(kind: str, label: str) -> str:
    """Return the path of the index note of a tag or a bucket, relative to the mirror."""
    return f"_{kind}s/{index_name(kind, label)}.md"


def _nested(tag: str) -> str:
    parts = "/".join(_label(part) for part in tag.split("/"))
    return parts if len(parts.encode()) <= MAX_FOLDER_BYTES else _label(tag.replace("/", " "), tag)


def _label(label: str, seed: str = "") -> str:
    """Return a tag's or a bucket's name as a folder's.

    A plain one stays as it is. Any other gets a hash, so that no two of them are the same folder, on disks that don't
    know upper from lower case either; and so does one that looks as if it had such a hash.
    """
    if label == UNTAGGED:
        return label
    name = _clean(label)
    seed = seed or label
    if name and name == seed == name.casefold() and not _RESERVED.match(name) and not _LIKE_A_HASH.search(name):
        return name
    stem = name.replace(".", "_") if _RESERVED.match(name) or name.endswith(".md") else name
    return f"{stem}_{short_hash(seed, size=_LABEL_HASH_BYTES)}"
