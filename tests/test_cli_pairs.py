"""Every command with a dataset of shared design, whose seeds are pairs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from running import Run
from scipy import stats

import abtune

pytestmark = pytest.mark.usefixtures("datasets", "plain_environment")
BOOSTS = (0.0, 0.1, 0.25)


def log_latency(seed: int, shared: float) -> np.ndarray:
    """Log seconds of three shapes, two sides and ten seeds, with a noise of 15 % on each side."""
    rng = np.random.default_rng(seed)
    common, own = rng.normal(0, 0.15, (3, 1, 10)), rng.normal(0, 0.15, (3, 2, 10))
    log = -8 + np.sqrt(shared) * common + np.sqrt(1 - shared) * own
    log[:, 1] -= np.log1p(BOOSTS)[:, np.newaxis]
    return log


@pytest.fixture
def datasets(empty_folder: Path) -> None:
    """Two shared sweeps, one with trials and an incomplete pair, and one of independent seeds."""
    fields: dict[str, Any] = {"shapes": ["s0", "s1", "s2"], "configs": ["mainline", "async"]}
    log = log_latency(1, 0.9)
    trials = np.exp(log[..., np.newaxis] + np.abs(np.random.default_rng(4).normal(0, 0.3, (3, 2, 10, 12))))
    status = np.zeros((3, 2, 10), dtype=int)
    status[2, 0, 9] = abtune.RunStatus.FAILED
    shared = abtune.make_dataset(np.exp(log), run_status=status, design="shared", **fields)
    origin = np.broadcast_to(np.arange(12) >= 8, trials.shape).astype(int)
    every = np.zeros(trials.shape, dtype=int)
    shared = abtune.add_variables(shared, trial_latency=trials, trial_status=every, trial_origin=origin)
    abtune.save_dataset(shared, "shared.nc")
    other = abtune.make_dataset(np.exp(log_latency(2, 0.9)), design="shared", **fields)
    abtune.save_dataset(other, "other.nc")
    abtune.save_dataset(abtune.make_dataset(np.exp(log_latency(3, 0.0)), **fields), "separate.nc")


def read(run: Run, *arguments: str) -> dict[str, Any]:
    outcome = run(*arguments, "--format", "json")
    assert (outcome.code, outcome.err) == (0, "")
    document: dict[str, Any] = json.loads(outcome.out)
    return document


def words(run: Run, *arguments: str) -> str:
    outcome = run(*arguments)
    assert (outcome.code, outcome.err) == (0, "")
    return " ".join(outcome.out.split())


def test_the_report_says_equal_knowledge(run: Run) -> None:
    """Heading, sentence, numbers of pairs, and what was left out."""
    text = words(run, "analyze", "shared.nc")
    assert text.startswith("async against mainline at equal knowledge At equal knowledge, async is faster")
    assert "up to 10 pairs per shape" in text
    assert "This is not the boost of tuning alone." in text
    assert "async: 1 run left out, because the other run of the pair has no timing." in text


def test_the_noise_in_the_table_is_that_of_the_test(run: Run) -> None:
    """Each side has a noise of 15 %, their differences one of 7 %; --sort noise sorts by it, too."""
    report, log = read(run, "analyze", "shared.nc"), log_latency(1, 0.9)
    expected = {
        row["shape"]: np.std(log[index, 0, :n] - log[index, 1, :n], ddof=1)
        for index, row in enumerate(report["comparisons"])
        for n in [row["n_baseline"]]
    }
    for row in report["comparisons"]:
        assert row["noise_of_pairs"] == pytest.approx(expected[row["shape"]])
    lines = run("analyze", "shared.nc", "--format", "markdown", "--sort", "noise").out.splitlines()
    cells = [[cell.strip(" `") for cell in line.split("|")] for line in lines if "|" in line]
    where = next(row.index("noise %") for row in cells if "noise %" in row)
    shown = {row[1]: row[where] for row in cells if row[1] in expected and len(row) > where}
    assert shown == {shape: f"{100 * noise:.1f}" for shape, noise in expected.items()}
    assert [*shown] == sorted(expected, key=expected.__getitem__, reverse=True)
    separate = read(run, "analyze", "separate.nc")["comparisons"]
    assert {row["noise_of_pairs"] for row in separate} == {None}


def test_json_has_the_design_and_the_numbers_of_pairs(run: Run) -> None:
    """The p-values are those of scipy's paired t-test of the whole pairs."""
    report, log = read(run, "analyze", "shared.nc"), log_latency(1, 0.9)
    assert (report["design"], report["method"]) == ("shared", "paired-bootstrap")
    assert report["test_method"].startswith("sign-flip test")
    rows = report["comparisons"]
    assert [(row["n_baseline"], row["n_candidate"]) for row in rows] == [(10, 10), (10, 10), (9, 9)]
    for index, row in enumerate(rows):
        oracle = stats.ttest_rel(*log[index, :, : row["n_baseline"]])
        assert row["p_welch"] == pytest.approx(oracle.pvalue)
    assert rows[2]["verdict"] == "improved"
    assert read(run, "analyze", "separate.nc")["design"] == "independent"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--method", "welch"],
            "which this dataset has; choose paired-bootstrap, paired-t",
        ),
        (
            ["--estimand", "best-of:2"],
            "there is no best-of:2 of pairs, which this dataset has; use geometric-mean",
        ),
    ],
)
def test_what_makes_no_sense_for_pairs_is_one_line(run: Run, options: list[str], said: str) -> None:
    """The line says what to use."""
    outcome = run("analyze", "shared.nc", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1
    assert said in outcome.err


def test_what_makes_no_sense_for_independent_seeds_is_one_line(run: Run) -> None:
    """A paired method is refused, and the line says which there are."""
    outcome = run("analyze", "separate.nc", "--method", "paired-t")
    assert (
        "no interval 'paired-t' of the geometric-mean of independent seeds, which this dataset has; choose "
        in outcome.err
    )


def test_gates_judge_pairs(run: Run) -> None:
    """The worst shape has a bound that independent seeds with this noise could not give."""
    assert run("analyze", "shared.nc", "--fail-on", "slower-than:4%").code == 0
    assert run("analyze", "shared.nc", "--fail-on", "slower-than:1%").code == 1
    independent = abtune.open_dataset("shared.nc").assign_attrs(design="independent")
    abtune.save_dataset(independent, "unpaired.nc")
    assert run("analyze", "unpaired.nc", "--fail-on", "slower-than:4%").code == 1


def test_a_shape_is_explained_by_its_pairs(run: Run) -> None:
    """Every paired method, every pair, and what becomes of the verdict without one."""
    story = read(run, "analyze", "shared.nc", "--explain", "s2")["explain"]
    assert [row["method"] for row in story["intervals"]] == [
        "paired-bootstrap",
        "paired-t",
    ]
    assert [row["test"] for row in story["tests"]] == ["sign-flip", "equivalence"]
    log = log_latency(1, 0.9)[2, :, :9]
    boosts = {pair["seed"]: pair["boost"] for pair in story["pairs"]}
    assert boosts == pytest.approx(dict(enumerate(np.expm1(log[0] - log[1]))))
    text = words(run, "analyze", "shared.nc", "--explain", "s2")
    assert "Boosts of the pairs, % (seed): " in text
    assert "No single pair would: without any one the verdict stays improved." in text
    assert "two whole pairs (9)" in text
    close = words(run, "analyze", "shared.nc", "--explain", "s0", "--margin", "3")
    assert "pairs find it with 80% power" in close


def test_power_counts_pairs(run: Run) -> None:
    """Noise is that of the differences. Six pairs can differ, also over 29 shapes."""
    plan = read(run, "power", "shared.nc", "--shapes", "29", "--boost", "20")
    log = log_latency(1, 0.9)
    differences = log[:, 0] - log[:, 1]
    variance = np.array([np.var(row[: 10 - (index == 2)], ddof=1) for index, row in enumerate(differences)])
    pooled = np.sqrt(np.average(variance, weights=[9, 9, 8]))
    assert plan["baseline"]["spread"] == plan["candidate"]["spread"] == pytest.approx(pooled)
    assert plan["fewest"] == 6
    assert (
        plan["needs"][0]["seeds"]
        < read(run, "power", "separate.nc", "--shapes", "29", "--boost", "20")["needs"][0]["seeds"]
    )
    text = words(run, "power", "shared.nc")
    assert "pooled over the shapes of shared.nc: differences of pairs" in text
    assert "pairs that find a boost with 80% power" in text
    assert "Below 6 pairs no shape can be shown to differ." in text
    assert "A boost is found if the test of a verdict finds it." in text
    assert "seeds per configuration" not in text


def test_calibrate_simulates_pairs(run: Run) -> None:
    """As many pairs as there are."""
    report = read(run, "calibrate", "shared.nc", "--replications", "100")
    assert [row["n_baseline"] for row in report["simulated"]] == [10, 10, 9]
    assert all(row["coverage"] > 0.88 for row in report["simulated"])
    assert all(row["power"][2] > 0.5 for row in report["simulated"])
    assert "sign-flip" in words(run, "calibrate", "shared.nc", "--replications", "100")


def test_compare_says_what_is_left_at_equal_knowledge(run: Run) -> None:
    """Both mean boosts stand in the table, and a sentence says what their ratio means."""
    change = read(run, "compare", "separate.nc", "shared.nc")
    assert change["designs"] == ["independent", "shared"]
    separate, shared = change["boosts"]
    assert change["overall"]["change"] == pytest.approx((1 + shared["change"]) / (1 + separate["change"]) - 1)
    overall = read(run, "analyze", "shared.nc")["overall"]["these_shapes"]
    assert [shared[end] for end in ("low", "change", "high")] == pytest.approx(
        [overall[name] for name in ("boost_low", "boost", "boost_high")]
    )
    names = ("separate.nc", "shared.nc")
    texts = [words(run, "compare", *order) for order in (names, names[::-1])]
    means = [f"{100 * mean['change']:+.1f}" for mean in (separate, shared)]
    for text, (one, two) in zip(texts, (means, means[::-1]), strict=True):
        assert re.search(rf" overall \S+ \S+ to \S+ {re.escape(f'{one} {two}')} ", text)
        assert "So a change shows what separate searches add" in text
        assert "Not the same in A and B: design (" in text
    assert "separate searches" not in words(run, "compare", "shared.nc", "other.nc")
    assert "separate searches" not in words(run, "compare", "shared.nc", "separate.nc", "--config", "async")


def test_merge_keeps_designs_apart(run: Run) -> None:
    """One line; two shared datasets of other seeds become one."""
    refused = run("merge", "shared.nc", "separate.nc", "--out", "all.nc")
    assert refused.code == 2
    assert refused.err == (
        "abtune: design is 'shared' in shared.nc, but 'independent' in separate.nc; datasets that were "
        "measured differently cannot be merged\n"
    )
    other = abtune.open_dataset("other.nc")
    abtune.save_dataset(other.assign_coords(seed=other["seed"] + 10), "more.nc")
    assert run("merge", "shared.nc", "more.nc", "--out", "all.nc").code == 0
    assert read(run, "analyze", "all.nc")["comparisons"][0]["n_baseline"] == 20


def test_trials_are_compared_in_pairs(run: Run) -> None:
    """By the curve; before the first exchange a side knows its own schedules only."""
    note = "Before the first exchange, each search knows only its own schedules."
    curve = read(run, "analyze", "shared.nc", "--section", "report,curve")["curve"]
    points = [shape["points"][-1] for shape in curve["shapes"]]
    assert [point["n_candidate"] for point in points] == [10, 10, 9]
    assert note in curve["caveats"]


def test_all_shapes_together(run: Run) -> None:
    """Pairs won, in place of runs that win."""
    text = words(run, "analyze", "shared.nc", "--section", "report,overall")
    assert "Share of the pairs in which the candidate is faster, mean over these shapes: " in text


def test_pairs_are_planned_with_the_noise_of_separate_runs(run: Run) -> None:
    """The variance of a difference is s1^2 + s2^2 - 2 r s1 s2; a shared dataset shows its own."""
    spread = np.sqrt(np.log1p(0.15**2))
    plan = read(run, "power", "--cv", "15", "--correlation", "0.7")
    assert plan["baseline"]["spread"] == pytest.approx(spread * np.sqrt(2 * 0.3))
    assert plan["fewest"] == 6
    separate = read(run, "power", "separate.nc")
    correlated = read(run, "power", "separate.nc", "--correlation", "0.5")
    one, two = (separate[side]["spread"] for side in ("baseline", "candidate"))
    assert correlated["baseline"]["spread"] == pytest.approx(np.sqrt(one**2 + two**2 - one * two))
    assert correlated["needs"][3]["seeds"] < separate["needs"][3]["seeds"]
    assert "The correlation of pairs, 0.5, is given, not measured." in words(
        run, "power", "separate.nc", "--correlation", "0.5"
    )
    refused = run("power", "shared.nc", "--correlation", "0.5")
    assert refused.err == "abtune: the dataset has pairs, which show their own correlation; leave it out\n"


def test_the_seeds_are_drawn_of_whole_pairs(run: Run) -> None:
    """A figure has the runs that the report judges."""
    pytest.importorskip("matplotlib")
    for kind in ("seeds", "forest", "trials"):
        assert run("plot", "shared.nc", "--kind", kind, "--out", f"{kind}.svg").code == 0


def test_datasets_without_enough_pairs_say_so(run: Run) -> None:
    """One pair, no pair, or all runs failed: every command has an answer or one line."""
    fields: dict[str, Any] = {
        "shapes": ["s0", "s1", "s2"],
        "configs": ["mainline", "async"],
        "design": "shared",
    }
    latency = np.exp(log_latency(5, 0.5))[..., :2]
    status = np.zeros(latency.shape, dtype=int)
    status[0, 0, 0] = status[1, 0, 0] = status[1, 1, 1] = abtune.RunStatus.FAILED
    status[2] = abtune.RunStatus.FAILED
    abtune.save_dataset(abtune.make_dataset(latency, run_status=status, **fields), "few.nc")
    report = read(run, "analyze", "few.nc")
    assert [row["verdict"] for row in report["comparisons"]] == ["invalid"] * 3
    assert [row["n_baseline"] for row in report["comparisons"]] == [1, 0, 0]
    assert "One pair supports no verdict." in report["sentence"]
    assert "One pair supports no verdict." in report["caveats"]
    assert any(note.endswith("has no interval: no shape has two whole pairs.") for note in report["caveats"])
    for shape in fields["shapes"]:
        assert "Only more whole pairs can lead to a verdict." in words(
            run, "analyze", "few.nc", "--explain", shape
        )
    for command, said in (
        (["power", "few.nc"], "no shape has two whole pairs, so its noise is unknown; use abtune power --cv"),
        (["calibrate", "few.nc"], "no shape has 3 whole pairs, so there is no noise to calibrate with"),
        (["compare", "few.nc", "other.nc"], "no common shape has two seeds of each configuration"),
    ):
        refused = run(*command)
        assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
        assert said in refused.err
