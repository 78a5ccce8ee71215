"""``abtune merge`` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import xarray as xr
from running import Run

import abtune


@pytest.fixture
def halves(empty_folder: Path) -> xr.Dataset:
    """Write the configurations of a dataset into files of their own, and return the whole."""
    dataset = abtune.open_dataset("h200-pilot")
    Path("runs").mkdir()
    for number, config in enumerate(dataset["config"].values):
        abtune.save_dataset(dataset.sel(config=[config]), f"runs/{number}.nc")
    return dataset


def test_halves_become_one(halves: xr.Dataset, run: Run) -> None:
    """The numbers are what they were; the files are recorded with their folders."""
    done = run("merge", "runs/0.nc", "runs/1.nc", "--out", "all.nc")
    assert (done.code, done.err) == (0, "")
    first, second = done.out.splitlines()
    assert first == "all.nc: 3 shapes, configurations mainline (baseline), async"
    assert second.startswith("The configurations of 3 shapes come from different files. What changed between")
    merged = abtune.open_dataset("all.nc")
    xr.testing.assert_equal(merged, halves)
    assert [source["file"] for source in json.loads(merged.attrs["sources"])] == ["runs/0.nc", "runs/1.nc"]
    assert second in abtune.analyze(merged).caveats


def test_bundled_datasets_have_names(empty_folder: Path, run: Run) -> None:
    """A dataset that comes with abtune is merged by its name."""
    pilot = abtune.open_dataset("h200-pilot")
    abtune.save_dataset(pilot.isel(shape=[0]).assign_coords(shape=["other"]), "other.nc")
    assert run("merge", "h200-pilot", "other.nc", "--out", "all.nc").code == 0
    merged = abtune.open_dataset("all.nc")
    assert merged["shape"].values.tolist() == [*pilot["shape"].values.tolist(), "other"]
    assert [source["file"] for source in json.loads(merged.attrs["sources"])] == ["h200-pilot", "other.nc"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["runs/0.nc"], "there is nothing to merge; give two datasets or more"),
        ([], "Missing argument"),
        (["runs/0.nc", "runs/../runs/0.nc"], "is given twice; each run counts once"),
        (["runs/0.nc", "h200-pilot"], "runs/0.nc and h200-pilot both have a run of"),
        (["runs/0.nc", "absent.nc"], "absent.nc: no such file"),
        (
            ["runs/0.nc", "runs/1.nc", "--overwrite", "--out", "runs/1.nc"],
            "runs/1.nc is one of the datasets to",
        ),
        (
            ["runs/0.nc", "runs/1.nc", "--out", "taken.nc"],
            "taken.nc exists; give another name, or --overwrite",
        ),
        *(
            (["runs/0.nc", "runs/1.nc", "--out", name], f"--out {name} is no name of a dataset; give one")
            for name in ("-", "--overwrite")
        ),
    ],
)
def test_what_cannot_be_merged_is_said(halves: xr.Dataset, run: Run, arguments: list[str], said: str) -> None:
    """One line, and nothing is written."""
    abtune.save_dataset(halves, "taken.nc")
    out = [] if "--out" in arguments else ["--out", "x.nc"]
    before = Path("runs/1.nc").read_bytes()
    done = run("merge", *arguments, *out)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert said in done.err
    assert {path.name for path in Path().iterdir()} == {"runs", "taken.nc"}
    assert Path("runs/1.nc").read_bytes() == before


def test_variables_that_are_left_out_are_said(halves: xr.Dataset, run: Run) -> None:
    """Variables of other programs are not in the schema."""
    abtune.save_dataset(
        halves.isel(shape=[0]).assign_coords(shape=["x"]).assign(mine=("shape", [1.0])), "m.nc"
    )
    done = run("merge", "runs/0.nc", "m.nc", "--out", "all.nc")
    assert "variables left out: mine\n" in done.out


def test_new_numbers_of_seeds_are_said(halves: xr.Dataset, run: Run) -> None:
    """Seeds of a sweep with other random numbers are further seeds."""
    settings = {**json.loads(halves.attrs["settings"]), "rng_seed": 99}
    abtune.save_dataset(halves.isel(seed=[0, 1]).assign_attrs(settings=json.dumps(settings)), "more.nc")
    done = run("merge", "h200-pilot", "more.nc", "--out", "all.nc")
    assert (done.code, done.err) == (0, "")
    assert "more.nc: its seeds 0 to 1 are now 10 to 11, because another dataset" in done.out
    assert abtune.open_dataset("all.nc").sizes["seed"] == 12
