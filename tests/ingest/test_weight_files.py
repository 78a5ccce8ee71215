"""Weights from files."""

from __future__ import annotations

from pathlib import Path

import pytest

from abtune.errors import InputError
from abtune.ingest.weight_files import read_weights


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("w.csv", "label,weight\na,2\nb,0.5\nc,0\n"),
        ("w.csv", "a, 2\n\n b ,0.5\n"),
        ("w.txt", "\ufeffShape,calls\r\na,2\r\nb,0.5\r\n"),
        ("w.json", '{"a": 2, "b": 0.5}'),
        ("W.JSON", '{"a": "2", "b": 5e-1, "c": 0}'),
    ],
)
def test_both_formats_are_read(tmp_path: Path, name: str, text: str) -> None:
    """CSV with or without a header and JSON give the same weights; weights of zero are left out."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8", newline="")
    assert read_weights(path) == {"a": 2.0, "b": 0.5}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("w.csv", "", "is empty"),
        ("w.csv", "a,0\n", "no shape has a weight"),
        ("w.csv", "a\n", "line 1 is not label,weight"),
        ("w.csv", "a,1,2\n", "line 1 is not label,weight"),
        ("w.csv", "a,1\nb,x\n", "line 2: 'x' is not a number"),
        ("w.csv", "a,1\na,2\n", "line 2: 'a' has a weight already"),
        ("w.csv", "a,-1\n", "line 1: -1 is not a weight"),
        ("w.csv", "a,nan\n", "line 1: nan is not a weight"),
        ("w.json", "[1]", "give an object"),
        ("w.json", "{", "JSON is cut short"),
        ("w.json", "[1,,]", "not JSON"),
        ("w.json", '{"a": true}', "'True' is not a number"),
        ("w.json", '{"a": [1]}', "is not a number"),
        ("w.json", '{"a": 3, "a": 1}', "has 'a' twice in one object"),
        ("w.csv", "a,1_500\n", "line 1: '1_500' is not a number"),
        ("w.csv", "a,\uff11\n", "is not a number"),
        ("w.json", '{"a": "\u0661"}', "is not a number"),
    ],
)
def test_bad_weights_say_where(tmp_path: Path, name: str, text: str, said: str) -> None:
    """What is wrong is named with its place in the file."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        read_weights(path)


def test_json_is_told_by_its_brace(tmp_path: Path) -> None:
    """A JSON object may have any name."""
    path = tmp_path / "weights.txt"
    path.write_text('\n{"a": 2, "b": 0.5}', encoding="utf-8")
    assert read_weights(path) == {"a": 2.0, "b": 0.5}


def test_endless_files_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit of all files holds for weights too."""
    path = tmp_path / "w.csv"
    path.write_text("a,1\n" * 1000, encoding="utf-8")
    monkeypatch.setenv("ABTUNE_MAX_GIB", "1e-6")
    with pytest.raises(InputError, match="the most that is read"):
        read_weights(path)


def test_unreadable_files(tmp_path: Path) -> None:
    """A missing file, a folder and bytes that are no text are one line."""
    with pytest.raises(InputError, match="cannot read"):
        read_weights(tmp_path / "absent.csv")
    with pytest.raises(InputError, match="cannot read"):
        read_weights(tmp_path)
    (tmp_path / "w.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not a text in UTF-8"):
        read_weights(tmp_path / "w.csv")
