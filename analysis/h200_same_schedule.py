"""Write docs/h200-same-schedule.md: what asynchronous copies do to code, shape by shape.

It needs TVM, to replay schedules, and no GPU. The figure comes from
``abtune plot h200-tvm14009 --kind same-schedule --out docs/h200-same-schedule.png``.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

import xarray as xr
from h200_tables import percent, published_boosts, short
from large_shared_memory import effect_table as memory_effects
from large_shared_memory import measured, same_tiles, shape_table

import abtune
from abtune.configurations import CONFIGURATIONS
from abtune.measure.tvm.early_refusal import is_refused
from abtune.measure.tvm.load_tvm import tensor_program, tvm
from abtune.sections.change.change import ChangeVerdict
from abtune.sections.change.change_page import change_counts
from abtune.sections.same_schedule.same_schedule import SameSchedule, ShapeEffect, describe_same_schedule
from abtune.sections.same_schedule.same_schedule_page import summarise
from abtune.shapes import parse_shape
from abtune.traces import carry_over, read_trace, write_trace

DOCS = Path(__file__).resolve().parent.parent / "docs"
STUDIES = ("h200-tvm14009", "h200-deep")
LATER = "h100-tvm14009-winners"
# KiB of shared memory for a thread block: what CUDA gives unasked, what an RTX 3080 has, what an H200 has.
LIMITS = (48, 99, 227)


def effect_table(found: SameSchedule, claims: dict[str, float]) -> Iterator[str]:
    """Yield a line for each shape."""
    yield (
        "| shape | published, one run | by search | on mainline's schedules | fit | on async's schedules "
        "| best known | reading |"
    )
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |"
    for row in found.shapes:
        mainline, other = row.of_baseline, row.of_candidate
        yield (
            f"| {short(row.shape)} | {percent(claims[row.shape])} | {percent(row.boost)} "
            f"| {known(mainline.effect)} | {mainline.fitting} of {mainline.tried} "
            f"| {known(other.effect)} | {known(row.best.boost)} | {row.reading} |"
        )


def known(value: float) -> str:
    """Write a boost, or a dash if there is none."""
    return "-" if math.isnan(value) else percent(value)


def regressions(found: SameSchedule, claims: dict[str, float]) -> Iterator[str]:
    """Yield what the same schedules say of each published or measured regression."""
    for row in found.shapes:
        if claims[row.shape] < 0 or row.boost < 0:
            yield f"- {short(row.shape)}: published {percent(claims[row.shape])}; {story(row)}."


def story(row: ShapeEffect) -> str:
    """Say what searches and schedules show of a shape."""
    parts = [f"{percent(row.boost)} by search"]
    for name, side in (("mainline", row.of_baseline), ("async", row.of_candidate)):
        if side.fitting:
            parts.append(f"{percent(side.effect)} on {side.fitting} schedules of {name}")
    return f"{', '.join(parts)}; best known kernels {known(row.best.boost)}"


def memory_table(studies: Sequence[xr.Dataset]) -> Iterator[str]:
    """Yield how many of mainline's winners have room for a pipeline, by the limit of shared memory."""
    yield f"| dataset | winners of mainline | {' | '.join(f'{limit} KiB' for limit in LIMITS)} |"
    yield f"| --- | ---: |{' ---: |' * len(LIMITS)}"
    for name, dataset in zip(STUDIES, studies, strict=True):
        rooms = [fitting(shape, record) for shape, record in winners(dataset)]
        shares = " | ".join(
            f"{100 * sum(room[place] for room in rooms) / len(rooms):.0f} %" for place in range(len(LIMITS))
        )
        yield f"| `{name}` | {len(rooms)} | {shares} |"


