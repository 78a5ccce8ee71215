"""From a tuning record to a shared library, as its own configuration or another one builds it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from abtune.measure.plan.problem import Problem
from abtune.measure.plan.records import Candidate
from abtune.measure.tvm import nvrtc
from abtune.measure.tvm.load_tvm import ms, record_text, shash2hex, tvm
from abtune.measure.tvm.propose import search_context
from abtune.measure.tvm.tvm_devices import tvm_target
from abtune.measure.tvm.workloads import tensor_program
from abtune.traces import Trace, adopted, before_postprocessing, read_trace, require_allowed, write_trace
from abtune.traces import carry_over as carried_over


def build(problem: Problem, record: list[Any]) -> bytes:
    """Return the content of the shared library of a candidate."""
    module = scheduled_module(problem, record)
    # MetaSchedule's ``default_build`` does this, too, before it lowers a candidate.
    module = tvm.s_tir.transform.RemoveWeightLayoutRewriteBlock(skip_tensor_rewrite=True)(module)
    target = tvm_target(problem.target)
    with target, tvm.transform.PassContext(config=dict(problem.config.pass_config)):
        library = tvm.tirx.build(module, target=target)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.so"
        library.export_library(str(path))
        return path.read_bytes()


def carry_over(problem: Problem, record: list[Any]) -> list[list[Any]]:
    """Return the tuning records of a schedule under another configuration, one per variant that fits."""
    variants = carried_over(problem.config, _before_postprocessing(problem, record))
    fitting = (_fit(problem, variant) for variant in variants)
    return [_record(problem, schedule, record) for schedule in fitting if schedule is not None]


def adopt(
    problem: Problem, texts: Sequence[str], known: Collection[str], count: int
) -> tuple[Candidate, ...]:
    """Return at most `count` candidates that another configuration's records give in this one."""
    taken: dict[str, Candidate] = {}
    for record in map(json.loads, texts):
        for variant in adopted(problem.config, _before_postprocessing(problem, record)):
            if len(taken) >= count:
                return tuple(taken.values())
            schedule = _fit(problem, variant)
            name = shash2hex(schedule.mod) if schedule is not None else ""
            if name and name not in known:
                text = json.dumps(_record(problem, schedule, record))
                candidate = Candidate(text=text, module_hash=name, carried_over=True)
                taken.setdefault(name, candidate)
    return tuple(taken.values())


def _before_postprocessing(problem: Problem, record: list[Any]) -> Trace:
    trace = read_trace(record[0])
    require_own_trace(problem, trace)
    return before_postprocessing(trace)


def _fit(problem: Problem, trace: Trace) -> Any | None:
    """Return a schedule after the postprocessing of a target; None if a postprocessor refuses it."""
    schedule = tvm.s_tir.Schedule(tensor_program(problem.shape), error_render_level="none")
    try:
        tvm.s_tir.schedule.Trace.apply_json_to_schedule(write_trace(trace), schedule)
    except RuntimeError:  # of TVM: it asks for what this workload does not have
        return None
    schedule.enter_postproc()
    # The stock postprocessors, with VerifyGPUCode: unlike a search, nothing else checks this schedule.
    generator = search_context(problem, rng_seed=1).space_generator
    fits = all(postprocessor.apply(schedule) for postprocessor in generator.postprocs or ())
    return schedule if fits else None


def _record(problem: Problem, schedule: Any, original: list[Any]) -> list[Any]:
    """Return the tuning record of a schedule, without a timing, from the one that a search found."""
    workload = ms.database.Workload(schedule.mod)
    record = ms.database.TuningRecord(schedule.trace, workload, None, tvm_target(problem.target), None)
    trace, times, *_ = json.loads(record_text(record))
    return [trace, times, *original[2:]]


def scheduled_module(problem: Problem, record: list[Any]) -> Any:
    """Return the module that the trace of a tuning record makes of the workload."""
    require_own_trace(problem, read_trace(record[0]))
    workload = ms.database.Workload(tensor_program(problem.shape))
    return ms.database.TuningRecord.from_json(record, workload).as_measure_candidate().sch.mod


def require_own_trace(problem: Problem, trace: Trace) -> None:
    """Refuse a trace that MetaSchedule would not write; a user's own design space may write any."""
    if not problem.config.space_is_foreign:
        require_allowed(trace)


@tvm.register_global_func("tvm_callback_cuda_compile", override=True)  # type: ignore[untyped-decorator]
def compile_cuda(code: str) -> Any:
    """Return the machine code of CUDA source; TVM calls this when it builds for CUDA."""
    from tvm.support import nvcc

    arch = str(tvm.target.Target.current().attrs["arch"])  # build() sets the target
    cubin = nvrtc.compile_cubin(code, arch)
    return cubin if cubin is not None else nvcc.compile_cuda(code, target_format="cubin", compiler="nvrtc")
