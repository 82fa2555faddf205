"""Opening a note in the user's editor, at a line."""

import os
import shlex
import subprocess

from memoria import config
from memoria.errors import UsageError
from memoria.model import Hit

_PLUS_LINE = ("vi", "vim", "nvim", "nano", "emacs", "emacsclient", "micro", "kak", "joe", "ne", "mg", "pico", "view")
_COLON_LINE = ("hx", "helix", "subl", "zed")
_GOTO = ("code", "codium", "cursor", "code-insiders")


def command(editor: str, path: str, line: int) -> list[str]:
    """Return the command that opens `path` at `line`."""
    words = shlex.split(editor)
    name = os.path.basename(words[0])
    if name in _PLUS_LINE:
        return [*words, f"+{line}", path]
    if name in _COLON_LINE:
        return [*words, f"{path}:{line}"]
    if name in _GOTO:
        return [*words, "--goto", f"{path}:{line}"]
    return [*words, path]


def open_at(path: str, line: int) -> None:
    """Open a file and wait for the editor to end.

    Raises:
        UsageError: there is no editor, or it failed.

    """
    editor = config.environment("VISUAL") or config.environment("EDITOR")
    if not editor.strip():
        raise UsageError("no editor is set", hint="set EDITOR, for example: export EDITOR=nano")
    try:
        ended = subprocess.run(command(editor, path, line), check=False)  # noqa: S603 - the user's own editor
    except OSError as error:
        raise UsageError(f"the editor {editor!r} can't be started ({error.strerror})") from error
    if ended.returncode:
        raise UsageError(f"the editor {editor!r} ended with {ended.returncode}")


def open_hit(hit: Hit) -> None:
    """Open a hit's note at its line.

    Raises:
        UsageError: it has no file.

    """
    if not os.path.isabs(hit.path):
        raise UsageError(f"{hit.path} came through a pipe and has no file", hint=f"memoria show {hit.key} prints it")
    open_at(hit.path, hit.line)
