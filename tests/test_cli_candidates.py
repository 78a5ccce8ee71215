"""Several candidates against one baseline: each is judged, and the tests are corrected over all."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
import xarray as xr
from compare_builders import make_candidates
from running import Run

import abtune
from abtune.compare.compare import compare
from abtune.compare.results import Analysis, Verdict
from abtune.dataset.provenance import CAVEATS, CONFOUNDED
from abtune.errors import InputError

pytestmark = pytest.mark.usefixtures("empty_folder", "plain_environment")
BOOSTS = {"tiled": [0.2, 0.2, 0.0, 0.0], "cached": [0.0, -0.2, 0.3, 0.0]}


@pytest.fixture(autouse=True)
def dataset(empty_folder: object) -> xr.Dataset:
    made = make_candidates(BOOSTS)
    abtune.save_dataset(made, "abtune.nc")
    return made


def test_plans_share_the_level_as_the_report_does(run: Run) -> None:
    """Unless one candidate is named, a plan and a calibration are for all of them."""
    shared, alone = (" ".join(run("power", *chosen).out.split()) for chosen in ((), ("--candidate", "tiled")))
    assert "Level 2.5% for each of 2 candidates, corrected over 4 shapes." in shared
    assert "Level 5%, corrected over 4 shapes." in alone
    plan = abtune.power(abtune.open_dataset("abtune.nc"), of_candidates=2)
    assert plan.goal.requirement.level == pytest.approx(0.05 / 2 / 4)
    with pytest.raises(InputError, match="of_candidates is a whole number from 1 on, not 0"):
        abtune.power(cv=0.1, of_candidates=0)
    few = "--replications", "100", "--boost", "20"
    assert "tests at 2.5% for each of 2 candidates" in run("calibrate", *few).out
    assert "candidates" not in run("calibrate", *few, "--candidate", "cached").out.partition("\n\n")[0]


def test_every_candidate_has_a_row_and_a_report(run: Run) -> None:
    """The table of candidates comes first; each candidate's own report follows."""
    text = run("analyze").out
    assert text.startswith("2 candidates against stock\n")
    lines = text.splitlines()
    assert [line.split()[0] for line in lines[2:4]] == ["tiled", "cached"]
    assert text.index("tiled against stock") < text.index("cached against stock")
    assert "tests at 2.5% for each of 2 candidates" in text
    assert "also has" not in text
    shared = "each candidate is tested at 2.5%. Intervals are not."
    assert shared in " ".join(text.split())


def test_the_shared_level_has_three_digits(run: Run) -> None:
    """Of four candidates each is tested at 1.25 %, and of three at 1.67 %."""
    for number, level in ((4, "1.25%"), (3, "1.67%")):
        several = make_candidates({f"c{index}": [0.0] * 4 for index in range(number)})
        abtune.save_dataset(several, "several.nc")
        text = " ".join(run("analyze", "several.nc").out.split())
        assert f"each candidate is tested at {level}." in text
        assert f"tests at {level} for each of {number} candidates" in text
        assert f"Level {level} for each" in run("power", "several.nc").out


def test_a_caveat_of_all_candidates_stands_once(run: Run, dataset: xr.Dataset) -> None:
    """What an import saw stands below the table of candidates, and not again in the report of each."""
    stored = [f"{CONFOUNDED} (driver: 535 in stock, 550 in tiled and 560 in cached). Run both alike."]
    abtune.save_dataset(dataset.assign_attrs({CAVEATS: json.dumps(stored)}), "drivers.nc")
    text = " ".join(run("analyze", "drivers.nc").out.split())
    assert text.count("driver: 535 in stock") == 1
    assert text.index("driver: 535 in stock") < text.index("tiled against stock")
    assert text.count("Each seed was timed once, so the measurement error is unknown.") == 1
    for alone in (["--candidate", "tiled"], ["--section", "summary"], ["--format", "sentence"]):
        text = " ".join(run("analyze", "drivers.nc", *alone).out.split())
        assert "But more differs than the configuration (driver: 535 in stock" in text
    document = json.loads(run("analyze", "drivers.nc", "--format", "json").out)
    assert all(stored[0] in report["caveats"] for report in document["candidates"])


