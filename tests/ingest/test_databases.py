"""MetaSchedule databases: every trial of a real one comes through, and every fault is named with its line."""

from __future__ import annotations

import base64
import json
import math
import os
import shutil
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from import_samples import TUNED

import abtune
from abtune.dataset.schema import RunStatus, TrialStatus
from abtune.errors import DatasetError, InputError
from abtune.ingest.importers import recognise
from abtune.ingest.searches import databases
from abtune.ingest.searches.databases import DATABASES, RECORDS, WORKLOADS, label_of
from abtune.ingest.sources import Source, find_files, find_matching

RUNS = (f"mainline={TUNED}/mainline-*", f"async={TUNED}/async-*")


def read_databases(sources: Sequence[Source]) -> xr.Dataset:
    return DATABASES.read(sources, {}).dataset


def lines_of(run: str) -> list[list[Any]]:
    text = (TUNED / run / RECORDS).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """Copy a database, so that a test may spoil it."""
    folder = tmp_path / "run"
    folder.mkdir()
    for name in (WORKLOADS, RECORDS):
        shutil.copy(TUNED / "mainline-0" / name, folder / name)
    return folder


def change(folder: Path, how: Callable[[list[Any]], Any]) -> None:
    """Apply a change to the second record."""
    lines = (folder / RECORDS).read_text(encoding="utf-8").splitlines()
    record = json.loads(lines[1])
    how(record)
    lines[1] = json.dumps(record)
    (folder / RECORDS).write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_one(folder: Path) -> Any:
    return read_databases(find_files((), [f"a={folder}"]))


def test_every_trial_comes_through() -> None:
    """Trials keep their order and digits; the least is the winner, with its own record."""
    dataset = read_databases(find_files((), RUNS))
    assert dataset["shape"].values.tolist() == ["M=16_N=32_K=64"]
    assert dataset["workload"].values.tolist() == ["gemm_nn"]
    assert dataset["flop"].values.tolist() == [2 * 16 * 32 * 64]
    assert dataset["config"].values.tolist() == ["mainline", "async"]
    for config in ("mainline", "async"):
        for seed in (0, 1):
            records = lines_of(f"{config}-{seed}")
            times = [content[1][0] for _, content in records]
            cell = dataset.isel(shape=0).sel(config=config, seed=seed)
            assert cell["trial_latency"].values.tolist() == times
            assert set(cell["trial_status"].values.tolist()) == {TrialStatus.OK}
            assert float(cell["latency"].squeeze()) == float(cell["search_latency"]) == min(times)
            assert json.loads(str(cell["winner"].values)) == records[int(np.argmin(times))][1]


def test_the_analysis_sees_the_winners() -> None:
    """The boost compares the geometric means of what the searches reported."""
    (row,) = abtune.analyze(read_databases(find_files((), RUNS))).comparisons
    best = {
        config: [min(content[1][0] for _, content in lines_of(f"{config}-{seed}")) for seed in (0, 1)]
        for config in ("mainline", "async")
    }
    assert (row.baseline.n, row.candidate.n) == (2, 2)
    assert 1 + row.boost == pytest.approx(math.sqrt(math.prod(best["mainline"]) / math.prod(best["async"])))


def test_what_the_times_are_is_said() -> None:
    """The dataset says that nothing was measured again, and from which runs it was made."""
    attrs = read_databases(find_files((), RUNS)).attrs
    assert attrs["latency_source"] == "search"
    assert "none was measured again" in attrs["comment"]
    folder = Path(os.path.relpath(TUNED)).as_posix()
    assert json.loads(attrs["sources"])["async"] == [f"{folder}/async-0", f"{folder}/async-1"]
    assert json.loads(attrs["target"])["kind"] == "llvm"


