"""MetaSchedule itself, one iteration at a time: on this CPU, and for a GPU as far as none is needed."""

from __future__ import annotations

import io
import json
import os
import re
import struct
import subprocess
import sys
import types
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from abtune.configurations import ASYNC, EVOLUTIONARY, MAINLINE, RANDOM, Configuration
from abtune.errors import InputError, TargetError
from abtune.measure.child import ChildProcess
from abtune.measure.fork_server import ForkServer
from abtune.measure.target import ONE_THREAD, TVM_MODULE
from abtune.measure.tasks import ERROR_LIMIT
from abtune.measure.trials import Candidate, History, Trial
from abtune.schema import TrialStatus
from abtune.shapes import Conv2d, Gemm

pytestmark = pytest.mark.filterwarnings("default")  # what TVM and XGBoost warn of is theirs

GEMM = Gemm(m=16, n=32, k=64)
LARGE = Gemm(m=512, n=256, k=640)
CONV = Conv2d(n=1, h=9, w=8, c=4, k=8, r=3, s=3, stride=2, padding=1, dilation=2)
CUDA = json.dumps(
    {
        "kind": "cuda",
        "arch": "sm_90",
        "max_threads_per_block": 1024,
        "thread_warp_size": 32,
        "max_shared_memory_per_block": 49152,
        "max_num_threads": 1024,
    }
)
COPY = re.compile(r"cp\.async\.c[ag]\.shared")
PIPELINE = "software_pipeline_async_stages"
# A small population: the search is the same, and a test of it takes a second.
QUICK = replace(EVOLUTIONARY, strategy_options={"population_size": 64, "genetic_num_iters": 2})
ASYNC_QUICK = replace(ASYNC, strategy_options=QUICK.strategy_options)
SPACE = "design_space:space"


@pytest.fixture(scope="module")
def tvm_module() -> Iterator[types.ModuleType]:
    """Import the module that imports TVM, and put back what that changes in this process."""
    from abtune.measure import metaschedule

    state = np.random.get_state()  # noqa: NPY002 - a search seeds it
    yield metaschedule
    np.random.set_state(state)  # noqa: NPY002


def test_pytorch_is_not_imported_with_tvm(tmp_path: Path) -> None:
    """TVM's FFI would import it and have it initialize CUDA, and no fork could use that any more."""
    (tmp_path / "torch.py").write_text("print('torch')", encoding="utf-8")
    code = "import abtune.measure.metaschedule; print('tvm'); import torch"
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        check=True,
    )
    assert ended.stdout.split() == [b"tvm", b"torch"]


@pytest.fixture(scope="module")
def cpu(tvm_module: Any) -> str:
    """Return this CPU as a target."""
    return str(tvm_module.describe_target("cpu").target)


@pytest.fixture(scope="module")
def first(tvm_module: Any, cpu: str) -> tuple[tuple[Candidate, ...], bytes]:
    """Propose a first batch for the matrix product."""
    proposed: tuple[tuple[Candidate, ...], bytes] = tvm_module.propose(
        GEMM, QUICK, cpu, History.empty(), 6, 11
    )
    return proposed


@pytest.fixture(scope="module")
def second_history(first: tuple[tuple[Candidate, ...], bytes]) -> History:
    """Return the history after the first batch: one failure at run time, one at build time."""
    candidates, model = first
    statuses = [TrialStatus.RUN_FAILED, TrialStatus.BUILD_FAILED] + [TrialStatus.OK] * (len(candidates) - 2)
    trials = tuple(
        Trial(
            candidate=candidate,
            status=status,
            latency=1e-5 * (1 + place) if status is TrialStatus.OK else float("nan"),
            message="" if status is TrialStatus.OK else "it failed",
        )
        for place, (candidate, status) in enumerate(zip(candidates, statuses, strict=True))
    )
    return History.empty().proposed((), cost_model=model, seconds=0.0).tried(trials, seconds=1.0)


