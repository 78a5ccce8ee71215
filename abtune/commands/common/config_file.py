"""Defaults of options from ``abtune.toml``, or ``[tool.abtune]`` of ``pyproject.toml``, in this folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from abtune.errors import InputError, unknown_name

# Commands whose defaults a file may set. `measure --config` imports modules, so it has to be typed.
COMMANDS = ("sweep", "analyze", "plot", "power", "compare", "history", "calibrate")


def defaults_of(command: click.Command, ctx: click.Context) -> tuple[dict[str, Any], str]:
    """Return the values of a command's options that a file sets, by parameter, and the name of the file."""
    path, tables = _read()
    for name, table in tables.items():
        if name not in COMMANDS:
            raise InputError(f"{path}: [{name}] is no command with defaults; there is {', '.join(COMMANDS)}")
        if not isinstance(table, Mapping):
            raise InputError(f"{path}: {name} is a table, such as [{name}]")
    known = {_name(param): param for param in command.get_params(ctx) if isinstance(param, click.Option)}
    values = {}
    for name, value in tables.get(str(command.name), {}).items():
        if name not in known or name == "help":
            raise unknown_name(f"option of {command.name} in {path}", name, known)
        values[str(known[name].name)] = _value(f"{path}: {name} of {command.name}", known[name], value)
    return values, str(path) if values else ""


def _read() -> tuple[Path, Mapping[str, Any]]:
    """Return the file and its tables by command; there are none without a file."""
    path = Path("abtune.toml")
    if path.is_file():
        return path, _tables(path)
    path = Path("pyproject.toml")
    tables = _tables(path, "[tool.abtune").get("tool", {}).get("abtune", {}) if path.is_file() else {}
    return path, tables


def _tables(path: Path, needs: str = "") -> dict[str, Any]:
    import tomllib

    try:
        text = path.read_text(encoding="utf-8")
        return tomllib.loads(text) if needs in text else {}
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None


def _name(option: click.Option) -> str:
    """Return the name of an option as users write it."""
    return max(option.opts, key=len).removeprefix("--")


def _value(place: str, option: click.Option, value: Any) -> Any:
    """Return a value as the command line would give it; refuse what no command line can say."""
    values = value if isinstance(value, list) else [value]
    if option.is_flag != isinstance(value, bool) or not all(
        isinstance(one, bool | int | float | str) for one in values
    ):
        kind = "true or false" if option.is_flag else "a text, a number or a list of them"
        raise InputError(f"{place} is {kind}")
    if option.is_flag:
        return value
    if isinstance(value, list) and not option.multiple:
        raise InputError(f"{place} is one value, not a list")
    texts = [str(one) for one in values]
    return texts if option.multiple else texts[0]
