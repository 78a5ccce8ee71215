"""Pages of the site that are made of files outside docs, the notebook, the commands, the code, the schema."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import abtune
from abtune.cli import COMMANDS, cli

ROOT = Path(__file__).parents[2]
# Pages of the site, by the file of the repository that they show. Links between them are rewritten.
OUTSIDE = {
    "index.md": "README.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "data/README.md": "data/README.md",
    "LICENSE": "LICENSE",
}


def notebook(path: Path) -> str:
    """Return a notebook as markdown: its texts, its programs, and what these print."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        parts += [f"```text\n{''.join(output['text'])}```" for output in cell.get("outputs", ())]
    return "\n\n".join(parts)


def commands() -> str:
    """Return the help of every command."""
    parts = ["# Commands", "Each command prints its help with `--help`."]
    context = click.Context(cli, info_name="abtune", max_content_width=100, terminal_width=100)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        below = click.Context(command, info_name=name, parent=context, terminal_width=100)
        parts += [f"## abtune {name}", f"```text\n{command.get_help(below)}\n```"]
    return "\n\n".join(parts)


def python() -> str:
    """Return a page that shows the documentation of every public name."""
    parts = ["# Python", "These are the names of `import abtune`."]
    for name in abtune.__all__:
        value = getattr(abtune, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            parts.append(f"::: {value.__module__}.{name}")
    return "\n\n".join(parts)


def rows(schema: dict[str, Any], path: str = "") -> Iterator[str]:
    """Yield a row of a table for each field of a schema, those of objects in it too."""
    for name, field in schema.get("properties", {}).items():
        kinds = field.get("type") or field.get("$ref", "").rpartition("/")[2] or "any of several"
        shown = kinds if isinstance(kinds, str) else " or ".join(kinds)
        needed = "always" if name in schema.get("required", ()) else ""
        inner = field.get("items", field)
        if inner is not field and inner.get("$ref"):
            shown += f" of {inner['$ref'].rpartition('/')[2]}"
        yield f"| `{path}{name}` | {shown} | {needed} |"
        yield from rows(inner, f"{path}{name}{'[]' if inner is not field else ''}.")


def fields(schema: dict[str, Any]) -> str:
    """Return the tables of the fields in JSON."""
    parts = [
        "# JSON",
        "`abtune analyze --format json` prints these fields. [The report](analyze.md#json) explains them.",
        "[The schema](analysis.schema.json) checks them.",
    ]
    for name, part in {"report": schema, **schema["$defs"]}.items():
        table = list(rows(part))
        if table:
            parts += [f"## {name}", "\n".join(["| field | type | present |", "| --- | --- | --- |", *table])]
    return "\n\n".join(parts)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made."""
    made = {
        "tutorial.md": notebook(ROOT / "docs" / "tutorial.ipynb"),
        "reference-commands.md": commands(),
        "reference-python.md": python(),
        "reference-json.md": fields(json.loads((ROOT / "docs" / "analysis.schema.json").read_text("utf-8"))),
    }
    for page, path in OUTSIDE.items():
        text = (ROOT / path).read_text(encoding="utf-8")
        made[page] = re.sub(r"\]\((\.\./)?docs/", r"](\1", text)
    for page, text in made.items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Lead links to the notebook and to the README to their pages; open the details of a page to markdown."""
    markdown = re.sub(r"\]\((\.\./)?tutorial\.ipynb", r"](\1tutorial.md", markdown)
    return markdown.replace("](../README.md", "](index.md").replace("<details>", "<details markdown>")


def on_page_content(html: str, **_: object) -> str:
    """Leave out the roles of docstrings, such as :func:."""
    return re.sub(r":(?:func|class|meth|attr|mod|data|exc):(?=<code>)", "", html)
