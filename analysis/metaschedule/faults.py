"""Print faults of TVM that MetaSchedule for CUDA meets (docs/upstream.md).

    python analysis/metaschedule/faults.py

It uses TVM alone, and needs no GPU.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tvm
import tvm.s_tir.tensor_intrin  # registers the intrinsics of the rules for tensor cores
from tvm import te, topi
from tvm.s_tir import meta_schedule as ms

GPU = tvm.target.Target("nvidia/nvidia-h100")


def context(tensors: list[Any], rules: str) -> Any:
    """Return a context that samples schedules of a workload by some rules."""
    space = ms.space_generator.PostOrderApply(sch_rules=rules, postprocs=rules, mutator_probs=rules)
    module = tvm.IRModule({"main": te.create_prim_func(tensors).with_attr("global_symbol", "main")})
    return ms.TuneContext(
        mod=module,
        target=GPU,
        space_generator=space,
        search_strategy="replay-trace",
        rand_state=1,
        num_threads=1,
    )


def softmax_of_a_layer() -> None:
    """Make the design space of a softmax after a fully connected layer."""
    x, w = (te.placeholder((64, 64), name=name) for name in "XW")
    context([x, w, topi.nn.softmax(topi.nn.dense(x, w))], "cuda").generate_design_space()


def sampled(tensors: list[Any], rules: str, count: int = 1) -> list[Any]:
    """Return random schedules of a workload by some rules."""
    tuned = context(tensors, rules)
    database, model = ms.database.MemoryDatabase(), ms.cost_model.RandomModel()
    tuned.pre_tuning(count, count, tuned.generate_design_space(), database, model)
    return list(tuned.generate_measure_candidates())


def for_tensor_cores(sums: str) -> Any:
    """Return a schedule for tensor cores, of a product of half floats with such sums."""
    a, b = (te.placeholder((512, 512), "float16", name=name) for name in "AB")
    r = te.reduce_axis((0, 512), name="r")
    product = te.compute(
        (512, 512), lambda i, j: te.sum(a[i, r].astype(sums) * b[r, j].astype(sums), axis=r), name="C"
    )
    return sampled([a, b, product], "cuda-tensorcore")[0]


def record_for_tensor_cores() -> None:
    """Write a tuning record of a schedule for tensor cores."""
    candidate = for_tensor_cores("float16")
    workload = ms.database.Workload(candidate.sch.mod)
    ms.database.TuningRecord(candidate.sch.trace, workload, [1.0], GPU, candidate.args_info).as_json()


def kernel_for_tensor_cores(sums: str) -> None:
    """Build a kernel for tensor cores with such sums."""
    build(for_tensor_cores(sums))


def build(candidate: Any) -> None:
    """Build a kernel."""
    module = tvm.s_tir.transform.RemoveWeightLayoutRewriteBlock(skip_tensor_rewrite=True)(candidate.sch.mod)
    with GPU:
        tvm.tirx.build(module, target=GPU)


def kernels_of_pooling() -> str:
    """Return how many of 64 random schedules of an average pool cannot be lowered, and why."""
    x = te.placeholder((1, 8, 64, 64), name="X")
    pool = topi.nn.pool2d(x, [3, 3], [2, 2], [1, 1], [1, 1, 1, 1], "avg")
    ends = [said(functools.partial(build, one)) for one in sampled([x, pool], "cuda", 64)]
    faults = [end for end in ends if "load_remap_" in end]
    return f"{len(faults)} of {len(ends)}: {faults[0]}"


# A copy of every sixteenth number into shared memory, four numbers at a time.
STRIDED = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((1024,), "float32"), B: T.Buffer((64,), "float32")):
    block = T.launch_thread("blockIdx.x", 1)
    t = T.launch_thread("threadIdx.x", 16)
    shared = T.alloc_buffer((64,), "float32", scope="shared")
    with T.attr(0, "async_scope", 1):
        shared[T.Ramp(4 * t, 1, 4)] = A[T.Ramp(64 * t, 16, 4)]
    B[t] = shared[t]
"""


def strided_copy() -> str:
    """Return the asynchronous copy that TVM makes of one with a stride."""
    module = tvm.IRModule({"main": tvm.script.from_source(STRIDED)})
    copies = tvm.s_tir.transform.InjectPTXAsyncCopy()(module).script()
    return str(next(line.strip() for line in copies.splitlines() if "cp_async" in line))


def said(attempt: Callable[[], None]) -> str:
    """Return the last line of what an attempt raises."""
    try:
        attempt()
    except Exception as error:  # noqa: BLE001 - TVM raises many kinds
        return f"{type(error).__name__}: {str(error).splitlines()[-1]}"
    return "no fault"


if __name__ == "__main__":
    print("softmax of a layer:", said(softmax_of_a_layer))
    print("record for tensor cores:", said(record_for_tensor_cores))
    for kind in ("float32", "float16"):
        print(f"kernel with {kind} sums:", said(functools.partial(kernel_for_tensor_cores, kind)))
    print("kernels of an average pool:", kernels_of_pooling())
    print("asynchronous copy with a stride of 16:", strided_copy())
