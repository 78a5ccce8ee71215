"""The standard streams: each may be a pipe that nobody reads, a full disk, or closed."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TextIO

import click

from abtune.errors import StoreError
from abtune.text import one_line


def emit(text: str) -> None:
    """Write text to the standard output; a reader that has left is no error."""
    # Names come from datasets. A character that the stream cannot encode is written as an escape.
    stream = sys.stdout
    encoding = stream.encoding or "utf-8"
    try:
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        abandon(stream)
    except OSError as error:
        abandon(stream)
        raise StoreError(f"cannot write the standard output: {error.strerror}") from None


def remark(text: str) -> None:
    """Write a line to the standard error; whether anybody can read it changes nothing."""
    try:
        click.echo(one_line(text), err=True)
    except OSError:
        abandon(sys.stderr)


def open_missing_streams() -> None:
    """Open the standard streams that this process was started without, and discard what goes there."""
    # Otherwise the next files would get their numbers, and a library that prints would write into those
    # files.
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
