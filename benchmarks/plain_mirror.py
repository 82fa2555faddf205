"""The other contestant of the mirror: a plain script that removes the folder and writes the same bytes again.

python plain_mirror.py pack FOLDER ARCHIVE; then python plain_mirror.py write ARCHIVE FOLDER
"""

import json
import os
import shutil
import sys


def pack(folder: str, archive: str) -> None:
    """Put all files of a folder into one, their paths and sizes first."""
    names = [os.path.join(place, name) for place, _, files in os.walk(folder) for name in files]
    names = sorted(name for name in names if not os.path.basename(name).startswith("."))
    index = [(os.path.relpath(name, folder), os.path.getsize(name)) for name in names]
    with open(archive, "wb") as out:
        out.write(json.dumps(index).encode() + b"\n")
        for name in names:
            with open(name, "rb") as file:
                shutil.copyfileobj(file, out)


def write(archive: str, folder: str) -> None:
    """Remove the folder, and write its files."""
    shutil.rmtree(folder, ignore_errors=True)
    made = set()
    with open(archive, "rb") as packed:
        for path, size in json.loads(packed.readline()):
            place = os.path.join(folder, os.path.dirname(path))
            if place not in made:
                os.makedirs(place, exist_ok=True)
                made.add(place)
            with open(os.path.join(folder, path), "wb") as file:
                file.write(packed.read(size))


if __name__ == "__main__":
    {"pack": pack, "write": write}[sys.argv[1]](sys.argv[2], sys.argv[3])
