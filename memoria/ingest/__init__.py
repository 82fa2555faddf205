"""Ingest: from files and pipes into the store. Reads notes, never writes them."""

from memoria.ingest.plan import Given
from memoria.ingest.run import TextNote, forget, ingest_files, ingest_texts

__all__ = ["Given", "TextNote", "forget", "ingest_files", "ingest_texts"]
