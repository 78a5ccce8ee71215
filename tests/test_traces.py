"""Schedule traces as data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import abtune
from abtune.configurations import ASYNC, MAINLINE, Configuration
from abtune.errors import DatasetError
from abtune.traces import (
    PREFIX,
    STAGES,
    Instruction,
    Trace,
    adopted,
    before_postprocessing,
    read_trace,
    require_allowed,
    with_pipeline,
    without_pipeline,
    write_trace,
)


def winners(config: str) -> Iterator[Any]:
    """Yield the traces of the pilot, as their JSON values."""
    for text in abtune.open_dataset("h200-pilot")["winner"].sel(config=config).values.ravel():
        yield json.loads(str(text))[0]


def step(name: str, **fields: Any) -> Instruction:
    return Instruction(**{"name": name, "inputs": (), "attributes": (), "outputs": (), **fields})


def pipeline_stage(trace: Trace) -> int | None:
    """Return the stage of the computation in the pipeline of a schedule; None if it has no pipeline."""
    stages = (step.inputs[1] for step in trace if step.annotation == f"{PREFIX}stage")
    return next((int(stage[-1]) for stage in stages), None)


def shape_of(trace: Trace) -> list[Any]:
    """Return a trace without the names of its loops and blocks."""
    steps, decisions = write_trace(trace)
    return [[[name, len(inputs), attributes] for name, inputs, attributes, _ in steps], decisions]


@pytest.mark.parametrize("config", ["mainline", "async"])
def test_a_trace_survives_reading_and_writing(config: str) -> None:
    """What is written is what was read, decisions at their numbers."""
    for value in winners(config):
        assert write_trace(read_trace(value)) == value
        assert read_trace(json.dumps(value)) == read_trace(value)


def test_mainline_has_no_pipelines_and_async_both_kinds() -> None:
    """The design space of mainline has none; of async it has none, and 4 and 5 stages."""
    stages = {
        config: {pipeline_stage(read_trace(value)) for value in winners(config)}
        for config in ("mainline", "async")
    }
    assert stages["mainline"] == {None}
    assert stages["async"] <= {None, *STAGES}
    assert len(stages["async"]) == 3


def test_a_pipeline_that_is_taken_out_and_put_in_is_the_same() -> None:
    """Putting in what MetaSchedule's rule put in gives its trace, but for the name of one loop."""
    seen = 0
    for value in winners("async"):
        trace = read_trace(value)
        stage = pipeline_stage(trace)
        if stage is not None:
            plain = without_pipeline(trace)
            assert pipeline_stage(plain) is None
            again = with_pipeline(plain, stage)
            assert again is not None
            assert shape_of(again) == shape_of(trace)
            seen += 1
    assert seen > 5


def test_decisions_move_with_their_instructions() -> None:
    """Where instructions are added or left out, the sampled values stay those of their variables."""
    for value in winners("mainline"):
        trace = read_trace(value)
        piped = with_pipeline(trace, STAGES[0])
        assert piped is not None
        sampled = [(one.outputs, one.decision) for one in trace if one.decision is not None]
        assert [(one.outputs, one.decision) for one in piped if one.decision is not None] == sampled
        written = write_trace(piped)
        assert all(written[0][number][0].startswith("Sample") for number, _ in written[1])
        assert without_pipeline(piped) == trace


def test_what_has_no_copies_gets_no_pipeline() -> None:
    """A schedule without copies into shared memory has nothing to pipeline."""
    trace = (step("GetSBlock", attributes=("C", "main"), outputs=("b0",)),)
    assert with_pipeline(trace, STAGES[0]) is None
    assert without_pipeline(trace) == trace


def test_the_part_before_postprocessing_is_free_of_the_target() -> None:
    """Vector widths and thread bindings of copies stand behind the mark."""
    trace = read_trace(next(winners("async")))
    first = before_postprocessing(trace)
    assert 0 < len(first) < len(trace)
    assert "Vectorize" not in {step.name for step in first}


def test_winners_of_real_searches_are_allowed() -> None:
    """Every trace of the bundled sweeps passes."""
    for name in ("h200-pilot", "h200-deep", "h200-tvm14009"):
        for text in abtune.open_dataset(name)["winner"].values.ravel():
            require_allowed(read_trace(json.loads(str(text))[0]))


@pytest.mark.parametrize(
    ("added", "said"),
    [
        (
            Instruction(
                name="Annotate", inputs=("l1", "asm"), attributes=("pragma_import_llvm",), outputs=()
            ),
            "pragma_import_llvm",
        ),
        (Instruction(name="Tensorize", inputs=("l1", "x"), attributes=(True,), outputs=()), "Tensorize"),
        (
            Instruction(name="UnsafeSetDType", inputs=("b0",), attributes=(0, "int8"), outputs=()),
            "UnsafeSetDType",
        ),
        (
            Instruction(
                name="Annotate",
                inputs=("b0", ['{"root_index": 0, "nodes": [{"type": "ffi.Module", "data": "AAAA"}]}']),
                attributes=("meta_schedule.parallel",),
                outputs=(),
            ),
            "an object in the instruction 'Annotate'",
        ),
    ],
)
def test_what_design_spaces_never_write_is_refused(added: Instruction, said: str) -> None:
    """A trace that links code, or does what the rules never do, is named and not applied."""
    trace = read_trace(next(winners("async")))
    with pytest.raises(DatasetError, match=said):
        require_allowed((*trace, added))


@pytest.mark.parametrize("value", [None, 3, "x", "[]", [[["Split"]], []], [[], [[0]]], "[" * 100_000])
def test_what_is_no_trace_is_one_line(value: object) -> None:
    """Damaged traces are refused, however deep they are nested."""
    with pytest.raises(DatasetError, match="no schedule trace"):
        read_trace(value)


def test_prefix_covers_all_keys_of_a_pipeline() -> None:
    """A schedule without pipeline has no annotation of one left."""
    for value in winners("async"):
        keys = {step.annotation for step in without_pipeline(read_trace(value))}
        assert not [key for key in keys if key.startswith(PREFIX)]


def doubled(trace: list[Any]) -> list[list[Any]]:
    """Return a trace twice, without its last step."""
    steps, decisions = trace
    return [[steps[:-1], decisions]] * 2


def test_a_configuration_takes_over_what_it_could_have_found() -> None:
    """Mainline skips pipelines and async has both kinds; for a space of the user its function decides."""
    plain = next(trace for trace in map(read_trace, winners("mainline")))
    piped = next(trace for trace in map(read_trace, winners("async")) if pipeline_stage(trace) is not None)
    assert adopted(MAINLINE, plain) == [plain]
    assert adopted(MAINLINE, piped) == [without_pipeline(piped)]
    assert adopted(ASYNC, plain) == [plain, *(with_pipeline(plain, stage) for stage in STAGES)]
    assert adopted(ASYNC, piped)[0] == piped
    own = Configuration(name="own", space="module:space")
    assert adopted(own, plain) == [plain]
    shorter = plain[:-1]
    assert adopted(replace(own, transfer=f"{__name__}:doubled"), plain) == [shorter, shorter]
