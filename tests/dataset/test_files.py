"""Datasets as files: what is written comes back, and what is damaged is refused in one line."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import abtune
from abtune.dataset.build import add_variables
from abtune.dataset.netcdf import BUNDLED, bundled_path
from abtune.dataset.provenance import summary
from abtune.dataset.schema import RunStatus, TrialStatus
from abtune.errors import DatasetError, InputError, StoreError

pytestmark = pytest.mark.usefixtures("empty_folder")

TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=12)

TIMES = st.integers(0, 4 * 10**12).map(lambda since: np.datetime64(since, "ms")) | st.just(
    np.datetime64("NaT", "ms")
)


@st.composite
def datasets(draw: st.DrawFn) -> xr.Dataset:
    """Draw a dataset with every kind of variable: floats with gaps, flags, text and times."""
    shapes, configs, seeds, rounds, repeats, trials = (draw(st.integers(1, 3)) for _ in range(6))
    runs = (shapes, configs, seeds)
    names = st.lists(TEXT, unique=True)
    latency = st.floats(1e-9, 1e3) | st.just(np.nan)
    dataset = abtune.make_dataset(
        draw(arrays(np.float64, (*runs, rounds, repeats), elements=latency)),
        shapes=draw(names.filter(lambda labels: len(labels) >= shapes))[:shapes],
        configs=[f"config {number}" for number in range(configs)],
        run_status=draw(arrays(np.int8, runs, elements=st.sampled_from(list(RunStatus)))),
        attrs={"gpu": draw(TEXT), "trials": draw(st.integers(0, 2**31 - 1))},
    )
    return add_variables(
        dataset,
        flop=draw(arrays(np.float64, shapes, elements=st.integers(1, 10**12))),
        trial_latency=draw(arrays(np.float64, (*runs, trials), elements=latency)),
        trial_status=draw(arrays(np.int8, (*runs, trials), elements=st.sampled_from(list(TrialStatus)))),
        started=draw(arrays("datetime64[ms]", runs, elements=TIMES)),
        winner=draw(arrays(object, runs, elements=TEXT | st.just(""))),
    )


def names_in(folder: str = ".") -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_waits_for_the_file(
    small: xr.Dataset, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """The file is whole, or read, before Ctrl-C is heard: within netCDF it leaves a lock for ever."""
    write, read = xr.Dataset.to_netcdf, xr.open_dataset

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    def interrupted(function: Any) -> Any:
        return lambda *args, **options: (os.kill(os.getpid(), number), function(*args, **options))[1]

    monkeypatch.setattr(xr.Dataset, "to_netcdf", interrupted(write))
    before = signal.signal(number, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            abtune.save_dataset(small, "a.nc")
        assert signal.getsignal(number) is interrupt
        abtune.open_dataset("a.nc")
        monkeypatch.setattr(xr, "open_dataset", interrupted(read))
        with pytest.raises(KeyboardInterrupt):
            abtune.open_dataset("a.nc")
    finally:
        signal.signal(number, before)
    assert names_in() == ["a.nc"]


@given(dataset=datasets())
@settings(max_examples=40)
def test_round_trip_is_identity(dataset: xr.Dataset) -> None:
    """What is saved and opened again is identical: values, gaps, text, times, attributes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "round.nc")
        abtune.save_dataset(dataset, path)
        opened = abtune.open_dataset(path)
        assert names_in(folder) == ["round.nc"]
    xr.testing.assert_identical(opened, dataset)


def test_a_selection_is_written_by_xarray_without_a_warning() -> None:
    """Fewer shapes have shorter labels than the file that they came from, and warnings are errors here."""
    dataset = abtune.open_dataset("h200-pilot").isel(shape=[0])
    dataset.to_netcdf("one.nc", engine="netcdf4")  # some versions of xarray write another format by default
    xr.testing.assert_identical(abtune.open_dataset("one.nc"), dataset)


def test_a_selection_without_trials_is_written() -> None:
    """No trial is left of the histories, and all else is."""
    dataset = abtune.open_dataset("h200-pilot").isel(trial=[])
    abtune.save_dataset(dataset, "none.nc")
    xr.testing.assert_identical(abtune.open_dataset("none.nc"), dataset)