def all_timed(history: History, candidates: tuple[Candidate, ...], model: bytes) -> History:
    """Return the history after an iteration in which everything ran, one candidate faster than the other."""
    trials = tuple(
        Trial(candidate=candidate, status=TrialStatus.OK, latency=1e-5 / (2 + place), message="")
        for place, candidate in enumerate(candidates)
    )
    return history.proposed((), cost_model=model, seconds=0.0).tried(trials, seconds=1.0)


def state(model: bytes) -> dict[str, Any]:
    return dict(np.load(io.BytesIO(model)))


def trace(candidate: Candidate) -> str:
    return json.dumps(candidate.record[0])


# The target


@pytest.mark.parametrize("spec", ["cpu", "llvm"])
def test_this_cpu_is_described(tvm_module: Any, spec: str) -> None:
    """The CPU is a target of one thread with a name, whose JSON TVM takes back."""
    facts = tvm_module.describe_target(spec)
    assert (facts.kind, facts.arch, facts.threads) == ("llvm", 0, 1)
    assert len(facts.devices) == 1
    assert facts.devices[0]
    assert facts.versions["tvm"].startswith("0.27")
    assert json.loads(facts.target)["kind"] == "llvm"
    assert tvm_module.describe_target(facts.target) == facts


@pytest.mark.parametrize("spec", ["cuda", CUDA])
def test_a_gpu_that_is_not_there_is_refused(
    tvm_module: Any, monkeypatch: pytest.MonkeyPatch, spec: str
) -> None:
    """Asked for a GPU on a machine without one, the error says what is missing and what to use."""
    monkeypatch.setattr(tvm_module.tvm, "cuda", lambda _: types.SimpleNamespace(exist=False))
    with pytest.raises(TargetError, match=r"no usable CUDA device \(.+\); use --target cpu"):
        tvm_module.describe_target(spec)
    assert tvm_module.describe_target("auto").kind == "llvm"


def test_gpus_are_described(tvm_module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are GPUs all of them are listed, and the architecture is a number."""

    def cuda(index: int) -> types.SimpleNamespace:
        return types.SimpleNamespace(exist=index < 2, device_name=f"GPU {index}")

    target = tvm_module.tvm.target.Target(json.loads(CUDA))
    monkeypatch.setattr(tvm_module.tvm, "cuda", cuda)
    monkeypatch.setattr(tvm_module.tvm.target.Target, "from_device", lambda _: target)
    monkeypatch.setattr(tvm_module.nvml, "versions", lambda: {"driver": "580", "cuda": "13.0"})
    for spec in ("auto", "cuda", CUDA):
        facts = tvm_module.describe_target(spec)
        assert (facts.kind, facts.arch, facts.devices) == ("cuda", 90, ("GPU 0", "GPU 1"))
        assert facts.versions["driver"] == "580"


def test_a_gpu_that_does_not_work_is_one_line(tvm_module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where CUDA counts a GPU but cannot use it, what it says comes with what to do."""

    def fail(_: Any) -> None:
        raise RuntimeError("stack\nCUDA: initialization error")

    monkeypatch.setattr(tvm_module.tvm, "cuda", lambda _: types.SimpleNamespace(exist=True))
    monkeypatch.setattr(tvm_module.tvm.target.Target, "from_device", fail)
    for spec in ("auto", "cuda"):
        with pytest.raises(TargetError, match=r"cannot use it \(CUDA: initialization error\); nvidia-smi"):
            tvm_module.describe_target(spec)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("bogus", "TVM does not understand target 'bogus'"),
        ("{broken", "TVM does not understand target '{broken'"),
        ('{"kind": "bogus"}', "TVM does not understand target"),
        ('{"kind": "c"}', "target 'c' is not supported; use cuda or llvm"),
    ],
)
def test_unusable_targets_are_refused(tvm_module: Any, spec: str, said: str) -> None:
    """A target that TVM does not know, or that cannot be timed here, is one line."""
    with pytest.raises(TargetError) as caught:
        tvm_module.describe_target(spec)
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