def test_failures_are_not_times(copied: Path) -> None:
    """MetaSchedule's 1e10 s is a failure, a record without times was never run."""
    change(copied, lambda record: record[1].__setitem__(1, [1e10]))
    cell = read_one(copied).squeeze()
    assert cell["trial_status"].values.tolist() == [0, TrialStatus.RUN_FAILED, 0, 0]
    assert math.isnan(cell["trial_latency"].values[1])
    change(copied, lambda record: record[1].__setitem__(1, None))
    assert read_one(copied)["trial_status"].values.ravel().tolist() == [0, TrialStatus.NOT_RUN, 0, 0]


def test_a_run_whose_trials_all_failed_is_a_failed_run(copied: Path) -> None:
    """A search that found nothing is a failed run, not a missing one."""
    text = (copied / RECORDS).read_text(encoding="utf-8")
    records = [json.loads(line) for line in text.splitlines()]
    for record in records:
        record[1][1] = [10000000000]
    (copied / RECORDS).write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    dataset = read_one(copied)
    assert dataset["run_status"].values.ravel().tolist() == [RunStatus.FAILED]
    assert dataset["failure"].values.ravel().tolist() == ["no candidate could be timed"]
    assert "winner" not in dataset


def test_several_times_of_a_trial_are_averaged(copied: Path) -> None:
    """The time of a trial is the mean of its repeats, as MetaSchedule ranks."""
    change(copied, lambda record: record[1].__setitem__(1, [1e-6, 3e-6]))
    assert float(read_one(copied)["latency"].squeeze()) == pytest.approx(2e-6)


def test_shapes_of_a_run_are_told_by_their_workload(copied: Path) -> None:
    """A folder with two workloads is a run of two shapes; what TVM's JSON does not tell is not claimed."""
    workload = (copied / WORKLOADS).read_text(encoding="utf-8")
    other = json.dumps(["77", base64.b64encode(b'{"nodes": []}').decode()])
    (copied / WORKLOADS).write_text(workload + other + "\n", encoding="utf-8")
    change(copied, lambda record: record.__setitem__(0, 1))
    dataset = read_one(copied)
    assert dataset["shape"].values.tolist() == ["M=16_N=32_K=64", "16x64,64x32,16x32#77"]
    assert dataset["workload"].values.tolist() == ["gemm_nn", ""]
    assert dataset["trial_status"].values.squeeze().tolist() == [[0, 0, 0], [0, 4, 4]]


def edited_module(old: str, new: str) -> tuple[str, str]:
    """Return hash and module of the sample with a part of its JSON replaced."""
    line = (TUNED / "mainline-0" / WORKLOADS).read_text(encoding="utf-8").splitlines()[0]
    hash_text, module = json.loads(line)
    raw = base64.b64decode(module).decode("latin-1")
    assert old in raw
    return hash_text, base64.b64encode(raw.replace(old, new).encode("latin-1")).decode()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"prim.Mul"', '"prim.Sub"'),
        ('"s_tir.SBlock"', '"tir.Block"'),
        ('"ir.TensorLoad"', '"tir.BufferLoad"'),
    ],
)
def test_another_module_is_not_taken_for_a_product(old: str, new: str) -> None:
    """Equal sizes alone do not make a published label: the module has to compute it."""
    sizes = ((16, 64), (64, 32), (16, 32))
    hash_text, module = edited_module(old, new)
    by_sizes = f"16x64,64x32,16x32#{hash_text[:10]}"
    assert label_of(module, hash_text, sizes, ["float32"] * 3) == by_sizes
    hash_text, module = edited_module(old, old)
    assert label_of(module, hash_text, sizes, ["float32"] * 3) == "M=16_N=32_K=64"
    assert label_of(module, hash_text, sizes, ["float16"] * 3) == by_sizes