def larger_memory() -> Iterator[str]:
    """Say what a pipeline does to mainline's schedules where shared memory is no limit."""
    memory = measured()
    change, kernels = same_tiles(memory)
    yield from (
        "## What more shared memory would bring",
        "",
        "Dynamic shared memory has the larger limit, but these design spaces do not use it. So each",
        "winner of mainline was built with a pipeline in dynamic shared memory (`async-dynamic`), and in",
        "static memory that its tiles share (`async-merged`, `tirx.merge_static_smem`). All kernels of a",
        "shape were timed together. The commands stand in `analysis/large_shared_memory.py`. Time was",
        "over before the largest GEMM.",
        "",
        *memory_effects(memory),
        "",
        "- The limit is not what holds async back. With dynamic memory a pipeline fits nearly every",
        "  schedule, and the mean effect is no gain. A likely reason, not measured: a block that takes",
        "  more memory leaves room for fewer blocks on a multiprocessor.",
        "- Some 1x1 convolutions are the exception. Those of 1,024 channels or more gain 10 to 32 %, their",
        "  fastest kernels 21 to 31 %. One with 512 channels gains 14 %. No GEMM gains more than 3 %.",
        "- Merging the tiles makes no further schedule fit. A likely reason: a pipeline uses them at the",
        "  same time.",
        f"- Dynamic memory has a price. {kernels} pipelines fit both kinds of memory; dynamic memory changes",
        f"  their speed by {change:+.1f} %.",
        "- 21 schedules have one iteration of the loop only, for which TVM cannot lower a pipeline.",
        "",
        "*Fastest kernel*: the best schedule with a pipeline against the best without.",
        "",
        *shape_table(memory),
        "",
    )


def other_card(main: SameSchedule, sweep: xr.Dataset) -> Iterator[str]:
    """Say which effects of the same kernels changed from an H200 to an H100."""
    later = abtune.open_dataset(LATER)
    there = describe_same_schedule(later, abtune.analyze(later))
    boost = abtune.compare_datasets(sweep, later)
    apart = abtune.compare_datasets(sweep.drop_vars("winner"), later.drop_vars("winner"))
    latencies = [
        abtune.compare_datasets(sweep, later, config=name) for name in (main.baseline, main.candidate)
    ]
    wider = statistics.median(
        (alone.high - alone.low) / (row.high - row.low)
        for row, alone in zip(boost.shapes, apart.shapes, strict=True)
    )
    names = ("latency of mainline", "latency of async", "boost of async")
    yield from (
        "## On another card",
        "",
        "The winners and their transfers were built and timed again on an NVIDIA H100, the same chip with",
        "slower memory. Each kernel is compared with itself:",
        f"`abtune compare {STUDIES[0]} {LATER}`.",
        "",
        "| from H200 to H100 | mean change | 95 % interval | shapes |",
        "| --- | ---: | ---: | --- |",
    )
    for name, change in zip(names, [*latencies, boost], strict=True):
        mean = change.overall
        yield (
            f"| {name} | {percent(mean.change)} | {percent(mean.low)} to {percent(mean.high)} "
            f"| {', '.join(change_counts(change))} |"
        )
    unsettled = [row.shape for row in boost.shapes if row.verdict is ChangeVerdict.NOT_SETTLED]
    times = [1e6 * row.a for row in latencies[1].shapes if row.shape in unsettled]
    settled = sum(row.verdict is not ChangeVerdict.NOT_SETTLED for row in apart.shapes)
    total, unchanged = len(boost.shapes), sum(row.verdict is ChangeVerdict.UNCHANGED for row in boost.shapes)
    yield from (
        "",
        f"- The boosts carry over: {unchanged} of {total} are unchanged within 5 %. If the searches",
        f"  are compared instead, {settled} are settled; intervals are {wider:.0f} times as wide (median).",
        f"- {len(unsettled)} shapes are not settled: they take {min(times):.0f} to {max(times):.0f} us, and",
        "  timings of such short kernels vary more.",
        "- The code does the same on both cards: on mainline's schedules the mean effect is",
        f"  {percent(there.of_baseline.effect)} ({percent(main.of_baseline.effect)} on H200), on async's "
        f"{percent(there.of_candidate.effect)} ({percent(main.of_candidate.effect)}).",
        "",
    )


