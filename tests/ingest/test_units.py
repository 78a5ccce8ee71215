"""Units, headings and numbers: what is known exactly is read, and everything else is refused."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abtune.errors import DatasetError, InputError
from abtune.ingest.units import PER_SECOND, UNITS, read_heading, to_seconds, unit_named
from abtune.text import to_number


@pytest.mark.parametrize(
    ("cell", "name", "unit"),
    [
        *(
            ("main (ms)", "main", "ms"),
            ("main(us)", "main", "us"),
            ("main [ns]", "main", "ns"),
            ("a_s", "a", "s"),
            ("old_time_s", "old_time", "s"),
            ("runtime_s", "runtime", "s"),
            ("latency_s", "latency", "s"),
            ("elapsed_s", "elapsed", "s"),
            ("old_step_s", "old_step", "s"),
            ("cublas_s", "cublas", "s"),
            ("inference (s)", "inference", "s"),
            ("old perf (GFLOPS)", "old perf", "gflops"),
        ),
        *(("main (\u00b5s)", "main", "us"), ("main [ \u03bcs ]", "main", "us"), ("main_ms", "main", "ms")),
        *(("a (msec)", "a", "ms"), ("elapsed_seconds", "elapsed", "s"), ("b (Microseconds)", "b", "us")),
        *(("usec", "time", "us"), ("a (nsecond)", "a", "ns"), ("ms", "time", "ms"), ("Seconds", "time", "s")),
        *(("a (GFLOPS)", "a", "gflops"), ("a (GFlop/s)", "a", "gflops"), ("a (tflops)", "a", "tflops")),
        *(("Triton [FP16] (TB/s)", "Triton [FP16]", "tb/s"), ("Torch (native)", "Torch (native)", "")),
        *(("Triton (Latency (ms))", "Triton", "ms"), ("new_GB/s", "new", "gb/s")),
        ("torch-bf16 (TFLOP/s (larger is better))", "torch-bf16", "tflops"),
        *(("latencyMs", "latency", "ms"), ("TotalDurationNs", "TotalDuration", "ns"), ("oldUs", "old", "us")),
        *(("gflops_new", "new", "gflops"), ("time_per_image_ms", "time_per_image", "ms")),
        *(("ns_per_run", "time_per_run", "ns"), ("ms_per_step", "time_per_step", "ms")),
        *(("ONNX Runtime (MFLOP/s)", "ONNX Runtime", "mflops"), ("boost (%)", "boost", "%")),
        *(
            ("torch.compile (max-autotune) (ms)", "torch.compile (max-autotune)", "ms"),
            ("b/a (ms)", "b/a", "ms"),
        ),
        *(
            ("max-autotune", "max-autotune", ""),
            ("async + cutlass", "async + cutlass", ""),
            ("#14009", "#14009", ""),
        ),
        *(
            ("tensor_array", "tensor_array", ""),
            ("P40", "P40", ""),
            ("r\u00e9sum\u00e9 v0.7", "r\u00e9sum\u00e9 v0.7", ""),
        ),
    ],
)
def test_a_heading_is_a_name_and_perhaps_a_unit(cell: str, name: str, unit: str) -> None:
    """The unit stands in brackets or behind the last underscore; only then may a name be any text."""
    heading = read_heading(cell, (*UNITS, "%"))
    assert (heading.name, heading.unit) == (name, unit)


@pytest.mark.parametrize(
    "cell",
    [
        # another unit, or a rate
        *(
            "a (ps)",
            "a_ps",
            "a (k)",
            "a (min)",
            "a (hr)",
            "a (x)",
            "a (MB)",
            "a (MS)",
            "a (Ms)",
            "a_MS",
            "a (FLOPS)",
        ),
        *(
            "a (us/iter)",
            "a (ns/op)",
            "a (GOPS)",
            "a (img/s)",
            "a (GFLOPS/s)",
        ),
        *(
            "frames per second",
            "iter/s",
            "it_s",
            "tokens_s",
            "images_s",
            "GB s^-1",
            "GB s\u207b\u00b9",
            "fps",
            "Hz",
        ),
        *("cycles", "throughput", "tput", "bandwidth (ms)", "duration_h"),
        # a rate, of what is counted in a second or by its name
        *(
            f"old_{name}_s"
            for name in ("tok", "token", "item", "items", "runs", "calls", "ips", "inf", "infer")
        ),
        *(
            f"old_{name}_s"
            for name in ("img", "image", "op", "items", "req", "steps", "rows", "gb", "GiB", "msgs")
        ),
        *(f"new_{name}" for name in ("qps", "tps", "rps", "gbps", "GBs", "bw", "iops", "mhz", "goodput")),
        *(
            "images_per_s",
            "tokens_per_gpu_s",
            "gflops_per_watt",
            "gflops_mean",
            "meanMs",
            "AverageTime",
            "StandardDeviation",
            "Avg (ms)",
            "timeStdDev",
            "ms_new",
            "Ms",
            "Ns",
        ),
        *(f"new_{name}" for name in ("perf", "score", "Performance", "GOPS", "TB")),
        # a unit in another form
        *(
            "a ms",
            "a in ms",
            "a / ms",
            "a, \u00b5s",
            "a / s",
            "a in s",
            "a s.",
            "wall \u00b5s",
            "a TFLOPS",
            "a GFLOP/s",
        ),
        *(
            "a (ms)*",
            "a (ms, lower is better)",
            "a (ms (per 1000))",
            "a (us) (ms)",
            "a (us) (GFLOPS)",
            "time_us_east",
            "(s)",
            "_s",
        ),
        # a statistic or a comparison
        *(
            "mean",
            "a (median)",
            "a min",
            "p50",
            "a (best of 3)",
            "std_ms",
            "std (ms)",
            "mean (TFLOPS)",
            "log_time_us",
            "timeout_s",
            "a_ci95_ms",
            "saved (ms)",
        ),
        *(
            "speedup",
            "Ratio",
            "slowdown",
            "normalized",
            "Normalised",
            "relative",
            "a vs b",
            "a vs. b",
            "B versus A",
        ),
        *(
            "b/a",
            "b / a",
            "b - a",
            "x:y",
            "async->main",
            "main \u2212 async",
            "c, lower = better",
            "a \u2193",
        ),
        *("a (lower is better)", "a (#14009)", "a (v2)", "Ann's", "", " ", "+", "..."),
    ],
)
def test_everything_else_is_refused(cell: str) -> None:
    """The message is the rule, whatever is wrong; it does not ask for a unit that is there."""
    with pytest.raises(
        InputError, match=r"a heading is NAME or NAME \(UNIT\) with UNIT one of s, ms, us, ns, MFLOPS"
    ):
        read_heading(cell, (*UNITS, "%"))
    wrong = r"(; if its numbers have such|, and NAME is no rate or statistic; rename it if it is neither)"
    with pytest.raises(InputError, match=rf"with UNIT one of s, ms, us, ns{wrong}"):
        read_heading(cell, tuple(PER_SECOND))


@pytest.mark.parametrize(
    "cell", ["Throughput (TFLOPs)", "std (ms)", "images_s", "speed", "AchievedBandwidth", "smefficiency"]
)
def test_a_name_that_is_refused_is_not_said_to_lack_a_unit(cell: str) -> None:
    """Its unit is known, or it has none and --unit may give it, so to write the unit again would not help."""
    with pytest.raises(InputError, match="and NAME is no rate or statistic; rename it if it is"):
        read_heading(cell, UNITS)
    with pytest.raises(InputError, match="; if its numbers have such a unit, write it so"):
        read_heading("iter/s", UNITS)


def test_units_have_their_case() -> None:
    """A megasecond is no millisecond; nobody writes one of the rates in another sense."""
    assert [unit_named(text) for text in ("ms", "Ms", "MS", "GFLOPS", "GFlops", "gflop/s")] == [
        *("ms", "", ""),
        *("gflops", "gflops", "gflops"),
    ]


@given(st.floats(allow_nan=False))
def test_numbers_come_back(number: float) -> None:
    """What Python prints of a number is read to the last digit."""
    assert to_number(repr(number)) == number
    assert to_number(f" {number:+.17e}\n") == number


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1_500",
        "\uff11\uff15",
        "\u0661",
        "1,5",
        "1 5",
        "0x1p3",
        "1e",
        "e5",
        ".",
        "--1",
        "\u00bd",
        "1" * 401,
    ],
)
def test_other_texts_are_no_numbers(text: str) -> None:
    """Underscores, digits of other scripts and marks of thousands are refused."""
    with pytest.raises(ValueError, match=r"not a number: |could not convert string to float: "):
        to_number(text)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("fast", "x: 'fast' is not a number"),
        ("1,5", "is not a number; write digits and a decimal point"),
        (True, "x: True is not a number"),
        (None, "x: None is not a number"),
        (-1, "a time must be positive, not -1"),
        (math.nan, "a time must be positive, not nan"),
        ("1e-320", "x: a time must be positive, not 1e-320"),
        (10**400, "is not a number"),
    ],
)
def test_what_is_no_time_is_refused(value: object, said: str) -> None:
    """A time is a positive number."""
    with pytest.raises(DatasetError, match=said):
        to_seconds(value, "ms", "x")
    assert to_seconds("1.5", "ms", "x") == to_seconds(1.5, "ms", "x") == 0.0015