@pytest.mark.parametrize("operation", ["Add", "Mul"])
def test_a_module_that_doubles_in_every_step_is_left_alone(operation: str) -> None:
    """A few nodes that each use the one before twice stand for more than anybody can visit."""
    hash_text, module = edited_module('"prim.Mul"', '"prim.Mul"')
    raw = base64.b64decode(module)
    start = raw.index(b"{")
    document = json.loads(raw[start:])
    nodes = document["nodes"]
    store = next(node["data"] for node in nodes if node["type"].endswith(".BufferStore"))
    index = nodes[store["indices"]]["data"]
    kind = next(node["type"] for node in nodes if node["type"].endswith(".Add")).replace("Add", operation)
    for _ in range(60):
        nodes.append({"type": kind, "data": {"a": index[0], "b": index[0]}})
        index[0] = len(nodes) - 1
    doubled = base64.b64encode(raw[:start] + json.dumps(document).encode()).decode()
    sizes = ((16, 64), (64, 32), (16, 32))
    assert "#" in label_of(doubled, hash_text, sizes, ["float32"] * 3)


@pytest.mark.parametrize(
    ("rows", "columns", "filters", "is_known"),
    [
        *(("(b+e)", "(c+f)", "B[e,f,g,d]", True), ("((2*b)+e)", "((2*c)+f)", "B[e,f,g,d]", True)),
        *(("(b+e)", "(c+f)", "C[e,f,g,d]", False), ("((2*b)+e)", "(c+f)", "B[e,f,g,d]", False)),
        *(("(b+(2*e))", "(c+(3*f))", "B[e,f,g,d]", False), ("(b+e)", "(c+f)", "B[f,e,g,d]", False)),
    ],
)
def test_a_convolution_is_known_by_its_indices(
    monkeypatch: pytest.MonkeyPatch, rows: str, columns: str, filters: str, *, is_known: bool
) -> None:
    """Its two strides are alike, and so are its dilations; and it has the filter."""
    product = f"D[a,b,c,d]=(({filters}*C[a,{rows},{columns},g])+D[a,b,c,d])"
    monkeypatch.setattr(databases, "_blocks", lambda _: ["C[a,b,c,d]=A[a,b,c,d]", product])
    module = base64.b64encode(b'{"nodes": []}').decode()
    label = label_of(module, "123", ((1, 1, 1, 1),) * 3, ["float32"] * 3)
    assert label.startswith("N=1_H=1_W=1_C=1_K=1_R=1_S=1_STR=" if is_known else "1x1x1x1,1x1x1x1,1x1x1x1#123")


def test_modules_of_the_installed_tvm_are_recognised() -> None:
    """What abtune itself tunes gets its own label back, and a transposed product or a fused one does not."""
    import subprocess
    import sys

    if find_spec("tvm") is None:
        pytest.skip("needs TVM")
    script = """
import json, sys
from abtune.measure.tvm.load_tvm import ms, te, tvm
from abtune.measure.tvm.workloads import tensor_program
from abtune.shapes import parse_shape
labels = sys.argv[1:]
modules = [tensor_program(parse_shape(label)) for label in labels]
a, b = te.placeholder((16, 16), name="A"), te.placeholder((16, 16), name="B")
k = te.reduce_axis((0, 16), name="k")
product = te.compute((16, 16), lambda i, j: te.sum(a[i, k] * b[j, k], axis=k), name="C")
first = te.compute((16, 16), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="D")
relu = te.compute((16, 16), lambda i, j: te.max(first[i, j], 0.0), name="E")
for tensors in ([a, b, product], [a, b, relu]):
    function = te.create_prim_func(tensors).with_attr("global_symbol", "main")
    modules.append(tvm.IRModule({"main": function}))
for module in modules:
    function = module["main"]
    sizes = [[int(extent) for extent in function.buffer_map[p].shape] for p in function.params] \\
        if hasattr(function, "buffer_map") else [[int(e) for e in p.ty.shape] for p in function.params]
    print(json.dumps([*ms.database.Workload(module).as_json(), sizes]))
"""
    labels = [
        "M=16_N=16_K=16",
        "M=512_N=256_K=640",
        "N=1_H=224_W=224_C=3_K=64_R=7_S=7_STR=2_PAD=3_DIL=1",
        "N=1_H=56_W=56_C=64_K=64_R=1_S=1_STR=1_PAD=0_DIL=1",
        "N=2_H=9_W=9_C=4_K=8_R=3_S=3_STR=1_PAD=2_DIL=2",
    ]
    done = subprocess.run(
        [sys.executable, "-c", script, *labels], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    recognised = []
    for line in done.stdout.splitlines():
        hash_text, module, sizes = json.loads(line)
        recognised.append(label_of(module, str(hash_text), tuple(map(tuple, sizes)), ["float32"] * 3))
    assert recognised[: len(labels)] == labels
    assert all("#" in label for label in recognised[len(labels) :])


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (lambda record: record.__setitem__(0, 3), "is of workload 3, but database_workload.json has 1"),
        (lambda record: record[1].__setitem__(1, [-1.0]), "line 2: .* must be positive, not -1.0"),
        (lambda record: record[1].__setitem__(1, [0]), "line 2: .* must be positive, not 0"),
        (lambda record: record[1].__setitem__(1, []), "line 2: times: is not a list of times"),
        (lambda record: record[1].__setitem__(1, [math.nan]), "line 2: .* must be positive"),
        (lambda record: record.pop(), "line 2: not a tuning record"),
    ],
)
def test_bad_records_are_named(copied: Path, how: Callable[[list[Any]], Any], said: str) -> None:
    """Whatever is wrong with a record is said with its line."""
    change(copied, how)
    with pytest.raises(DatasetError, match=said):
        read_one(copied)


