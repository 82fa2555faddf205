"""Full-text search over a folder of notes with SQLite FTS5: the script that a careful person would write.

    python fts5.py ingest DB FOLDER
    python fts5.py search DB WORD...

The choices, all in the script's favour:

- Files whose size and time are unchanged are skipped, vanished ones are removed. A note's rows are neighbours, so they
  are deleted by a range of rowids and not by a scan for their path.
- Paragraphs of one section are packed up to 400 characters, as memoria's atoms are. Nothing else is read from a note:
  no tags, links, properties or fences, and front matter is text like any other.
- The journal and the syncing are SQLite's defaults, and one ingest is one transaction.
- The rank is read from FTS5's own `rank` column: `ORDER BY bm25(notes)` would read the text of every match to sort it.
- The only imports are os, sys and sqlite3, because a search is mostly start-up.
"""

import os
import sqlite3
import sys

EXTENSIONS = (".md", ".markdown", ".txt")
PACK_CHARS = 400
BUDGET = 4_000

SCHEMA = """
CREATE TABLE IF NOT EXISTS files (
    path TEXT PRIMARY KEY, mtime INTEGER NOT NULL, size INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL
) WITHOUT ROWID;
CREATE VIRTUAL TABLE IF NOT EXISTS notes USING fts5(
    path UNINDEXED, line UNINDEXED, title, body, tokenize = 'porter unicode61'
);
INSERT INTO notes (notes, rank) VALUES ('rank', 'bm25(0, 0, 2, 1)');
"""

Row = tuple[str, int, str, str]  # path, line, title, body


def ingest(database: str, folder: str) -> int:
    """Bring the database up to date with the folder; return how many files were read."""
    connection = sqlite3.connect(database)
    with connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'notes'").fetchone():
            connection.executescript(SCHEMA)
        known = {row[0]: row[1:] for row in connection.execute("SELECT path, mtime, size, first, last FROM files")}
        number = connection.execute("SELECT coalesce(max(rowid), 0) FROM notes").fetchone()[0]
        count = 0
        for path, mtime, size in files_below(folder):
            had = known.pop(path, None)
            if had and had[:2] == (mtime, size):
                continue
            if had:
                connection.execute("DELETE FROM notes WHERE rowid BETWEEN ? AND ?", had[2:])
            with open(path, encoding="utf-8", errors="replace") as file:
                found = rows_of(path, file.read())
            connection.executemany(
                "INSERT INTO notes (rowid, path, line, title, body) VALUES (?, ?, ?, ?, ?)",
                ((number + offset, *row) for offset, row in enumerate(found, 1)),
            )
            entry = (path, mtime, size, number + 1, number + len(found))
            connection.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)", entry)
            number += len(found)
            count += 1
        for path, (_, _, first, last) in known.items():
            connection.execute("DELETE FROM notes WHERE rowid BETWEEN ? AND ?", (first, last))
            connection.execute("DELETE FROM files WHERE path = ?", (path,))
    connection.close()
    return count


def files_below(folder: str) -> list[tuple[str, int, int]]:
    """Return (path, mtime, size) of the notes below a folder, hidden ones left out."""
    found = []
    folders = [folder]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.name.lower().endswith(EXTENSIONS) and entry.is_file(follow_symlinks=False):
                    status = entry.stat()
                    found.append((entry.path, status.st_mtime_ns, status.st_size))
    return sorted(found)


def rows_of(path: str, text: str) -> list[Row]:
    """Return a note's paragraphs, packed but never across a heading; its title is its name or its first heading."""
    title = os.path.splitext(os.path.basename(path))[0]
    titled = False
    packs: list[tuple[int, str]] = []
    pack: list[str] = []
    size = first = 0
    paragraph: list[str] = []
    began = 0

    def close_pack() -> None:
        nonlocal size
        if pack:
            packs.append((first, "\n\n".join(pack)))
            pack.clear()
            size = 0

    def close_paragraph() -> None:
        nonlocal size, first
        if not paragraph:
            return
        joined = "\n".join(paragraph)
        paragraph.clear()
        if size + len(joined) > PACK_CHARS:
            close_pack()
        if not pack:
            first = began
        pack.append(joined)
        size += len(joined) + 2

    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        if bare.startswith("#") and bare.lstrip("#").startswith(" "):
            close_paragraph()
            close_pack()
            if not titled:
                title, titled = bare.lstrip("# "), True
        if not bare:
            close_paragraph()
            continue
        if not paragraph:
            began = number
        paragraph.append(line)
    close_paragraph()
    close_pack()
    return [(path, line, title, body) for line, body in packs]


def search(connection: sqlite3.Connection, words: list[str]) -> list[Row]:
    """Return the best paragraphs that hold one of the words, as many as fit into the budget."""
    query = " OR ".join('"' + word.replace('"', '""') + '"' for word in words)
    found: list[Row] = []
    used = 0
    statement = "SELECT path, line, title, body FROM notes WHERE notes MATCH ? ORDER BY rank"
    for row in connection.execute(statement, (query,)):
        used += len(row[3])
        if found and used > BUDGET:
            break
        found.append(row)
    return found


def main() -> None:
    """Run the command that is asked for."""
    match sys.argv[1:]:
        case ["ingest", database, folder]:
            print(f"{ingest(database, folder)} files read")
        case ["search", database, *words] if words:
            for path, line, _, body in search(sqlite3.connect(database), words):
                print(f"{path}:{line}\n{body}\n")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
