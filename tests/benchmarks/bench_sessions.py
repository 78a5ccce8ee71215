"""Trials an hour of a sweep that is cut into sessions against one that is not, on this machine's CPU.

    python tests/benchmarks/bench_sessions.py                    4 sessions of 100 s against one of 400 s
    python tests/benchmarks/bench_sessions.py --seconds 1200 --sessions 2

Every session is a process of its own with a --time-limit, and goes on from the files of the one before. The
plan is too large for either side. What counts is the trials that are on disk in the end, whether their run
is finished or not. What a session spends on anything else is said: starting until it searches, steps of
searches that were thrown away or waited for, measuring the winners again, and time it leaves unused.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from abtune.measure.store.store import Store

# The command line, with a progress that notes when each phase began.
SESSION = """
import contextlib, json, sys, time
from pathlib import Path

class Noting:
    def __init__(self):
        self.began = {}
    def begin(self, phase, total, done):
        self.began[phase] = time.time()
    def advance(self, steps):
        pass
    def tell(self, news):
        pass
    def warn(self, line):
        pass

@contextlib.contextmanager
def progress_for(stream):
    noting = Noting()
    try:
        yield noting
    finally:
        Path("phases.json").write_text(json.dumps(noting.began))

import abtune.commands.common.output
abtune.commands.common.output.progress_for = progress_for
from abtune.cli import main
sys.exit(main())
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a sweep has on disk."""

    trials: int
    core_seconds: float
    runs: int
    winners: int


def main() -> None:
    """Sweep in one piece, then in several, and print the ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=int, default=400, help="time limit of the uncut sweep")
    parser.add_argument("--sessions", type=int, default=4, help="pieces into which the other is cut")
    parser.add_argument("--shape", default="M=128_N=128_K=128")
    parser.add_argument("--trials", type=int, default=64)
    parser.add_argument("--trials-per-iter", type=int, default=16)
    parser.add_argument("--cut-only", action="store_true", help="only say where the time of sessions goes")
    options = parser.parse_args()
    say("sizes", f"{options.shape}, {options.trials} trials in iterations of {options.trials_per_iter}")
    rates = [sweep(options, count) for count in ([] if options.cut_only else [1]) + [options.sessions]]
    if not options.cut_only:
        say("ratio", f"{rates[1] / rates[0]:.2f}" if rates[0] else "unknown; give more --seconds")


def say(name: str, value: str) -> None:
    """Print a line at once, so that a benchmark that is cut short has said what it knows."""
    print(f"{name:<18}{value}", flush=True)


def sweep(options: argparse.Namespace, sessions: int) -> float:
    """Sweep in so many sessions and return the trials an hour, of the time that was given or taken."""
    limit = options.seconds // sessions
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "twin.py").write_text(
            "from dataclasses import replace\n"
            "from abtune.configurations import EVOLUTIONARY\n"
            "twin = replace(EVOLUTIONARY, name='twin')\n"
        )
        took = sum(max(limit, sit(options, limit, folder)) for _ in range(sessions))
        done = look(folder)
    rate = done.trials / took * 3600
    say(
        f"{sessions} x {limit} s",
        f"{rate:.0f} trials an hour: {done.trials} in {took:.0f} s, {done.runs} runs finished",
    )
    return rate


def sit(options: argparse.Namespace, limit: int, folder: str) -> float:
    """Sit once, say where the time went, and return the seconds."""
    command = [sys.executable, "-c", SESSION, "sweep", "--target", "cpu", "--shapes", options.shape]
    command += ["--trials", str(options.trials), "--trials-per-iter", str(options.trials_per_iter)]
    command += ["--baseline", "evolutionary", "--candidate", "twin:twin", "--seeds", "1000"]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), folder])),
    }
    before, load = look(folder), os.getloadavg()[0]
    started = time.time()
    done = subprocess.run(
        [*command, "--time-limit", f"{limit}s"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    ended = time.time()
    if done.returncode:
        raise SystemExit(done.stdout[-2000:] + done.stderr[-2000:])
    after = look(folder)
    began = json.loads((Path(folder) / "phases.json").read_text())
    tuned, again = began["trials"], began["winners re-measured"]
    searched = again - tuned
    cores = len(os.sched_getaffinity(0))
    kept = (after.core_seconds - before.core_seconds) / cores
    say(
        f"  {ended - started:.0f} s",
        f"{after.trials - before.trials} trials; {tuned - started:.1f} s to start, "
        f"{searched:.1f} s of search of which {searched - kept:.1f} s came to nothing, "
        f"{ended - again:.1f} s to measure again and end ({after.winners} are measured), "
        f"{max(0.0, limit - (ended - started)):.1f} s left over; load before: {load:.1f}",
    )
    return ended - started


def look(folder: str) -> Done:
    """Count what is on disk."""
    store = Store(Path(folder) / "abtune.nc")
    if not store.folder.exists():
        return Done(trials=0, core_seconds=0.0, runs=0, winners=0)
    records = store.records()
    searches = store.folder.glob("searches/*.json.gz")
    histories = [json.loads(gzip.decompress(path.read_bytes())) for path in searches]
    return Done(
        trials=sum(len(record.trial_latency) for record in records)
        + sum(len(history["trials"]) for history in histories),
        core_seconds=sum(record.tuning_time for record in records)
        + sum(history["seconds"] for history in histories),
        runs=len(records),
        winners=sum(len(rounds.winners) for rounds in store.rounds().values()),
    )


if __name__ == "__main__":
    main()
