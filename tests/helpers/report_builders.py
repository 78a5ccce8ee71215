"""Analyses made by hand, so that renderings can be tested without statistics."""

from __future__ import annotations

import dataclasses
import io
import math
import re
from typing import Any

import numpy as np
import xarray as xr
from rich.console import Console

from abtune.compare.results import (
    Aggregate,
    Analysis,
    Claim,
    Comparison,
    Improvement,
    LeaveOneOut,
    Overall,
    Side,
    Verdict,
    Without,
    Worst,
)
from abtune.compare.settings import Settings
from abtune.dataset.schema import REPEAT, RUN, RunStatus
from abtune.report.formats.terminal import print_page
from abtune.report.page import Page, Report, Section
from abtune.shapes import PRESETS
from abtune.stats.across_shapes import Heterogeneity

NAN = math.nan


def printed(page: Page, width: int) -> str:
    """Print a page on a terminal of a width, without colours."""
    console = Console(file=io.StringIO(), width=width, color_system=None)
    print_page(page, console)
    output = console.file.getvalue()  # type: ignore[attr-defined]
    return "".join(f"{line.rstrip()}\n" for line in output.splitlines())


def report_of(*pages: Page) -> Report:
    """Return pages as a report."""
    return Report(sections=tuple(Section(name="", page=tuple(page), result=None) for page in pages))


def make_side(config: str = "mainline", **fields: Any) -> Side:
    counts = dict.fromkeys(("failed", "failed_pairs", "untimed"), 0)
    return Side(**{"config": config, "n": 10, **counts, "latency": 1e-4, "noise": 0.043, **fields})


def make_comparison(shape: str = "M=512_N=256_K=640", **fields: Any) -> Comparison:
    defaults: dict[str, Any] = {
        "shape": shape,
        "workload": "gemm_nn" if shape.startswith("M=") else "conv2d_nhwc",
        "baseline": make_side("mainline"),
        "candidate": make_side("async", latency=0.9e-4, noise=0.0071),
        "boost": 0.1111,
        "boost_low": 0.0623,
        "boost_high": 0.1604,
        "boost_low_simultaneous": 0.0331,
        "boost_high_simultaneous": 0.1948,
        "boost_at_least": 0.0412,
        "p": 0.00021,
        "p_adjusted": 0.0034,
        "p_welch": 0.00034,
        "p_welch_adjusted": 0.0051,
        "p_resampled": None,
        "p_resampled_adjusted": None,
        "p_equivalence": 0.98,
        "p_equivalence_adjusted": 1.0,
        "detectable": 0.09,
        "fewest_seeds": 7,
        "noise_of_pairs": NAN,
        "gates": (),
        "verdict": Verdict.IMPROVED,
        "reason": "Adjusted p is at most 0.05 and the interval lies above zero.",
        "caveats": (),
    }
    return Comparison(**{**defaults, **fields})


def make_analysis(*comparisons: Comparison, **fields: Any) -> Analysis:
    aggregate = Aggregate(
        boost=0.11853,
        boost_low=0.0772,
        boost_high=0.1613,
        shapes=len(comparisons),
        meaning="geometric mean over exactly these shapes; error from the seeds",
    )
    overall = Overall(
        these_shapes=aggregate,
        shapes_like_these=dataclasses.replace(
            aggregate, boost_low=-0.0093, boost_high=0.2504, meaning="error from the spread over shapes"
        ),
        unmatched=(),
        leave_one_out=LeaveOneOut(
            low=Without(shape="M=512_N=256_K=640", boost=0.0914),
            high=Without(shape="M=512_N=768_K=3072", boost=0.1391),
        ),
        improvement=Improvement(probability=0.78, low=0.69, high=0.87, shapes=4, meaning="how often it wins"),
        heterogeneity=Heterogeneity(q=41.2, p=0.00031, between=0.083, share=0.927),
        weighted=None,
    )
    chosen = {name: fields.pop(name) for name in Settings.__slots__ if name in fields}
    defaults: dict[str, Any] = {
        "settings": Settings(**{"baseline": "mainline", "candidate": "async", **chosen}),
        "definition": "Boost: latency of the baseline over that of the candidate, minus 1.",
        "comparisons": comparisons,
        "overall": overall,
        "claims": (
            Claim(claim="faster", beyond=0.0, at_least=2, of=len(comparisons), workload=None),
            Claim(claim="not slower", beyond=0.05, at_least=3, of=len(comparisons), workload=None),
            Claim(claim="slower", beyond=0.0, at_least=1, of=len(comparisons), workload=None),
        ),
        "worst": Worst(shape=comparisons[0].shape, boost_low=-0.1203) if comparisons else None,
        "sentence": (
            "async is faster than mainline on average over these shapes: +11.9% (95% interval +7.7 to +16.1)."
        ),
        "caveats": (),
        "shapes_in_dataset": len(comparisons),
    }
    settings = defaults["settings"]
    # Any names are fine here, also those that no dataset can have.
    names = {"shape": [row.shape for row in comparisons], "config": [settings.baseline, settings.candidate]}
    runs = len(comparisons), 2, 1
    untimed = {"latency": (REPEAT, np.full((*runs, 1, 1), NAN))}
    missing = {"run_status": (RUN, np.full(runs, RunStatus.MISSING))}
    defaults["dataset"] = xr.Dataset({**untimed, **missing}, coords={**names, "seed": [0]})
    return Analysis(**{**defaults, **fields})


