"""Folders for temporary files: those of killed processes are removed, and no others."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from abtune.measure.workers.pool import scratch_folder

# A process that has a folder with a file in it, until it is killed.
OWNER = """
import sys, time
from pathlib import Path
from abtune.measure.workers.pool import scratch_folder
with scratch_folder() as folder:
    Path(folder, "lib0.o").touch()
    print(folder, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make temporary files here, also those of processes."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_a_folder_stays_as_long_as_its_owner(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of a living process stays, that of a killed one goes, but not that of another user."""
    with subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        folder = Path(owner.stdout.readline().strip())
        with scratch_folder():
            assert (folder / "lib0.o").exists()
        owner.kill()
    assert (folder / "lib0.o").exists()
    with monkeypatch.context() as patch:
        patch.setattr("os.geteuid", lambda: folder.stat().st_uid + 1)
        with scratch_folder():
            assert (folder / "lib0.o").exists()
    with scratch_folder() as another:
        assert list(temporary.iterdir()) == [Path(another)]
    assert not list(temporary.iterdir())


def test_folders_of_the_user_stay(temporary: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A folder or link that only has such a name is none, and what a link leads to stays."""
    theirs = tmp_path_factory.mktemp("theirs")
    (temporary / "abtune-results").mkdir()
    (theirs / ".abtune-scratch").touch()
    (temporary / "abtune-link").symlink_to(theirs)
    with scratch_folder():
        pass
    assert {path.name for path in temporary.iterdir()} == {"abtune-results", "abtune-link"}
    assert (theirs / ".abtune-scratch").exists()


def test_a_file_system_without_locks_is_enough(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder is there, and is removed by its owner alone."""

    def refuse(*_: object) -> None:
        raise OSError

    monkeypatch.setattr("fcntl.flock", refuse)
    with scratch_folder() as folder, scratch_folder():
        assert Path(folder).is_dir()
    assert not list(temporary.iterdir())