def test_one_candidate_is_chosen_by_name(run: Run) -> None:
    """Its tests are not corrected for the others, and the report says that there are others."""
    text = run("analyze", "--candidate", "cached").out
    assert text.startswith("cached against stock")
    assert "The dataset also has tiled." in text
    assert "of 2 candidates" not in text
    assert run("analyze", "--baseline", "tiled").out.startswith("2 candidates against tiled")


def test_a_figure_has_the_verdicts_of_the_report(
    run: Run, monkeypatch: pytest.MonkeyPatch, dataset: xr.Dataset
) -> None:
    """Without a choice the first candidate is drawn as one of all; one chosen by name is judged alone."""
    pytest.importorskip("matplotlib")
    drawn: list[Analysis] = []
    plot = Analysis.plot
    monkeypatch.setattr(
        Analysis, "plot", lambda self, *how, **more: drawn.append(self) or plot(self, *how, **more)
    )
    assert run("plot", "--out", "a.svg").code == 0
    assert run("plot", "--candidate", "tiled", "--out", "b.svg").code == 0
    alone = abtune.analyze(dataset, candidate="tiled")
    assert [one.settings for one in drawn] == [abtune.analyze_all(dataset)[0].settings, alone.settings]


def test_json_has_the_report_of_each_candidate(run: Run, dataset: xr.Dataset) -> None:
    """Each entry is the report of that candidate by itself, with the sections that were asked for."""
    document = json.loads(run("analyze", "--format", "json", "--section", "report,noise").out)
    assert set(document) == {"abtune_version", "candidates"}
    for report, analysis in zip(document["candidates"], abtune.analyze_all(dataset), strict=True):
        alone = json.loads(analysis.report("json"))
        del alone["abtune_version"]
        assert report.pop("noise")
        assert report == alone


def test_each_format_tells_candidates_apart(run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(run("analyze", "--format", "csv").out)))
    assert (
        "cannot show overall and noise; take"
        in run("analyze", "--format", "csv", "--section", "report,overall", "--section", "report,noise").err
    )
    assert [row["candidate"] for row in rows] == ["tiled"] * 4 + ["cached"] * 4
    suite = ElementTree.fromstring(run("analyze", "--format", "junit").out)  # noqa: S314 - our own
    cases = [(case.attrib["classname"], case.attrib["name"]) for case in suite]
    assert len(set(cases)) == 8
    assert cases[0] == ("tiled.shapes", "shape0")
    assert "::error title=cached on shape1::" in run("analyze", "--format", "github").out
    sentences = run("analyze", "--format", "sentence").out.splitlines()
    assert [sentence.split()[0] for sentence in sentences] == ["tiled", "cached"]
    for form in ("html", "markdown", "latex"):
        assert "cached against stock" in run("analyze", "--format", form).out


def test_csv_has_its_headings_where_no_row_is_shown(run: Run) -> None:
    """A program that reads it needs the names of the columns, also of none."""
    none = run("analyze", "--show", "invalid", "--format", "csv").out
    assert (none.count("\n"), none.startswith("shape,workload,")) == (1, True)


def test_gates_and_sections_are_those_of_every_candidate(run: Run) -> None:
    gated = run("analyze", "--fail-on", "regressed")
    assert gated.code == 1
    assert gated.err == "abtune: --fail-on regressed: shape1 (cached)\n"
    text = run("analyze", "--explain", "shape1").out
    headings = [text.index(line) for line in ("tiled against stock", "cached against stock")]
    stories = [position for position in range(len(text)) if text.startswith("shape1", position)]
    assert headings[0] < stories[0] < headings[1] < stories[1]


