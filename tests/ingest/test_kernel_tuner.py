"""T4 files of Kernel Tuner: the samples were written by Kernel Tuner, tuning a loop in C with gcc."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from import_samples import SAMPLES

from abtune.dataset.schema import RunStatus, TrialStatus
from abtune.errors import AbtuneError
from abtune.ingest.importers import Imported, importer_named, recognise, run_importer
from abtune.ingest.sources import Source, find_files, find_matching

FOLDER = SAMPLES / "kernel_tuner"


def read(sources: tuple[Source, ...], shape: str = "add") -> Imported:
    return run_importer(importer_named("kernel-tuner"), sources, {"shape": shape})


def measured(name: str, unit: str, value: float = 1) -> dict[str, Any]:
    return {"name": name, "unit": unit, "value": value}


def sources(folder: Path, result: Any) -> tuple[Source, ...]:
    path = folder / "t.json"
    path.write_text(json.dumps({"results": [result], "schema_version": "1.0.0"}), encoding="utf-8")
    return find_files((), [f"a={path}"])


def test_a_file_is_a_search() -> None:
    """Every trial is kept in order, and the best one is the winner."""
    imported = read(find_files((), [f"old={FOLDER}/old-*.json", f"new={FOLDER}/new-*.json"]))
    dataset = imported.dataset.sel(shape="add")
    assert dict(dataset.sizes) == {"config": 2, "seed": 2, "round": 1, "repeat": 1, "trial": 6}
    results = json.loads((FOLDER / "new-2.json").read_text(encoding="utf-8"))["results"]
    times = [result["measurements"][0]["value"] / 1000 for result in results]
    search = dataset.sel(config="new", seed=1)
    assert search["trial_latency"].values.tolist() == times
    assert search["latency"].item() == min(times)
    assert imported.notes[0] == "each file is one seed: 2 of old, 2 of new"
    by_path = read(find_matching(f"{FOLDER.parent}/kernel_{{shape}}/{{config}}-2.json"), shape="")
    assert by_path.dataset["shape"].values.tolist() == ["tuner"]


def test_what_describes_the_search_may_come_first(tmp_path: Path) -> None:
    """Collections of T4 files begin with the version or the metadata."""
    path = tmp_path / "t.json"
    result = {"invalidity": "correct", "measurements": [measured("time", "ms")]}
    document = {"schema_version": "1.0.0", "metadata": {}, "results": [result]}
    path.write_text(json.dumps(document), encoding="utf-8")
    assert recognise(find_files((), [f"a={path}"])).name == "kernel-tuner"


@pytest.mark.parametrize(
    ("unit", "timeunit", "seconds"),
    [("", "miliseconds", 4e-3), ("miliseconds", "", 4e-3), ("", "seconds", 4), ("us", "miliseconds", 4e-6)],
)
def test_a_time_without_a_unit_has_that_of_the_file(
    tmp_path: Path, unit: str, timeunit: str, seconds: float
) -> None:
    """Published collections of T4 name the unit in the metadata, and misspell it."""
    path = tmp_path / "t.json"
    result = {"invalidity": "correct", "measurements": [measured("time", unit, 4)]}
    document = {"metadata": {"timeunit": timeunit}, "results": [result], "schema_version": "1.0.0"}
    path.write_text(json.dumps(document), encoding="utf-8")
    assert read(find_files((), [f"a={path}"])).dataset["latency"].item() == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("invalidity", "status"),
    [
        ("compile", TrialStatus.BUILD_FAILED),
        ("runtime", TrialStatus.RUN_FAILED),
        ("timeout", TrialStatus.TIMED_OUT),
        ("constraints", TrialStatus.NOT_RUN),
    ],
)
def test_what_failed_has_no_time(tmp_path: Path, invalidity: str, status: TrialStatus) -> None:
    """The schema of T4 says why a configuration has no time."""
    dataset = read(sources(tmp_path, {"invalidity": invalidity, "measurements": []})).dataset
    assert dataset["trial_status"].item() == status
    assert dataset["run_status"].item() == RunStatus.FAILED


@pytest.mark.parametrize(
    ("correctness", "status"),
    [(0, TrialStatus.RUN_FAILED), (0.0, TrialStatus.RUN_FAILED), (1, TrialStatus.OK), (None, TrialStatus.OK)],
)
def test_a_wrong_answer_has_no_time(tmp_path: Path, correctness: float | None, status: TrialStatus) -> None:
    """A kernel whose answer is wrong may be the fastest, and is no winner."""
    result = {"invalidity": "correct", "correctness": correctness, "measurements": [measured("time", "ms")]}
    assert read(sources(tmp_path, result)).dataset["trial_status"].item() == status


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ({"invalidity": "unlucky"}, "invalidity is 'unlucky', none of correct, compile"),
        (
            {"invalidity": "correct", "measurements": [measured("GFLOP/s", "")]},
            "has no measurement 'time' in s,",
        ),
        (
            {"invalidity": "correct", "measurements": [measured("time", "h")]},
            "has no measurement 'time' in s,",
        ),
        (
            {"invalidity": "correct", "measurements": [measured("time", "")]},
            "has no measurement 'time' in s,",
        ),
        ({"invalidity": "correct", "measurements": [measured("time", "ms", -1)]}, "a time must be positive"),
        (3, "invalidity is None"),
    ],
)
def test_what_is_damaged_is_refused(tmp_path: Path, result: Any, said: str) -> None:
    """One line names the file and the place."""
    with pytest.raises(AbtuneError, match=r"t.json: results\[0\]: .*") as raised:
        read(sources(tmp_path, result))
    assert said in str(raised.value)


def test_what_was_tuned_has_to_be_told() -> None:
    """A T4 file names no kernel."""
    one = find_files((), [f"a={FOLDER}/old-1.json"])
    with pytest.raises(AbtuneError, match="does not say what was tuned; give --shape LABEL, or --pattern"):
        read(one, shape="")
