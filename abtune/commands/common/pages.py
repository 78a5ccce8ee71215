"""What commands that print a report share: its format and file, and the default dataset."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abtune.commands.common.options import FIGURE_SUFFIXES, Registered
from abtune.commands.common.output import emit
from abtune.errors import DatasetError, InputError
from abtune.report.formats.format_registry import FORMATS, Format, format_of
from abtune.text import shell_path

if TYPE_CHECKING:
    from abtune.report.page import Section

DEFAULT_DATASET = "abtune.nc"


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """The format of a report for the standard output, or its files, each with a format."""

    format: Format
    files: tuple[tuple[Path, Format], ...] = ()

    def check(self, inputs: Iterable[str] = ()) -> None:
        """Refuse a file that is a dataset or one of the inputs; called before anything is computed."""
        from abtune.report.report_files import check_place

        names = tuple(inputs)
        for path, _ in self.files:
            check_place(path, names)

    def write(self, *sections: Section) -> None:
        """Print a report of some sections, or write it into the files."""
        from abtune.report.page import Report
        from abtune.report.report_files import write_text

        report = Report(sections=sections)
        if not self.files:
            emit(self.format.render(report, sys.stdout))
        # All are rendered before one is written, so that an error leaves none behind.
        for text, path in [(form.render(report, None), path) for path, form in self.files]:
            write_text(text, path)


def report_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--format`` and ``--output`` to a command, which receives them as ``destination``."""

    @functools.wraps(command)  # options added so far travel along
    def gathered(*arguments: Any, format_: str | None, output: tuple[Path, ...], **options: Any) -> Any:
        for path in output:
            if str(path) == "-":
                raise InputError("--output takes a file; without it, the report is printed")
            if path.suffix.lower() in FIGURE_SUFFIXES and not format_:
                raise InputError(f"--output writes text; to draw: abtune plot --out {shell_path(path)}")
        files = tuple((path, FORMATS[format_] if format_ else format_of(path)) for path in output)
        form = FORMATS[format_] if format_ else format_of(None)
        destination = Destination(format=form, files=files)
        return command(*arguments, destination=destination, **options)

    to_file = click.option(
        "--output",
        metavar="FILE",
        type=click.Path(path_type=Path),
        multiple=True,
        help="Write the report to this file, whole or not at all. Repeatable.",
    )
    by_name = click.option(
        "--format",
        "format_",
        type=Registered(lambda: FORMATS),
        help="How to write the report. [default: by the name of the --output file, else table]",
    )
    return by_name(to_file(gathered))


def default_dataset() -> str:
    """Return the dataset that a sweep has left here, or say how to get one."""
    if not Path(DEFAULT_DATASET).exists():
        raise DatasetError(
            f"no dataset named and no {DEFAULT_DATASET} here; make one with abtune sweep, "
            "or name one: abtune datasets lists the bundled ones"
        )
    return DEFAULT_DATASET
