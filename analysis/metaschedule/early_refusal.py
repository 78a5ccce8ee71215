"""Compare searches that refuse early with stock: every verdict, and all candidates, shape by shape.

    PYTHONPATH=. python analysis/metaschedule/early_refusal.py --out early-refusal.json --time-limit 3600

Searches the shapes of a study under both configurations for three iterations, with made-up latencies between
them. Iterations 1 and 3 are searched twice from the same seed: as stock, where every schedule is also judged
early, and as abtune does it. It needs no GPU: the target is the one that the dataset of the study records.

With --own it searches workloads of other kinds, which takes an hour of a core at --population 128.

One process for each core; all shapes of the study take some 8 core hours. What is finished is kept in the
file of --out, and the same command goes on from there. Prints a section with a row for each search.
docs/same-search.md has its numbers, and two of its rows.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import multiprocessing
import os
import shlex
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import abtune
from abtune.configurations import CONFIGURATIONS
from abtune.dataset.schema import TrialStatus
from abtune.measure.plan.plan import rng_for
from abtune.measure.plan.problem import Problem
from abtune.measure.plan.records import Candidate, SearchHistory, Trial
from abtune.shapes import parse_shape

STUDY = Path(__file__).resolve().parents[2] / "data" / "h200-tvm14009.nc"
COUNT = 64
# MetaSchedule's default.
POPULATION = 512
ITERATIONS = 3
COMPARED = (1, 3)
# For --own: data types, numbers of axes, groups, and reads that are not linear.
OWN = (
    "many_workloads:product:m=512_n=512_k=512_bits=64",
    "many_workloads:product:m=512_n=512_k=512_bits=16",
    "many_workloads:bytes_product:m=512_n=512_k=512",
    "many_workloads:attention_values:heads=12_length=384_size=64",
    "many_workloads:convolution:size=28_inputs=64_outputs=128_stride=2_bits=32",
    "many_workloads:convolution:size=14_inputs=64_outputs=64_stride=1_bits=16",
    "many_workloads:grouped:size=14_channels=64_groups=4",
    "many_workloads:in_one_dimension:length=256_channels=128",
    "many_workloads:in_three_dimensions:size=8_channels=32",
    "many_workloads:shared_table:rows=512_columns=256_every=4",
    "other_workloads:attention_scores:heads=12_length=512_size=64",
    "other_workloads:half_product:m=1024_n=1024_k=1024",
    "other_workloads:dense_relu:rows=512_inputs=768_outputs=3072",
    "other_workloads:transposed:size=16_inputs=256_outputs=128",
)
HEADING = "## Refused early"

Row = dict[str, Any]


# --- one search ---------------------------------------------------------------------------------------


def compare(label: str, config: str, target: str, options: dict[str, int]) -> list[Row]:
    """Return a row for each iteration of a search that is compared."""
    problem = Problem(
        shape=parse_shape(label),
        config=replace(CONFIGURATIONS[config], strategy_options=options),
        target=target,
    )
    history, rows = SearchHistory(), []
    for iteration in range(1, ITERATIONS + 1):
        rng = rng_for(0, label, config, iteration)
        rng_seed = int(rng.integers(1, 2**31 - 1))
        early, seconds, repeated = propose(problem, history, rng_seed)
        if iteration in COMPARED:
            verdicts, stock, stock_seconds = propose_as_stock(problem, history, rng_seed)
            rows.append(
                {
                    "shape": label,
                    "config": config,
                    "iteration": iteration,
                    "candidates": len(stock[0]),
                    "same": early == stock,
                    "repeated": repeated,
                    "seconds_stock": stock_seconds,
                    "seconds_early": seconds,
                    **verdicts,
                }
            )
        candidates, model = early
        trials = tuple(timed(candidate, rng) for candidate in candidates)
        history = history.proposed(candidates, cost_model=model, seconds=0.0).tried(trials, seconds=0.0)
    return rows


def timed(candidate: Candidate, rng: np.random.Generator) -> Trial:
    """Return a trial with a made-up latency."""
    return Trial(candidate=candidate, status=TrialStatus.OK, latency=rng.lognormal(-9.0), message="")


Proposed = tuple[tuple[Candidate, ...], bytes]


def propose(problem: Problem, history: SearchHistory, rng_seed: int) -> tuple[Proposed, float, bool]:
    """Return the candidates and the cost model of an iteration, its CPU seconds, and whether it repeated."""
    from abtune.measure.tvm import propose as room

    started = time.process_time()
    candidates, model, repeated = room.propose(problem, history, COUNT, rng_seed)
    return (candidates, model), time.process_time() - started, repeated


def propose_as_stock(
    problem: Problem, history: SearchHistory, rng_seed: int
) -> tuple[dict[str, int], Proposed, float]:
    """Return the verdicts of a stock iteration, its candidates and cost model, and its CPU seconds."""
    from abtune.measure.tvm import propose as room
    from abtune.measure.tvm.early_refusal import (
        LIMITS,
        STOCK,
        VerifyWideCopies,
        early_postprocessors,
        has_wide_copy,
        is_refused,
        verifier,
    )
    from abtune.measure.tvm.load_tvm import ms, tvm
    from abtune.measure.tvm.propose import design_spaces, search_context

    limits = [json.loads(problem.target)[name] for name in LIMITS]
    context = search_context(problem, 1)
    verify = verifier(context.space_generator.postprocs)
    *_, last = early_postprocessors(design_spaces(context, problem)) or [verify]
    met: Counter[tuple[bool, bool]] = Counter()
    judged = [False]

    class Watcher(ms.postproc.PyPostproc):  # type: ignore[misc]
        def _initialize_with_tune_context(self, context: Any) -> None:
            pass

        def clone(self) -> Any:
            raise NotImplementedError

    @tvm.ir.utils.derived_object
    class First(Watcher):
        def apply(self, schedule: Any) -> bool:
            judged[0] = is_refused(schedule.mod, *limits)
            return True

    @tvm.ir.utils.derived_object
    class Last(Watcher):
        def apply(self, schedule: Any) -> bool:
            fits = bool(verify.apply(schedule))
            # What abtune verifies, too, it refuses for the same reason.
            is_wide = isinstance(last, VerifyWideCopies) and has_wide_copy(schedule.mod)
            is_verified = isinstance(last, type(verify)) or is_wide
            met[judged[0] or (is_verified and not fits), not fits] += 1
            return fits

    stock = ms.postproc.Postproc.create("cuda")
    watched = [
        First(),
        *(Last() if isinstance(postprocessor, type(verify)) else postprocessor for postprocessor in stock),
    ]

    def watching(*arguments: Any, **_: Any) -> Any:
        return search_context(*arguments, postprocessors=watched)

    with mock.patch.dict(os.environ, {STOCK: "1"}), mock.patch.object(room, "search_context", watching):
        candidates, seconds, _ = propose(problem, history, rng_seed)
    verdicts = {
        "passed_by_both": met[False, False],
        "refused_by_both": met[True, True],
        "refused_early_only": met[True, False],
        "refused_late_only": met[False, True],
    }
    return verdicts, candidates, seconds


# --- all searches -------------------------------------------------------------------------------------


def compare_all(
    left: Sequence[tuple[str, str]], target: str, options: dict[str, int], done: list[Row], arguments: Any
) -> None:
    """Compare the searches that are left, side by side, and keep what is finished until time is up."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    end = time.monotonic() + arguments.time_limit
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(arguments.cores, spawn) as pool:
        futures = [pool.submit(compare, *search, target, options) for search in left]
        try:
            for future in concurrent.futures.as_completed(futures, timeout=max(end - time.monotonic(), 0)):
                done += future.result()
                keep(done, target, options, arguments.out)
                print(*(done[-1][name] for name in ("shape", "config", "same")), flush=True)
        except TimeoutError:
            print("stopped by the time limit; the same command goes on", flush=True)
        finally:
            for future in futures:
                future.cancel()
            for process in list((pool._processes or {}).values()):
                process.kill()