# The search


def test_candidates_are_new_and_different(first: tuple[tuple[Candidate, ...], bytes]) -> None:
    """A first iteration proposes as many candidates as asked for, no two alike, as plain data."""
    candidates, model = first
    assert len(candidates) == len({candidate.module_hash for candidate in candidates}) == 6
    assert all(json.loads(json.dumps(c.record)) == c.record for c in candidates)
    assert state(model)["last_train_size"] == 0


def test_a_search_goes_on_from_a_history(tvm_module: Any, cpu: str, second_history: History) -> None:
    """The next iteration has learned what was timed, and proposes as many others as asked for."""
    candidates, model = tvm_module.propose(GEMM, QUICK, cpu, second_history, 6, 12)
    old = {trial.candidate.module_hash for trial in second_history.trials}
    new = {candidate.module_hash for candidate in candidates}
    assert len(candidates) == len(new) == 6
    assert not new & old
    learned = state(model)
    # Five of six: what could not be built teaches nothing about speed.
    assert len(learned["rows"]) == len(learned["costs"]) == 5
    assert len(learned["features"]) == learned["rows"].sum()
    assert np.isfinite(learned["costs"]).all()
    assert len(model) > len(second_history.cost_model)


def test_a_model_is_restored_as_it_was(tvm_module: Any, cpu: str, second_history: History) -> None:
    """Data, booster and the size at the last training come back from the bytes, and learning goes on."""
    _, model = tvm_module.propose(GEMM, QUICK, cpu, second_history, 2, 12)
    grown = replace(second_history, cost_model=model, learned=len(second_history.trials))
    _, again = tvm_module.propose(GEMM, QUICK, cpu, grown, 2, 13)
    before, after = state(model), state(again)
    assert set(before) == set(after) == {"last_train_size", "rows", "features", "costs", "booster"}
    for name in set(before) - {"booster"}:
        np.testing.assert_array_equal(before[name], after[name])
    restored = tvm_module.ms.cost_model.XGBModel(num_tuning_cores=1)
    tvm_module._restore(restored, model, tvm_module._context(GEMM, QUICK, cpu, 1))
    assert restored.last_train_size == before["last_train_size"] > 0
    assert restored.data_size == 5
    assert tvm_module._save(restored) == model
    more = grown.proposed((), cost_model=model, seconds=0.0).tried(second_history.trials[2:4], seconds=1.0)
    _, third = tvm_module.propose(GEMM, QUICK, cpu, more, 2, 14)
    assert len(state(third)["rows"]) == 7


def test_a_long_history_leaves_as_many_candidates(tvm_module: Any, cpu: str, second_history: History) -> None:
    """However much was tried, an iteration proposes as many new candidates as asked for."""
    history = second_history
    for iteration in range(3):
        candidates, model = tvm_module.propose(GEMM, QUICK, cpu, history, 8, 20 + iteration)
        old = {trial.candidate.module_hash for trial in history.trials}
        assert len({candidate.module_hash for candidate in candidates} - old) == 8
        history = all_timed(history, candidates, model)


def test_the_same_seed_proposes_the_same(tvm_module: Any, cpu: str) -> None:
    """Without a history a search follows from its seed: the same number, the same candidates."""
    one, same, other = (
        tvm_module.propose(GEMM, RANDOM, cpu, History.empty(), 4, seed)[0] for seed in (3, 3, 4)
    )
    assert one == same
    assert one != other