def test_the_type_of_an_argument_is_a_text(copied: Path) -> None:
    """A list in its place is refused in one line."""
    path = copied / RECORDS
    path.write_text(path.read_text(encoding="utf-8").replace('"float32"', '["float32"]'), encoding="utf-8")
    with pytest.raises(DatasetError, match="an argument is not a tensor of fixed sizes"):
        read_one(copied)


def test_a_record_cut_short_is_named(copied: Path) -> None:
    """A search that was killed while it wrote leaves half a line."""
    path = copied / RECORDS
    path.write_text(path.read_text(encoding="utf-8")[:-200], encoding="utf-8")
    with pytest.raises(DatasetError, match=f"{RECORDS}: the JSON is cut short in line 4"):
        read_one(copied)


@pytest.mark.parametrize("name", [WORKLOADS, RECORDS])
def test_empty_and_missing_files_are_named(copied: Path, name: str) -> None:
    """Either file of a database may be empty or missing."""
    (copied / name).write_text("", encoding="utf-8")
    with pytest.raises(DatasetError, match=f"{name}: is empty"):
        read_one(copied)
    (copied / name).unlink()
    (other,) = {WORKLOADS, RECORDS} - {name}
    for path in (copied, copied / other):  # not: give its folder
        assert recognise([Source(path=path)]).name == "databases"
        with pytest.raises(DatasetError, match=f"{copied}: is no folder with {name}; give the work_dir"):
            read_one(path)


def test_other_places_are_refused(tmp_path: Path) -> None:
    """No folder, a file of the database, and a folder of logs each get a line that says what to give."""
    for path, said in (
        (tmp_path / "absent", "give the work_dir of the tuning"),
        (TUNED / "async-0" / RECORDS, "give its folder"),
        (TUNED / "failed-0", "abtune import logs"),
        (TUNED.parent / "times.csv", "is no folder with database_workload.json and"),
    ):
        with pytest.raises(DatasetError, match=said):
            read_one(path)


