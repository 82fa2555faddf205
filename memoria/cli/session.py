"""What holds for the whole command: which brain, how much talk, and who is listening."""

import os
import sys
from typing import TYPE_CHECKING, Any

from memoria import config
from memoria.brain import Brain

if TYPE_CHECKING:
    from memoria.knowledge import Knowledge


class Session:
    """One run of the program."""

    def __init__(self, brain: str | None = None, wait: float | None = None) -> None:
        self._flag = brain
        self.wait = wait
        self.quiet = False
        self.verbose = False
        self._brain: Brain | None = None

    @property
    def brain(self) -> Brain:
        """The brain that is meant."""
        if self._brain is None:
            self._brain = Brain.find(self._flag)
        return self._brain

    @property
    def knowledge(self) -> "Knowledge":
        """What the brain knows about whom and what."""
        from memoria.knowledge import Knowledge

        return Knowledge(self.brain)

    @property
    def named_folder(self) -> str:
        """The brain's folder where it was named by --brain or MEMORIA_BRAIN, else ""."""
        return config.find_brain(self._flag) if self._flag or config.environment("MEMORIA_BRAIN") else ""

    @property
    def folder(self) -> str:
        """The brain's folder, whether its settings can be read or not."""
        return config.find_brain(self._flag)

    def hear(self, *, quiet: bool, verbose: bool, wait: float | None = None) -> "Session":
        """Take a command's own -q, -v and --wait."""
        self.quiet, self.verbose = quiet, verbose
        if wait is not None:
            self.wait = wait
        return self

    def talk(self, text: str) -> None:
        """Say something that is not data."""
        if not self.quiet:
            sys.stderr.write(text + "\n")

    def detail(self, text: str) -> None:
        """Say something for those who asked to hear more."""
        if self.verbose and not self.quiet:
            sys.stderr.write(text + "\n")


def on_one_line(text: str) -> str:
    """Return text without anything that moves the cursor or speaks to the terminal."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def harmless(text: str) -> str:
    """Return text that only a reader understands: control characters are shown, not sent to the terminal."""
    return text.translate(_SHOWN_CONTROLS)


_SHOWN_CONTROLS = (
    {code: 0x2400 + code for code in range(32) if code not in (9, 10)}
    | {127: 0x2421}
    | dict.fromkeys(range(128, 160), 65533)
)


def on_terminal(stream: Any = None) -> bool:
    """Tell whether a person looks at a stream."""
    return bool((stream or sys.stdout).isatty())


def decorated() -> bool:
    """Tell whether stdout gets colours and layout: a terminal, unless NO_COLOR; or FORCE_COLOR."""
    if config.environment("NO_COLOR"):
        return False
    return bool(config.environment("FORCE_COLOR")) or (on_terminal() and config.environment("TERM") != "dumb")


def shown_path(path: str) -> str:
    """Return a path as a person likes to read it: from here if it is below here, else whole."""
    try:
        here = os.getcwd()
    except FileNotFoundError:
        return path
    return path[len(here) + 1 :] if path.startswith(here + os.sep) else path
