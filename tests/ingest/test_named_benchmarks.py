"""asv, cargo bench, criterion, go test -bench, JMH, nvbench and others: a benchmark has one name."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from import_samples import SAMPLES

from abtune import analyze
from abtune.dataset.schema import RunStatus
from abtune.errors import AbtuneError
from abtune.ingest.importers import Imported, importer_named, run_importer
from abtune.ingest.sources import find_files, find_matching
from abtune.ingest.timings.conditions import conditions_of

NO_SHAPE = (
    "no shape has both configurations, so none gets a verdict: old has {}, new has {}; "
    "give each one name in both"
)
ASV = json.loads((SAMPLES / "asv" / "with-samples.json").read_text(encoding="utf-8"))


def read(
    importer: str, *runs: str, files: tuple[str, ...] = (), shape: str = "", configs: str = ""
) -> Imported:
    values = {"shape": shape, "unit": "", "columns": "", "seed-is": "", "configs": configs}
    return run_importer(importer_named(importer), find_files(files, runs), values)


def jmh(params: dict[str, str] | None = None, threads: int = 1, jdk: str = "17", **metric: Any) -> str:
    entry = {"benchmark": "a", "params": params or {}, "threads": threads, "jdkVersion": jdk}
    entry["primaryMetric"] = metric
    return json.dumps([entry])


def dot_net(*measured: tuple[str, int, float, int]) -> str:
    """Return JSON of BenchmarkDotNet by stages, launches, nanoseconds and operations."""
    names = ("IterationStage", "LaunchIndex", "Nanoseconds", "Operations")
    entries = [{"IterationMode": "Workload", **dict(zip(names, one, strict=True))} for one in measured]
    return json.dumps({"Benchmarks": [{"FullName": "a", "Statistics": {"N": 1}, "Measurements": entries}]})


def test_asv_keeps_every_sample() -> None:
    """Parameters become labels as asv prints them; what is no time is left out."""
    imported = read("asv", f"new={SAMPLES}/asv/with-samples.json")
    latency = imported.dataset["latency"].squeeze("round")
    assert "b.Sort.time_fails(1000) failed and has no time, so it is left out" in imported.notes[-1]
    assert latency["shape"].values.tolist() == [
        "b.Sort.time_fails(10)",
        *(f"b.Sort.time_{name}({n})" for name in ("reverse", "sorted") for n in (10, 1000)),
        "b.time_sum",
    ]
    samples = ASV["results"]["b.Sort.time_sorted"][ASV["result_columns"].index("samples")]
    assert latency.sel(shape="b.Sort.time_sorted(1000)").values.ravel().tolist() == samples[1]


def test_asv_failures_are_failed_runs(tmp_path: Path) -> None:
    """One parameter or a whole benchmark may fail in one run of several; asv writes NaN where it skipped."""
    columns = ["result", "params", "samples"]
    for number, results in enumerate(
        (
            {"b.f": [[1.0, 2.0], [["1", "2"]], [[1.0], [2.0]]], "b.g": [[1.0], [], [[1.0]]]},
            {"b.f": [[None, math.nan], [["1", "2"]]], "b.g": [None, []]},
        )
    ):
        content = {"result_columns": columns, "results": results, "version": 2}
        (tmp_path / f"{number}.json").write_text(json.dumps(content), encoding="utf-8")
    status = read("asv", f"new={tmp_path}/*.json").dataset["run_status"].squeeze("config")
    assert dict(zip(status["shape"].values.tolist(), status.values[:, 1].tolist(), strict=True)) == {
        "b.f(1)": RunStatus.FAILED,
        "b.f(2)": RunStatus.MISSING,
        "b.g": RunStatus.FAILED,
    }


def test_go_repeats_are_of_one_process() -> None:
    """Lines of -count are repeats, files are seeds, and log lines between them are left out."""
    latency = read("go-bench", f"new={SAMPLES}/go/go-*.txt").dataset["latency"].squeeze("round")
    assert latency["shape"].values.tolist() == ["Sort/n=10-2", "Sort/n=100-2", "Sum-2"]
    assert latency.shape == (3, 1, 2, 3)
    lines = (SAMPLES / "go" / "go-1.txt").read_text(encoding="utf-8").splitlines()
    printed = [float(line.split()[2]) for line in lines if line.startswith("BenchmarkSum")]
    assert latency.sel(shape="Sum-2")[0, 0].values.tolist() == [time / 1e9 for time in printed]


def test_go_packages_may_share_a_name(tmp_path: Path) -> None:
    """The name of the package tells them apart; a name that only one has stays as it is."""
    lines = [
        "pkg: p/a",
        "BenchmarkX 1 5 ns/op",
        "BenchmarkY 1 6 ns/op",
        "ok p/a 1s",
        "pkg: p/b",
        "BenchmarkX 1 7 ns/op",
    ]
    (tmp_path / "a").write_text("\n".join(lines), encoding="utf-8")
    dataset = read("go-bench", f"a={tmp_path / 'a'}").dataset
    times = dict(
        zip(dataset["shape"].values.tolist(), dataset["latency"].values.ravel().tolist(), strict=True)
    )
    assert times == {"p/a X": 5e-9, "Y": 6e-9, "p/b X": 7e-9}


def test_several_runs_of_go_in_a_file_are_said(tmp_path: Path) -> None:
    """Their timings are repeats of one seed. The file does not say which process made a line."""
    run = "goos: linux\npkg: p\nBenchmarkX 1 5 ns/op\ncoverage: {} % of statements\nPASS\n"
    (tmp_path / "a").write_text(run.format(1) + run.format(2), encoding="utf-8")
    imported = read("go-bench", f"a={tmp_path / 'a'}")
    assert imported.dataset.sizes["seed"] == 1
    said = "has 2 runs of go test, whose timings are repeats; a run is a seed if each has its own file"
    assert imported.notes[1] == f"{tmp_path / 'a'}: {said}"


def test_cargo_bench_has_one_time(tmp_path: Path) -> None:
    """A file is a seed; marks between thousands go, and a benchmark that failed is a failed run."""
    old = "test a::b ... bench:   1,234.5 ns/iter (+/- 6)\ntest c   ... bench: 7 ns/iter (+/- 1) = 9 MB/s\n"
    (tmp_path / "old").write_text(old, encoding="utf-8")
    (tmp_path / "new").write_text(
        "test a::b ... FAILED\n\ntest c d ... bench: 7 ns/iter (+/- 1)\n", encoding="utf-8"
    )
    dataset = read("cargo-bench", f"old={tmp_path / 'old'}", f"new={tmp_path / 'new'}").dataset
    assert dataset["shape"].values.tolist() == ["a::b", "c", "c d"]
    np.testing.assert_allclose(dataset["latency"].sel(config="old").values.ravel()[:2], [1234.5e-9, 7e-9])
    assert dataset["run_status"].sel(shape="a::b").values.ravel().tolist() == [0, RunStatus.FAILED]


def test_each_fork_of_jmh_is_a_seed(tmp_path: Path) -> None:
    """Also over several files; parameters are part of a name, and a throughput is a time of an operation."""
    for number, scores in enumerate([[[2.0, 4.0], [5.0]], [[8.0]]]):
        text = jmh(scoreUnit="ops/ms", rawData=scores, params={"n": "7"})
        (tmp_path / f"{number}.json").write_text(text, encoding="utf-8")
    imported = read("jmh", f"a={tmp_path}/*.json")
    assert imported.dataset["shape"].values.tolist() == ["a(n=7)"]
    expected = [[1 / 2e3, 1 / 4e3], [1 / 5e3, np.nan], [1 / 8e3, np.nan]]
    np.testing.assert_allclose(imported.dataset["latency"].values[0, 0, :, 0], expected)
    assert imported.notes[0].startswith("each fork is one seed: 3 seeds per cell")
    assert imported.notes[1].endswith("throughputs are read as the time of an operation")


def test_long_units_of_jmh_are_read(tmp_path: Path) -> None:
    """It counts in minutes, hours and days, too."""
    for number, (unit, score) in enumerate((("ops/min", 30), ("hr/op", 2))):
        (tmp_path / f"{number}.json").write_text(jmh(scoreUnit=unit, rawData=[[score]]), encoding="utf-8")
    assert read("jmh", f"a={tmp_path}/*.json").dataset["latency"].values.ravel().tolist() == [2, 7200]


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ({"jdk": "21"}, "jdkVersion: 17 in old and 21 in new; unless you compare that"),
        ({"threads": 4}, "threads of a(n=7): 1 in old and 4 in new; differences may come from that"),
        ({"params": {"n": "8"}}, NO_SHAPE.format("a(n=7)", "a(n=8)")),
    ],
)
def test_settings_of_jmh_that_differ_are_said(tmp_path: Path, new: dict[str, Any], said: str) -> None:
    """The other side ran with more threads, or with another parameter under the same name."""
    for config, more in (("old", {}), ("new", new)):
        given = {"params": {"n": "7"}, "scoreUnit": "ns/op", "rawData": [[2.0]], **more}
        (tmp_path / config).write_text(jmh(**given), encoding="utf-8")
    notes = read("jmh", *(f"{config}={tmp_path / config}" for config in ("old", "new"))).notes
    assert [note.startswith(said) for note in notes] == [False, True]


@pytest.mark.parametrize("importer", ["pyperf", "benchmark-dotnet"])
def test_versions_that_differ_are_said(tmp_path: Path, importer: str) -> None:
    """The runtime may differ by accident; hosts, and a debugger on one side alone, put boosts in doubt."""
    seeds = [{"values": [1.0]}]
    for config, version, debugger in (("old", "3.10.4", True), ("new", "3.12.1", False)):
        metadata = {"name": "a", "python_version": version, "hostname": f"box-{version}"}
        pyperf = {"metadata": metadata, "benchmarks": [{"runs": seeds}]}
        text = json.dumps({**pyperf, "runs": [], "version": "1.0"})
        if importer == "benchmark-dotnet":
            host = {"RuntimeVersion": version, "HasAttachedDebugger": debugger}
            document = json.loads(dot_net(("Result", 1, 5.0, 1)))
            text = json.dumps({**document, "HostEnvironmentInfo": host})
        (tmp_path / config).write_text(text, encoding="utf-8")
    imported = read(importer, *(f"{config}={tmp_path / config}" for config in ("old", "new")))
    assert "3.10.4 in old and 3.12.1 in new; unless you compare that" in imported.notes[-1]
    (caveat,) = json.loads(imported.dataset.attrs["caveats"])
    assert (
        "hostname of a: box-" if importer == "pyperf" else "HasAttachedDebugger of a: True in old"
    ) in caveat


def of_machine(importer: str, machine: str) -> str:
    """Return a file that names the processor, or of nvbench the device, as its tool writes it."""
    asv = {"result_columns": ["result", "params", "samples"], "results": {"a": [[1.0], [], [[1.0]]]}}
    seconds = {"fullname": "a", "stats": {"data": [1.0]}}
    runs = {"metadata": {"name": "a"}, "runs": [{"values": [1.5]}]}
    documents = {
        "asv": {"params": {"arch": "x86_64", "cpu": machine}, **asv, "version": 2},
        "benchmark-dotnet": {
            "HostEnvironmentInfo": {"ProcessorName": machine},
            **json.loads(dot_net(("Result", 1, 9, 2))),
        },
        "nvbench": {"devices": [{"id": 0, "name": machine}], **json.loads(nvbench(TIMED))},
        "pyperf": {"benchmarks": [runs], "metadata": {"cpu_model_name": machine}},
        "timings": {
            "machine_info": {"cpu": {"brand_raw": machine}},
            "benchmarks": [seconds],
        },  # pytest-benchmark
    }
    if importer == "go-bench":
        return f"goos: linux\ncpu: {machine}\nBenchmarkA-8  9  5 ns/op\n"
    return json.dumps(documents[importer])


@pytest.mark.parametrize("importer", ["asv", "benchmark-dotnet", "go-bench", "nvbench", "pyperf", "timings"])
def test_other_machines_are_said(tmp_path: Path, importer: str) -> None:
    """Files that name their processors show that the sides ran on different ones."""
    for config, machine in (("old", "Intel Xeon"), ("new", "AMD EPYC"), ("same", "AMD EPYC")):
        padding = " " * len(config)  # a copy would be refused
        (tmp_path / config).write_text(of_machine(importer, machine) + padding, encoding="utf-8")
    sides = {config: f"{config}={tmp_path / config}" for config in ("old", "new", "same")}
    imported = read(importer, *sides.values())
    (note,) = [note for note in imported.notes if note.startswith("machine of")]
    assert ": Intel Xeon in old and AMD EPYC in new, same; differences may come from that" in note
    caveats = analyze(imported.dataset, baseline="old", candidate="new").caveats
    of_both = note.partition(", same")[0]  # the third configuration is not compared
    assert any(f"configuration ({of_both}). Run both alike." in caveat for caveat in caveats)
    alike = read(importer, sides["new"], sides["same"])
    assert not [note for note in alike.notes if note.startswith("machine of")]
    assert "caveats" not in alike.dataset.attrs
    assert (alike.dataset.attrs["device"], imported.dataset.attrs.get("device")) == ("AMD EPYC", None)


@pytest.mark.parametrize(("olds", "news", "said"), [(3, 3, False), (4, 3, False), (5, 1, True)])
def test_machines_that_both_sides_used_are_said_if_one_used_them_more(
    tmp_path: Path, olds: int, news: int, *, said: bool
) -> None:
    """Two machines in equal shares, about, make noise; in unequal shares they look like a boost."""
    runs = []
    for config, slow in (("old", olds), ("new", news)):
        for number in range(6):
            path = tmp_path / f"{config}-{number}"
            machine = "AMD EPYC" if number < slow else "Intel Xeon"
            path.write_text(of_machine("timings", machine) + " " * len(runs), encoding="utf-8")
            runs.append(f"{config}={path}")
    (note,) = [note for note in read("timings", *runs).notes if note.startswith("machine of")]
    both = "AMD EPYC in 5 of 6 runs of old and in 1 of 6 runs of new and Intel Xeon in 1 of 6 runs of old"
    assert (both in note) == said
    assert note.endswith("their difference counts as noise, so import each by itself") != said


def test_a_parameter_of_one_side_alone_is_no_other_parameter(tmp_path: Path) -> None:
    """A benchmark that only the baseline has, with two parameters, was not run with others."""
    both = [
        json.loads(jmh(params, scoreUnit="ns/op", rawData=[[2.0]]))[0] for params in ({"n": "7"}, {"n": "8"})
    ]
    other = {**both[0], "benchmark": "b"}
    (tmp_path / "old").write_text(json.dumps([*both, other]), encoding="utf-8")
    (tmp_path / "new").write_text(json.dumps([other]), encoding="utf-8")
    notes = read("jmh", *(f"{config}={tmp_path / config}" for config in ("old", "new"))).notes
    assert notes[1:] == ("1 of 3 shapes has both configurations; the others get no verdict: a(n=7), a(n=8)",)


def test_each_launch_of_benchmark_dotnet_is_a_seed(tmp_path: Path) -> None:
    """Its results are repeats; warm-ups, and iterations with their overhead, are left out."""
    text = dot_net(("Warmup", 1, 99, 1), ("Result", 1, 9, 2), ("Result", 1, 6, 2), ("Result", 2, 8, 2))
    (tmp_path / "a").write_text(text, encoding="utf-8")
    latency = read("benchmark-dotnet", f"a={tmp_path / 'a'}").dataset["latency"].values[0, 0, :, 0]
    np.testing.assert_allclose(latency, [[4.5e-9, 3e-9], [4e-9, np.nan]])


@pytest.mark.parametrize(
    ("jobs", "configs"),
    [
        (("ShortRun(IterationCount=3)", "MediumRun(IterationCount=15)"), ["ShortRun", "MediumRun"]),
        (("Job-ABCDEF(Runtime=.NET 8.0)", "Job-UVWXYZ(Runtime=.NET 9.0)"), [".NET 8.0", ".NET 9.0"]),
        (("DefaultJob", ".NET 9.0(Runtime=.NET 9.0)"), ["DefaultJob", ".NET 9.0"]),
    ],
)
def test_jobs_of_benchmark_dotnet_are_told_apart(
    tmp_path: Path, jobs: tuple[str, str], configs: list[str]
) -> None:
    """A file has a benchmark once for each job, under one full name."""
    entries = []
    for job, time in zip(jobs, (6, 3), strict=True):
        (entry,) = json.loads(dot_net(("Result", 1, time, 1)))["Benchmarks"]
        entries.append({**entry, "FullName": "B.a(n: 5)", "DisplayInfo": f"B.a: {job} [n=5]"})
    content = json.dumps({"Benchmarks": entries, "HostEnvironmentInfo": {}})
    (tmp_path / "a.json").write_text(content, encoding="utf-8")
    dataset = read("benchmark-dotnet", files=(f"{tmp_path}/a.json",), configs=",".join(configs)).dataset
    assert dataset["config"].values.tolist() == configs
    np.testing.assert_allclose(dataset["latency"].values.ravel(), [6e-9, 3e-9])


def test_go_benchmarks_that_failed_are_said(tmp_path: Path) -> None:
    """Where a benchmark has a time elsewhere, it is a failed run."""
    lines = ["BenchmarkA-2  9  5 ns/op", "BenchmarkB-2\t--- FAIL: BenchmarkB-2", "    b_test.go:3: boom"]
    (tmp_path / "a").write_text("\n".join([*lines, "--- FAIL: BenchmarkC"]), encoding="utf-8")
    (tmp_path / "b").write_text("\n".join([*lines, "BenchmarkB-2  9  7 ns/op"]), encoding="utf-8")
    imported = read("go-bench", f"old={tmp_path / 'a'}", f"new={tmp_path / 'b'}")
    assert imported.dataset["shape"].values.tolist() == ["A-2", "B-2"]
    assert imported.dataset["run_status"].values.squeeze(-1).tolist() == [[0, 0], [1, 0]]
    assert imported.notes[1:] == (
        f"{tmp_path / 'a'}: B-2 failed, which counts",
        f"{tmp_path / 'a'}: C failed and has no time, so it is left out",
        f"{tmp_path / 'b'}: some repetitions of B-2 failed; its other times are counted",
    )


@pytest.mark.parametrize("end", ["panic: boom\n\ngoroutine 1 [running]:\nexit status 2", "exit status 1"])
def test_a_go_benchmark_that_ended_its_process_has_failed(tmp_path: Path, end: str) -> None:
    """Of the benchmarks before it, one has a time and one was skipped."""
    times = "BenchmarkA-2  \t 9\t 5 ns/op\nBenchmarkS-2  \t--- SKIP: BenchmarkS-2\nBenchmarkB-2  \t"
    (tmp_path / "old").write_text(f"{times} 9\t 5 ns/op\nok  \tp\t1s\n", encoding="utf-8")
    (tmp_path / "new").write_text(f"{times}{end}\nFAIL\tp\t1s\nFAIL\n", encoding="utf-8")
    imported = read("go-bench", f"old={tmp_path / 'old'}", f"new={tmp_path / 'new'}")
    assert imported.dataset["shape"].values.tolist() == ["A-2", "B-2"]
    assert imported.dataset["run_status"].values.squeeze(-1).tolist() == [[0, 0], [0, RunStatus.FAILED]]
    assert imported.notes[1:] == (f"{tmp_path / 'new'}: B-2 failed, which counts",)


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ("A-16 B-16", NO_SHAPE.format("A-8, B-8", "A-16, B-16")),
        ("A-8 C-8", "1 of 3 shapes has both configurations; the others get no verdict: B-8, C-8"),
        ("A-8 B-8", ""),
    ],
)
def test_shapes_that_lack_a_configuration_are_said(tmp_path: Path, new: str, said: str) -> None:
    """Go writes the number of cores behind a name, so that other machines have other shapes."""
    for config, names in (("old", "A-8 B-8"), ("new", new)):
        lines = (f"Benchmark{name}  9  {number} ns/op" for number, name in enumerate(names.split(), start=1))
        (tmp_path / config).write_text("\n".join([f"# {config}", *lines]), encoding="utf-8")
    notes = read("go-bench", *(f"{config}={tmp_path / config}" for config in ("old", "new"))).notes[1:]
    assert list(notes) == [said] * bool(said)


def test_criterion_has_the_time_of_an_iteration() -> None:
    """Each benchmark has a file of its own, so files of several benchmarks count their seeds apart."""
    runs = [f"new={SAMPLES}/criterion/run-*/{depth}/new/sample.json" for depth in ("*", "*/*/*")]
    imported = read("criterion", *runs)
    latency = imported.dataset["latency"].squeeze("round")
    assert "does not say its unit; times are nanoseconds" in imported.notes[1]
    assert latency["shape"].values.tolist() == ["sum", "sort/std/10", "sort/std/100"]
    assert latency.shape == (3, 1, 2, 10)
    path = SAMPLES / "criterion" / "run-1" / "sum" / "new" / "sample.json"
    sample = json.loads(path.read_text(encoding="utf-8"))
    expected = [t / n / 1e9 for t, n in zip(sample["times"], sample["iters"], strict=True)]
    assert latency.sel(shape="sum")[0, 0].values.tolist() == pytest.approx(expected, rel=1e-15)


def test_criterion_by_a_pattern() -> None:
    """The path tells the seed, and the name is a configuration."""
    sources = find_matching(f"{SAMPLES}/criterion/run-{{seed}}/sum/new/sample.json")
    dataset = run_importer(importer_named("criterion"), sources, {"shape": "100 numbers"}).dataset
    assert dataset["seed"].values.tolist() == [1, 2]
    assert dataset["config"].values.tolist() == ["sum"]


def test_nvbench_has_the_mean_of_each_state() -> None:
    """Isolated GPU times are read; a skipped state is left out."""
    latency = read("nvbench", f"new={SAMPLES}/nvbench/nvbench-*.json").dataset["latency"]
    assert latency["shape"].values.tolist() == [
        *(f"copy Device=0 n=2^{n}" for n in (10, 20)),
        "fill Device=0",
    ]
    assert latency.values[:, 0, 0].ravel().tolist() == [4.46e-6, 1.25e-5, 2.5e-6]


def with_samples(name: str = "f-bin/0.bin") -> dict[str, Any]:
    """Return a state as --jsonbin writes it (nvbench/json_printer.cu), with three samples."""
    data = [
        {"name": "filename", "type": "string", "value": name},
        {"name": "size", "type": "int64", "value": "3"},
    ]
    file = {"tag": "nv/json/bin:nv/cold/sample_times", "name": "Sample Times File", "data": data}
    return {"name": "s", "summaries": [MEAN, file], "is_skipped": False}


def test_an_error_in_nvbench_is_a_failed_run(tmp_path: Path) -> None:
    """A state that threw is skipped, too, and its reason says so (nvbench/runner.cxx)."""
    (tmp_path / "old").write_text(nvbench(TIMED, {**TIMED, "name": "t"}), encoding="utf-8")
    threw = {"name": "s", "is_skipped": True, "skip_reason": "Unexpected error: out of memory"}
    skipped = {"name": "t", "is_skipped": True, "skip_reason": "too large"}
    (tmp_path / "new").write_text(nvbench(threw, skipped, {**TIMED, "name": "u"}), encoding="utf-8")
    imported = read("nvbench", f"old={tmp_path / 'old'}", f"new={tmp_path / 'new'}")
    status = dict(zip("stu", imported.dataset["run_status"].squeeze("seed").values.tolist(), strict=True))
    assert status == {"s": [0, RunStatus.FAILED], "t": [0, RunStatus.MISSING], "u": [RunStatus.MISSING, 0]}
    assert f"{tmp_path / 'new'}: b s failed, which counts" in imported.notes


def test_nvbench_samples_are_read_where_they_lie_beside(tmp_path: Path) -> None:
    """Samples in float32 become repeats; without them the mean is read, and the import says so."""
    (tmp_path / "f").write_text(nvbench(with_samples()), encoding="utf-8")
    alone = read("nvbench", f"a={tmp_path / 'f'}")
    assert alone.dataset["latency"].values.ravel().tolist() == [1e-6]
    assert alone.notes[1].endswith("the samples in f-bin are not beside it, so states have their mean alone")
    (tmp_path / "f-bin").mkdir()
    samples = np.array([0.9e-6, 0.9e-6, 1.2e-6], "<f4")
    samples.tofile(tmp_path / "f-bin" / "0.bin")
    both = read("nvbench", f"a={tmp_path / 'f'}")
    assert both.dataset["latency"].values.ravel().tolist() == samples.astype(float).tolist()
    assert len(both.notes) == 1
    for written in (b"", b"\0" * 12, samples.tobytes()[:-1], (2 * samples).tobytes()):
        (tmp_path / "f-bin" / "0.bin").write_bytes(written)
        with pytest.raises(AbtuneError, match=r"0\.bin: a time must be pos|has other samples than the JSON"):
            read("nvbench", f"a={tmp_path / 'f'}")


@pytest.mark.parametrize("name", ["out/f-bin/0.bin", "/out/f-bin/0.bin", "..\\f-bin\\0.bin"])
def test_nvbench_samples_of_older_versions_lie_beside(tmp_path: Path, name: str) -> None:
    """Versions before 2026 wrote the path of the JSON as it was given, and the folder lies beside it."""
    (tmp_path / "f").write_text(nvbench(with_samples(name)), encoding="utf-8")
    (tmp_path / "f-bin").mkdir()
    np.array([0.9e-6, 1.1e-6], "<f4").tofile(tmp_path / "f-bin" / "0.bin")
    assert read("nvbench", f"a={tmp_path / 'f'}").dataset.sizes["repeat"] == 2


@pytest.mark.parametrize("name", ["/etc/passwd", "..-bin/../0.bin", "f-bin/\0.bin", 7])
def test_nvbench_samples_lie_nowhere_else(tmp_path: Path, name: Any) -> None:
    """A stranger's JSON cannot name a file of the reader's machine."""
    (tmp_path / "f").write_text(nvbench(with_samples(name)), encoding="utf-8")
    with pytest.raises(AbtuneError, match="is no file of samples beside the JSON"):
        read("nvbench", f"a={tmp_path / 'f'}")


def test_names_may_be_configurations() -> None:
    """With --shape the names are those of configurations."""
    dataset = read("go-bench", files=(f"{SAMPLES}/go/go-1.txt",), shape="s").dataset
    assert dataset["config"].values.tolist() == ["Sort/n=10-2", "Sort/n=100-2", "Sum-2"]


def asv(**row: Any) -> str:
    """Return a result of asv with one benchmark."""
    columns = list(row)
    return json.dumps({"result_columns": columns, "results": {"b": list(row.values())}, "version": 2})


def nvbench(*states: Any) -> str:
    return json.dumps({"meta": {"version": {"nvbench": {}}}, "benchmarks": [{"name": "b", "states": states}]})


MEAN = {"tag": "nv/cold/time/gpu/mean", "data": [{"name": "value", "value": "1e-6"}]}
TIMED = {"name": "s", "summaries": [MEAN], "is_skipped": False}  # a state


@pytest.mark.parametrize(
    ("importer", "text", "said"),
    [
        (
            "asv",
            asv(params=[["1"]], samples=[[1.0], [1.0]]),
            "b: its samples do not fit its params",
        ),
        ("asv", asv(params=[["1", "1"]], samples=[[1.0], [1.0]]), r"b\[1\]: 'b\(1\)' is already in b\[0\]"),
        ("asv", asv(params=[], samples=[[0.0]]), r"b\[0\]: a time must be positive, not 0"),
        ("asv", asv(params=[], samples=[7]), "b: is not a list of times"),
        ("asv", asv(params=7, samples=[[1.0]]), "b: its samples do not fit its params"),
        (
            "asv",
            asv(params=[], stats_repeat=[3]),
            "b: has no samples; write it with asv run --record-samples",
        ),
        ("asv", asv(params=[], result=[856]), "has no timings"),
        (
            "asv",
            '{"result_columns": [], "results": {"b": 1}, "version": 2}',
            "b: its samples do not fit its params",
        ),
        (
            "asv",
            '{"result_columns": [], "results": {}, "version": 1}',
            "JSON, but no results of asv in",
        ),
        ("go-bench", "BenchmarkA 1 5 MB/s 3 ns/op\nBenchmarkB 1 5 MB/s\n", "line 2: BenchmarkB has no ns/op"),
        (
            "go-bench",
            "BenchmarkA-2  1 5 ns/op\nBenchmarkB-2\tprinted\n     9\t   5.1 ns/op\t 0 B/op\n",
            "line 3: has a time that does not follow its name; put each benchmark on its own line, or take",
        ),
        ("go-bench", "BenchmarkA 1 5 ns/op\nBenchmarkB hello 9\t5 ns/op\n", "line 2: has a time that"),
        ("go-bench", "BenchmarkA 1 5 ns/op\n  BenchmarkB 9\t5 ns/op\n", "line 2: has a time that"),
        ("go-bench", "BenchmarkA 1 5 ns/op 0 allocs/opBenchmarkB 9\t5 ns/op\n", "line 1: has a time that"),
        ("go-bench", "BenchmarkA 1 x ns/op\n", "line 1: 'x' is not a number"),
        (
            "go-bench",
            "note: before\nBenchmarkA 1 5 ns/op\nnote: after\nBenchmarkA 1 5 ns/op\n",
            "line 4: above BenchmarkA stands 'note: after', and in line 2 'note: before'; give each a file",
        ),
        (
            "cargo-bench",
            "test a ... bench: 9 cycles/iter (+/- 1)\n",
            "line 1: a is in cycles/iter, which is no",
        ),
        (
            "cargo-bench",
            "test a ... bench: NaN ns/iter (+/- 1)\n",
            "line 1: a time must be positive, not NaN",
        ),
        *(
            ("cargo-bench", f"test a ... bench: 9 ns/iter\n{line}", "has a time that does not follow")
            for line in ("test b ... hello bench: 9 ns/iter\n", "test b ... hello\nbench: 9 ns/iter\n")
        ),
        ("cargo-bench", "test a ... bench: 9 ns/iter\ntest a ... bench: 8 ns/iter\n", "already in line 1"),
        ("jmh", '[{"primaryMetric": {}}]', "is damaged, or is not a JSON of JMH; there is no 'benchmark'"),
        ("jmh", jmh(scoreUnit="B/op"), r"\[0\]: a is in B/op; run JMH with -tu ns"),
        ("jmh", jmh(scoreUnit="ns/op"), r"\[0\]: a has a histogram, no single times; run JMH with -bm avgt"),
        ("jmh", jmh(scoreUnit="ops/s", rawData=[[0.0]]), r"\[0\]\[0\]: a time must be positive, not 0.0"),
        (
            "benchmark-dotnet",
            dot_net(),
            r"Benchmarks\[0\]: its Measurements have no results; the file was cut",
        ),
        ("benchmark-dotnet", dot_net(("Result", 1, 9, 0)), "is not a JSON of BenchmarkDotNet"),
        ("benchmark-dotnet", '{"Benchmarks": [{}]}', "has no Measurements; export it with JsonExporter.Full"),
        ("criterion", '{"iters": [1, 2], "times": [1]}', "is not a sample of criterion"),
        ("criterion", '{"iters": [0], "times": [1]}', r"iters: 0 is no number of iterations"),
        ("criterion", '{"iters": [1], "times": [-1]}', r"times\[0\]: a time must be positive, not -1"),
        ("criterion", '{"iters": [1], "times": [1]}', "benchmark.json: No such file"),
        ("nvbench", nvbench({"name": "s"}), "is not a JSON of nvbench; there is no 'summaries'"),
        ("nvbench", nvbench({"name": "s", "summaries": [7]}), "is damaged, or is not a JSON of nvbench"),
        ("nvbench", nvbench({"name": "s", "summaries": []}), r"states\[0\]: has no nv/cold/time/gpu/mean"),
        ("nvbench", nvbench(*[{"name": "s", "summaries": [MEAN]}] * 2), "'b s' is already in benchmarks"),
        ("nvbench", nvbench({"name": "\0", "summaries": [MEAN]}), "has no name that a dataset can hold"),
        ("nvbench", nvbench({"is_skipped": True}), "has no timings"),
        ("nvbench", '{"meta": {"version": {"nvbench": {}}}}', "is damaged, or is not a JSON of nvbench"),
    ],
)
def test_bad_files_say_where(tmp_path: Path, importer: str, text: str, said: str) -> None:
    """One line names file and place, and what to do."""
    (tmp_path / "f").write_text(text, encoding="utf-8")
    with pytest.raises(AbtuneError, match=said) as raised:
        read(importer, f"a={tmp_path / 'f'}")
    assert str(tmp_path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_machine_comes_before_its_gpu() -> None:
    """Of several settings that name a device, the first in order counts; several machines are none."""
    settings = {"gpu": "RTX", "machine": "desk"}
    assert conditions_of([("s", "a", settings), ("s", "b", settings)]).machine == "desk"
    assert conditions_of([("s", "a", settings), ("s", "b", {"machine": "shelf"})]).machine == ""