def keep(rows: list[Row], target: str, options: dict[str, int], path: Path) -> None:
    """Write all rows."""
    written = path.with_suffix(".partial")
    text = json.dumps({"target": target, "strategy_options": options, "rows": rows}, indent=1)
    written.write_text(text + "\n", encoding="utf-8")
    written.replace(path)


def load(path: Path, target: str, options: dict[str, int]) -> list[Row]:
    """Return the rows that are finished."""
    if not path.exists():
        return []
    kept = json.loads(path.read_text(encoding="utf-8"))
    if (kept["target"], kept["strategy_options"]) != (target, options):
        raise SystemExit(f"{path} has rows of another target or other options")
    return list(kept["rows"])


# --- the section --------------------------------------------------------------------------------------


def table(rows: Sequence[Row]) -> list[str]:
    """Return a line for each search, with its iterations together."""
    lines = [
        "| shape | configuration | schedules judged | passed | differ | candidates | same | CPU s, stock "
        "| CPU s, early | ratio |",
        "| --- | --- | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: |",
    ]
    for label, config in dict.fromkeys((row["shape"], row["config"]) for row in rows):
        own = [row for row in rows if (row["shape"], row["config"]) == (label, config)]
        stock, early = total(own, "seconds_stock"), total(own, "seconds_early")
        lines.append(
            f"| `{label}` | {config} | {judged(own):,} | {total(own, 'passed_by_both'):,} | {differ(own)} "
            f"| {total(own, 'candidates')} | {'yes' if all(row['same'] for row in own) else '**no**'} "
            f"| {stock:.0f} | {early:.0f} | {early / stock:.2f} |"
        )
    return lines


