"""Records of AutoTVM and Ansor: each line is a trial, and the least mean is the winner's time."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from import_samples import SAMPLES

import abtune
from abtune.dataset.schema import TrialStatus
from abtune.errors import AbtuneError
from abtune.ingest.importers import Imported, importer_named, recognise, run_importer
from abtune.ingest.sources import find_files

RECORDS = SAMPLES / "tvm_records"
OK = json.dumps({"i": [["k", "llvm"], []], "r": [[1e-3], 0, 1, 1], "v": "v0.6"})


def read(*runs: str, shape: str = "") -> Imported:
    return run_importer(importer_named("tvm-records"), find_files((), runs), {"shape": shape})


def test_autotvm_trials_are_kept_in_order() -> None:
    """A trial is the mean of its times; errors keep their kind."""
    dataset = read(*(f"new={RECORDS}/autotvm-{number}.json" for number in (1, 2))).dataset
    label = 'dense_nopack.x86[["TENSOR",[128,64],"float32"],["TENSOR",[32,64],"float32"],null,"float32"]'
    assert dataset["shape"].values.tolist() == [label]
    assert dataset["latency"].values.ravel().tolist() == [pytest.approx(1.7e-5), 1.5e-5]
    trials = dataset["trial_latency"].values[0, 0, 0]
    np.testing.assert_allclose(trials, [2.1e-5, math.nan, math.nan, 1.7e-5, math.nan])
    assert dataset["trial_status"].values[0, 0].tolist() == [
        [0, TrialStatus.RUN_FAILED, TrialStatus.BUILD_FAILED, 0, TrialStatus.TIMED_OUT],
        [TrialStatus.TIMED_OUT, 0, *[TrialStatus.NOT_RUN] * 3],
    ]
    assert TrialStatus.OK == 0


def test_ansor_tasks_have_their_workload_key() -> None:
    """A label of the user stands in its place."""
    path = f"new={RECORDS}/ansor-1.json"
    dataset = read(path).dataset
    assert dataset["shape"].values.tolist() == ['["matmul", 128, 128, 128, "float32"]']
    assert dataset["latency"].item() == 0.0279606
    assert read(path, shape="M=128_N=128_K=128").dataset["workload"].values.tolist() == ["gemm_nn"]


def test_records_of_the_real_tuner() -> None:
    """Logs in TVM's repository are read, also an older one that begins with a comment."""
    dataset = read(f"new={RECORDS}/ansor-2.json").dataset
    assert dataset["shape"].values.tolist() == ['["matmul_add", 1024, 1024, 1024, "float32"]']
    assert dataset["latency"].item() == 0.0044742
    assert read(f"new={RECORDS}/ansor-3.json").dataset.sizes["shape"] == 2


def test_tasks_may_have_different_numbers_of_trials(tmp_path: Path) -> None:
    """Only the runs of one task are compared, so only theirs are said."""
    other = OK.replace("k", "l", 1)
    for name, records in (("a", [OK, other, other]), ("b", [OK.replace("0.001", "0.002"), other, other])):
        (tmp_path / name).write_text("\n".join(records), encoding="utf-8")
    runs = [f"old={tmp_path / 'a'}", f"new={tmp_path / 'b'}"]
    assert not [note for note in read(*runs).notes if "fewer trials" in note]
    with (tmp_path / "b").open("a", encoding="utf-8") as file:
        file.write(f"\n{other}")
    assert "runs have 2 to 3 trials; fewer trials find slower winners" in read(*runs).notes


@pytest.mark.parametrize("order", ["irv", "riv", "vri"])
def test_the_first_format_of_autotvm(tmp_path: Path, order: str) -> None:
    """Before TVM 0.7 a key had one letter, as those of Ansor have; old Python wrote them in any order."""
    config = {"t": "direct", "c": None, "e": []}
    inputs = ["cuda", "dense", [["TENSOR", [1, 3], "float32"]], {}, None]
    records = [
        {"i": [*inputs, {"i": index, **config}], "r": [[cost], code, 2.0, 1e9], "v": 0.1}
        for index, (cost, code) in enumerate(((1e9, 4), (2e-3, 0)))
    ]
    lines = [json.dumps({key: record[key] for key in order}) for record in records]
    (tmp_path / "f").write_text("\n".join(lines), encoding="utf-8")
    assert recognise(find_files((), [f"a={tmp_path / 'f'}"])).name == "tvm-records"
    dataset = read(f"a={tmp_path / 'f'}").dataset
    assert dataset["shape"].item() == 'dense[["TENSOR",[1,3],"float32"]]'
    assert dataset["latency"].item() == 2e-3
    assert dataset["trial_status"].values.ravel().tolist() == [TrialStatus.RUN_FAILED, TrialStatus.OK]
    (tmp_path / "f").write_text("\n".join([*lines, lines[1]]), encoding="utf-8")
    with pytest.raises(AbtuneError, match="line 3: configuration 1 was tried in line 2 already"):
        read(f"a={tmp_path / 'f'}")


