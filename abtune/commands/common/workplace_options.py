"""The options that say where a command searches and measures, and the workplace that they mean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abtune.commands.common.options import Option, together
from abtune.measure.plan import defaults

if TYPE_CHECKING:
    from abtune.measure.plan.workplace import Workplace

# Where and how fast work is done; these options do not change what is done.
NAMES = ("cores", "scheduler", "rpc_tracker", "rpc_key")


def duration(value: str) -> float:
    """Return the seconds of a time span such as ``90s``, ``15m`` or ``2h``."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", value.strip())
    seconds = float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]] if match else 0.0
    if seconds <= 0:
        raise click.BadParameter(f"{value!r} is no time span; give one such as 90s, 15m or 2h")
    return seconds


time_limit_option = click.option(
    "--time-limit", type=duration, help="Stop in time and keep what is done: 90s, 15m, 2h."
)
target_option = click.option(
    "--target", default=defaults.TARGET, show_default=True, help="auto, cuda, cpu, or a TVM target."
)


def out_option(meaning: str) -> Option:
    """Make the option ``--out`` of a sweep's dataset."""
    kind = click.Path(path_type=Path)
    return click.option("--out", type=kind, default=Path(defaults.OUT), show_default=True, help=meaning)


def workplace_options(cores_help: str) -> Option:
    """Return the options ``--cores``, ``--scheduler``, ``--rpc-tracker`` and ``--rpc-key``."""
    return together(
        click.option("--cores", type=click.IntRange(min=1), help=f"{cores_help} [default: all cores]"),
        click.option(
            "--scheduler", default="", metavar="ADDRESS", help="Use a dask cluster: tcp://host:port."
        ),
        click.option(
            "--rpc-tracker", default="", metavar="HOST:PORT", help="Measure on a device behind TVM's RPC."
        ),
        click.option("--rpc-key", default="", metavar="KEY", help="The tracker's key of that device."),
    )


def workplace_of(options: Mapping[str, Any], *, tried: bool = False) -> Workplace:
    """Return the workplace that the options mean, with its target found here or at a cluster.

    On request, a trial of a second tells how fast its cores search.
    """
    from abtune.measure.plan.workplace import Workplace, machine_load, remote_device, usable_cores
    from abtune.measure.workers.find_target import find_target, find_target_at

    remote = remote_device(options["rpc_tracker"], options["rpc_key"])
    cores = options["cores"] or usable_cores()
    if options["scheduler"]:  # how many cores its workers have is not known here, so one is tried
        facts = find_target_at(options["scheduler"], options["target"], remote, int(tried))
    else:
        facts = find_target(options["target"], remote, cores if tried else 0)
    load = None if options["scheduler"] else machine_load(cores)
    return Workplace(facts=facts, scheduler=options["scheduler"], cores=cores, load=load or 0.0)
