"""Defaults of options from ``abtune.toml`` in this folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from abtune.errors import InputError, unknown_name

# Commands whose defaults a file may set. `measure --config` imports modules, so it has to be typed.
COMMANDS_WITH_DEFAULTS = ("sweep", "analyze", "plot", "power", "compare", "history", "calibrate")
CONFIG_FILE = "abtune.toml"
# A file that came with a folder may not choose what is overwritten, or which host runs code here.
_TYPED = {"out", "output", "scheduler"}
_MOST_BYTES = 2**20


def defaults_of(command: click.Command, ctx: click.Context) -> dict[str, Any]:
    """Return the options of a command that the file sets, by parameter."""
    path, tables = CONFIG_FILE, _tables(Path(CONFIG_FILE))
    for name, table in tables.items():
        if name not in COMMANDS_WITH_DEFAULTS:
            choices = ", ".join(COMMANDS_WITH_DEFAULTS)
            raise InputError(f"{path}: [{name}] is no command with defaults; choose {choices}")
        if not isinstance(table, Mapping):
            raise InputError(f"{path}: {name} is a table, such as [{name}]")
    known = {_name(param): param for param in command.get_params(ctx) if isinstance(param, click.Option)}
    values = {}
    for name, value in tables.get(str(command.name), {}).items():
        if name not in known or name == "help":
            raise unknown_name(f"option of {command.name} in {path}", name, known)
        if name in _TYPED:
            raise InputError(f"{path}: {name} of {command.name} has to be typed; take it out of the file")
        values[str(known[name].name)] = _value(f"{path}: {name} of {command.name}", known[name], value)
    return values


def _tables(path: Path) -> dict[str, Any]:
    """Return the tables of a file by command; there are none without a file."""
    import tomllib

    if not path.is_file():
        return {}
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ValueError("it has more than 1 MiB")
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None


def _name(option: click.Parameter) -> str:
    """Return the name of an option as users write it."""
    return max(option.opts, key=len).removeprefix("--")


def _value(where: str, option: click.Option, value: Any) -> Any:
    """Return a value as the command line would give it; refuse what no command line can say."""
    values = value if isinstance(value, list) else [value]
    if option.is_flag != isinstance(value, bool) or not all(
        isinstance(one, bool | int | float | str) for one in values
    ):
        kind = "true or false" if option.is_flag else "a text, a number or a list of them"
        raise InputError(f"{where} is {kind}")
    if option.is_flag:
        return value
    if isinstance(value, list) and not option.multiple:
        raise InputError(f"{where} is one value, not a list")
    texts = [str(one) for one in values]
    if where.endswith(("baseline of sweep", "candidate of sweep")) and any(":" in text for text in texts):
        raise InputError(f"{where} would import a module, so it has to be typed; take it out of the file")
    return texts if option.multiple else texts[0]
