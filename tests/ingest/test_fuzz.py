"""Whatever a file holds, an importer returns a valid dataset or raises one line.

Real files are mutated: bytes are cut, doubled, swapped and overwritten, and values of JSON become hostile
ones. The examples are the same in each run, unless ``ABTUNE_FUZZ`` says how many new ones to take.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from import_samples import SAMPLES, TUNED
from mutations import FUZZ, changed_bytes, changed_json

import abtune
from abtune.dataset.check import validate
from abtune.errors import AbtuneError
from abtune.ingest.importers import IMPORTERS, Importer, importer_named, recognise, run_importer
from abtune.ingest.sources import Source
from abtune.ingest.weight_files import read_weights

TABLE = SAMPLES.parents[2] / "data" / "tvm14009-rtx3080.md"
WIDE = "shape,old (ms),new (ms),speedup\nx,1.5,1.0,1.5x\ny,2,4,0.5\n"
SEEDS = "layer;seed;old_ms;new_ms;ratio\nx;1;1.5;1.0;1.5\nx;2;1.5;-;\ny;1;2;4;0.5\n"
CARGO = "test a ... bench:       1,234 ns/iter (+/- 5)\ntest b ... FAILED\n"
JMH = """[{"benchmark": "p.B.a", "params": {"n": "7"}, "primaryMetric":
{"scoreUnit": "ops/us", "rawData": [[2, 4], [5]]}}]"""
DOT_NET = """{"HostEnvironmentInfo": {}, "Benchmarks": [{"FullName": "a", "Statistics": {"N": 1},
"Measurements": [{"IterationMode": "Workload", "IterationStage": "Result", "LaunchIndex": 1, "Operations": 2,
"Nanoseconds": 9}]}]}"""
# Importer, its file, the files that have to be beside it, and what the user tells.
JSON = """[{"shape": "x", "config": "a", "time_ms": [1.5, 2]}, {"shape": "x", "config": "b", "time_ms": 3},
 {"shape": "y", "config": "a", "time_ms": null}, {"shape": "y", "config": "b", "time_ms": 5, "o": {"n": 1}}
]"""
COMPARE = """[--- sum ---]
        |  old  |  new
1 threads: --------
    x   |  1.5 (+-0.1)  |  2
    y   |  3    |

Times are in milliseconds (ms).
"""
CASES: dict[str, tuple[str, Path | str, str, dict[str, str]]] = {
    "table": ("published", TABLE, "", {"unit": "gflops"}),
    "wide": ("published", WIDE, "", {}),
    "wide, with seeds": ("timings", SEEDS, "", {}),
    "csv": ("timings", SAMPLES / "times.csv", "", {}),
    "json": ("timings", JSON, "", {}),
    "compare": ("published", COMPARE, "", {}),
    "trials": ("trials", JSON.replace("config", "tile"), "a", {}),
    "google": ("timings", SAMPLES / "google-1.json", "a", {}),
    "hyperfine": ("timings", SAMPLES / "hyperfine-1.json", "", {"shape": "s", "seed-is": "timing"}),
    "pytest": ("timings", SAMPLES / "pytest-1.json", "a", {}),
    "printed": ("timings", SAMPLES / "printed.txt", "", {"shape": "s"}),
    "pyperf": ("pyperf", SAMPLES / "pyperf-1.json", "a", {}),
    "kernel-tuner": ("kernel-tuner", SAMPLES / "kernel_tuner" / "new-1.json", "a", {"shape": "s"}),
    "records": ("databases", TUNED / "mainline-1" / "database_tuning_record.json", "a", {}),
    "workload": ("databases", TUNED / "mainline-1" / "database_workload.json", "a", {}),
    "log": ("logs", next(iter(sorted((TUNED / "mainline-0" / "logs").iterdir()))), "a", {}),
    "asv": ("asv", SAMPLES / "asv" / "with-samples.json", "a", {}),
    "criterion": ("criterion", SAMPLES / "criterion" / "run-1" / "sum" / "new" / "sample.json", "a", {}),
    "name": ("criterion", SAMPLES / "criterion" / "run-1" / "sum" / "new" / "benchmark.json", "a", {}),
    "go": ("go-bench", SAMPLES / "go" / "go-1.txt", "a", {}),
    "cargo": ("cargo-bench", CARGO, "a", {}),
    "jmh": ("jmh", JMH, "a", {}),
    "benchmark-dotnet": ("benchmark-dotnet", DOT_NET, "a", {}),
    "nvbench": ("nvbench", SAMPLES / "nvbench" / "nvbench-1.json", "a", {}),
    "autotvm": ("tvm-records", SAMPLES / "tvm_records" / "autotvm-1.json", "a", {}),
    "ansor": ("tvm-records", SAMPLES / "tvm_records" / "ansor-1.json", "a", {}),
}


def test_every_importer_is_fuzzed() -> None:
    """A new importer needs a file here."""
    assert {case[0] for case in CASES.values()} == set(IMPORTERS)


def outcome(read: Callable[[], xr.Dataset | None]) -> None:
    """Check that something is read that is valid, or refused in one line."""
    try:
        dataset = read()
    except AbtuneError as error:
        said = str(error)
    else:
        said = "read"
        if dataset is not None:
            validate(dataset)
    assert said.strip()
    assert "\n" not in said
    assert len(said) < 3_000


def values_for(importer: Importer, told: dict[str, str]) -> dict[str, str]:
    """Return the values of an importer's options."""
    return {option.name: told.get(option.name, option.default) for option in importer.options}