def test_marks_within_a_text_end_no_line(tmp_path: Path) -> None:
    """JSON allows marks in a text which Unicode counts as ends of lines."""
    (tmp_path / "f").write_text(OK.replace('"k"', '"a\u2028b"') + "\n", encoding="utf-8")
    assert read(f"a={tmp_path / 'f'}").dataset["shape"].item() == "a\u2028b"


def test_a_file_may_hold_several_tasks(tmp_path: Path) -> None:
    """Each is a shape, and one label cannot name both."""
    (tmp_path / "f").write_text(OK + "\n" + OK.replace('"k"', '"l"') + "\n", encoding="utf-8")
    assert read(f"a={tmp_path / 'f'}").dataset["shape"].values.tolist() == ["k", "l"]
    with pytest.raises(AbtuneError, match=r"has 2 tasks .*; a label can name only one"):
        read(f"a={tmp_path / 'f'}", shape="s")


def autotvm(*configs: int, pause: float = 0.0) -> str:
    """Return records of AutoTVM, each a second after the one before; the pause comes before the last."""
    inputs = ["llvm", "dense", [["TENSOR", [1, 3], "float32"]], {}]
    ends = [float(index) for index in range(len(configs) - 1)] + [len(configs) + pause]
    return "".join(
        json.dumps({"input": inputs, "config": {"index": config}, "result": [[1e-3], 0, 1.0, end]}) + "\n"
        for config, end in zip(configs, ends, strict=True)
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (autotvm(*range(20), *range(20)), "line 40: configuration 19 was tried in line 20 already"),
        (autotvm(8, 3, 5, 9, 2, 3, 9), "line 7: configuration 9 was tried in line 4"),
        (autotvm(0, 1, 2, 3, 0, pause=1e3), "line 5: configuration 0 was tried in line 1"),
        (autotvm(0, 1, 2, 3, 0, pause=-1e3), "line 5: configuration 0 was tried in line 1"),
    ],
)
def test_a_second_search_in_a_file_is_refused(tmp_path: Path, text: str, line: str) -> None:
    """AutoTVM appends to its log; a configuration comes again only in another search."""
    (tmp_path / "f").write_text(text, encoding="utf-8")
    with pytest.raises(AbtuneError, match=f"{line}.*give each a file of its own"):
        read(f"a={tmp_path / 'f'}")


def test_comments_alone_are_no_search(tmp_path: Path) -> None:
    """A file of comments has no trial, and is refused in one line."""
    (tmp_path / "f").write_text("# only a comment\n", encoding="utf-8")
    with pytest.raises(AbtuneError, match="has no trial; give the file of a search"):
        read(f"a={tmp_path / 'f'}")


def test_a_task_of_a_file_has_one_target(tmp_path: Path) -> None:
    """Records of two targets in a file are two searches; those of two files are said."""
    llvm, cuda = autotvm(0, 1), autotvm(2, 3).replace("llvm", "cuda")
    (tmp_path / "f").write_text(llvm + cuda, encoding="utf-8")
    said = "line 3: dense.* was tuned for cuda, and in line 1 for llvm; give each target a file of its own"
    with pytest.raises(AbtuneError, match=said):
        read(f"a={tmp_path / 'f'}")
    (tmp_path / "f").write_text(llvm + cuda.replace("cuda", "x" * 5_000), encoding="utf-8")
    with pytest.raises(AbtuneError, match=r"was tuned for x{197}[.]{3}, and in line 1 for llvm"):
        read(f"a={tmp_path / 'f'}")
    for name, text in (("old", llvm), ("new", cuda)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    both = read(*(f"{n}={tmp_path / n}" for n in ("old", "new")))
    assert "runs were tuned for different targets" in both.notes
    assert abtune.analyze(both.dataset).caveats[0].startswith("The targets of old and new differ")
    alone = read(f"old={tmp_path / 'old'}")
    assert alone.dataset.attrs["target"] == "llvm"
    assert "runs were tuned for different targets" not in alone.notes
    assert "caveats" not in alone.dataset.attrs


def test_the_genetic_tuner_fills_its_batches(tmp_path: Path) -> None:
    """GATuner repeats the first configurations of a generation of four in batches of three."""
    (tmp_path / "f").write_text(autotvm(9, 7, 5, 3, 9, 7, 2, 4, 6, 8, 2, 4), encoding="utf-8")
    assert read(f"a={tmp_path / 'f'}").dataset.sizes["trial"] == 12


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (OK[:-5], "the JSON is cut short in line 2"),
        (OK.replace('"r"', '"s"'), "line 2: is no record of AutoTVM or Ansor"),
        (OK.replace(" 0,", " 9,"), "line 2: error 9 of 'k' is none that abtune knows"),
        (OK.replace("[0.001]", "[]"), "line 2: has no times, though it ended without an error"),
        (OK.replace("0.001", "-1"), "line 2: a time must be positive, not -1"),
        (OK.replace('"k"', '"\\u0000"'), "line 2: error 0 of .* is none"),
    ],
)
def test_bad_records_say_where(tmp_path: Path, line: str, said: str) -> None:
    """One line names file, line and what is wrong."""
    (tmp_path / "f").write_text(f"{OK}\n{line}\n", encoding="utf-8")
    with pytest.raises(AbtuneError, match=said):
        read(f"a={tmp_path / 'f'}")
