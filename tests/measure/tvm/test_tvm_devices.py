"""Targets and devices as TVM sees them: every obstacle is one line with advice."""

from __future__ import annotations

import json
import types
from typing import Any

import pytest
from tvm_samples import (
    CUDA,
)

from abtune.errors import TargetError

pytestmark = pytest.mark.filterwarnings("default")  # what TVM and XGBoost warn of is theirs


@pytest.mark.parametrize("spec", ["cpu", "llvm"])
def test_this_cpu_is_described(room: Any, spec: str) -> None:
    """The CPU is a target of one thread with a name, and TVM can read its JSON."""
    facts = room.tvm_devices.describe_target(spec)
    assert (facts.kind, facts.arch, facts.threads) == ("llvm", 0, 1)
    assert len(facts.devices) == 1
    assert facts.devices[0]
    assert facts.versions["tvm"].startswith("0.27")
    assert json.loads(facts.target)["kind"] == "llvm"
    assert room.tvm_devices.describe_target(facts.target) == facts


@pytest.mark.parametrize("hidden", [[], ["avx2", "fma"]])
def test_kernels_use_no_instructions_that_the_machine_hides(
    room: Any, monkeypatch: pytest.MonkeyPatch, hidden: list[str]
) -> None:
    """A virtual machine may lack what its model of CPU has; the target then leaves it out."""
    tvm = room.load_tvm.tvm
    host = tvm.get_global_func("tvm.codegen.llvm.GetHostCPUFeatures")()
    present = {str(name): bool(there) for name, there in host.items()} | dict.fromkeys(hidden, False)
    known = tvm.get_global_func

    def found(name: str, **options: Any) -> Any:
        return (lambda: present) if name.endswith("GetHostCPUFeatures") else known(name, **options)

    monkeypatch.setattr(tvm, "get_global_func", found)
    target = tvm.target.Target(json.loads(room.tvm_devices.describe_target("cpu").target))
    used = {str(name) for name in known("target.llvm_get_cpu_features")(target)}
    assert not used & set(hidden)
    assert not [
        name for name in used if name.startswith(("avx", "amx", "fma")) and not present.get(name, True)
    ]


def test_a_wheel_that_does_not_know_the_machine_takes_its_model(
    room: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without LLVM's list of what this machine has, the target is the model of the CPU alone."""
    monkeypatch.setattr(room.load_tvm.tvm, "get_global_func", lambda *_, **__: None)
    assert "mattr" not in json.loads(room.tvm_devices.describe_target("cpu").target)


@pytest.mark.parametrize("spec", ["cuda", CUDA])
def test_a_gpu_that_is_not_there_is_refused(room: Any, monkeypatch: pytest.MonkeyPatch, spec: str) -> None:
    """On a machine without a GPU the error says what is missing and what to use."""
    monkeypatch.setattr(room.load_tvm.tvm, "cuda", lambda _: types.SimpleNamespace(exist=False))
    with pytest.raises(TargetError, match=r"no usable CUDA device \(.+\); use --target cpu"):
        room.tvm_devices.describe_target(spec)
    assert room.tvm_devices.describe_target("auto").kind == "llvm"


def test_gpus_are_described(room: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """All GPUs are listed, and the architecture is a number."""

    def cuda(index: int) -> types.SimpleNamespace:
        return types.SimpleNamespace(exist=index < 2, device_name=f"GPU {index}")

    target = room.load_tvm.tvm.target.Target(json.loads(CUDA))
    monkeypatch.setattr(room.load_tvm.tvm, "cuda", cuda)
    monkeypatch.setattr(room.load_tvm.tvm.target.Target, "from_device", lambda _: target)
    monkeypatch.setattr(room.tvm_devices.nvml, "versions", lambda: {"driver": "580", "cuda": "13.0"})
    for spec in ("auto", "cuda", CUDA):
        facts = room.tvm_devices.describe_target(spec)
        assert (facts.kind, facts.arch, facts.devices) == ("cuda", 90, ("GPU 0", "GPU 1"))
        assert facts.versions["driver"] == "580"


def test_a_gpu_that_does_not_work_is_one_line(room: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """If CUDA finds a GPU but cannot use it, the error has CUDA's reason and what to do."""

    def fail(_: Any) -> None:
        raise RuntimeError("stack\nCUDA: initialization error")

    monkeypatch.setattr(room.load_tvm.tvm, "cuda", lambda _: types.SimpleNamespace(exist=True))
    monkeypatch.setattr(room.load_tvm.tvm.target.Target, "from_device", fail)
    for spec in ("auto", "cuda"):
        with pytest.raises(
            TargetError, match=r"cannot use it \(CUDA: initialization error\); run nvidia-smi"
        ):
            room.tvm_devices.describe_target(spec)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("bogus", "TVM does not understand target 'bogus': "),
        ("{broken", "TVM does not understand target '{broken'"),
        ('{"kind": "bogus"}', "TVM does not understand target"),
        ('{"kind": "c"}', "target 'c' is not supported; use cuda or llvm"),
    ],
)
def test_unusable_targets_are_refused(room: Any, spec: str, said: str) -> None:
    """A target that TVM does not know, or that cannot be timed here, is one line."""
    with pytest.raises(TargetError) as caught:
        room.tvm_devices.describe_target(spec)
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("spec", "threads"), [({}, 1), ({"num-cores": 3}, 3)])
def test_a_kernel_of_a_cpu_gets_one_thread_by_default(room: Any, spec: dict[str, int], threads: int) -> None:
    """MetaSchedule refuses a target that does not say how many threads a kernel may use."""
    facts = room.tvm_devices.describe_target(json.dumps({"kind": "llvm", "mcpu": "x86-64-v3", **spec}))
    assert facts.threads == threads
    assert json.loads(facts.target)["num-cores"] == threads
    assert json.loads(facts.target)["mcpu"] == "x86-64-v3"
