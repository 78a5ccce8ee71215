"""Texts of files: limits, encodings, and JSON that loses nothing."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import os
import pickle
from pathlib import Path

import pytest

from abtune.errors import AbtuneError, DatasetError, InputError
from abtune.ingest.texts import LIMIT_VARIABLE, is_json_of, parse_json, read_beginning, read_text


def write(folder: Path, content: bytes) -> Path:
    path = folder / "file.txt"
    path.write_bytes(content)
    return path


def test_a_text_is_read_whole(tmp_path: Path) -> None:
    """A mark of its encoding, colours and the ends of lines of other systems are no part of it."""
    path = write(tmp_path, "\ufeffa\r\nb\r\x1b[1mc\x1b[0m\n\u00e9".encode())
    assert read_text(path) == "a\nb\nc\n\u00e9"


@pytest.mark.parametrize("mark", [codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE])
def test_what_windows_writes_is_read(tmp_path: Path, mark: bytes) -> None:
    """A text that begins with the mark of UTF-16 is that, as PowerShell redirects output."""
    encoding = "utf-16-le" if mark == codecs.BOM_UTF16_LE else "utf-16-be"
    text = "\u00e9\n" * 700_000
    path = write(tmp_path, mark + text.replace("\n", "\r\n").encode(encoding))
    assert read_text(path) == text
    assert read_beginning(path).startswith("\u00e9\n\u00e9")
    with pytest.raises(DatasetError, match="not a text in UTF-8"):
        read_text(write(tmp_path, "a".encode("utf-32")))


def test_no_more_is_read_than_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is in GiB; the environment raises it, and what is no number there is said."""
    path = write(tmp_path, b"x" * 3000)
    monkeypatch.setenv(LIMIT_VARIABLE, "2e-6")  # 2147 bytes
    with pytest.raises(
        DatasetError, match=r"has more than 2e-06 GiB, the most that is read; .* set ABTUNE_MAX_GIB"
    ):
        read_text(path)
    monkeypatch.setenv(LIMIT_VARIABLE, "3e-6")
    assert len(read_text(path)) == 3000
    for wrong in ("much", "0", "-1", "inf", "1_0"):
        monkeypatch.setenv(LIMIT_VARIABLE, wrong)
        with pytest.raises(InputError, match=f"ABTUNE_MAX_GIB is '{wrong}'; set it to a number of GiB"):
            read_text(path)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no endless file here")
def test_endless_files_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than the limit is read of them."""
    monkeypatch.setenv(LIMIT_VARIABLE, "0.001")
    with pytest.raises(DatasetError, match=r"has more than 0\.001 GiB"):
        read_text(Path("/dev/zero"))


@pytest.mark.parametrize("begin", ["BZh", "CDF", "PAR1"])
def test_a_text_may_begin_as_other_files_do(tmp_path: Path, begin: str) -> None:
    """Letters make no archive."""
    (tmp_path / "t").write_text(f"{begin},time_ms\n", encoding="utf-8")
    assert read_text(tmp_path / "t") == f"{begin},time_ms\n"


def test_a_name_in_json_has_a_value() -> None:
    """The name of a tool may be a value in the file of another."""
    assert is_json_of('{"nvbench" : 1}', ["nvbench"])
    assert not is_json_of('{"tool": "nvbench"}', ["nvbench"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_pipes_lose_nothing(tmp_path: Path) -> None:
    """To look at the beginning of a pipe would take it away."""
    os.mkfifo(tmp_path / "pipe")
    assert read_beginning(tmp_path / "pipe") == ""
    assert read_beginning(tmp_path) == read_beginning(tmp_path / "absent") == ""


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"a\0b", "not a text in UTF-8"),
        (b"a\xffb", "not a text in UTF-8"),
        (b"abc\xe2\x82", "not a text in UTF-8"),
        *((packed.compress(b"a,b\n"), "is compressed; unpack it") for packed in (bz2, gzip, lzma)),
        (b"PK\x03\x04\x14\0t.csv", "is a workbook or an archive; save its sheet as CSV"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "is a workbook of an older Excel; save its sheet as CSV"),
        *((pickle.dumps([1.5], version), "is a pickle of Python, which could") for version in (2, 3, 4, 5)),
        (b"\x89HDF\r\n\x1a\n\0\0", "is netCDF or HDF5, not a text; if it is a dataset: abtune analyze"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, said: str) -> None:
    """Each with a line that says what it is."""
    with pytest.raises(DatasetError, match=said):
        read_text(write(tmp_path, content))


@pytest.mark.parametrize(
    "text", ['{"a": 3, "a": 1}', '[{"b": {"a": 1, "c": 2, "a": 1}}]', '{"a": 1, "\\u0061": 2}']
)
def test_repeated_keys_are_refused(text: str) -> None:
    """Python would keep the last value without a word."""
    with pytest.raises(DatasetError, match=r"^has 'a' twice in one object; keep one of them"):
        parse_json(text)
    assert parse_json('[{"a": 1}, {"a": 2}]') == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": [1', "^the JSON is cut short"),
        ('{"a": [1,\n}', "^not JSON at line 2, character 1: Expecting value"),
        ("[1] [2]", "more than one JSON document"),
        ("[1,, 2]", "^not JSON at line 1, character 4"),
        ("[\n1,, 2]", "^not JSON at line 2"),
        ("[" * 100_000, "^not JSON"),
        ("9" * 5000, "^not JSON"),
    ],
)
def test_what_is_no_json_is_said(text: str, said: str) -> None:
    """One line says what is wrong, and where in the text."""
    with pytest.raises(AbtuneError, match=said):
        parse_json(text)
