"""Schedules of one configuration as another one builds them.

A configuration says by a function how it takes over a schedule: from a trace, as JSON, to the traces of its
variants. Without such a function it takes the trace as it is.
"""

from __future__ import annotations

from typing import Any

from abtune.configurations import Configuration, import_attribute
from abtune.errors import AbtuneError, InputError
from abtune.traces.pipelines import STAGES, with_pipeline, without_pipeline
from abtune.traces.trace import Trace, read_trace, write_trace


def carry_over(config: Configuration, trace: Trace) -> list[Trace]:
    """Return the variants of a schedule that a configuration would build."""
    if not config.transfer:
        return [trace]
    function = import_attribute(config.transfer)
    try:
        variants = [read_trace(variant) for variant in function(write_trace(trace))]
    except AbtuneError as error:
        raise InputError(f"{config.transfer} returned no list of traces: {error}") from None
    except Exception as error:
        raise InputError(
            f"{config.transfer} failed ({type(error).__name__}: {error}); it takes a trace as JSON and "
            "returns a list of traces"
        ) from error
    return variants


def adopted(config: Configuration, trace: Trace) -> list[Trace]:
    """Return the variants of a schedule that a configuration could have found.

    The schedule as it is belongs to them, unless the configuration skips what it has. Of a design space of
    the user, only its own function knows what it contains.
    """
    skipped = config.skipped_annotation
    is_outside = (skipped and any(trace.annotated(skipped))) or (config.space and config.transfer)
    as_it_is = [] if is_outside else [trace]
    carried = carry_over(config, trace) if config.transfer else []
    return as_it_is + [variant for variant in carried if variant not in as_it_is]


def synchronous(trace: list[Any]) -> list[list[Any]]:
    """Return the schedule without its software pipeline."""
    return [write_trace(without_pipeline(read_trace(trace)))]


def asynchronous(trace: list[Any]) -> list[list[Any]]:
    """Return the schedule with each of MetaSchedule's software pipelines, if it can have one."""
    variants = (with_pipeline(read_trace(trace), stage) for stage in STAGES)
    return [write_trace(variant) for variant in variants if variant is not None]
