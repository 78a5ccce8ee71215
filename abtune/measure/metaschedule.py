"""All that abtune asks of TVM, as functions for a process of their own; the only importer of tvm.

Each function takes and returns plain data, keeps no state that matters, and may crash its process. The
search is MetaSchedule's own, one iteration at a time: its strategy, cost model, mutators and
postprocessors, fed with the history so far. What is ours is the driving, so that an iteration can happen
anywhere and a run can stop between two of them.
"""

from __future__ import annotations

import functools
import io
import json
import math
import os
import sys
import tempfile
import types
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from abtune.configurations import Configuration, import_attribute
from abtune.errors import TargetError
from abtune.measure import nvml, nvrtc
from abtune.measure.plan import COLD_CALLS
from abtune.measure.reference import expected_output, random_inputs, relative_error
from abtune.measure.target import REMOTE, TargetFacts
from abtune.measure.trials import Candidate, History
from abtune.schema import TrialStatus
from abtune.shapes import Conv2d, Gemm, Shape

_INTRINSICS = "tvm.s_tir.tensor_intrin"

# What the options of a strategy are tried on, and how much of what only takes longer is enough for that.
SMALL = Gemm(m=64, n=64, k=64)
ENOUGH = {"population_size": 64, "genetic_num_iters": 1}


def _import_tvm() -> Any:
    """Import TVM without its tensor-core intrinsics, which float32 schedules never use, and without PyTorch.

    Parsing the intrinsics takes 15 s in each process, and ``TuneContext`` imports them whatever the workload.
    TVM's FFI imports PyTorch wherever it is installed and asks it for a GPU; that takes seconds, and
    initializes CUDA, which then works in no fork of this process.
    """
    nvrtc.load_libraries()
    sys.modules.setdefault(_INTRINSICS, types.ModuleType(_INTRINSICS))
    is_hidden = sys.modules.setdefault("torch", None) is None  # type: ignore[arg-type]
    try:
        import tvm
    except Exception as error:
        raise TargetError(
            f"TVM cannot be imported ({error}); run: pip install --force-reinstall abtune"
        ) from error
    finally:
        if is_hidden:
            del sys.modules["torch"]
    return tvm


tvm = _import_tvm()

from tvm import te, topi  # noqa: E402
from tvm.s_tir import meta_schedule as ms  # noqa: E402
from tvm.s_tir.meta_schedule.utils import shash2hex  # noqa: E402

# --- the target -------------------------------------------------------------------------------------


def describe_target(spec: str, remote: str = "") -> TargetFacts:
    """Resolve ``auto``, ``cuda``, ``cpu`` or a TVM target, and say what it is.

    Parameters
    ----------
    spec : str
        What to resolve.
    remote : str
        Devices behind an RPC tracker, as ``host:port/key``; empty for those of this machine.

    Raises
    ------
    TargetError
        If there is no such device, or TVM does not know the target.
    """
    where = _devices()
    has_gpu = bool(where.cuda(0).exist)
    reason = f"{remote} has none" if remote else nvrtc.why_no_gpu()
    if spec == "cuda" and not has_gpu:
        raise TargetError(f"no usable CUDA device ({reason}); use --target cpu")
    if spec == "cuda" or (spec == "auto" and has_gpu):
        target = _target_of_gpu(where)
    elif remote and spec in ("auto", "cpu", "llvm"):
        raise TargetError(
            "the CPU behind an RPC tracker is not known here; give it as a target, such as "
            """--target '{"kind": "llvm", "mcpu": "cortex-a76", "num-cores": 4}'"""
        )
    elif spec in ("auto", "cpu", "llvm"):
        # One thread a kernel, so that searches can go on on the other cores.
        cpu = tvm.target.codegen.llvm_get_system_cpu()
        target = tvm.target.Target({"kind": "llvm", "mcpu": cpu, "num-cores": 1})
    else:
        target = _parse_target(spec)
    kind = str(target.kind.name)
    if kind not in ("cuda", "llvm"):
        raise TargetError(f"target {kind!r} is not supported; use cuda or llvm")
    if kind == "cuda" and not has_gpu:
        raise TargetError(f"no usable CUDA device ({reason}); use --target cpu")
    arch = str(target.attrs.get("arch", "sm_0")) if kind == "cuda" else "sm_0"
    return TargetFacts(
        kind=kind,
        target=str(target),
        arch=int("".join(filter(str.isdigit, arch))),
        devices=_device_names(kind, str(target), remote),
        threads=int(target.attrs.get("num-cores", 1)) if kind == "llvm" else 1,
        versions={"tvm": str(tvm.__version__), **(nvml.versions() if kind == "cuda" else {})},
        remote=remote,
    )