def test_threads_reach_the_search(tvm_module: Any, cpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An iteration is searched with as many threads as it is given, and with one if nothing is said."""
    contexts: list[Any] = []
    original = tvm_module._context

    def note(*args: Any) -> Any:
        contexts.append(original(*args))
        return contexts[-1]

    monkeypatch.setattr(tvm_module, "_context", note)
    tvm_module.propose(GEMM, RANDOM, cpu, History.empty(), 2, 1)
    tvm_module.propose(GEMM, RANDOM, cpu, History.empty(), 2, 1, 3)
    assert [context.num_threads for context in contexts] == [1, 3]


@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_a_forked_process_searches_with_several_threads(target: str, cpu: str) -> None:
    """Its fork server has one; what it proposes is as many candidates, and no two are the same."""
    config, spec = (QUICK, cpu) if target == "cpu" else (ASYNC_QUICK, CUDA)
    with ForkServer(TVM_MODULE, ONE_THREAD) as fork_server, closing(ChildProcess(fork_server, {})) as child:
        history = History.empty()
        for seed in (1, 2):
            found, model = child.call("propose", LARGE, config, spec, history, 8, seed, 4, timeout=300.0)
            history = all_timed(history, found, model)
    assert len({trial.candidate.module_hash for trial in history.trials}) == 16


def test_sampling_learns_nothing(tvm_module: Any, cpu: str, second_history: History) -> None:
    """Random sampling proposes whatever was timed before, and keeps no model."""
    candidates, model = tvm_module.propose(GEMM, RANDOM, cpu, second_history, 4, 5)
    assert len(candidates) == 4
    assert state(model).keys() == {"last_train_size"}


def test_options_reach_the_strategy(tvm_module: Any, cpu: str) -> None:
    """Options of a strategy are passed on, whole numbers as integers; unknown ones are an error."""
    options = {"population_size": 32.0, "eps_greedy": 0.5}
    context = tvm_module._context(GEMM, replace(QUICK, strategy_options=options), cpu, 1)
    assert context.search_strategy.population_size == 32
    assert context.search_strategy.eps_greedy == 0.5
    with pytest.raises(TypeError, match="no_such_option"):
        tvm_module._context(GEMM, replace(QUICK, strategy_options={"no_such_option": 1}), cpu, 1)


def test_a_configuration_can_bring_its_space(
    tvm_module: Any, cpu: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A design space of one's own, named as module:function, is what is searched; it may need intrinsics."""
    (tmp_path / "design_space.py").write_text(
        "from tvm.s_tir import meta_schedule as ms\n\n"
        "def space(target):\n"
        "    assert target.kind.name == 'llvm'\n"
        "    rules = [ms.schedule_rule.ParallelizeVectorizeUnroll(1, 8, [0], False)]\n"
        "    return ms.space_generator.PostOrderApply(sch_rules=rules, postprocs=[], mutator_probs={})\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    loaded: list[bool] = []
    monkeypatch.setattr(tvm_module, "_load_tensor_intrinsics", lambda: loaded.append(True))
    own = replace(RANDOM, name="own", space=SPACE)
    (candidate, *_), _ = tvm_module.propose(GEMM, own, cpu, History.empty(), 2, 1)
    assert loaded == [True]
    with pytest.raises(InputError, match="has no attribute 'absent'"):
        tvm_module.propose(GEMM, replace(own, space="design_space:absent"), cpu, History.empty(), 2, 1)
    assert loaded == [True]  # they take long, so a mistake comes first
    assert "SampleComputeLocation" not in trace(candidate)
    library = tvm_module.build(GEMM, own, cpu, candidate.record)
    assert tvm_module.check_kernel(GEMM, cpu, library) < ERROR_LIMIT
    with pytest.raises(InputError, match="has no attribute 'absent'"):
        tvm_module.check(GEMM, replace(own, space="design_space:absent"), cpu)
    tvm_module.check(GEMM, own, cpu)


def test_options_that_a_strategy_lacks_are_found_before_a_search(tvm_module: Any, cpu: str) -> None:
    """Setting the search up is enough to see that, and is what a sweep does first."""
    tvm_module.check(GEMM, replace(EVOLUTIONARY, strategy_options={"population_size": 64}), cpu)
    with pytest.raises(TypeError, match="no_such_option"):
        tvm_module.check(GEMM, replace(EVOLUTIONARY, strategy_options={"no_such_option": 1}), cpu)
    tvm_module.check(GEMM, replace(RANDOM, strategy_options={"max_fail_count": 3}), cpu)


@pytest.mark.parametrize("size", [0, -5])
def test_options_with_which_nothing_is_proposed_are_found_before_a_search(
    tvm_module: Any, cpu: str, size: int
) -> None:
    """A strategy can be made of them, so they show only when it proposes."""
    with pytest.raises(Exception, match="its search finds nothing" if size == 0 else "reserve"):
        tvm_module.check(GEMM, replace(EVOLUTIONARY, strategy_options={"population_size": size}), cpu)


def test_intrinsics_are_loaded_where_they_are_missing(
    tvm_module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The empty stand-in for TVM's intrinsics gives way to the real module, once."""
    monkeypatch.setitem(sys.modules, tvm_module._INTRINSICS, types.ModuleType(tvm_module._INTRINSICS))
    imported: list[str] = []

    def note(name: str, *_: Any, **__: Any) -> types.ModuleType:
        imported.append(name)
        module = types.ModuleType(name)
        module.__file__ = "there"
        sys.modules[name] = module
        return module

    monkeypatch.setattr("builtins.__import__", note)
    tvm_module._load_tensor_intrinsics()
    tvm_module._load_tensor_intrinsics()
    monkeypatch.undo()
    assert imported == [tvm_module._INTRINSICS]


# Building, timing, checking


@pytest.mark.parametrize("shape", [GEMM, CONV], ids=lambda shape: shape.label)
def test_kernels_compute_what_they_should(tvm_module: Any, cpu: str, shape: Any) -> None:
    """A candidate that is built, timed and checked gives one time a repeat and the right output."""
    (candidate, *_), _ = tvm_module.propose(shape, RANDOM, cpu, History.empty(), 2, 1)
    library = tvm_module.build(shape, RANDOM, cpu, candidate.record)
    times = tvm_module.time_candidate(shape, cpu, library, 3, 1, "warm")
    assert len(times) == 3
    assert all(0 < seconds < 1 for seconds in times)
    assert len(tvm_module.time_kernel(shape, cpu, library, 4, 0, "warm")) == 4
    assert len(tvm_module.time_kernel(shape, cpu, library, 2, 0, "cold")) == 2
    error = tvm_module.check_kernel(shape, cpu, library)
    assert 0 <= error < ERROR_LIMIT / 10


def test_a_cold_cache_is_slower(tvm_module: Any, cpu: str) -> None:
    """A kernel that reads a megabyte again and again takes longer if it has to fetch it each time."""
    shape = Gemm(m=1, n=512, k=512)
    (candidate, *_), _ = tvm_module.propose(shape, RANDOM, cpu, History.empty(), 1, 1)
    library = tvm_module.build(shape, RANDOM, cpu, candidate.record)
    warm = min(tvm_module.time_kernel(shape, cpu, library, 5, 1, "warm"))
    assert min(tvm_module.time_kernel(shape, cpu, library, 5, 1, "cold")) > 1.2 * warm


def test_a_hopeless_candidate_is_timed_once(tvm_module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A candidate whose single call outlasts a repeat is not timed again."""
    calls: list[tuple[int, int]] = []

    def time_kernel(_: Any, __: str, ___: bytes, repeats: int, repeat_ms: int, cache: str) -> list[float]:
        calls.append((repeats, repeat_ms))
        return [0.031] * repeats

    monkeypatch.setattr(tvm_module, "time_kernel", time_kernel)
    assert tvm_module.time_candidate(GEMM, "", b"", 3, 10, "warm") == [0.031]
    assert calls == [(1, 0)]
    assert tvm_module.time_candidate(GEMM, "", b"", 4, 40, "warm") == [0.031] * 4
    assert calls[1:] == [(1, 0), (4, 40)]


def test_a_wrong_kernel_is_noticed(
    tvm_module: Any, cpu: str, first: tuple[tuple[Candidate, ...], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel that computes another product, or writes no output, has a large error or none that counts."""
    library = tvm_module.build(GEMM, QUICK, cpu, first[0][0].record)
    tensors, expected = tvm_module._arguments(GEMM, cpu)
    assert tvm_module.check_kernel(GEMM, cpu, library) < ERROR_LIMIT
    monkeypatch.setattr(tvm_module, "_arguments", lambda *_: (tensors, expected * np.float32(1.001)))
    assert tvm_module.check_kernel(GEMM, cpu, library) > ERROR_LIMIT
    monkeypatch.undo()
    monkeypatch.setattr(tvm_module, "_load", lambda _: {"main": lambda *_: None})
    assert np.isnan(tvm_module.check_kernel(GEMM, cpu, b""))


def test_the_state_of_the_device_is_numbers(tvm_module: Any) -> None:
    """Clock, temperature and throttle reasons are numbers, unknown or not."""
    assert [type(value) for value in tvm_module.device_state()] == [float] * 3


def test_memory_counts_from_the_first_use(tvm_module: Any, cpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a process is told to have taken is what came after its first tensor, whoever held what before."""
    shares = iter([0.5, 0.55, 0.75])
    monkeypatch.setattr("abtune.measure.nvml.memory_share", lambda: next(shares))
    tvm_module._memory_before.cache_clear()
    tvm_module._arguments.cache_clear()
    for _ in range(2):
        tvm_module._arguments(GEMM, cpu)
    assert [tvm_module.memory_grown() for _ in range(2)] == pytest.approx([0.05, 0.25])
    tvm_module._memory_before.cache_clear()


# For a GPU, without one


@pytest.fixture(scope="module")
def proposals(tvm_module: Any) -> dict[str, tuple[Candidate, ...]]:
    """Sample candidates for a GPU under both configurations."""
    return {
        config.name: tvm_module.propose(
            LARGE, replace(config, strategy="replay-trace"), CUDA, History.empty(), 8, 3
        )[0]
        for config in (MAINLINE, ASYNC)
    }


def test_mainline_proposes_no_asynchronous_copies(proposals: dict[str, tuple[Candidate, ...]]) -> None:
    """The baseline searches the synchronous design space alone, the candidate all of them."""
    marked = {name: [PIPELINE in trace(each) for each in found] for name, found in proposals.items()}
    assert [len(found) for found in marked.values()] == [8, 8]
    assert not any(marked["mainline"])
    assert any(marked["async"])


def test_a_configuration_without_a_space_is_refused(tvm_module: Any, cpu: str) -> None:
    """A configuration that leaves nothing to search says so."""
    empty = replace(RANDOM, skipped_annotation="sch")
    with pytest.raises(
        TargetError, match=r"configuration 'random' leaves no design space for M=16_N=32_K=64"
    ):
        tvm_module.propose(GEMM, empty, cpu, History.empty(), 2, 1)


def machine_code(elf: bytes) -> dict[str, bytes]:
    """Return the machine code of an ELF file by the name of its section."""
    (table,) = struct.unpack_from("<Q", elf, 0x28)
    size, count, names_index = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", elf, table + index * size) for index in range(count)]
    names = headers[names_index][4]
    found = {}
    for header in headers:
        start = names + header[0]
        name = elf[start : elf.index(b"\0", start)].decode()
        if name.startswith(".text"):
            found[name] = elf[header[4] : header[4] + header[5]]
    return found


@pytest.fixture
def toolkit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let TVM's own call of NVRTC find the packages of the cuda extra."""
    if not (find_spec("nvidia") and find_spec("cuda")):
        pytest.skip("needs the packages of the cuda extra")
    roots = [Path(place) / "cu13" for place in find_spec("nvidia").submodule_search_locations]  # type: ignore[union-attr]
    root = next((root for root in roots if (root / "include" / "cccl").exists()), None)
    if root is None:
        pytest.skip("needs the packages of the cuda extra")
    monkeypatch.setenv("CUDA_HOME", str(root))
    monkeypatch.setenv("CUDA_PATH", str(root))
    monkeypatch.setenv("TVM_CUDA_NVRTC_EXTRA_OPTS", f"-I{root}/include/cccl")


def cuda_source(tvm_module: Any, config: Configuration, candidate: Candidate) -> str:
    """Return the CUDA source that TVM generates for a candidate under a configuration."""
    workload = tvm_module.ms.database.Workload(tvm_module._workload(LARGE))
    record = tvm_module.ms.database.TuningRecord.from_json(candidate.record, workload)
    target, tvm = tvm_module._target(CUDA), tvm_module.tvm
    with target, tvm.transform.PassContext(config=dict(config.pass_config)):
        built = tvm.tirx.build(record.as_measure_candidate().sch.mod, target=target)
    return str(built.imports[0].inspect_source())


@pytest.mark.usefixtures("toolkit")
@pytest.mark.parametrize("config", [MAINLINE, ASYNC], ids=lambda config: config.name)
def test_compiling_without_libcuxx_gives_the_same_code(
    tvm_module: Any,
    proposals: dict[str, tuple[Candidate, ...]],
    config: Configuration,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Our headers and TVM's give the same machine code; only the candidate's copies are asynchronous."""
    wanted = [found for found in proposals[config.name] if (PIPELINE in trace(found)) == (config is ASYNC)]
    assert tvm_module.build(LARGE, config, CUDA, wanted[0].record).startswith(b"\x7fELF")
    source = cuda_source(tvm_module, config, wanted[0])
    assert bool(COPY.search(source)) == (config is ASYNC)
    with tvm_module._target(CUDA):
        ours = bytes(tvm_module._compile_cuda(source))
        assert ours == tvm_module.nvrtc.compile_cubin(source, "sm_90")
        monkeypatch.setenv("ABTUNE_TVM_NVRTC", "1")
        theirs = bytes(tvm_module._compile_cuda(source))
    assert ours != theirs
    assert machine_code(ours) == machine_code(theirs)
    assert all(machine_code(ours).values())


def test_pipelines_need_the_option_to_copy_asynchronously(
    tvm_module: Any, proposals: dict[str, tuple[Candidate, ...]]
) -> None:
    """The same candidate built without the option of the configuration copies synchronously."""
    marked = next(found for found in proposals["async"] if PIPELINE in trace(found))
    assert COPY.search(cuda_source(tvm_module, ASYNC, marked))
    assert not COPY.search(cuda_source(tvm_module, MAINLINE, marked))


# Picking candidates


@pytest.mark.parametrize("old_first", [True, False])
@pytest.mark.parametrize("count", [1, 7, 20, 64])
def test_enough_new_candidates_are_picked(
    tvm_module: Any, monkeypatch: pytest.MonkeyPatch, count: int, *, old_first: bool
) -> None:
    """Wherever the strategy puts the old ones, as many new candidates are picked as were asked for."""
    old, new = [f"old{place}" for place in range(100)], [f"new{place}" for place in range(count)]
    trials = tuple(
        Trial(
            candidate=Candidate(record=[], module_hash=name), status=TrialStatus.OK, latency=1.0, message=""
        )
        for name in old
    )
    history = History.empty().proposed((), cost_model=b"", seconds=0.0).tried(trials, seconds=0.0)
    proposed = [
        types.SimpleNamespace(sch=types.SimpleNamespace(mod=name))
        for name in ((old + new) if old_first else (new + old))
    ]
    context = types.SimpleNamespace(
        search_strategy=types.SimpleNamespace(eps_greedy=0.05),
        pre_tuning=lambda asked, *_: asked == len(proposed) or pytest.fail("asked for too few"),
        generate_measure_candidates=lambda: proposed,
    )
    monkeypatch.setattr(tvm_module, "shash2hex", lambda name: name)
    picked = tvm_module._generate(context, [], None, None, history, count)
    assert sorted(candidate.sch.mod for candidate in picked) == sorted(new)