def total(rows: Sequence[Row], *names: str) -> Any:
    """Return the sum of columns over rows."""
    return sum(row[name] for row in rows for name in names)


def differ(rows: Sequence[Row]) -> int:
    """Return the number of schedules whose verdicts differ."""
    return int(total(rows, "refused_early_only", "refused_late_only"))


def judged(rows: Sequence[Row]) -> int:
    """Return the number of schedules with both verdicts."""
    return differ(rows) + int(total(rows, "passed_by_both", "refused_by_both"))


def section(rows: Sequence[Row], population: int, command: str) -> str:
    """Return a section with all numbers, and a row for each search."""
    searches = {(row["shape"], row["config"]) for row in rows}
    same = sum(row["same"] for row in rows)
    early, stock = total(rows, "seconds_early"), total(rows, "seconds_stock")
    return "\n".join(
        [
            HEADING,
            "",
            "For CUDA, abtune refuses schedules before they are lowered, and MetaSchedule's `VerifyGPUCode`",
            "checks the candidates that are picked. Each row is one search: iterations 1 and 3,",
            f"population {population}, {COUNT} candidates each, latencies made up. *Differ* counts",
            "schedules that only one of both refuses. *Same* says whether all records, module hashes and the",
            "cost model are those of stock. CPU seconds depend on how busy the machine was.",
            "",
            *table(rows),
            "",
            f"In {len(searches)} searches both verdicts differ for {differ(rows)} of {judged(rows):,} "
            f"schedules, and {same} of {len(rows)}",
            f"iterations propose the same. {total(rows, 'repeated')} iterations were repeated as stock. "
            f"Early refusal takes {100 * early / stock:.0f} % of the CPU time.",
            "",
            f"`{command}` prints this section.",
            "",
        ]
    )


def main() -> None:
    """Compare what is left, and print the section."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="JSON file of results, read and extended")
    parser.add_argument("--shapes", nargs="+", help="labels; all shapes of the study unless given")
    parser.add_argument("--own", action="store_true", help="14 workloads that are not of the study")
    parser.add_argument("--configs", nargs="+", default=["mainline", "async"])
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)), help="processes")
    parser.add_argument("--time-limit", type=float, default=1e6, help="seconds")
    parser.add_argument("--population", type=int, help="members; MetaSchedule's 512 unless given")
    arguments = parser.parse_args()
    study = abtune.open_dataset(STUDY)
    target = study.attrs["target"]
    options = {} if arguments.population is None else {"population_size": arguments.population}
    known = load(arguments.out, target, options)
    done = {(row["shape"], row["config"]) for row in known}
    wanted = [
        (label, config)
        for label in arguments.shapes or (OWN if arguments.own else map(str, study["shape"].values))
        for config in arguments.configs
    ]
    compare_all([search for search in wanted if search not in done], target, options, known, arguments)
    rows = [row for search in wanted for row in known if (row["shape"], row["config"]) == search]
    if rows:
        population = options.get("population_size", POPULATION)
        command = shlex.join(["python", "analysis/metaschedule/early_refusal.py", *sys.argv[1:]])
        print(section(rows, population, command))
    if differ(rows) or not all(row["same"] for row in rows):
        raise SystemExit("early refusal is not exact")


if __name__ == "__main__":
    main()