def _target_of_gpu(where: Any) -> Any:
    try:
        return tvm.target.Target.from_device(where.cuda(0))
    except Exception as error:
        raise TargetError(
            f"CUDA finds a GPU and cannot use it ({_last_line(error)}); nvidia-smi shows whether the driver "
            "and the GPU are well; --target cpu does without"
        ) from error


def _parse_target(spec: str) -> Any:
    try:
        return tvm.target.Target(json.loads(spec) if spec.lstrip().startswith("{") else spec)
    except Exception as error:
        raise TargetError(f"TVM does not understand target {spec!r}: {_last_line(error)}") from error


def _last_line(error: Exception) -> str:
    """Return what TVM says last, after the native stack."""
    return (str(error).strip().splitlines() or [type(error).__name__])[-1]


def _device_names(kind: str, target: str, remote: str) -> tuple[str, ...]:
    if remote or kind != "cuda":
        return (device_name(target),)
    names: list[str] = []
    while tvm.cuda(len(names)).exist:
        names.append(str(tvm.cuda(len(names)).device_name))
    return tuple(names)


@functools.lru_cache(maxsize=1)
def _devices() -> Any:
    """Return what hands out devices: TVM itself, or a session of the RPC server that the tracker assigns."""
    remote = os.environ.get(REMOTE)
    if not remote:
        return tvm
    from tvm import rpc

    address, _, key = remote.partition("/")
    host, _, port = address.rpartition(":")
    try:
        tracker = rpc.connect_tracker(host, int(port))
        known = tracker.summary()["queue_info"]
    except Exception as error:
        raise TargetError(f"no RPC tracker answers at {address}") from error
    if key not in known:  # a request for it would wait for ever
        raise TargetError(f"the RPC tracker at {address} has no device {key!r}; it has: {', '.join(known)}")
    return tracker.request(key, session_timeout=0)


@functools.lru_cache(maxsize=8)
def _target(target: str) -> Any:
    return tvm.target.Target(json.loads(target))


def _device(target: str) -> Any:
    return _devices().cuda(0) if str(_target(target).kind.name) == "cuda" else _devices().cpu(0)


# --- the workloads ----------------------------------------------------------------------------------


@functools.lru_cache(maxsize=64)
def _workload(shape: Shape) -> Any:
    """Return the workload as an IRModule whose function is ``main``."""
    expression = _gemm(shape) if isinstance(shape, Gemm) else _conv2d(shape)
    function = te.create_prim_func(expression).with_attr("global_symbol", "main")
    return tvm.IRModule({"main": function})