def typical_analysis() -> Analysis:
    """Every verdict, both workloads, footnotes shared and not, and a shape of which nothing is known."""
    conv = [shape.label for shape in PRESETS["tvm14009"] if shape.workload == "conv2d_nhwc"]
    gemm = [shape.label for shape in PRESETS["tvm14009"] if shape.workload == "gemm_nn"]
    few = "Fewer than 7 seeds a side: no correction over 29 shapes can call a difference."
    tied = "All timings of one side are equal; its spread is taken from the timer's resolution."
    wide = ("boost_low_simultaneous", "boost_high_simultaneous")
    ends = ("boost_low", "boost_high", *wide, "boost_at_least")
    nothing = dict.fromkeys(("boost", *ends, "p", "p_adjusted"), NAN)
    return make_analysis(
        make_comparison(conv[0], p=1.1e-5, p_adjusted=3.1e-4),
        make_comparison(
            conv[5],
            verdict=Verdict.REGRESSED,
            boost=-0.0689,
            boost_low=-0.1021,
            boost_high=-0.0341,
            boost_low_simultaneous=-0.1203,
            boost_high_simultaneous=-0.0112,
            boost_at_least=-0.1178,
            candidate=make_side("async", n=9, failed=1, latency=1.07e-4, noise=0.312),
            caveats=("1 of 10 runs of async failed.",),
        ),
        make_comparison(
            conv[11],
            verdict=Verdict.EQUIVALENT,
            boost=-0.00004,
            boost_low=-0.0112,
            boost_high=0.0098,
            boost_low_simultaneous=-0.0173,
            boost_high_simultaneous=0.0164,
            boost_at_least=-0.0161,
            p=0.8231,
            p_adjusted=1.0,
            caveats=(tied,),
        ),
        make_comparison(
            gemm[0],
            verdict=Verdict.INCONCLUSIVE,
            boost=0.0312,
            boost_low=-0.0204,
            boost_high=0.0871,
            boost_low_simultaneous=-0.0612,
            boost_high_simultaneous=0.1433,
            boost_at_least=-0.0584,
            p=0.2137,
            p_adjusted=1.0,
            baseline=make_side("mainline", n=5),
            candidate=make_side("async", n=5),
            reason="A boost of 9.1 % could have been detected; about 40 seeds a side would settle it.",
            caveats=(few, tied),
        ),
        make_comparison(
            gemm[2],
            verdict=Verdict.NOT_SLOWER,
            boost=0.0583,
            boost_low=0.0021,
            boost_high=0.1172,
            boost_low_simultaneous=-0.0404,
            boost_high_simultaneous=0.1671,
            boost_at_least=-0.0342,
            p=0.0411,
            p_adjusted=0.1233,
            reason="The boost is at least -3.4%. Whether it is faster is not settled.",
        ),
        make_comparison(
            gemm[4],
            verdict=Verdict.INVALID,
            **nothing,
            candidate=make_side("async", n=0, failed=10, latency=NAN, noise=NAN),
            reason="All runs of async failed.",
        ),
        caveats=("These seeds were recorded on two devices.",),
    )


def fields_in(text: str) -> list[str]:
    """Return the fields of the labels in a text; ``H=W=56`` are ``H=56`` and ``W=56``."""
    matches = re.findall(r"((?:[A-Z]+=)+)(\d+)", text)
    return [f"{name}={value}" for names, value in matches for name in names.rstrip("=").split("=")]
