"""The command `memoria`."""

import sys


def main() -> None:
    """Run the command line: one sentence for what a person can mend, an exit code that scripts can rely on."""
    from memoria.cli.boundary import guarded

    guarded(_run)


def _run() -> None:
    # A plain search, the most frequent command by far, does without Typer: 30 ms of the 65 that it would take.
    from memoria.cli import quick

    if quick.run(sys.argv[1:]):
        from memoria.cli.boundary import vanish

        vanish()
    from memoria.cli.app import app

    app(prog_name="memoria")


if __name__ == "__main__":
    main()