def read_by_content(source: Source, told: dict[str, str]) -> xr.Dataset:
    importer = recognise([source])
    return run_importer(importer, (source,), values_for(importer, told)).dataset


@pytest.mark.parametrize("case", CASES)
@FUZZ
@given(data=st.data())
def test_importers_read_or_refuse(case: str, data: st.DataObject) -> None:
    """No content ends in a traceback, whether the importer is named or found by the content."""
    name, original, config, told = CASES[case]
    content = original.encode() if isinstance(original, str) else original.read_bytes()
    mutated = data.draw(changed_json(content) | changed_bytes(content))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "input.csv" if isinstance(original, str) else original.name)
        if name in {"databases", "criterion"} and isinstance(original, Path):
            for other in original.parent.glob("*.json"):
                shutil.copy(other, folder)
        path.write_bytes(mutated)
        given_path = (
            Path(folder)
            if name == "databases"
            else path.with_name("sample.json")
            if name == "criterion"
            else path
        )
        source = Source(path=given_path, config=config)
        outcome(lambda: importer_named(name).read((source,), values_for(importer_named(name), told)).dataset)
        outcome(lambda: read_by_content(source, told))


WEIGHTS = st.sampled_from([b'{"a": 3, "b": 1.5}', b"label,weight\na,3\nb,1.5\n"])


@FUZZ
@given(content=WEIGHTS.flatmap(lambda content: changed_json(content) | changed_bytes(content)))
def test_weights_are_read_or_refused(content: bytes) -> None:
    """The file of --weights, too."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "w")
        path.write_bytes(content)
        outcome(lambda: read_weights(path) and None)  # type: ignore[func-returns-value]


@FUZZ
@given(data=st.data())
def test_the_opener_reads_or_refuses(data: st.DataObject) -> None:
    """A netCDF file of any variables, types and attributes is a valid dataset, or refused in one line."""
    dataset = abtune.make_dataset([[[1e-3, 2e-3], [1e-3, 3e-3]]], shapes=["s"], configs=["a", "b"])
    for _ in range(data.draw(st.integers(1, 3))):
        name = data.draw(st.sampled_from(sorted(map(str, dataset.variables))))
        kind = data.draw(st.sampled_from(["drop", "fill", "type", "rename", "attribute", "cut"]))
        variable = dataset.variables[name]
        if kind == "drop" and len(dataset.variables) > 1:
            dataset = dataset.drop_vars(name)
        elif kind == "fill" and variable.dtype.kind in "fiu":
            value = data.draw(st.sampled_from([-1, 0, 99]))
            dataset[name] = (variable.dims, np.full(variable.shape, value, variable.dtype))
        elif kind == "type":
            changed = data.draw(st.sampled_from(["U", "f4", "i8"]))
            dataset[name] = (variable.dims, np.zeros(variable.shape, changed))
        elif kind == "rename":
            dataset = dataset.rename({name: f"{name}2"})
        elif kind == "attribute":
            key = data.draw(
                st.sampled_from(["Conventions", "units", "schema", "sources", "settings", "target"])
            )
            where = data.draw(st.sampled_from([dataset.attrs, dataset[name].attrs]))
            where[key] = data.draw(st.sampled_from(["", "{", "s", 0, 1.5, "x" * 5_000, "\u202e"]))
        elif kind == "cut" and variable.dims:
            dataset = dataset.isel({variable.dims[0]: slice(0, data.draw(st.integers(0, 1)))})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "f.nc")
        try:
            dataset.to_netcdf(path, engine="netcdf4")
        except (ValueError, RuntimeError, TypeError):
            return  # xarray does not write it
        outcome(lambda: abtune.open_dataset(path))
