"""What winners use: traits of traces, their shares, and boosts with and without them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import xarray as xr
from compare_builders import make_sweep

import abtune
from abtune.dataset.schema import RunStatus
from abtune.errors import DatasetError, InputError
from abtune.report.page import Grid, Heading
from abtune.sections.section_registry import Context
from abtune.sections.winner_traits import (
    TraitValue,
    WinnerTraits,
    describe_winners,
    traits_of,
    winners_section,
)
from abtune.traces import read_trace

BUNDLED = "h200-tvm14009"


def trace_of(
    *annotations: tuple[str, Any], tiles: Sequence[Sequence[int]] = (), names: Sequence[str] = ()
) -> list[Any]:
    """Return a trace with annotations, tilings of loops, and further instructions."""
    steps: list[Any] = [["Annotate", ["b0", value], [key], []] for key, value in annotations]
    decisions = []
    for number, factors in enumerate(tiles):
        decisions.append([len(steps), list(factors)])
        variables = [f"t{number}_{place}" for place in range(len(factors))]
        steps.append(["SamplePerfectTile", ["l0"], [len(factors), 64], variables])
    steps += [[name, ["b0"], [], []] for name in names]
    return [steps, decisions]


def sampled(key: str, choices: Sequence[int], decision: int) -> list[Any]:
    """Return a trace with one annotation by a sampled variable."""
    steps = [
        ["SampleCategorical", [], [list(choices), [1 / len(choices)] * len(choices)], ["v1"]],
        ["Annotate", ["b0", "v1"], [key], []],
    ]
    return [steps, [[0, decision]]]


def values(trace: list[Any], kind: str) -> set[str]:
    return set(traits_of(read_trace(trace))[kind])


def with_winners(dataset: xr.Dataset, winners: Any) -> xr.Dataset:
    """Return the dataset with traces as winners, shape (shapes, configurations, seeds); None for none."""
    shape = tuple(dataset.sizes[name] for name in ("shape", "config", "seed"))
    texts = np.full(shape, "", dtype=object)
    for cell in np.ndindex(shape):
        trace = winners[cell[0]][cell[1]][cell[2]]
        texts[cell] = "" if trace is None else json.dumps([trace, [1e-3]])
    return abtune.add_variables(dataset, winner=texts)


def described(dataset: xr.Dataset) -> WinnerTraits:
    return describe_winners(abtune.analyze(dataset))


def value_of(found: WinnerTraits, kind: str, value: str) -> TraitValue:
    (trait,) = [trait for trait in found.traits if trait.name == kind]
    (row,) = [row for row in trait.values if row.value == value]
    return row


PLAIN = trace_of(("meta_schedule.tiling_structure", '"SSSRRSRS"'))
PIPED = trace_of(("meta_schedule.tiling_structure", '"SSSRRSRS"'), ("software_pipeline_stage", [0, 0, 2]))


@pytest.mark.parametrize(
    ("trace", "kind", "expected"),
    [
        (PLAIN, "software pipeline", {"none"}),
        (PIPED, "software pipeline", {"4 stages"}),
        (trace_of(("software_pipeline_stage", [0, 0, 3])), "software pipeline", {"5 stages"}),
        (sampled("meta_schedule.cooperative_fetch", [1, 2, 3, 4], 3), "vectorised copies", {"4"}),
        (
            trace_of(("meta_schedule.cooperative_fetch", 1), ("meta_schedule.cooperative_fetch", 2)),
            "vectorised copies",
            {"1", "2"},
        ),
        (PLAIN, "vectorised copies", {"none"}),
        (sampled("meta_schedule.unroll_explicit", [0, 16, 512], 2), "unrolling", {"512"}),
        (sampled("meta_schedule.unroll_explicit", [0, 16, 512], 0), "unrolling", {"none"}),
        (sampled("meta_schedule.unroll_implicit", [0, 16, 512], 1), "unrolling", {"16 implicit"}),
        (trace_of(("meta_schedule.parallel", 96)), "parallel loops", {"96"}),
        (trace_of(("meta_schedule.vectorize", 64)), "vectorised loops", {"64"}),
        (trace_of(tiles=[[5, 1, 8, 1, 1], [2, 1, 8, 3, 1]]), "threads per block", {"33 to 64"}),
        (trace_of(tiles=[[5, 1, 13, 1, 1], [2, 1, 5, 3, 1], [4, 4, 4]]), "threads per block", {"65 to 128"}),
        (trace_of(tiles=[[5, 1, 1, 1, 1]]), "threads per block", {"1"}),
        (trace_of(tiles=[[4, 4, 4, 1]]), "threads per block", {"none"}),
        (PLAIN, "sketch", {"SSSRRSRS"}),
        (
            trace_of(("meta_schedule.tiling_structure", '"SSRSRS"'), names=["RFactor"]),
            "sketch",
            {"SSRSRS with rfactor"},
        ),
        (trace_of(names=["RFactor"]), "sketch", {"none with rfactor"}),
    ],
)
def test_traits_of_a_schedule(trace: list[Any], kind: str, expected: set[str]) -> None:
    """Each kind of trait is read from its annotations, through the sampled variable where there is one."""
    assert values(trace, kind) == expected


def test_shares_and_boosts_by_hand() -> None:
    """Shares count winners; boosts are means over the shapes with winners of both kinds."""
    latency = [
        [[1.0, 1.0, 4.0], [0.5, 0.5, 2.0]],  # baseline's mean log: log(4) / 3
        [[1.0, 1.0, 1.0], [0.25, 1.0, 2.0]],
        [[1.0, 1.0, 1.0], [0.1, 0.1, 0.1]],  # every winner has a pipeline: no boost without
    ]
    dataset = abtune.make_dataset(latency, shapes=["a", "b", "c"], configs=["old", "new"])
    new = [[PIPED, PIPED, PLAIN], [PIPED, PLAIN, PLAIN], [PIPED, PIPED, PIPED]]
    found = described(with_winners(dataset, [[[PLAIN] * 3, side] for side in new]))
    row = value_of(found, "software pipeline", "4 stages")
    assert (row.baseline.winners, row.baseline.of, row.baseline.share) == (0, 9, 0.0)
    assert (row.candidate.winners, row.candidate.of, row.candidate.share) == (6, 9, 6 / 9)
    mean = math.log(4) / 3
    with_it = [mean - math.log(0.5), -math.log(0.25)]
    without = [mean - math.log(2), -math.log(2) / 2]
    assert (row.shapes, row.faster) == (2, 2)
    assert row.boost_with == pytest.approx(math.expm1(sum(with_it) / 2))
    assert row.boost_without == pytest.approx(math.expm1(sum(without) / 2))
    other = value_of(found, "software pipeline", "none")
    assert (other.boost_with, other.boost_without, other.faster) == (row.boost_without, row.boost_with, 0)


def test_runs_without_a_winner_are_left_out_and_said() -> None:
    """Shares are of complete runs with a winner; a line counts the others, but none that is missing."""
    dataset = make_sweep([0.1], n=4)
    dataset = with_winners(dataset, [[[PLAIN, PLAIN, None, PIPED], [PIPED, PLAIN, PLAIN, None]]])
    dataset["run_status"][0, :, 3] = [RunStatus.FAILED, RunStatus.MISSING]
    found = described(dataset)
    row = value_of(found, "software pipeline", "none")
    assert (row.baseline.winners, row.baseline.of) == (2, 2)
    assert (row.candidate.winners, row.candidate.of) == (2, 3)
    assert "mainline: 2 runs failed or without a stored winner, left out." in found.caveats
    assert not any(caveat.startswith("async") for caveat in found.caveats)


def test_a_third_of_the_winners_of_async_use_no_pipeline() -> None:
    """In the bundled sweep it is 104 of 290, and those with a pipeline are faster."""
    dataset = abtune.open_dataset(BUNDLED)
    found = described(dataset)
    row = value_of(found, "software pipeline", "none")
    assert (row.candidate.winners, row.candidate.of) == (104, 290)
    assert (row.baseline.winners, row.baseline.of) == (290, 290)
    assert row.boost_with < row.boost_without
    texts = dataset["winner"].sel(config="async").values.ravel()
    assert sum("software_pipeline_stage" not in str(text) for text in texts) == 104
    stages = [value_of(found, "software pipeline", value) for value in ("none", "4 stages", "5 stages")]
    assert sum(row.candidate.winners for row in stages) == 290
    assert [trait.name for trait in found.traits] == [
        "software pipeline",
        "vectorised copies",
        "unrolling",
        "threads per block",
        "sketch",
    ]


def test_threads_are_those_of_the_kernel() -> None:
    """The classes hold the extent by which the postprocessors split the copies."""
    checked = 0
    for text in abtune.open_dataset("h200-pilot")["winner"].values.ravel():
        trace = read_trace(json.loads(str(text))[0])
        (extent,) = {
            step.inputs[2] for step in trace.instructions if step.name == "Split" and step.inputs[1] == "None"
        }
        (words,) = traits_of(trace)["threads per block"]
        low, _, high = words.partition(" to ")
        assert int(low) <= extent <= int(high or low)
        checked += 1
    assert checked == 60


def test_the_page_has_a_grid_for_each_kind_that_varies() -> None:
    """A trait that all winners of a kind share takes one line."""
    dataset = make_sweep([0.1, 0.2], n=2)
    dataset = with_winners(dataset, [[[PLAIN, PLAIN], [PLAIN, PIPED]]] * 2)
    section = winners_section(Context(analysis=abtune.analyze(dataset), values={}))
    titles = [part.text for part in section.page if isinstance(part, Heading)]
    assert titles == ["what winners use", "software pipeline"]
    (whole,) = (part for part in section.page if isinstance(part, Grid))
    assert whole.labels == ("none", "4 stages")
    (bullets,) = (part.items for part in section.page if hasattr(part, "items"))
    assert bullets[0] == "sketch: SSSRRSRS in every winner."
    assert "not causal" in bullets[1]


@pytest.mark.parametrize("stored", [False, True])
def test_a_dataset_without_winners_is_refused(stored: bool) -> None:  # noqa: FBT001 - a parameter
    """One line says what stores them, whether the variable is absent or empty."""
    dataset = make_sweep([0.1], n=2)
    if stored:
        dataset = with_winners(dataset, [[[None, None]] * 2])
    with pytest.raises(InputError, match="no schedules of winners; abtune sweep stores them"):
        described(dataset)


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "[]",
        "{}",
        "3",
        "[[1]]",
        '[[[["SamplePerfectTile", ["l0"], [2, 64], ["v0", "v1"]]], []]]',
        "[" * 9999,
    ],
)
def test_what_is_no_trace_is_refused(text: str) -> None:
    """Bad data gives one line, not a traceback."""
    dataset = make_sweep([0.1], n=2)
    dataset = abtune.add_variables(dataset, winner=np.full((1, 2, 2), text, dtype=object))
    with pytest.raises(DatasetError, match="no schedule trace"):
        described(dataset)
