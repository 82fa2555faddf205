"""memoria config."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from memoria import config
from memoria.cli.boundary import emit
from memoria.cli.listing import table
from memoria.cli.options import Json, Quiet, Verbose, command_app
from memoria.errors import ConfigError

if TYPE_CHECKING:
    from memoria.cli.session import Session

app = command_app()


@app.callback()
def configure() -> None:
    """Show and change settings (memoria.toml in the brain's folder).

    \b
    memoria config list
    memoria config get search.budget
    memoria config set search.budget 8000
    MEMORIA_SEARCH_BUDGET=8000 memoria search tide
    """


def complete_key(incomplete: str) -> list[str]:
    """Complete a setting."""
    return [key for key in config.SETTINGS if key.startswith(incomplete)]


Key = Annotated[str, typer.Argument(autocompletion=complete_key, help="A setting, such as search.budget.")]


@app.command("list")
def list_(ctx: typer.Context, as_json: Json = False, quiet: Quiet = False, verbose: Verbose = False) -> None:
    """List all settings with their values.

    \b
    memoria config list
    """
    values = ctx.obj.hear(quiet=quiet, verbose=verbose).brain.config
    if as_json:
        for key, setting in config.SETTINGS.items():
            record = {"type": "setting", "schema": "memoria.setting/1", "key": key, "value": values[key]}
            emit(json.dumps({**record, "default": setting.default, "about": setting.about}))
        return
    rows = [[key, config.shown(values[key]), setting.about] for key, setting in config.SETTINGS.items()]
    table([("setting", "cyan"), ("value", ""), ("", "dim")], rows)


@app.command()
def get(ctx: typer.Context, key: Key, quiet: Quiet = False, verbose: Verbose = False) -> None:
    """Print one setting's value.

    \b
    memoria config get search.budget
    """
    values = ctx.obj.hear(quiet=quiet, verbose=verbose).brain.config
    if key not in values:
        config.check(key, None, "config get")
        raise ConfigError(key)
    emit(config.shown(values[key]))


@app.command("set")
def set_(
    ctx: typer.Context,
    key: Key,
    value: Annotated[str, typer.Argument(help="Its new value; lists by comma.")],
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Change one setting.

    \b
    memoria config set search.budget 8000
    memoria config set ingest.extensions .md,.org
    """
    session: Session = ctx.obj.hear(quiet=quiet, verbose=verbose)
    stored = config.set_value(session.folder, key, value)
    session.talk(f"{key} = {config.shown(stored)}")
