"""Speed and memory of memoria, beside an SQLite FTS5 script and ripgrep in the same run."""