def _gemm(shape: Gemm) -> list[Any]:
    a, b = (te.placeholder(size, name=name) for size, name in zip(shape.input_shapes, "AB", strict=True))
    k = te.reduce_axis((0, shape.k), name="k")
    product = te.compute(shape.output_shape, lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return [a, b, product]


def _conv2d(shape: Conv2d) -> list[Any]:
    names = ("data", "weight")
    data, weight = (te.placeholder(s, name=n) for s, n in zip(shape.input_shapes, names, strict=True))
    pad = [0, shape.padding, shape.padding, 0]
    padded = topi.nn.pad(data, pad, pad, name="padded")
    r = te.reduce_axis((0, shape.r), name="r")
    s = te.reduce_axis((0, shape.s), name="s")
    c = te.reduce_axis((0, shape.c), name="c")
    output = te.compute(
        shape.output_shape,
        lambda n, h, w, k: te.sum(
            padded[n, h * shape.stride + r * shape.dilation, w * shape.stride + s * shape.dilation, c]
            * weight[r, s, c, k],
            axis=[r, s, c],
        ),
        name="conv2d_nhwc",
    )
    return [data, weight, output]


# --- the search -------------------------------------------------------------------------------------


def check(shape: Shape, config: Configuration, target: str) -> None:
    """Set up the search of a configuration, which fails at once where its options or its space do.

    What a strategy makes of its options shows only when it proposes, which it does here for a small product:
    a design space of one's own may be large, or made for other workloads.
    """
    _context(shape, config, target, rng_seed=1).generate_design_space()
    if not config.strategy_options:
        return
    enough = ENOUGH if config.strategy == "evolutionary" else {}
    options = {**enough, **config.strategy_options}
    options = {name: min(value, enough.get(name, value)) for name, value in options.items()}
    small = replace(config, space="", skipped_annotation="", strategy_options=options)
    proposed, _ = propose(SMALL, small, target, History.empty(), count=1, rng_seed=1)
    if not proposed:
        raise TargetError(f"with strategy_options {dict(config.strategy_options)} its search finds nothing")


def propose(
    shape: Shape,
    config: Configuration,
    target: str,
    history: History,
    count: int,
    rng_seed: int,
    threads: int = 1,
) -> tuple[tuple[Candidate, ...], bytes]:
    """Carry out the search part of one iteration: learn from the last trials, then pick new candidates.

    Parameters
    ----------
    shape, config, target
        What is tuned, how, and for what (a TVM target as JSON).
    history : History
        All trials so far.
    count : int
        Candidates wanted.
    rng_seed : int
        Seed of this iteration, in [1, 2**31).
    threads : int
        How many to use; with several, candidates do not follow from the seed alone.

    Returns
    -------
    candidates : tuple of Candidate
        At most `count`; empty if the search found nothing new.
    cost_model : bytes
        State of the cost model, which has now learned all trials of `history`.
    """
    np.random.seed(rng_seed)  # noqa: NPY002 - XGBModel draws its warm-up scores from the global state
    context = _context(shape, config, target, rng_seed, threads)
    workload = ms.database.Workload(context.mod)
    database = ms.database.MemoryDatabase()
    for trial in history.trials:
        if trial.status is TrialStatus.OK:
            trace, _, *rest = trial.candidate.record
            database.commit_tuning_record(
                ms.database.TuningRecord.from_json([trace, [trial.latency], *rest], workload)
            )
    cost_model = _learn(history, context, workload)
    spaces = [
        space
        for space in context.generate_design_space()
        if not (config.skipped_annotation and config.skipped_annotation in str(space.trace))
    ]
    if not spaces:
        raise TargetError(f"configuration {config.name!r} leaves no design space for {shape.label}")
    proposed = _generate(context, spaces, database, cost_model, history, count)
    candidates = tuple(
        Candidate(record=_record(candidate, workload, target), module_hash=shash2hex(candidate.sch.mod))
        for candidate in proposed
    )
    return candidates, _save(cost_model)


def _context(shape: Shape, config: Configuration, target: str, rng_seed: int, threads: int = 1) -> Any:
    if config.space:
        make_space = import_attribute(config.space)  # first: intrinsics take long to load
        _load_tensor_intrinsics()
        space = make_space(_target(target))
    else:
        # Not the rules "from-target": those add tensor-core and VNNI tiling, which float32 cannot use.
        rules = str(_target(target).kind.name)
        space = ms.space_generator.PostOrderApply(sch_rules=rules, postprocs=rules, mutator_probs=rules)
    strategy = ms.search_strategy.create(config.strategy, **_numbers(config.strategy_options))
    return ms.TuneContext(
        mod=_workload(shape),
        target=_target(target),
        space_generator=space,
        search_strategy=strategy,
        rand_state=rng_seed,
        num_threads=threads,
    )


def _load_tensor_intrinsics() -> None:
    """Undo the shortcut of :func:`_import_tvm` for a design space that may need them."""
    if not hasattr(sys.modules[_INTRINSICS], "__file__"):
        del sys.modules[_INTRINSICS]
        import tvm.s_tir.tensor_intrin  # noqa: F401


def _numbers(options: Any) -> dict[str, float]:
    return {name: int(value) if float(value).is_integer() else value for name, value in options.items()}


def _generate(
    context: Any, spaces: list[Any], database: Any, cost_model: Any, history: History, count: int
) -> list[Any]:
    """Ask the strategy for candidates that are not in the history.

    A strategy that lives through a whole run remembers what it measured and does not propose it again.
    Ours begins anew, so it is asked for as many more as there are old ones, and these are left out. Of the
    rest, the first by predicted score and the last, drawn at random, are what it would have picked. Where
    old ones leave too few of one kind the other makes up for it: a whole iteration for a few missing
    candidates would cost as much as one for all.
    """
    random_share = getattr(context.search_strategy, "eps_greedy", None)
    if random_share is None:  # replay-trace has no memory to restore
        context.pre_tuning(count, count, spaces, database, cost_model)
        return list(context.generate_measure_candidates() or [])
    seen = {trial.candidate.module_hash for trial in history.trials}
    asked = count + len(seen)
    context.pre_tuning(asked, asked, spaces, database, cost_model)
    proposed = list(context.generate_measure_candidates() or [])
    best = asked - int(asked * random_share)
    ranked, random = _fresh(proposed[:best], seen), _fresh(proposed[best:], seen)
    picked = ranked[: count - min(int(count * random_share), len(random))]
    return picked + random[: count - len(picked)]


def _fresh(proposed: list[Any], seen: set[str]) -> list[Any]:
    return [candidate for candidate in proposed if shash2hex(candidate.sch.mod) not in seen]


def _record(candidate: Any, workload: Any, target: str) -> list[Any]:
    record = ms.database.TuningRecord(
        candidate.sch.trace, workload, None, _target(target), candidate.args_info
    )
    return json.loads(json.dumps(record.as_json()))  # type: ignore[no-any-return]


def _learn(history: History, context: Any, workload: Any) -> Any:
    """Restore the cost model and teach it the trials that it has not seen, as MetaSchedule does."""
    model = ms.cost_model.XGBModel(num_tuning_cores=1)
    if history.cost_model:
        _restore(model, history.cost_model, context)
    fresh = [
        trial
        for trial in history.trials[history.learned :]
        if trial.was_built  # it learns from failures at run time only
    ]
    if fresh and getattr(context.search_strategy, "eps_greedy", None) is not None:
        records = [ms.database.TuningRecord.from_json(trial.candidate.record, workload) for trial in fresh]
        results = [
            ms.runner.RunnerResult([trial.latency], None)
            if trial.status is TrialStatus.OK
            else ms.runner.RunnerResult(None, trial.message)
            for trial in fresh
        ]
        model.update(context, [record.as_measure_candidate() for record in records], results)
    return model


def _save(model: Any) -> bytes:
    """Write the data and the booster of a cost model; its own ``save`` forgets when it last trained."""
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {"last_train_size": model.last_train_size}
    for group in model.data.values():  # one group: a run tunes one module
        arrays["rows"] = np.array([len(features) for features in group.features])
        arrays["features"] = np.concatenate(group.features)
        arrays["costs"] = group.costs
    if model.booster is not None:
        arrays["booster"] = np.frombuffer(model.booster.save_raw(), dtype=np.uint8)
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def _restore(model: Any, state: bytes, context: Any) -> None:
    from tvm.s_tir.meta_schedule.cost_model.xgb_model import FeatureGroup
    from xgboost import Booster

    arrays = np.load(io.BytesIO(state))
    model.last_train_size = int(arrays["last_train_size"])
    if "rows" in arrays:
        features = np.split(arrays["features"], np.cumsum(arrays["rows"])[:-1])
        name = shash2hex(context.mod)
        group = FeatureGroup(group_hash=name, features=list(features), costs=arrays["costs"])
        model.data = OrderedDict({name: group})
        model.data_size = len(features)
    if "booster" in arrays:
        model.booster = Booster(model_file=bytearray(arrays["booster"].tobytes()))


# --- building, timing, checking -----------------------------------------------------------------------


def build(shape: Shape, config: Configuration, target: str, record: list[Any]) -> bytes:
    """Compile a candidate into a shared library and return its content."""
    workload = ms.database.Workload(_workload(shape))
    module = ms.database.TuningRecord.from_json(record, workload).as_measure_candidate().sch.mod
    module = tvm.s_tir.transform.RemoveWeightLayoutRewriteBlock(skip_tensor_rewrite=True)(module)
    with _target(target), tvm.transform.PassContext(config=dict(config.pass_config)):
        library = tvm.tirx.build(module, target=_target(target))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.so"
        library.export_library(str(path))
        return path.read_bytes()


@functools.lru_cache(maxsize=4)
def _arguments(shape: Shape, target: str) -> tuple[list[Any], Any]:
    """Return device tensors for the inputs and the output, and the expected output."""
    _memory_before()
    inputs = random_inputs(shape, np.random.default_rng(0))
    output = np.full(shape.output_shape, math.nan, dtype=np.float32)
    tensors = [tvm.runtime.tensor(array, _device(target)) for array in (*inputs, output)]
    return tensors, expected_output(shape, inputs)


@functools.lru_cache(maxsize=1)
def _load(library: bytes) -> Any:
    handle, path = tempfile.mkstemp(suffix=".so")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(library)
        if _devices() is tvm:
            return tvm.runtime.load_module(path)
        _devices().upload(path)
        try:
            return _devices().load_module(Path(path).name)
        finally:  # it is loaded by now, and a device has no room for every candidate of a sweep
            _devices().remove(Path(path).name)
    finally:
        Path(path).unlink()


# A cold cache is one that so much else went through; an H200 has 60 MB of L2.
_FLUSH_BYTES = {"cuda": 256 << 20, "llvm": 64 << 20}


def time_candidate(
    shape: Shape, target: str, library: bytes, repeats: int, repeat_ms: int, cache: str
) -> list[float]:
    """Time a candidate of a search as :func:`time_kernel` does, but a hopeless one only once.

    A random schedule can be a thousand times slower than the best. A candidate whose single call exceeds
    `repeat_ms` is timed once: more would cost seconds, and its rank is clear.
    """
    once = time_kernel(shape, target, library, 1, 0, "warm")
    if once[0] > repeat_ms / 1000:
        return once
    return time_kernel(shape, target, library, repeats, repeat_ms, cache)


def time_kernel(
    shape: Shape, target: str, library: bytes, repeats: int, repeat_ms: int, cache: str
) -> list[float]:
    """Time a kernel with device timers, after a warm-up call.

    Parameters
    ----------
    shape, target
        What it computes, and for what it was built.
    library : bytes
        Content of the shared library.
    repeats, repeat_ms : int
        Timings, and the least duration of each, milliseconds.
    cache : str
        ``"warm"``: calls follow back to back; ``"cold"``: each timing is the median of single calls before
        each of which the caches were filled with something else, whatever `repeat_ms`.

    Returns
    -------
    list of float
        Seconds of one call, one for each repeat.
    """
    tensors, _ = _arguments(shape, target)
    device = _device(target)
    timed = functools.partial(_load(library).time_evaluator, "main", device, number=1)
    if cache == "cold":
        flush = _FLUSH_BYTES[str(_target(target).kind.name)]
        calls = timed(repeat=repeats * COLD_CALLS, cache_flush_bytes=flush)(*tensors).results
        times = np.median(np.reshape(calls, (repeats, COLD_CALLS)), axis=1)
    else:
        times = timed(repeat=repeats, min_repeat_ms=repeat_ms)(*tensors).results
    device.sync()
    return [float(seconds) for seconds in times]


def check_kernel(shape: Shape, target: str, library: bytes) -> float:
    """Run a kernel once and return the relative error of its output against NumPy."""
    tensors, expected = _arguments(shape, target)
    tensors[-1].copyfrom(np.full(shape.output_shape, math.nan, dtype=np.float32))
    _load(library)["main"](*tensors)
    _device(target).sync()
    return relative_error(tensors[-1].numpy(), expected)


def device_name(target: str) -> str:
    """Return the name of the device that this process measures."""
    remote = os.environ.get(REMOTE, "")
    if str(_target(target).kind.name) != "cuda":
        return remote or nvml.cpu_name()
    name = str(_device(target).device_name)
    return f"{name} at {remote}" if remote else name


def device_state() -> nvml.DeviceState:
    """Return clock, temperature and throttle reasons of the GPU that this process measures."""
    return nvml.state()


@functools.lru_cache(maxsize=1)
def _memory_before() -> float:
    """Return the share of the device's memory that was in use before this process first used any."""
    return nvml.memory_share()


def memory_grown() -> float:
    """Return which share of its memory the GPU has in use beyond that before this process; NaN if unknown."""
    return nvml.memory_share() - _memory_before()


@tvm.register_global_func("tvm_callback_cuda_compile", override=True)  # type: ignore[untyped-decorator]
def _compile_cuda(code: str) -> Any:
    from tvm.support.nvcc import compile_cuda

    arch = str(tvm.target.Target.current().attrs["arch"])  # build() sets it
    cubin = nvrtc.compile_cubin(code, arch)
    return cubin if cubin is not None else compile_cuda(code, target_format="cubin", compiler="nvrtc")
