"""Write docs/h200-same-schedule.md: what asynchronous copies do to code, shape by shape.

It needs TVM, to replay schedules, and no GPU. The figure comes from
``abtune plot h200-tvm14009 --kind same-schedule --out docs/h200-same-schedule.png``.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import xarray as xr
from h200_tables import page, percent, short, table
from large_shared_memory import effect_table as memory_effects
from large_shared_memory import kind_table, measured, same_tiles

import abtune
from abtune.configurations import CONFIGURATIONS
from abtune.measure.tvm.early_refusal import is_refused
from abtune.measure.tvm.load_tvm import tvm
from abtune.measure.tvm.workloads import tensor_program
from abtune.sections.change.change_results import ChangeVerdict
from abtune.sections.same_schedule.same_schedule import Reading, SameSchedule, describe_same_schedule
from abtune.shapes import parse_shape
from abtune.traces import before_postprocessing, carry_over, read_trace, write_trace

DOCS = Path(__file__).resolve().parents[2] / "docs"
STUDIES = ("h200-tvm14009", "h200-deep")
SHARED = "h200-shared-winners"
LATER = "h100-tvm14009-winners"
# KiB of shared memory for a thread block: what CUDA gives unasked, what an RTX 3080 has, what an H200 has.
LIMITS = (48, 99, 227)


def described(dataset: xr.Dataset) -> SameSchedule:
    """Return what the same schedules say about a study."""
    return describe_same_schedule(abtune.analyze(dataset))


def shown_table(studies: dict[str, xr.Dataset], *results: SameSchedule) -> str:
    """Return in how many shapes the code gains or loses against the bias of the schedules."""
    rows = (
        (
            f"`{name}`",
            dataset.sizes["trial"],
            len(same.shapes),
            *(f"at least {claim.at_least}" if claim.at_least else "none" for claim in same.claims),
            sum(not row.of_baseline.fitting for row in same.shapes),
        )
        for (name, dataset), same in zip(studies.items(), results, strict=True)
    )
    return table("dataset|trials a search:|shapes:|gain:|loss:|none fits:", rows)


def effect_table(same: SameSchedule) -> str:
    """Return a line for each shape."""
    rows = (
        (
            short(row.shape),
            percent(row.boost),
            known(row.of_baseline.effect),
            f"{row.of_baseline.fitting} of {row.of_baseline.tried}",
            known(row.of_candidate.effect),
            known(row.best.boost),
            row.reading,
        )
        for row in same.shapes
    )
    return table(
        "shape|by search:|on mainline's schedules:|fit:|on async's schedules:|best known:|reading", rows
    )


def known(value: float) -> str:
    """Write a boost, or a dash if there is none."""
    return "-" if math.isnan(value) else percent(value)


def memory_table(studies: dict[str, xr.Dataset]) -> str:
    """Return how many of mainline's winners have room for a pipeline, by the limit of shared memory."""
    rooms = {
        name: np.array([fitting(shape, record) for shape, record in winners(dataset)])
        for name, dataset in studies.items()
    }
    rows = (
        (f"`{name}`", len(room), *(f"{share:.0f} %" for share in 100 * room.mean(axis=0)))
        for name, room in rooms.items()
    )
    return table(f"dataset|winners of mainline:|{'|'.join(f'{limit} KiB:' for limit in LIMITS)}", rows)


def winners(dataset: xr.Dataset) -> Iterator[tuple[str, str]]:
    """Yield the shape and the tuning record of each winner of mainline."""
    texts = dataset["winner"].sel(config="mainline").transpose("shape", "seed")
    for label, records in zip(dataset["shape"].values.tolist(), texts.values.tolist(), strict=True):
        yield from ((label, record) for record in records if record)


def fitting(label: str, record: str) -> list[bool]:
    """Return for each limit whether a pipeline fits into the schedule."""
    trace = before_postprocessing(read_trace(json.loads(record)[0]))
    modules = []
    for variant in carry_over(CONFIGURATIONS["async"], trace):
        schedule = tvm.s_tir.Schedule(tensor_program(parse_shape(label)), error_render_level="none")
        tvm.s_tir.schedule.Trace.apply_json_to_schedule(write_trace(variant), schedule)
        modules.append(schedule.mod)
    return [any(not is_refused(module, 1024, 1024 * limit) for module in modules) for limit in LIMITS]


