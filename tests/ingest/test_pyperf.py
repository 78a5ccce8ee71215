"""JSON of pyperf: its processes are seeds. The samples were written by pyperf 2.10, without its metadata."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from import_samples import SAMPLES

from abtune.errors import AbtuneError
from abtune.ingest.importers import Imported, importer_named, recognise, run_importer
from abtune.ingest.sources import find_files, find_matching


def read(*runs: str, shape: str = "", files: tuple[str, ...] = ()) -> Imported:
    return run_importer(importer_named("pyperf"), find_files(files, runs), {"shape": shape})


def test_every_process_is_a_seed() -> None:
    """Processes are numbered on from file to file; those that only calibrated are no seeds."""
    imported = read(*(f"new={SAMPLES}/pyperf-{number}.json" for number in (1, 2, 3)))
    latency = imported.dataset["latency"].sel(config="new").squeeze("round")
    assert latency["shape"].values.tolist() == ["sort", "join"]
    assert latency.count("repeat").values.tolist() == [[2] * 6 + [3] * 2, [2] * 6 + [0] * 2]
    document = json.loads((SAMPLES / "pyperf-2.json").read_text(encoding="utf-8"))
    runs = [run["values"] for run in document["benchmarks"][0]["runs"] if "values" in run]
    assert latency.sel(shape="sort")[3:6, :2].values.tolist() == runs
    assert imported.notes == (
        "each process is one seed: 6 to 8 seeds per cell, 2 to 3 timings per seed",
        "new has fewer runs of join than of others; they are missing, not failed",
    )


def test_names_may_be_configurations() -> None:
    """Variants of one thing stand in one file."""
    dataset = read(shape="list", files=(f"{SAMPLES}/pyperf-1.json",)).dataset
    assert (dataset["shape"].values.tolist(), dataset["config"].values.tolist()) == (
        ["list"],
        ["sort", "join"],
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"metadata": {}}, "is not a file of pyperf; there is no 'name'"),
        ({"metadata": 7}, "is damaged, or is not a file of pyperf"),
        ({"benchmarks": [{"runs": [3]}]}, "is damaged, or is not a file of pyperf"),
        ({"metadata": {"name": "x", "unit": "byte"}}, "x is in 'byte', which is no time"),
        ({"benchmarks": [{"runs": [{"values": [0]}]}]}, "a time must be positive, not 0"),
        ({"benchmarks": [{"runs": [{"values": 1}]}]}, r"runs\[0\].values: is not a list of times"),
        ({"benchmarks": [{"runs": [{"warmups": []}]}]}, "has no timings"),
        ({"benchmarks": [{"runs": [{"values": [1]}]}] * 2}, "'x' is already in benchmarks"),
        ({"benchmarks": 7}, "is damaged, or is not a file of pyperf"),
    ],
)
def test_what_is_not_of_pyperf_is_refused(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    """One line names the file and the place."""
    path = tmp_path / "p.json"
    document = {"benchmarks": [{"runs": [{"values": [1, 2]}]}], "metadata": {"name": "x"}, **change}
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(AbtuneError, match=said) as raised:
        read(f"a={path}")
    assert str(raised.value).startswith(f"{path}: ")


def test_the_order_of_keys_is_free(tmp_path: Path) -> None:
    """Other programs that write such a file need not sort it, as pyperf does."""
    document = json.loads((SAMPLES / "pyperf-1.json").read_text(encoding="utf-8"))
    (tmp_path / "f").write_text(json.dumps(dict(reversed(document.items())), indent=4), encoding="utf-8")
    assert recognise(find_files([], [f"a={tmp_path / 'f'}"])).name == "pyperf"


def test_seeds_in_paths_are_refused() -> None:
    """A file has many seeds."""
    sources = find_matching(f"{SAMPLES}/pyperf-{{seed}}.json")
    with pytest.raises(AbtuneError, match=r"write \* in place of \{seed\}"):
        run_importer(importer_named("pyperf"), sources, {"shape": ""})