def test_the_package_has_the_datasets_that_are_named() -> None:
    """The wheel has the bundled datasets, and no others."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    packed = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert packed == {f"data/{name}.nc": f"abtune/data/{name}.nc" for name in BUNDLED}


def test_a_list_among_the_attributes_comes_back_as_a_list(small: xr.Dataset) -> None:
    """An array in its place would have no truth value, by which abtune asks whether a day is known."""
    abtune.save_dataset(small.assign_attrs(created=[1, 2]), "x.nc")
    opened = abtune.open_dataset("x.nc")
    assert opened.attrs["created"] == [1, 2]
    assert "[1, 2]" in summary(opened)


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_datasets_open(name: str) -> None:
    """Every bundled dataset opens by its name."""
    assert abtune.open_dataset(name).sizes["config"] >= 1


def test_a_file_wins_over_a_bundled_name(small: xr.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of the user's that is called like a bundled dataset is the one that is read."""
    name = next(iter(BUNDLED))
    abtune.save_dataset(small, name)
    assert abtune.open_dataset(name).identical(small)


def test_unknown_names_get_the_nearest_one() -> None:
    """A misspelt name is answered with what was probably meant."""
    with pytest.raises(InputError, match="unknown dataset 'tvm14009'; did you mean: h200-tvm14009, tvm"):
        abtune.open_dataset("tvm14009")
    with pytest.raises(InputError, match=f"unknown dataset.*; there are: {', '.join(BUNDLED)}$"):
        bundled_path("nothing like it")