def test_a_candidate_without_a_verdict_passes_no_gate(run: Run, dataset: xr.Dataset) -> None:
    """The gate names the candidate without a timing, though the other one has verdicts."""
    latency = dataset["latency"].where(dataset["config"] != "tiled")
    abtune.save_dataset(dataset.assign(latency=latency), "lost.nc")
    outcome = run("analyze", "lost.nc", "--fail-on", "inconclusive")
    assert (outcome.code, outcome.err) == (
        1,
        "abtune: --fail-on inconclusive: no shape has a verdict (tiled)\n",
    )


def test_candidates_share_the_level_equally(dataset: xr.Dataset) -> None:
    """An analysis of one of two is the same as one at half the level; the intervals keep theirs."""
    both = abtune.analyze_all(dataset)
    alone = abtune.analyze(dataset, candidate="cached")
    shared = abtune.analyze(dataset, candidate="cached", of_candidates=2)
    assert both[1].comparisons == shared.comparisons
    assert shared.settings.alpha == alone.settings.alpha / 2
    for one, other in zip(alone.comparisons, shared.comparisons, strict=True):
        assert (one.boost_low, one.p_adjusted) == (other.boost_low, other.p_adjusted)
        assert other.boost_low_simultaneous < one.boost_low_simultaneous
        assert other.boost_at_least < one.boost_at_least
    assert [row.verdict for row in both[0].comparisons[:2]] == [Verdict.IMPROVED] * 2
    assert both[1].comparisons[1].verdict is Verdict.REGRESSED


def test_a_figure_says_that_it_has_one_of_several(run: Run) -> None:
    """Without --candidate the second configuration is drawn, as if there were no other."""
    pytest.importorskip("matplotlib")
    said = run("plot", "--out", "f.png").out
    assert said == "f.png: 4 shapes; tiled is one of 2 candidates: --candidate NAME draws another\n"
    assert run("plot", "--candidate", "cached", "--out", "f.png").out == "f.png: 4 shapes\n"


@pytest.mark.parametrize("correction", ["bh", "none"])
def test_a_screen_is_not_corrected_over_candidates(dataset: xr.Dataset, correction: str) -> None:
    (first, _) = abtune.analyze_all(dataset, correction=correction)
    assert first.settings.alpha == 0.05
    assert "candidates" not in first.report("table").split("\n\n")[1]


def test_what_cannot_be_used_is_refused(dataset: xr.Dataset) -> None:
    with pytest.raises(InputError, match="of_candidates is a whole number from 1 on, not 0"):
        abtune.analyze(dataset, of_candidates=0)
    with pytest.raises(InputError, match="unknown configuration"):
        abtune.analyze_all(dataset, baseline="stok")
    with pytest.raises(InputError, match=r"judges every candidate; for one, use abtune\.analyze"):
        abtune.analyze_all(dataset, candidate="old")
    with pytest.raises(InputError, match="takes two configurations"):
        abtune.analyze_all(dataset.isel(config=[0]))


@pytest.mark.slow
def test_a_report_of_many_candidates_rarely_claims_what_is_not() -> None:
    """Four candidates that do not differ from the baseline: any false claim in 5 % of reports at most."""
    reports, wrong, alone, means = 40, 0, 0, 0
    rng = np.random.default_rng(4)
    shapes = [f"shape{index}" for index in range(6)]
    for _ in range(reports):
        log = rng.normal(0, 0.1, (6, 5, 8))
        made = abtune.make_dataset(np.exp(log), shapes=shapes, configs=list("abcde"))
        analyses = abtune.analyze_all(made)
        claims = {Verdict.IMPROVED, Verdict.REGRESSED}
        wrong += any(row.verdict in claims for analysis in analyses for row in analysis.comparisons)
        means += any(analysis.sentence.startswith(("b is", "c is", "d is", "e is")) for analysis in analyses)
        each_alone = (compare(made, replace(analysis.settings, of_candidates=1)) for analysis in analyses)
        alone += any(row.verdict in claims for analysis in each_alone for row in analysis.comparisons)
    assert wrong <= 0.09 * reports
    assert alone > wrong
    assert means <= 0.09 * reports  # 7 without a level that candidates share
