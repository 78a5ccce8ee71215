"""What it takes to have many processes with TVM ready: forked from one, or each importing it by itself.

    python tests/benchmarks/bench_start.py --processes 16

Prints for both the seconds until the last one answers, and the memory of all, shared pages counted once.
Then it prints the CPU seconds that TVM's intrinsics take to load, as TVM does and as abtune does. A
configuration with a design space of its own needs them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from abtune.measure.plan.workplace import ONE_THREAD, TVM_MODULE
from abtune.measure.workers.child import ChildProcess
from abtune.measure.workers.fork_server import ForkServer

# Prints CPU seconds, and a hash of all CUDA intrinsics.
LOAD_INTRINSICS = """
import hashlib, time, {module}
from tvm.s_tir import TensorIntrin
started = time.process_time()
{load}
seconds = time.process_time() - started
from tvm.s_tir.tensor_intrin import cuda
names = sorted(value for name, value in vars(cuda).items() if name.isupper() and isinstance(value, str))
found = [TensorIntrin.get(name, allow_missing=True) for name in names]
programs = "".join(one.desc.script() + one.impl.script() for one in found if one)
print(seconds, hashlib.sha256(programs.encode()).hexdigest())
"""
IMPORT_AND_WAIT = f"import {TVM_MODULE}; print('ready', flush=True); input()"


def main() -> None:
    """Start both, one after the other."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--processes", type=int, default=16)
    count = parser.parse_args().processes
    for name, start in (("each imports TVM", time_imports), ("forked", time_forks)):
        seconds, size = start(count)
        print(f"{name:16}  {seconds:6.2f} s  {size / 1e6:6.0f} MB", flush=True)
    stock = load_intrinsics("tvm", "import tvm.s_tir.tensor_intrin")
    own = load_intrinsics("abtune.measure.tvm.load_tvm as room", "room.load_tensor_intrinsics()")
    assert stock[1] == own[1]
    print(
        f"intrinsics, CPU   {stock[0]:6.2f} s by TVM, {own[0]:.2f} s by abtune, ratio {stock[0] / own[0]:.1f}"
    )


def load_intrinsics(module: str, load: str) -> tuple[float, str]:
    """Return the CPU seconds that it takes to load TVM's intrinsics in a new process, and their hash."""
    code = LOAD_INTRINSICS.format(module=module, load=load)
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    seconds, programs = printed.split()
    return float(seconds), programs


def time_imports(count: int) -> tuple[float, float]:
    """Start interpreters that import by themselves; return seconds and bytes."""
    started = time.perf_counter()
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", IMPORT_AND_WAIT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **ONE_THREAD},
        )
        for _ in range(count)
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            process.stdout.readline()
        return time.perf_counter() - started, memory([process.pid for process in processes])
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def time_forks(count: int) -> tuple[float, float]:
    """Fork children; return seconds and bytes, those of the fork server included."""
    started = time.perf_counter()
    with closing(ForkServer(TVM_MODULE, ONE_THREAD)) as fork_server:
        children = [ChildProcess(fork_server, {}) for _ in range(count)]
        try:
            for child in children:
                child.call("device_name", '{"kind": "llvm"}', timeout=60.0)
            seconds = time.perf_counter() - started
            pids = [child._process.pid for child in children]
            return seconds, memory([*pids, parent(pids[0])])
        finally:
            for child in children:
                child.close()


def parent(pid: int) -> int:
    """Return the process that a process was forked from."""
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[1])


def memory(pids: Sequence[int]) -> float:
    """Return the bytes that processes take together."""
    lines = [
        line.split()
        for pid in pids
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    ]
    return 1024.0 * sum(int(line[1]) for line in lines if line[0] == "Pss:")


if __name__ == "__main__":
    main()