def test_records_are_not_counted_twice(copied: Path) -> None:
    """A file that was appended to itself has every timed record again."""
    path = copied / RECORDS
    path.write_text(2 * path.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(DatasetError, match="line 5: is the same as line 1"):
        read_one(copied)


def test_paths_may_name_configuration_seed_and_shape(tmp_path: Path) -> None:
    """A pattern gives many runs at once, whose seeds are the numbers in their paths."""
    for name in ("mainline-0", "mainline-1", "async-0"):
        config, _, seed = name.partition("-")
        shutil.copytree(TUNED / name, tmp_path / f"{config}/product-{int(seed) + 5}")
    dataset = read_databases(find_matching(f"{tmp_path}/{{config}}/*-{{seed}}"))
    assert dataset["config"].values.tolist() == ["mainline", "async"]
    assert dataset["seed"].values.tolist() == [5, 6]
    assert dataset["run_status"].values.squeeze().tolist() == [[0, 0], [0, RunStatus.MISSING]]
    named = read_databases(find_matching(f"{tmp_path}/{{config}}/{{shape}}-{{seed}}"))
    assert named["shape"].values.tolist() == ["product"]
    assert named["workload"].values.tolist() == ["gemm_nn"]
    xr.testing.assert_equal(named["latency"].drop_vars("shape"), dataset["latency"].drop_vars("shape"))


def test_a_path_may_not_contradict_the_workload(tmp_path: Path) -> None:
    """A published label in a path has to be the label of what was tuned, and names one shape."""
    shutil.copytree(TUNED / "async-0", tmp_path / "a" / "M=1_N=1_K=1")
    with pytest.raises(DatasetError, match=r"is labelled M=1_N=1_K=1, but its workload is M=16_N=32_K=64"):
        read_databases(find_matching(f"{tmp_path}/{{config}}/{{shape}}"))
    folder = tmp_path / "b" / "x"
    shutil.copytree(TUNED / "async-0", folder)
    with (folder / WORKLOADS).open("a", encoding="utf-8") as file:
        file.write(json.dumps(["77", base64.b64encode(b"{}").decode()]) + "\n")
    change(folder, lambda record: record.__setitem__(0, 1))
    with pytest.raises(DatasetError, match=r"; a label can name only one"):
        read_databases(find_matching(f"{tmp_path}/b/{{shape}}"))


def test_a_folder_without_permission_is_one_line(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the system refuses to look at cannot be read."""

    def refuse(path: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    sources = find_files((), [f"a={copied}"])
    monkeypatch.setattr(Path, "is_file", refuse)
    with pytest.raises(DatasetError, match=r"cannot read .*: Permission denied"):
        read_databases(sources)


def test_repeated_keys_in_records_are_refused(copied: Path) -> None:
    """Python would keep the last value without a word."""
    path = copied / RECORDS
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"kind":', '"kind": "c", "kind":', 1), encoding="utf-8")
    with pytest.raises(DatasetError, match="line 1: has 'kind' twice in one object"):
        read_one(copied)


def test_paths_that_lead_nowhere_are_refused(tmp_path: Path) -> None:
    """A circle of links and a name that no file can have."""
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    for path in (tmp_path / "circle", tmp_path / ("x" * 300)):
        with pytest.raises(InputError, match="cannot read"):
            find_files((), [f"a={path}"])


def test_a_copy_is_not_another_seed(copied: Path) -> None:
    """The same run is refused as a second seed, by name and by content."""
    with pytest.raises(InputError, match="given twice"):
        find_files((), [f"a={copied}", f"b={copied.parent}/*"])
    with pytest.raises(DatasetError, match="a copy is not another seed"):
        read_databases(find_files((), [f"a={TUNED}/mainline-0", f"a={copied}"]))


@pytest.mark.parametrize("spec", ["runs", "=runs", "a=", " =x"])
def test_runs_need_a_name_and_a_path(spec: str) -> None:
    """An entry without a configuration or without a path is refused."""
    with pytest.raises(InputError, match="is not NAME=PATH"):
        find_files((), [spec])


def test_globs_count_up(tmp_path: Path) -> None:
    """Numbers in names count as numbers, and a glob that matches nothing is a mistake."""
    for number in (10, 2, 1):
        (tmp_path / f"run-{number}").mkdir()
    sources = find_files((), [f"a={tmp_path}/run-*"])
    assert [source.path.name for source in sources] == ["run-1", "run-2", "run-10"]
    assert [source.seed for source in sources] == [0, 1, 2]
    with pytest.raises(InputError, match="no file or folder matches"):
        find_files((), [f"a={tmp_path}/nothing-*"])
    with pytest.raises(InputError, match="nothing to import"):
        find_files((), [])
