"""Targets, found by asking TVM in another process: every obstacle is one line with advice."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest
from installed_packages import pretend_installed

from abtune.errors import TargetError
from abtune.measure.workers.child import NICENESS
from abtune.measure.workers.find_target import TRIAL, find_target, require_tvm
from abtune.measure.workers.pool import _device_environment


def test_this_machine_is_fit() -> None:
    """The versions that abtune asks for pass."""
    require_tvm()


@pytest.mark.parametrize("ffi", ["0.1.14", "0.1.14.post1", "0.1.9", "0.0.99"])
def test_older_interfaces_pass(monkeypatch: pytest.MonkeyPatch, ffi: str) -> None:
    """A version before the one that crashes passes."""
    pretend_installed(monkeypatch, {"apache-tvm": "0.27.0.post1", "apache-tvm-ffi": ffi})
    require_tvm()


@pytest.mark.parametrize("ffi", ["0.1.15", "0.1.15.post2", "0.1.15rc1", "0.2.0", "1.0.0"])
def test_interfaces_that_crash_are_refused(monkeypatch: pytest.MonkeyPatch, ffi: str) -> None:
    """A version with which every search crashes is named, with the command that mends it."""
    pretend_installed(monkeypatch, {"apache-tvm": "0.27.0.post1", "apache-tvm-ffi": ffi})
    with pytest.raises(TargetError, match=rf"apache-tvm-ffi {ffi} crashes .* pip install 'apache-tvm-ffi<0"):
        require_tvm()


def test_a_missing_tvm_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without TVM the error says how to get it."""
    pretend_installed(monkeypatch, {"apache-tvm-ffi": "0.1.14"})
    with pytest.raises(TargetError, match=r"apache-tvm is not installed.*run: pip install 'abtune.sweep.'"):
        require_tvm()


def test_a_missing_compiler_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any C compiler the error says what to install; one of several is enough."""
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/cc" if name == "cc" else None)
    require_tvm()
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(TargetError, match=r"no C compiler found.*install gcc or clang"):
        require_tvm()


def test_a_target_is_found_in_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process asks TVM, and its facts come back unchanged."""
    monkeypatch.setattr("abtune.measure.workers.find_target.TVM_MODULE", "fake_target")
    facts = find_target("anything")
    assert facts.devices == ("anything",)
    assert facts.versions["pid"] != str(os.getpid())


def test_gpus_are_counted_as_where_they_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    """CUDA counts by bus here as in the processes that measure, so a number names the same GPU."""
    monkeypatch.setattr("abtune.measure.workers.find_target.TVM_MODULE", "fake_target")
    facts = find_target("anything")
    measuring = _device_environment(replace(facts, kind="cuda"), 0)
    assert facts.versions["order"] == measuring["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"


def test_devices_of_two_kinds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Timings of different devices would be mixed; equal devices pass."""
    monkeypatch.setattr("abtune.measure.workers.find_target.TVM_MODULE", "fake_target")
    assert find_target("a GPU and a GPU").devices == ("a GPU", "a GPU")
    with pytest.raises(TargetError, match="different devices: a GPU, another GPU; set CUDA_VISIBLE_DEVICES"):
        find_target("a GPU and another GPU and a GPU")


def test_cores_are_tried_as_searches_use_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trial of each core runs at the low priority of a search; without cores there is none."""
    monkeypatch.setattr("abtune.measure.workers.find_target.TVM_MODULE", "fake_target")
    niceness = min(os.nice(0) + NICENESS, 19)
    assert find_target("anything", cores=2).rate == pytest.approx(niceness + TRIAL)
    assert find_target("anything").rate == 0
    monkeypatch.setattr("abtune.measure.workers.find_target.TRIAL", None)  # what fails is no obstacle yet
    assert find_target("anything", cores=1).rate == 0


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("refuse", "no such device; use another"),
        ("break", "describe_target: ZeroDivisionError: division by zero"),
        ("crash", "process killed by SIGSEGV"),
        ("exit", "process exit code 3"),
    ],
)
def test_obstacles_are_one_line(monkeypatch: pytest.MonkeyPatch, spec: str, said: str) -> None:
    """Every fault in the process that asks TVM becomes one line."""
    monkeypatch.setattr("abtune.measure.workers.find_target.TVM_MODULE", "fake_target")
    with pytest.raises(TargetError) as caught:
        find_target(spec)
    assert said.removeprefix("describe_target: ") in str(caught.value)
    assert "TargetError" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_a_folder_for_temporary_files_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all disks are full, no process can start."""

    def refuse() -> None:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.raises(TargetError, match=r"No usable temporary .*; make room there, or set TMPDIR$"):
        find_target("auto")


def test_a_system_that_kills_the_import_is_not_repaired_by_pip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system kills where the memory is short."""
    (tmp_path / "killed_early.py").write_text("import os\nos.kill(os.getpid(), 9)\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("abtune.measure.workers.find_target.TVM_MODULE", "killed_early")
    said = r"^TVM or XGBoost cannot .*\(process killed by SIGKILL\); free memory, or use fewer cores$"
    with pytest.raises(TargetError, match=said):
        find_target("auto")


def test_a_tvm_that_cannot_be_imported_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line of a failed import does not name abtune's own processes."""
    monkeypatch.setattr("abtune.measure.workers.find_target.TVM_MODULE", "unimportable")
    with pytest.raises(TargetError) as caught:
        find_target("auto")
    said = "TVM or XGBoost cannot be imported (RuntimeError: this cannot work here); "
    assert str(caught.value) == f"{said}run: pip install --force-reinstall 'abtune[sweep]'"
