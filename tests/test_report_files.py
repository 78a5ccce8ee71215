"""Files that are replaced whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from abtune.errors import StoreError
from abtune.files import write_bytes


def test_a_file_is_replaced_and_not_written_into(tmp_path: Path) -> None:
    """Who has the old file open, or a second name for it, keeps the old text whole."""
    path, second = tmp_path / "report.md", tmp_path / "second.md"
    path.write_text("old", encoding="utf-8")
    second.hardlink_to(path)
    write_bytes(b"new", path)
    assert (path.read_text(encoding="utf-8"), second.read_text(encoding="utf-8")) == ("new", "old")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["report.md", "second.md"]


def test_a_failure_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the disk gives up, what was there is still there, and nothing else."""
    path = tmp_path / "report.md"
    path.write_text("old", encoding="utf-8")

    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StoreError, match="Input/output error"):
        write_bytes(b"new", path)
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_in_the_way_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link that stands where the temporary file goes is no way to another file."""
    monkeypatch.setattr("secrets.token_hex", lambda size: "00")
    (tmp_path / "victim").write_text("old", encoding="utf-8")
    (tmp_path / ".r.md.00.tmp").symlink_to(tmp_path / "victim")
    with pytest.raises(StoreError, match="cannot write"):
        write_bytes(b"new", tmp_path / "r.md")
    assert (tmp_path / "victim").read_text(encoding="utf-8") == "old"
    assert not (tmp_path / "r.md").exists()


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="descriptors have no names here")
def test_a_pipe_by_its_descriptor_is_written_into() -> None:
    """/dev/stdout and >(command) lead to a pipe, beside which no file could be."""
    reading, writing = os.pipe()
    try:
        write_bytes(b"new", Path(f"/dev/fd/{writing}"))
        assert os.read(reading, 99) == b"new"
    finally:
        os.close(reading)
        os.close(writing)