def other_card(main: SameSchedule, sweep: xr.Dataset) -> str:
    """Say which effects of the same kernels changed from an H200 to an H100."""
    later = abtune.open_dataset(LATER)
    there = described(later)
    boost = abtune.compare_datasets(sweep, later)
    apart = abtune.compare_datasets(sweep.drop_vars("winner"), later.drop_vars("winner"))
    latency = abtune.compare_datasets(sweep, later, config=main.candidate)
    wider = statistics.median(
        (alone.high - alone.low) / (row.high - row.low)
        for row, alone in zip(boost.shapes, apart.shapes, strict=True)
    )
    unsettled = [row.shape for row in boost.shapes if row.verdict is ChangeVerdict.NOT_SETTLED]
    times = [1e6 * row.a for row in latency.shapes if row.shape in unsettled]
    settled = sum(row.verdict is not ChangeVerdict.NOT_SETTLED for row in apart.shapes)
    unchanged = sum(row.verdict is ChangeVerdict.UNCHANGED for row in boost.shapes)
    mean = boost.overall
    return f"""\
The boosts carry over to an NVIDIA H100, the same chip with slower memory. Each kernel is compared with
itself: `abtune compare {STUDIES[0]} {LATER}`.

- {unchanged} of {len(boost.shapes)} boosts are unchanged within {100 * boost.tolerance:.0f} %. The mean
change is {percent(mean.change)} (95 % interval {100 * mean.low:+.1f} to {percent(mean.high)}). If the
searches are compared instead, {settled} are settled; intervals are {wider:.0f} times as wide (median).
- {len(unsettled)} shapes are not settled: kernels of {min(times):.0f} to {max(times):.0f} us vary more.
- On mainline's schedules the mean effect is {percent(there.of_baseline.effect)}
({percent(main.of_baseline.effect)} on H200), on async's {percent(there.of_candidate.effect)}
({percent(main.of_candidate.effect)})."""


def larger_memory() -> str:
    """Say what a pipeline does to mainline's schedules where shared memory is no limit."""
    memory = measured()
    change, kernels = same_tiles(memory)
    return f"""\
On average nothing. Each winner of mainline was built with a pipeline
in dynamic shared memory (`async-dynamic`), and in static memory that its tiles share (`async-merged`,
`tirx.merge_static_smem`). All kernels of a shape were timed together, without the largest GEMM.
`python analysis/studies/large_shared_memory.py table` prints these numbers.

{memory_effects(memory)}

With dynamic memory a pipeline fits nearly every schedule. Some 1x1 convolutions gain:

{kind_table(memory)}

*Number*: shapes of both datasets. *Mean effect*: from the lowest to the highest shape, with dynamic memory.
*Fastest kernel*: the best schedule with a pipeline against the best without.

- Merging the tiles makes no further schedule fit.
- Dynamic memory has a price: it changes the speed of the {kernels} pipelines that fit both kinds of memory by
{change:+.1f} %."""


def report() -> str:
    """Compose the page."""
    studies = {name: abtune.open_dataset(name) for name in STUDIES}
    main, deep = map(described, studies.values())
    shared = abtune.open_dataset(SHARED)
    few, many = (dataset.sizes["trial"] for dataset in studies.values())
    readings = [row.reading for row in main.shapes]
    return page(f"""\
# What asynchronous copies do to code

Does a boost of `async` come from its code, or from the luck of its searches? Each winner of `async` and of
`mainline` was built under both configurations, and both kernels were timed together on an H200. Where a
schedule has a *pipeline*, `async` copies the next tiles while it computes. In the terminal:
`abtune analyze {STUDIES[0]} --section same-schedule`. `python analysis/studies/h200_same_schedule.py` writes
this page.

![Each schedule under both configurations](h200-same-schedule.png)

## What the data say

The table counts shapes. *Gain*: shown on schedules that mainline chose. *Loss*: shown on async's own
schedules. *None fits*: no schedule of mainline does.

{shown_table(studies | {SHARED: shared}, main, deep, described(shared))}

[What follows at equal knowledge](h200-share.md#code-or-schedules).

- **No shape is settled by itself.** In {readings.count(Reading.MIXED)} of {len(readings)} shapes the effect
depends on the schedule; {readings.count(Reading.OPEN)} are not settled.
- **The effect depends on who chose the schedule.** On mainline's schedules the mean is
{percent(main.of_baseline.effect)} after {few} trials and {percent(deep.of_baseline.effect)} after {many}; on
async's {percent(main.of_candidate.effect)} and {percent(deep.of_candidate.effect)}. The effect on a schedule
that nobody selected lies between.
- **Most schedules of mainline have no room for a pipeline:** {unfitting(main)}, and after longer searches
{unfitting(deep)}. Many of async have no pipeline: {main.of_candidate.same} of {main.of_candidate.schedules}.
Schedules with the same kernel count once.

## Shape by shape

`{STUDIES[0]}`. *Fit*: schedules of mainline that have room for a pipeline. *Best known*: the fastest kernels
of both, over all schedules. *Depends on the schedule*: gains and losses beyond the noise of measuring.

{effect_table(main)}

`abtune analyze {STUDIES[1]} --section same-schedule` prints the same of longer searches.

## On another card

{other_card(main, studies[STUDIES[0]])}

## What shared memory forbids

TVM's copies use static shared memory, and CUDA gives {LIMITS[0]} KiB. The larger limits are those of dynamic
shared memory on an RTX 3080 and on an H200. These shares of mainline's winners would have room for a pipeline
of 4 or 5 stages:

{memory_table(studies)}

## What more shared memory would bring

{larger_memory()}
""")


def unfitting(same: SameSchedule) -> str:
    """Count the schedules of the baseline that the candidate has no room for."""
    return f"{same.of_baseline.does_not_fit} of {same.of_baseline.schedules}"


if __name__ == "__main__":
    (DOCS / "h200-same-schedule.md").write_text(report(), encoding="utf-8")