def winners(dataset: xr.Dataset) -> Iterator[tuple[str, str]]:
    """Yield the shape and the tuning record of each winner of mainline."""
    found = dataset["winner"].sel(config="mainline").transpose("shape", "seed")
    for label, records in zip(dataset["shape"].values.tolist(), found.values.tolist(), strict=True):
        yield from ((label, record) for record in records if record)


def fitting(label: str, record: str) -> list[bool]:
    """Return for each limit whether a pipeline fits into the schedule."""
    trace = read_trace(json.loads(record)[0]).before_postprocessing()
    modules = []
    for variant in carry_over(CONFIGURATIONS["async"], trace):
        schedule = tvm.s_tir.Schedule(tensor_program(parse_shape(label)), error_render_level="none")
        tvm.s_tir.schedule.Trace.apply_json_to_schedule(write_trace(variant), schedule)
        modules.append(schedule.mod)
    return [any(not is_refused(module, 1024, 1024 * limit) for module in modules) for limit in LIMITS]


def report() -> str:
    """Compose the page."""
    studies = [abtune.open_dataset(name) for name in STUDIES]
    found = [describe_same_schedule(dataset, abtune.analyze(dataset)) for dataset in studies]
    claims = published_boosts()
    main, deep = found
    parts = [
        "# What asynchronous copies do to code",
        "",
        "You want to know whether a boost or a regression of `async` comes from its code, or from the",
        "luck of its searches. Each winner was built under both configurations, and both kernels were",
        "timed together on an H200. Written by `python analysis/h200_same_schedule.py`; in the terminal:",
        "`abtune analyze h200-tvm14009 --section same-schedule`.",
        "",
        "![Each schedule under both configurations](h200-same-schedule.png)",
        "",
        "## What the data say",
        "",
        f"- `{STUDIES[0]}` (192 trials a search). {summarise(main)}",
        f"  On mainline's schedules the mean effect is {percent(main.of_baseline.effect)}, on async's "
        f"{percent(main.of_candidate.effect)}.",
        f"- `{STUDIES[1]}` (512 trials). {summarise(deep)}",
        f"  On mainline's schedules the mean effect is {percent(deep.of_baseline.effect)}, on async's "
        f"{percent(deep.of_candidate.effect)}.",
        f"- {unfitting(main)} schedules of mainline have no room for a pipeline;",
        f"  after longer searches {unfitting(deep)}.",
        f"- {main.of_candidate.same} of {main.of_candidate.schedules} schedules of async have no pipeline,",
        "  so that both configurations build the same kernel.",
        "- Both directions are biased: mainline's schedules were chosen without a pipeline, async's mostly",
        "  with one. The effect on a schedule that nobody selected lies between.",
        "",
        "## Shape by shape",
        "",
        f"`{STUDIES[0]}`. *Fit*: schedules of mainline that have room for a pipeline. *Best known*: the",
        "fastest kernels of both, over all schedules.",
        "",
        *effect_table(main, claims),
        "",
        f"`{STUDIES[1]}`:",
        "",
        *effect_table(deep, claims),
        "",
        "## Published and measured regressions",
        "",
        *regressions(main, claims),
        "",
        *other_card(main, studies[0]),
        "## What shared memory forbids",
        "",
        "A pipeline keeps several versions of each tile. TVM's copies use static shared memory, of which",
        "CUDA gives 48 KiB. Mainline's winners that would have room for a pipeline of 4 or 5 stages:",
        "",
        *memory_table(studies),
        "",
        *larger_memory(),
    ]
    return "\n".join(parts)


def unfitting(found: SameSchedule) -> str:
    """Count the schedules of the baseline that the candidate has no room for."""
    return f"{found.of_baseline.does_not_fit} of {found.of_baseline.schedules}"


if __name__ == "__main__":
    (DOCS / "h200-same-schedule.md").write_text(report(), encoding="utf-8")
