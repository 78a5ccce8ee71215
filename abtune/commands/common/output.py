"""What commands write: to the standard streams, as a report, a bar of progress, and a new dataset."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

import click

from abtune.commands.common.options import DEFAULT_DATASET, FIGURE_SUFFIXES, Registered
from abtune.errors import DatasetError, InputError, StoreError
from abtune.files import check_place, is_netcdf, write_bytes
from abtune.report.formats.format_registry import FORMATS, Format, format_of
from abtune.text import count, one_line, printable, shell_path, span

if TYPE_CHECKING:
    import xarray as xr
    from rich.progress import Progress

    from abtune.measure.sweep.session import Progress as SweepProgress
    from abtune.report.page import Section


def emit(text: str) -> None:
    """Write text to the standard output; a reader that has left is no error."""
    # Names come from datasets. A character that the stream cannot encode is written as an escape.
    stream = sys.stdout
    encoding = stream.encoding or "utf-8"
    text = text.encode(encoding, "backslashreplace").decode(encoding)
    try:
        if isinstance(getattr(stream, "buffer", None), io.RawIOBase):
            # With PYTHONUNBUFFERED a stream forgets what did not fit on a disk that fills up.
            with open(stream.fileno(), "w", encoding=encoding, closefd=False) as whole:
                whole.write(text)
        else:
            stream.write(text)
            stream.flush()
    except BrokenPipeError:
        abandon(stream)


def remark(text: str) -> None:
    """Write a line to the standard error; whether anybody can read it changes nothing."""
    try:
        click.echo(one_line(text), err=True)
    except OSError:
        abandon(sys.stderr)


def interrupted(path: Path) -> KeyboardInterrupt:
    """Return the interruption of a command that has kept its work, if there was any."""
    kept = f"what is done is kept in {path}, and the same command goes on"
    return KeyboardInterrupt(kept) if path.exists() else KeyboardInterrupt()


def open_missing_streams() -> None:
    """Open the standard streams that this process was started without, and discard what goes there."""
    # Otherwise the next files would get their numbers, and a library that prints would write into them.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 - as long as the process
            setattr(sys, name, stream)


def abandon(stream: TextIO) -> None:
    """Discard the rest of a stream, so that flushing it at exit does not fail again."""
    with contextlib.suppress(OSError, ValueError):
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, stream.fileno())
        os.close(devnull)


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """The format of a report for the standard output, or its files, each with a format."""

    format: Format
    files: tuple[tuple[Path, Format], ...] = ()

    def check(self, inputs: Iterable[str] = ()) -> None:
        """Refuse a file that is a dataset or one of the inputs; called before anything is computed."""
        names = tuple(inputs)
        for path, _ in self.files:
            check_place(path, names)

    def write(self, *sections: Section) -> None:
        """Print a report of some sections, or write it into the files."""
        from abtune.report.page import Report

        report = Report(sections=sections)
        if not self.files:
            is_file = self.format.suffixes and not (self.format.fits_stream or sys.stdout.isatty())
            if is_file and isinstance(sys.stdout, io.TextIOWrapper):
                sys.stdout.reconfigure(encoding="utf-8")  # as --out writes it, whatever the locale
            emit(self.format.render(report, sys.stdout))
        # All are rendered before one is written, so that an error leaves none behind.
        for text, path in [(form.render(report, None), path) for path, form in self.files]:
            write_bytes(text.encode("utf-8"), path)


def report_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--format`` and ``--out`` to a command, which receives them as ``destination``."""

    @functools.wraps(command)  # options added so far travel along
    def gathered(*arguments: Any, format_: str | None, output: tuple[Path, ...], **options: Any) -> Any:
        for path in output:
            if str(path) == "-":
                raise InputError("--out takes a file; without it, the report is printed")
            if path.suffix.lower() in FIGURE_SUFFIXES and not format_:
                raise InputError(f"--out writes text; to draw: abtune plot --out {shell_path(path)}")
        files = tuple((path, FORMATS[format_] if format_ else format_of(path)) for path in output)
        if lacking := [form.name for _, form in files if not is_filled(form)]:
            raise InputError(f"abtune {name} has no {lacking[0]}; take --format json, or another file name")
        form = FORMATS[format_] if format_ else format_of(None)
        destination = Destination(format=form, files=files)
        return command(*arguments, destination=destination, **options)

    name = command.__name__

    def is_filled(form: Format) -> bool:
        return not form.commands or name in form.commands

    to_file = click.option(
        "--out",
        "--output",
        "output",
        metavar="FILE",
        type=click.Path(path_type=Path),
        multiple=True,
        help="Write the report to this file, whole or not at all. Repeatable.",
    )
    by_name = click.option(
        "--format",
        "format_",
        type=Registered(lambda: [form.name for form in filter(is_filled, FORMATS.values())]),
        help="How to write the report. [default: by the name of the --out file, else table]",
    )
    return by_name(to_file(gathered))


