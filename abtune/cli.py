"""The command line: arguments in, text and an exit code out.

Nothing is computed here and nothing heavy is imported: a command's module is loaded when it is needed, and
itself imports what it needs when it runs. Only here do errors become exit codes. An error that a user can
mend is one line on the standard error and exit code 2. Any other error is a defect of abtune, with exit code
70. Exit code 1 means that a gate was hit.
"""

from __future__ import annotations

import errno
import re
import sys
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

import click

from abtune.commands.common.options import WholeSummaries
from abtune.commands.common.output import abandon, open_missing_streams, remark
from abtune.errors import AbtuneError, missing_package, unknown_name
from abtune.files import NO_ROOM
from abtune.lazy import load
from abtune.version import __version__

# Where each command lives, in the order of the help.
COMMANDS: Mapping[str, str] = {
    "sweep": "abtune.commands.sweep:sweep",
    "measure": "abtune.commands.measure:measure",
    "analyze": "abtune.commands.analyze:analyze",
    "plot": "abtune.commands.plot:plot",
    "compare": "abtune.commands.comparing:compare",
    "history": "abtune.commands.comparing:history",
    "power": "abtune.commands.power:power",
    "calibrate": "abtune.commands.power:calibrate",
    "import": "abtune.commands.importing:import_",
    "merge": "abtune.commands.importing:merge",
    "datasets": "abtune.commands.importing:datasets",
    "doctor": "abtune.commands.doctor:doctor",
}

OK, BAD_INPUT, DEFECT, INTERRUPTED = 0, 2, 70, 130


class LazyGroup(WholeSummaries):
    """A group whose commands are imported by name when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        """Name the commands in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:  # noqa: ARG002
        """Import a command, or say which name was probably meant."""
        if cmd_name not in COMMANDS:
            raise unknown_name("command", cmd_name, COMMANDS)
        return load(COMMANDS[cmd_name])

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; click would print an empty line when it is interrupted."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise click.exceptions.Abort(*stop.args) from None


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 fine, 1 a --fail-on gate was hit, 2 bad usage or input, 70 a defect of abtune, "
    "130 interrupted.",
)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Tell real autotuning speedups from search noise.

    A sweep tunes every shape several times (with several seeds) under two configurations or more. An analysis
    says of each shape whether a candidate is faster than the baseline, slower, equivalent, or not yet known.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code; without arguments it is ``sys.argv``."""
    open_missing_streams()
    try:
        return _run(argv)
    except MemoryError:
        return _complain("the memory is full; give less at once, or use a larger machine", BAD_INPUT)
    except Exception as error:  # noqa: BLE001 - not swallowed, but told from a gate that was hit
        if "start new thread" in str(error):  # Python has no class for it
            return _complain("no thread can be started; raise ulimit -u, or use fewer cores", BAD_INPUT)
        traceback.print_exc()
        return _complain("this is a defect of abtune; please report it with the lines above", DEFECT)


def _run(argv: Sequence[str] | None) -> int:
    code: object = OK
    try:
        arguments = None if argv is None else list(argv)
        code = cli.main(args=arguments, prog_name="abtune", standalone_mode=False)
        # Here a full disk or a pipe without a reader is still an error. At exit, Python would print it.
        sys.stdout.flush()
    except SystemExit:  # so click answers a reader that has left
        abandon(sys.stdout)
    except (click.exceptions.Abort, KeyboardInterrupt) as stop:
        return _complain("; ".join(["interrupted", *map(str, stop.args)]), INTERRUPTED)
    except click.ClickException as error:
        message = re.sub("a valid integer( range)?", "a whole number", error.format_message())
        message = message.replace("a valid float range", "a number")
        if isinstance(error, click.MissingParameter) and error.ctx:
            message += f" See {error.ctx.command_path} --help"
        return _complain(message, BAD_INPUT)
    except AbtuneError as error:
        return _complain(str(error), BAD_INPUT)
    except ImportError as error:
        return _import_error(error)
    except OSError as error:
        return _system_error(error)
    return code if isinstance(code, int) else OK


def _import_error(error: ImportError) -> int:
    """Name a package that is missing or broken; raise the error again if it is of abtune's making."""
    package = (error.name or "").partition(".")[0]
    if package == "abtune":
        raise error
    if package and isinstance(error, ModuleNotFoundError):
        return _complain(str(missing_package(package)), BAD_INPUT)
    remedy = "run: pip install --force-reinstall abtune"
    if "failed to map segment" in str(error):  # the words of the system, whose library is whole
        remedy = "free memory, raise ulimit -v, or install abtune in a folder without noexec"
    return _complain(f"{package or 'a package'} cannot be imported ({error}); {remedy}", BAD_INPUT)


def _system_error(error: OSError) -> int:
    """Say in a line what the system refused, if the user can mend it; raise the error again if not."""
    if error.errno == errno.ENOENT and not error.filename:  # of the working directory
        return _complain("the folder in which this runs is gone; change to another one", BAD_INPUT)
    if error.errno in {errno.ENAMETOOLONG, errno.ELOOP, errno.EACCES}:
        return _complain(f"cannot use {error.filename}: {error.strerror}", BAD_INPUT)
    if error.errno in {errno.EMFILE, errno.ENFILE}:
        return _complain("too many files are open; raise the limit: ulimit -n 4096", BAD_INPUT)
    if error.errno not in {errno.EPIPE, errno.EIO, *NO_ROOM}:
        raise error
    abandon(sys.stdout)  # a reader that has gone away is no error; a full disk is
    if error.errno == errno.EPIPE:
        return OK
    return _complain(f"cannot write the standard output: {error.strerror}", BAD_INPUT)


def _complain(message: str, code: int) -> int:
    remark(f"abtune: {message}")
    return code
