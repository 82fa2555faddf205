"""How names in running text are kept: by hash, and speakers as terms of their own."""

from _blake2 import blake2b  # what hashlib gives, without the OpenSSL that importing hashlib loads
from functools import lru_cache

MENTION_BUCKETS = 1_024
SPEAKER = ">"  # begins the terms by which a chat turn's speaker is found; no word of a text begins so


@lru_cache(maxsize=50_000)
def phrase_hash(key: str) -> int:
    """Return the number under which a phrase is kept."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "little")