def default_dataset() -> str:
    """Return the dataset that a sweep has left here, or say how to get one."""
    # Beside the files of a sweep that was killed, opening it says how to get it.
    if not Path(DEFAULT_DATASET).exists() and not Path(f"{DEFAULT_DATASET}.runs").is_dir():
        raise DatasetError(
            f"no dataset named and no {DEFAULT_DATASET} here; make one with abtune sweep, "
            "or name one: abtune datasets lists the bundled ones"
        )
    return DEFAULT_DATASET


class _Heedless:
    """A stream whose reader may leave, or whose disk may be full: that ends no sweep."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        self._try(self._stream.write, text)
        return len(text)

    def flush(self) -> None:
        self._try(self._stream.flush)

    def _try(self, call: Callable[..., object], *words: str) -> None:
        try:
            call(*words)
        except OSError:
            abandon(self._stream)


class _Bar:
    """A bar with the time left, by the steps of this session alone; each phase shows its own."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._task = progress, progress.add_task("", visible=False, news="")

    def begin(self, phase: str, total: int, done: int) -> None:
        self._progress.remove_task(self._task)
        self._task = self._progress.add_task(phase, total=total, completed=done, news="")

    def advance(self, steps: int) -> None:
        self._progress.advance(self._task, steps)

    def tell(self, news: str) -> None:
        self._progress.update(self._task, news=news)

    def warn(self, line: str) -> None:
        self._progress.console.print(line, markup=False, highlight=False)


class _Log:
    """At most a line a minute, for a log: what is done, the time left at the speed so far, and the news."""

    def __init__(self, stream: _Heedless) -> None:
        self._stream, self._news = stream, ""
        self._first: tuple[float, int] | None = None  # when the first steps were done, and how many then

    def begin(self, phase: str, total: int, done: int) -> None:
        self._phase, self._total, self._done = phase, total, done
        self._said, self._first = time.monotonic(), None

    def advance(self, steps: int) -> None:
        self._done, now = self._done + steps, time.monotonic()
        # All searches propose before one has a trial, so the speed counts from there, a minute or more.
        self._first = self._first or (now, self._done)
        if now - self._said < 60:
            return
        self._said, (began, before) = now, self._first
        words = [f"{self._phase}: {self._done:,} of {self._total:,}"]
        if self._total > self._done > before and now - began >= 60:
            seconds = (self._total - self._done) * (now - began) / (self._done - before)
            words.append(f"about {span(seconds)} left")
        self.warn("; ".join(filter(None, [*words, self._news])))

    def tell(self, news: str) -> None:
        self._news = news

    def warn(self, line: str) -> None:
        print(line, file=self._stream, flush=True)


@contextlib.contextmanager
def progress_for(stream: TextIO) -> Iterator[SweepProgress]:
    """Yield a bar for a terminal, and lines for any other stream."""
    heedless = _Heedless(stream)
    if not stream.isatty():
        yield _Log(heedless)
        return
    from rich import progress as bars
    from rich.console import Console

    with bars.Progress(
        "{task.description}",
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeElapsedColumn(),
        "left",
        bars.TimeRemainingColumn(elapsed_when_finished=False),
        "{task.fields[news]}",
        console=Console(file=cast("TextIO", heedless)),
        transient=True,
        # Rich would look at the last 30 s alone, in which a slow search reports at most once.
        speed_estimate_period=1800.0,
    ) as progress:
        yield _Bar(progress)


def output_options() -> list[click.Parameter]:
    """Return ``--out`` and ``--overwrite``, which say where a dataset goes."""
    return [
        click.Option(
            ["--out"],
            required=True,
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="The dataset to write.",
        ),
        click.Option(["--overwrite"], is_flag=True, help="Replace FILE if it is a dataset."),
    ]


def save_new(dataset: xr.Dataset, out: Path, *, overwrite: bool, notes: Iterable[str]) -> None:
    """Write a dataset to a place that is free or may be overwritten, and print what it holds."""
    from abtune.dataset.netcdf import place_for, save_dataset
    from abtune.dataset.schema import labels_of

    if str(out).startswith("-"):  # where other programs print, or an option that --out has taken
        raise InputError(f"--out {out} is no name of a dataset; give one that does not begin with -")
    target = place_for(out)
    if target.exists() and not overwrite:
        raise StoreError(f"{out} exists; give another name, or --overwrite")
    if target.exists() and target.suffix.lower() != ".nc" and not is_netcdf(target):  # such as what was read
        raise StoreError(f"{out} is not a dataset, and --overwrite replaces nothing else; give another name")
    save_dataset(dataset, out)
    first, *others = labels_of(dataset, "config")
    role = " (baseline)" if others and first.casefold() != "baseline" else ""
    names = ", ".join([f"{first}{role}", *others])
    lines = [f"{out}: {count(dataset.sizes['shape'], 'shape')}, configurations {names}", *notes]
    emit("".join(f"{printable(line)}\n" for line in lines))
