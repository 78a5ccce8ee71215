"""Processes that are forked from one which has imported abtune and dask, so that they start at once."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
from pathlib import Path
from types import TracebackType
from typing import Self

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    [
        "fake_abtune",
        "abtune.measure.sweep.run_sweep",
        "distributed.cli.dask_scheduler",
        "distributed.cli.dask_worker",
    ]
)


class Forked:
    """A process that runs a command line: a module whose ``main`` takes the words."""

    def __init__(self, module: str, *words: str, output: Path) -> None:
        self.output = output
        output.touch()
        self._process = CONTEXT.Process(
            target=_run, args=(module, words, str(output), dict(os.environ), str(Path.cwd()))
        )
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: BaseException | TracebackType | None) -> None:
        if kind is not None:
            self.kill()
        self.wait()

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        return self._process.exitcode

    def wait(self) -> int | None:
        """Wait for the end; return the exit code."""
        self._process.join()
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()

    def said(self) -> str:
        """Return all that it has printed so far."""
        return self.output.read_text(encoding="utf-8")


def _run(module: str, words: tuple[str, ...], output: str, environment: dict[str, str], folder: str) -> None:
    """Be a process that a terminal has started; end with the exit code of the command."""
    printed = os.open(output, os.O_WRONLY | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(printed, stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    raise SystemExit(importlib.import_module(module).main(list(words)))