@pytest.mark.parametrize("name", ["latest", "latest.nc"])
def test_a_link_that_leads_nowhere_is_told_so(empty_folder: Path, name: str) -> None:
    """The name is no unknown dataset: the file that it leads to is missing."""
    (empty_folder / name).symlink_to("gone.nc")
    with pytest.raises(DatasetError, match=f"^{name}: this link leads to gone.nc, which does not exist$"):
        abtune.open_dataset(name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_a_pipe_is_refused(empty_folder: Path) -> None:
    """To open it would wait for a writer, and no signal would end that."""
    os.mkfifo(empty_folder / "pipe.nc")
    with pytest.raises(DatasetError, match=r"^pipe\.nc: is a pipe, and a dataset is read from a file"):
        abtune.open_dataset("pipe.nc")


@pytest.mark.parametrize("value", [None, 3, b"x.nc", xr.Dataset()])
def test_what_is_no_path_is_refused(small: xr.Dataset, value: Any) -> None:
    """A path is a text or a path, and nothing else."""
    with pytest.raises(
        InputError, match=r"is opened by its path or name, not by .*; there are: .*h200-pilot"
    ):
        abtune.open_dataset(value)
    with pytest.raises(InputError, match=r"is saved to a path, such as 'results.nc', not to"):
        abtune.save_dataset(small, value)


def test_a_missing_file_says_what_to_run() -> None:
    """A path that does not exist is answered with the ways to get a dataset."""
    with pytest.raises(DatasetError, match="no such file; make one with abtune sweep"):
        abtune.open_dataset("absent.nc")
    Path("absent.nc.runs").mkdir()  # of a sweep that was killed before it wrote its dataset
    said = r"no such file; give its abtune sweep again, which makes it from absent\.nc\.runs$"
    with pytest.raises(DatasetError, match=said):
        abtune.open_dataset("absent.nc")


@pytest.mark.parametrize("name", [".", "a" * 300, "nul\0.nc"])
def test_names_that_no_file_has_are_refused(name: str) -> None:
    """A folder, an overlong name and a name with a NUL are errors of abtune, not accidents."""
    with pytest.raises((DatasetError, InputError)):
        abtune.open_dataset(name)


def test_the_command_for_a_folder_writes_elsewhere(empty_folder: Path) -> None:
    """A folder whose name is that of a dataset is not imported into itself."""
    Path("abtune.nc").mkdir()
    with pytest.raises(DatasetError, match=r"abtune import --run NAME=abtune\.nc --out imported\.nc$"):
        abtune.open_dataset("abtune.nc")


@pytest.mark.parametrize("size", [0, 4, 600, 5000, -1])
def test_truncated_files_are_refused(size: int) -> None:
    """A file that was cut off, wherever, is called damaged; beside the files of its sweep, it comes back."""
    Path("cut.nc").write_bytes(bundled_path("tvm14009-rtx3080").read_bytes()[:size])
    with pytest.raises(DatasetError, match=r"cut\.nc: not a netCDF file, or damaged \([^()]*\)$"):
        abtune.open_dataset("cut.nc")
    Path("cut.nc.runs").mkdir()
    with pytest.raises(
        DatasetError, match=r"; give its abtune sweep again, which makes it from cut\.nc\.runs"
    ):
        abtune.open_dataset("cut.nc")


def test_flipped_bytes_never_raise_anything_else() -> None:
    """A file with random bytes changed either opens or is called damaged; nothing else is raised."""
    whole = bundled_path("tvm14009-rtx3080").read_bytes()
    rng = np.random.default_rng(5)
    for _ in range(60):
        damaged = bytearray(whole)
        for position in rng.integers(0, len(whole), 8):
            damaged[position] ^= int(rng.integers(1, 256))
        Path("flipped.nc").write_bytes(damaged)
        with contextlib.suppress(DatasetError):
            abtune.open_dataset("flipped.nc")


@pytest.mark.parametrize("path", ["absent/x.nc", ".", "a" * 300, "nul\0.nc", "small.nc/x.nc"])
def test_places_that_cannot_be_written_are_refused(small: xr.Dataset, path: str) -> None:
    """A missing folder, a folder, an impossible name and a file taken for a folder cannot be written."""
    abtune.save_dataset(small, "small.nc")
    with pytest.raises(StoreError, match="cannot write"):
        abtune.save_dataset(small, path)
    assert names_in() == ["small.nc"]


def test_the_folder_of_a_sweep_is_no_dataset() -> None:
    """The dataset that the sweep makes of it is named."""
    Path("a.nc.runs").mkdir()
    with pytest.raises(DatasetError, match=r"the folder of a sweep, which makes a\.nc of it; give that"):
        abtune.open_dataset("a.nc.runs")


def test_what_a_killed_program_left_is_removed_after_a_day(small: xr.Dataset) -> None:
    """Younger leftovers may still be written; other names, and other datasets' leftovers, stay."""
    old, young = Path(".a[1].nc.0123abcd.tmp"), Path(".a[1].nc.0123abce.tmp")
    others = [Path(".a1.nc.0123abcd.tmp"), Path(".a[1].nc.mine.tmp"), Path(".a[1].nc.0123abcd.old")]
    for path in (old, young, *others):
        path.touch()
        if path is not young:
            os.utime(path, (0, 0))
    abtune.save_dataset(small, "a[1].nc")
    assert not old.exists()
    assert all(path.exists() for path in (young, *others))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_devices_are_not_replaced(small: xr.Dataset) -> None:
    """Writing to a device is refused: a rename would put a file in the device's place."""
    with pytest.raises(StoreError, match="not a regular file"):
        abtune.save_dataset(small, "/dev/full")
    assert Path("/dev/full").is_char_device()


def test_a_disk_that_is_full_from_the_start_is_called_so(
    small: xr.Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library takes it for a lack of permission, also in a folder that can be written."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(xr.Dataset, "to_netcdf", refuse)
    with pytest.raises(StoreError, match=r"cannot write x.nc: the disk is full; give another place"):
        abtune.save_dataset(small, "x.nc")


def test_a_circle_of_links_is_refused(small: xr.Dataset) -> None:
    """A place that can never be reached is named."""
    Path("circle.nc").symlink_to("circle.nc")
    with pytest.raises(StoreError, match=r"cannot write circle\.nc"):
        abtune.save_dataset(small, "circle.nc")


def test_links_are_followed(small: xr.Dataset) -> None:
    """A dataset written through a link ends up where the link points, and the link stays."""
    Path("folder").mkdir()
    Path("link.nc").symlink_to("folder/real.nc")
    abtune.save_dataset(small, "link.nc")
    assert Path("link.nc").is_symlink()
    assert abtune.open_dataset("folder/real.nc").identical(small)


def test_a_full_disk_keeps_the_old_file(small: xr.Dataset) -> None:
    """When the new file does not fit, the old one is untouched and no fragment is left."""
    abtune.save_dataset(small, "kept.nc")
    before = Path("kept.nc").read_bytes()
    script = (
        "import resource, signal, abtune\n"
        "dataset = abtune.open_dataset('kept.nc')\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try:\n"
        "    abtune.save_dataset(dataset, 'kept.nc')\n"
        "except abtune.errors.StoreError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("cannot write kept.nc: ")
    assert "and ulimit -f allows 4096 bytes for a file; give another place" in done.stdout
    assert done.stderr == ""
    assert Path("kept.nc").read_bytes() == before
    assert names_in() == ["kept.nc"]


def test_new_labels_need_no_room_in_the_old_file(small: xr.Dataset) -> None:
    """A file of another program may hold each seed in one byte, where 1000 became -24."""
    small.to_netcdf("other.nc", encoding={"seed": {"dtype": "int8"}})
    dataset = abtune.open_dataset("other.nc")
    dataset["seed"] = dataset["seed"].copy(data=np.array([1000, 1001]))
    abtune.save_dataset(dataset, "new.nc")
    assert abtune.open_dataset("new.nc")["seed"].values.tolist() == [1000, 1001]


@pytest.mark.parametrize("value", [1j, {}], ids=["complex", "object"])
def test_further_variables_that_no_file_holds_are_named(small: xr.Dataset, value: object) -> None:
    """The reason is xarray's or netCDF's, in one line, with what to do."""
    further = small.assign(further=("shape", np.array([value, value])))
    with pytest.raises(DatasetError, match=r"cannot write a.nc: .*; leave out .* dataset.drop_vars"):
        abtune.save_dataset(further, "a.nc")
    assert names_in() == []


@pytest.mark.filterwarnings("error")
def test_a_dataset_in_chunks_is_written_without_a_warning(small: xr.Dataset) -> None:
    """Its text has to be in memory, before xarray can tell how wide it is."""
    pytest.importorskip("dask")
    abtune.save_dataset(small.chunk(), "a.nc")
    assert abtune.open_dataset("a.nc").equals(small)


def test_threads_write_and_read_at_once(small: xr.Dataset) -> None:
    """HDF5 crashed the process, because xarray's locks do not cover all of its calls."""
    abtune.save_dataset(small, "given.nc")
    script = (
        "import abtune\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "given = abtune.open_dataset('given.nc')\n"
        "def copied(number):\n"
        "    abtune.save_dataset(given, f'{number}.nc')\n"
        "    return abtune.open_dataset(f'{number}.nc').identical(given)\n"
        "with ThreadPoolExecutor(8) as threads:\n"
        "    print(sum(threads.map(copied, range(24))))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "24\n"


def test_invalid_datasets_are_not_written(small: xr.Dataset) -> None:
    """What could not be read back is not written in the first place."""
    with pytest.raises(DatasetError, match="'run_status'"):
        abtune.save_dataset(small.drop_vars("run_status"), "x.nc")
    assert names_in() == []


@pytest.mark.parametrize("value", [True, None, {"a": 1}, [[1], [2]]])
def test_attributes_that_no_file_holds_are_named(small: xr.Dataset, value: object) -> None:
    """An attribute that was set later is refused by its name, and nothing is written."""
    with pytest.raises(InputError, match="attribute 'wrong' is "):
        abtune.save_dataset(small.assign_attrs(wrong=value), "x.nc")
    small["latency"].attrs["wrong"] = value
    with pytest.raises(InputError, match="attribute 'wrong' is "):
        abtune.save_dataset(small, "x.nc")
    del small["latency"].attrs["wrong"]
    with pytest.raises(DatasetError, match=r"cannot write x.nc: .*; leave out .* del dataset.attrs\[NAME\]"):
        abtune.save_dataset(small.assign_attrs(_NCProperties="of the library"), "x.nc")
    assert names_in() == []


def test_text_that_is_not_unicode_is_refused(small: xr.Dataset) -> None:
    """A file name of other bytes, as an attribute, is one line."""
    with pytest.raises(DatasetError, match=r"udcff\.csv' is not valid Unicode"):
        abtune.save_dataset(small.assign_attrs(source="\udcff.csv"), "x.nc")
    assert names_in() == []


def test_a_small_file_of_huge_arrays_is_not_loaded(
    empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chunks that were never written take no room in a file and all of it in memory."""
    dataset = abtune.make_dataset(np.ones((2, 2, 3)), shapes=["x", "y"], configs=["a", "b"])
    abtune.save_dataset(dataset, "small.nc")
    with netCDF4.Dataset("huge.nc", "w") as file:
        for name, size in (
            ("shape", 1),
            ("config", 2),
            ("seed", 100_000),
            ("round", 100_000),
            ("repeat", 200),
        ):
            file.createDimension(name, size)
        file.createVariable(
            "latency", "f8", ("shape", "config", "seed", "round", "repeat"), chunksizes=[1] * 5
        )
    with pytest.raises(
        DatasetError, match=r"huge.nc: would take 29,802 GiB of memory, and the most is 4 GiB; set"
    ):
        abtune.open_dataset("huge.nc")
    monkeypatch.setenv("ABTUNE_MAX_GIB", "1e-7")  # 107 bytes
    with pytest.raises(
        DatasetError, match=r"small.nc: would take .* GiB of memory, and the most is 1e-07 GiB"
    ):
        abtune.open_dataset("small.nc")
    monkeypatch.setenv("ABTUNE_MAX_GIB", "1")
    assert abtune.open_dataset("small.nc")["latency"].sum() == 12
