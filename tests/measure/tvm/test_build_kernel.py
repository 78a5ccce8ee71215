"""Kernels for a GPU, built without one: which copies they use, and that our headers change no code."""

from __future__ import annotations

import re
import shlex
import struct
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tvm_samples import (
    CONV,
    CUDA,
    LARGE,
    PIPELINE,
    problem,
    trace,
)

from abtune.configurations import ASYNC, MAINLINE, Configuration
from abtune.measure.plan.records import Candidate, SearchHistory

pytestmark = pytest.mark.filterwarnings("default")  # what TVM and XGBoost warn of is theirs

COPY = re.compile(r"cp\.async\.c[ag]\.shared")


@pytest.fixture(scope="module")
def proposals(room: Any) -> dict[str, tuple[Candidate, ...]]:
    """Sample candidates for a GPU under both configurations."""
    return {
        config.name: room.propose.propose(
            problem(LARGE, replace(config, strategy="replay-trace"), CUDA), SearchHistory(), 8, 3
        )[0]
        for config in (MAINLINE, ASYNC)
    }


def test_mainline_proposes_no_asynchronous_copies(proposals: dict[str, tuple[Candidate, ...]]) -> None:
    """The baseline searches only the synchronous design space, the candidate all design spaces."""
    marked = {
        name: [PIPELINE in trace(candidate) for candidate in group] for name, group in proposals.items()
    }
    assert [len(group) for group in marked.values()] == [8, 8]
    assert not any(marked["mainline"])
    assert any(marked["async"])


def test_each_configuration_takes_over_what_it_could_have_found(
    room: Any, proposals: dict[str, tuple[Candidate, ...]]
) -> None:
    """Mainline takes the other's schedules without a pipeline; async takes them as they are, and with one."""
    adopt, shape = room.build_kernel.adopt, LARGE
    of_async = [candidate.text for candidate in proposals["async"]]
    taken = adopt(problem(shape, MAINLINE, CUDA), of_async, frozenset(), 99)
    assert taken
    assert not any(PIPELINE in trace(candidate) for candidate in taken)
    of_mainline = [candidate.text for candidate in proposals["mainline"]]
    taken = adopt(problem(shape, ASYNC, CUDA), of_mainline, frozenset(), 99)
    as_they_are = [candidate for candidate in taken if PIPELINE not in trace(candidate)]
    hashes = [candidate.module_hash for candidate in proposals["mainline"]]
    assert [candidate.module_hash for candidate in as_they_are] == hashes
    assert len(taken) > len(as_they_are)
    assert all(candidate.carried_over for candidate in taken)
    known = frozenset(hashes[:4])
    some = adopt(problem(shape, ASYNC, CUDA), of_mainline, known, 3)
    assert len(some) == 3
    assert not known & {candidate.module_hash for candidate in some}


def machine_code(elf: bytes) -> dict[str, bytes]:
    """Return the machine code of an ELF file by the name of its section."""
    (table,) = struct.unpack_from("<Q", elf, 0x28)
    size, count, names_index = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", elf, table + index * size) for index in range(count)]
    names = headers[names_index][4]
    code = {}
    for header in headers:
        start = names + header[0]
        name = elf[start : elf.index(b"\0", start)].decode()
        if name.startswith(".text"):
            code[name] = elf[header[4] : header[4] + header[5]]
    return code


@pytest.fixture
def toolkit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let TVM's own call of NVRTC find the packages of the cuda extra."""
    if not (find_spec("nvidia") and find_spec("cuda")):
        pytest.skip("needs the packages of the cuda extra")
    roots = [Path(location) / "cu13" for location in find_spec("nvidia").submodule_search_locations]  # type: ignore[union-attr]
    root = next((root for root in roots if (root / "include" / "cccl").exists()), None)
    if root is None:
        pytest.skip("needs the packages of the cuda extra")
    monkeypatch.setenv("CUDA_HOME", str(root))
    monkeypatch.setenv("CUDA_PATH", str(root))
    monkeypatch.setenv("TVM_CUDA_NVRTC_EXTRA_OPTS", shlex.quote(f"-I{root}/include/cccl"))


def cuda_source(room: Any, config: Configuration, candidate: Candidate) -> str:
    """Return the CUDA source that TVM generates for a candidate under a configuration."""
    workload = room.load_tvm.ms.database.Workload(room.workloads.tensor_program(LARGE))
    record = room.load_tvm.ms.database.TuningRecord.from_json(candidate.record, workload)
    target, tvm = room.tvm_devices.tvm_target(CUDA), room.load_tvm.tvm
    with target, tvm.transform.PassContext(config=dict(config.pass_config)):
        built = tvm.tirx.build(record.as_measure_candidate().sch.mod, target=target)
    return str(built.imports[0].inspect_source())


def test_a_schedule_of_another_workload_does_not_fit(room: Any) -> None:
    """It asks for blocks that the workload does not have, which TVM refuses."""
    sampling = replace(MAINLINE, strategy="replay-trace")
    candidates, *_ = room.propose.propose(problem(LARGE, sampling, CUDA), SearchHistory(), 8, 3)
    records = [candidate.record for candidate in candidates]
    fitting = {
        shape.label: [room.build_kernel.carry_over(problem(shape, ASYNC, CUDA), record) for record in records]
        for shape in (LARGE, CONV)
    }
    assert any(fitting[LARGE.label])
    assert not any(fitting[CONV.label])


@pytest.mark.usefixtures("toolkit")
@pytest.mark.parametrize("config", [MAINLINE, ASYNC], ids=lambda config: config.name)
def test_compiling_without_libcuxx_gives_the_same_code(
    room: Any,
    proposals: dict[str, tuple[Candidate, ...]],
    config: Configuration,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Our headers and TVM's give the same machine code; only the candidate's copies are asynchronous."""
    wanted = [
        candidate
        for candidate in proposals[config.name]
        if (PIPELINE in trace(candidate)) == (config is ASYNC)
    ]
    assert room.build_kernel.build(problem(LARGE, config, CUDA), wanted[0].record).startswith(b"\x7fELF")
    source = cuda_source(room, config, wanted[0])
    assert bool(COPY.search(source)) == (config is ASYNC)
    with room.tvm_devices.tvm_target(CUDA):
        ours = bytes(room.build_kernel.compile_cuda(source))
        assert ours == room.build_kernel.nvrtc.compile_cubin(source, "sm_90")
        monkeypatch.setenv("ABTUNE_TVM_NVRTC", "1")
        theirs = bytes(room.build_kernel.compile_cuda(source))
    assert ours != theirs
    assert machine_code(ours) == machine_code(theirs)
    assert all(machine_code(ours).values())


def test_pipelines_need_the_option_to_copy_asynchronously(
    room: Any, proposals: dict[str, tuple[Candidate, ...]]
) -> None:
    """The same candidate built without the option of the configuration copies synchronously."""
    marked = next(candidate for candidate in proposals["async"] if PIPELINE in trace(candidate))
    assert COPY.search(cuda_source(room, ASYNC, marked))
    assert not COPY.search(cuda_source(room, MAINLINE, marked))
