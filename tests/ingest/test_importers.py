"""The registry: every importer knows its own files, and a file is sent to the importer that reads it."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import shutil
from pathlib import Path

import pytest
import xarray as xr
from import_samples import SAMPLES, TUNED

from abtune.dataset.schema import RunStatus
from abtune.errors import AbtuneError, DatasetError, InputError
from abtune.ingest.importers import (
    IMPORTERS,
    Inputs,
    about_names,
    all_importers,
    importer_named,
    recognise,
    run_importer,
)
from abtune.ingest.sources import Source, find_files
from abtune.ingest.texts import read_beginning

ROOT = Path(__file__).parent.parent.parent
LOGS = TUNED / "mainline-0" / "logs"
CSV = "shape,config,time_us\nx,a,1\n"


def sources(*paths: Path) -> tuple[Source, ...]:
    return find_files(map(str, paths), [])


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (ROOT / "data" / "tvm14009-rtx3080.md", "published"),
        (ROOT / "data" / "torchvision-variants.txt", "timings"),
        *((SAMPLES / name, "timings") for name in ("google-1.json", "hyperfine-1.json", "pytest-1.json")),
        *((SAMPLES / "kernel_tuner" / f"new-{number}.json", "kernel-tuner") for number in (1, 2)),
        *((SAMPLES / f"pyperf-{number}.json", "pyperf") for number in (1, 2, 3)),
        *((SAMPLES / name, "timings") for name in ("printed.txt", "times.csv")),
        *((SAMPLES / "asv" / f"{name}-samples.json", "asv") for name in ("with", "without")),
        *((SAMPLES / "go" / f"go-{number}.txt", "go-bench") for number in (1, 2)),
        *((path, "criterion") for path in sorted((SAMPLES / "criterion").rglob("sample.json"))),
        *((SAMPLES / "nvbench" / f"nvbench-{number}.json", "nvbench") for number in (1, 2)),
        *((path, "tvm-records") for path in sorted((SAMPLES / "tvm_records").iterdir())),
        *((TUNED / name, "databases") for name in ("mainline-1", "async-1")),
        (TUNED / "failed-0", "logs"),
        *((path, "logs") for path in sorted(LOGS.iterdir())),
    ],
    ids=lambda value: value.name if isinstance(value, Path) else value,
)
def test_files_are_known_by_their_content(path: Path, name: str) -> None:
    """Every sample has exactly one importer."""
    assert recognise(sources(path)).name == name


def test_lines_may_end_with_a_carriage_return(tmp_path: Path) -> None:
    """Excel on a Mac writes none of the line ends of Linux."""
    (tmp_path / "f").write_bytes(CSV.replace("\n", "\r").encode())
    assert recognise(sources(tmp_path / "f")).name == "timings"


def test_a_folder_with_both_is_asked_about() -> None:
    """A work_dir with a database and logs may be meant as either."""
    with pytest.raises(InputError) as raised:
        recognise(sources(TUNED / "mainline-0"))
    assert str(raised.value) == (
        f"{TUNED}/mainline-0: databases (a MetaSchedule database) and logs (a tuning log) can read this; "
        "name one: abtune import databases ..."
    )
    # what only one of them reads decides for all
    assert recognise(sources(TUNED / "mainline-0", TUNED / "mainline-1")).name == "databases"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "just some words\n",
            "abtune import lists what it reads; if it is something else, write its timings as CSV",
        ),
        ("# Results\n", "all of its lines begin as comments do; a table has a heading, and numbers below"),
        ("# machine: x\n\n# day: 1\n", "all of its lines begin as comments do"),
        ("Results\n", "abtune import lists what it reads"),
        (
            "shape,dtype,old_ms,new_ms\nx,f16,1,2\n",
            "if old_ms and new_ms are configurations: abtune import timings file.txt --columns shape=shape+d",
        ),
        (  # without the column status, times of failed runs would count
            "shape,gpu,old_ms,new_ms,status\nx,A100,1,2,ok\n",
            "timings file.txt --columns shape=shape+gpu --out",
        ),
        ("foo,status,a_ms,b_ms\nx,ok,1,2\n", "timings file.txt --columns shape=foo --out file.nc"),
        ("foo,a (GB/s),b (GB/s)\nx,1,2\n", "timings file.txt --columns shape=foo --out file.nc"),
        (
            "M,N,a,b\n128,1,1.5,1.4\n",
            "if a and b are configurations: abtune import timings file.txt "
            "--columns shape=M+N --unit UNIT --out",
        ),
        *(
            (text, "if columns are configurations: write units there, such as 'old (ms)'")
            for text in ("old,new\n1.5,1.4\n", "old,new\n15,14\n", "a,b,c\n1.5,1.4,1.3\n")
        ),
        (
            "op name,batch size,a,b\nx,1,1.5,1.4\n",
            "if a and b are configurations: abtune import timings "
            "file.txt --columns 'shape=op name+batch size' --unit UNIT --out",
        ),
        (
            "Time (%),Total Time (ns),Avg (ns),Med (ns),Name\n50.0,90,10.0,9.0,k\n",
            "write a line for each kernel: nsys stats --report cuda_gpu_trace --format csv; then --columns",
        ),
        (
            '"Time (%)","Total Time (ns)","Instances","Avg (ns)","Name"\n"50.0","90","9","10.0","k"\n',
            "write a line for each kernel: nsys stats --report cuda_gpu_trace --format csv; then --columns",
        ),
        (
            '==PROF== Connected\n"ID","Kernel Name","Metric Name","Metric Value"\n"0","k","t","1"\n',
            "each NAME is one of ID, Kernel Name, Metric Name, Metric Value",
        ),
        (
            "case,config,host,wall_time_ms\nx,a,h,1\n",
            "timings file.txt --columns shape=NAME,time=wall_time_ms --out file.nc",
        ),
        (
            "dev,speedup,abs_latency,compilation_latency\nx,2,1,9\n",
            "--columns shape=NAME,config=NAME,time=abs_latency --unit UNIT --out file.nc",
        ),
        ('{"name": "x", "TotalDuration": 3}\n', "time=TotalDuration --unit UNIT --out file.nc"),
        ('[{"size": 1, "timings": [1.5, 1.6]}]\n', "time=timings --unit UNIT --out file.nc"),
        (
            '{"grid": 8, "tile": 8, "cpu_ms": 2, "gpu_ms": 1, "cpu_gpu_speedup": 2}',
            "--columns shape=grid+tile --out",
        ),
        (
            '{"grid": 8, "' + "t" * 3_000 + '": 8, "cpu_ms": 2, "gpu_ms": 1}',
            f"--columns shape=grid+{'t' * 386}... --out",
        ),
        ('{"a": {"old": 1.0, "new": 2}, "b": {"old": 1, "new": 3}}', "--columns shape=key --unit UNIT --out"),
        ('{"a": {"old": [1.0, 2], "new": [2]}, "b": {"old": [1], "new": [3]}}', "--columns shape=key --unit"),
        ("Name,latency.mean,latency.unit\nx,1,ms\n", "or name a mean: --columns time=NAME"),
        ("run\tvalue\tunit\tbench\n1\t5\tms\tx\n", "shape=NAME,config=NAME,time=value --out file.nc"),
        ("Data Size,A Time (s),B Time (s),Speedup\n1M,2,1,2\n", "--columns 'shape=Data Size' --out file.nc"),
        (
            "(M, N);a-latency;b-speedup;b-latency\n(8, 8);2.5;1.25;2.0\n",
            "--columns 'shape=(M, N)' --unit UNIT --out",
        ),
        ("0.010232\n0.010301\n", "its first line holds values; write above it names of columns: shape"),
        ("Sets,AverageTime,StandardDeviation\n1.0,0.5,0.1\n", "or name a mean: --columns time=NAME"),
        ("bogo ops/s (real time),test,opt\n99.5,x,a\n", "shape=NAME,config=NAME,time=NAME --unit"),
        ("Algorithm,Threads,Throughput\nA,1,14993\n", "shape=NAME,config=NAME,time=NAME --unit"),
        ("k,Calls,TotalDurationNs,AverageNs\nx,2,8,4\n", "or name a mean: --columns time=NAME"),
        (
            f"k,{','.join(f't{n}_ms,size{n}' for n in range(9))}\nx{',1' * 18}\n",
            "if t0_ms, t1_ms, t2_ms, t3_ms, t4_ms, t5_ms and 3 more are configurations: abtune import",
        ),
        ("counter-value,unit,event,event-runtime\n4,msec,cpu-clock,4000000\n", "time=NAME --out"),
        ("a,metric_unit,y_value\nx,ms,5\nx,ms,6\n", "shape=NAME,config=NAME,time=y_value --out file.nc"),
        # a line with a unit of times below a heading is none
        ("name,unit,y_50,y_20\nx,s,1.5,1.6\nx,s,1.5,1.6\n", "if it has a line for each timing"),
        ("kernel,old,new\n-,ms,ms\nx,1.5,1.6\n", "if it has a line for each timing"),
        (
            "#size\t\ttime(s)\tflop\n8\t\t1.5\t2\n",
            "line 1 may be its heading, but begins with #: sed '1s/##*//'",
        ),
        (
            '"##size";"##time#min";"##spread"\n8;1.5;0.1\n',
            "begins with #: sed '1s/##*//' file.txt > NAME.csv",
        ),
        (  # as pandas writes it with its index
            ",kernel name,branch,elapsed time\n0,x,old,1.5\n",
            "if it has a line for each timing: abtune import timings file.txt --columns shape=NAME",
        ),
        (
            '{"kernel": {"0": "x", "1": "y"}, "ms": {"0": 1.5, "1": 1.6}}',
            "df.to_json('t.json', orient='records')",
        ),
        (
            '{"columns":["kernel","ms"],"index":[0],"data":[["x",1.5]]}',
            "df.to_json('t.json', orient='records')",
        ),
        (
            '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n"0","k","Duration","us","1"\n',
            "ncu --csv --metrics gpu__time_duration.sum; then --columns",
        ),
        ("Device ID 0\n\nm,n,us\n8,8,1.5\n", "its table begins in line 3: tail -n +3 file.txt > NAME.csv"),
        (
            "tuning,runtime_a,runtime_b\nx,1.5,1.6\n\nkernel,fom,runtime_a,runtime_b\nx,1,1.5,1.6\n",
            "if runtime_a and runtime_b are configurations",
        ),
        (
            "Results of May,,,\n,,,\nshape,config,seed,time_ms\nx,a,0,1.5\n",
            "its table begins in line 3: tail -n +3 file.txt > NAME.csv",
        ),
        (
            "| ns/op | op/s | err% | total | x\n|--:|--:|--:|--:|:--\n",
            "write templates::csv(), rename its column unit",
        ),
        ("Function  MBytes/sec  Min (sec)\nCopy  1  2\n", "--columns shape=function,time=min_runtime"),
        (
            "a  1  2\nb  3  4\n",
            "if blanks separate its columns: sed 's/^ *//; s/  */,/g' file.txt > file-commas.csv",
        ),
        (
            "[12:00] x old run 0: took 9.9 ms\n[12:01] x new run 0: took 9.7 ms\n",
            "write its timings as CSV",
        ),
        ("[12.3,12.4,12.1]", "write its timings as CSV"),
        ("Shape;Variante;Zeit [ms]\na;alt;1,5\n", "config=NAME,'time=Zeit [ms]' --out"),
        (
            "[Task] x\n",
            "abtune import lists what it reads; if it is something else, write its timings as CSV",
        ),
        (
            ",N,Triton,Torch\n0,256,4.1,4.2\n",
            "are configurations: abtune import timings file.txt --columns shape=N --unit UNIT",
        ),
        (
            '{"results": [{"times": {}}]}',
            "JSON without records: objects of names and values; write it as CSV",
        ),
        (
            '[{"bench": "x"}]\n',
            "abtune import lists what it reads; if it is something else, write its timings as CSV",
        ),
        (
            '{\n "arch": "x86_64",\n "cpu": "X",\n "version": 1\n}\n',
            "it has no samples of asv; give its results alone",
        ),
        (
            '{"b.time_sum": {"code": "", "min_run_count": 2}, "version": 2}\n',
            "it has no samples of asv; give its results alone",
        ),
        (
            "| Change | Before [1234] <main> | After [5678] | Ratio | Benchmark (Parameter) |\n",
            "it has no samples of asv; give its results alone",
        ),
        (" \n", "no importer knows this content; it is empty"),
        (
            "a,old,0,1.5\na,new,0,1.4\n",
            "its first line holds values; write above it names of",
        ),
        *((f"hot-points=1,{n},{n}\nhot-points=2,7,8\n", "its first line holds val") for n in ("9", "0.9")),
        ("alexnet,128\nbert,64\n", "its first line holds values; write above it names of"),
        ("2,3,a,3,inf\n4,5,b,6,7\n", "its first line holds values; write above it names of"),
        ("status,elapsed_secs,user_secs,task\n0,0.5,0.4,fib\n", "if it has a line for each timing"),
        ("shape,config,time (min)\nx,a,9\n", "it has no column of times; write its timings as CSV with"),
        (
            "# R\n\n| Case | Old (ms) | New (ms) | Change |\n|:-|-:|-:|-:|\n| x | 1 | 2 | - |\n",
            "line 3: call the first column Shape, and take",
        ),
        (
            "|M|N|old TFLOPS|new TFLOPS|\n|-|-|-|-|\n|1|2|3|4|\n",
            "line 1: write units in brackets, such as old",
        ),
        ("shape,old ms,new ms\nx,1,2\n", "write units in brackets, such as old (ms)"),
        ("|Language|Time, s|Memory, MiB|\n|-|-|-|\n|C|1|2|\n", "in brackets, such as Time (s)"),
        ("|Variant|gemm (ms)|conv (ms)|\n|-|-|-|\n|old|1|2|\n", "line 1: its lines are configurations; tran"),
        ("config,gemm_us,conv_us\nold,1,2\n", "its lines are configurations; transpose it"),
        ("config,gemm_us,conv_us\nold,1,2\nold,1,3\n", "has a column, or write a line for each timing if"),
        ("== ==\nShape old\n== ==\nx 1\n== ==\n", "take out its rules, and put commas between columns: sed"),
        (
            '{"old": [1.2, 1.3], "new": [1.1, 1]}',
            'write a record for each list: {"shape": "gemm", "config": "ol',
        ),
        ('{"gemm": {"old": [1.2], "new": [1.1]}}', "write a record for each list"),
        ("kernel_name,x_value,metric_unit,y_value_50\ncopy,256,ms,0.5\n", "config=NAME,time=NAME --out"),
        ("name,runtime,score\nparse,bun,9.5\n", "config=NAME,time=NAME --unit UNIT"),
        ('[{"shape": "a", "config": "b", "time": 1}]', "--columns time=time --unit UNIT"),
        ('"shape;old_ms;new_ms"\n"gemm;2;1"\n', "each line is in quotes; take them out: tr -d '\"' <"),
        ("gemm;old;1,2\ngemm;new;1,1\n", "its first line holds values; write above it names of columns"),
        ("gemm,1.2,1.1\nconv,2.2,2.1\n", "if its first line holds values, write above it names of columns"),
        ("version,0.26,0.27\ngemm,1.2,1.1\n", "; if 0.26 and 0.27 are configurations: abtune import timi"),
        ("shape,run,old_ms,new_ms\ng,0,1,2\n", "--columns shape=shape,seed=run --out"),
        (
            "model,test_time,avg_ns,samples_ns\nm,2026-01-02T03:04:05Z,5,5\n",
            "config=NAME,time=samples_ns --out",
        ),
        (
            "# Net\n\nLatency, energy and power of this net on the board of 2025.\n\n# Use\n\n|A|B|\n|-|-|\n",
            "a table of results has headings such as | Shape | old (ms) |",
        ),
        ("|Machine|GPU|\n|-|-|\n|mine|RTX|\n", "headings such as | Shape | old (ms) | new (ms) |, and"),
    ],
)
def test_what_nobody_reads_is_said(empty_folder: Path, text: str, said: str) -> None:
    """One line says where to look, or what to write instead."""
    path = Path("file.txt")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as raised:
        recognise(sources(path))
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_files_of_two_kinds_are_not_one_import(tmp_path: Path) -> None:
    """The first file that does not fit the ones before it is named."""
    with pytest.raises(InputError, match=r"tvm14009-rtx3080.md: is a .*, unlike the files before \(timings"):
        recognise(sources(SAMPLES / "times.csv", ROOT / "data" / "tvm14009-rtx3080.md"))
    with pytest.raises(
        DatasetError, match="there is no such file, and no importer of that name; abtune import"
    ):
        recognise(sources(tmp_path / "absent"))
    with pytest.raises(
        DatasetError, match="for the standard input, name its importer: abtune import timings /dev"
    ):
        recognise(sources("-"))


def test_a_folder_that_cannot_be_read_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not taken for one that holds nothing."""
    monkeypatch.setattr(os, "access", lambda *arguments: False)
    with pytest.raises(DatasetError, match=f"cannot read {tmp_path}: Permission denied"):
        recognise(sources(tmp_path))


@pytest.mark.parametrize(
    ("content", "remedy"),
    [
        (b"shape,time (\xb5s)\nx,1\n", "it is not a text in UTF-8; a spreadsheet saves CSV UTF-8"),
        (gzip.compress(b"{}", mtime=0), "gunzip -k"),
        (lzma.compress(b"{}"), "unxz -k"),
        (bz2.compress(b"{}"), "bunzip2 -k"),
        (bytes.fromhex("28b52ffd0402 1100 007b7d"), "unzstd"),
        (b'{\n"device_name": "A100",\n"cache": {', "if it is a cache of Kernel Tuner: abtune import trials"),
        (b"name,min,max,mean,stddev,median\nt,1,2,1.5,0,1\n", "pytest --benchmark-json FILE"),
        (b"group,function,value,sample_time_nanos,iteration_count\ng,f,1,9,9\n", "new/sample.json"),
        (b"name old time/op new time/op delta\nF-8 1us 2us 50%\n", "give the outputs of go test -bench"),
        (
            b"goos: linux\n    | old.txt |  new.txt   |\n  | sec/op | sec/op  vs base  |\n",
            "benchstat compared",
        ),
        (b"2024-05-01\nRunning ./b\nBenchmark  Time  CPU  Iterations\nA 1 ns 1 ns 9\n", "benchmark_out=FILE"),
        (b'{"mean": {"confidence_interval": {}}}', "give the files sample.json of criterion"),
        (
            b"|  ID  |  Task Description  | Latency (ms) | Trials |\n",
            "records that Ansor wrote: RecordToFile",
        ),
        (b"|  ID  | Latency (ms) | Speed (GFLOPS) | Trials |\n|  0 | 0.1 | 2.0 | 64 |\n", "Ansor wrote"),
        (b"ElapsedTime(s)\t80\tEstimatedLatency(ms)\t2.1\tTrials\t64\n", "Ansor wrote"),
        (
            b'{"key": [1], "configs_timings": [[{"num_warps": 4}, [0.1, 0.1, 0.2]]]}',
            "write its trials as CSV",
        ),
        (b"AUTOTUNE mm(8x8, 8x8)\n mm 0.1 ms\nSingleProcess AUTOTUNE benchmarking takes 1 s\n", "its trials"),
        (
            b"Benchmark     (dim)  Mode  Cnt  Score   Error  Units\nA.b 100 avgt 3 1.0 +- 0.1 s/op\n",
            "-rf json",
        ),
        (b"[Task  1/12]  Current/Best:  100.11/ 200.21 GFLOPS\n", "records that AutoTVM wrote: log_to_file"),
        (
            b"shape,config,mean_ms,std_ms\na,old,1.5,0.1\n",
            "it has statistics and no single timings; write its .*, or name a mean: --columns time=",
        ),
        (
            b"shape,config,median(elapsed),totalTime\na,old,1.5,10\n",
            "it has statistics and no single timings",
        ),
        (b"config,old,old\nseed,0,1\na,1.5,1.6\n", r"two columns have the same name: .*; .*df\.melt"),
        (b"Method;Job;Mean;StdDev\nFoo;Default;1.2 us;0.1 us\n", "it has statistics and no single timings"),
        (
            b"n,rw,runtime,bs,read-mean(us),write-mean(us)\n1,read,120s,4K,93,95\n",
            "if it has a line for each timing",
        ),
        (b"exprs\tprocess\treal\trows\nread()\t57.1\t18.9\t100\n", "time=real --unit UNIT"),  # bench of R
        (
            f"{','.join(map('a{}'.format, range(12)))},ttft_ms\n{'x,' * 12}1.5\n".encode(),
            "is one of a0, .*, ttft_ms, ",
        ),
        (
            b'{"layout": [], "benchmarks": [{"runs": []}], "context": {}}',
            r"are nanoseconds, in stats\.samples of each run; .* and time_ns",
        ),
        (b"Output template: perf,%engine%\nperf,cpu,ref,,mb1,1,1,1,1,1,1\n", r"grep \^perf, FILE"),
        (b'BENCHMARK: echo\nCPU MODEL: x\n{\n  "context": 1\n}\n', r"JSON begins in line 3: tail -n \+3 "),
        (b"shape,old,new\na,10 ms,9 ms\n", "'10 ms' is not a number; write the unit into the heading"),
        (b"\x89HDF\r\n\x1a\n\0", "if it is a dataset: abtune analyze FILE"),
        (b"CDF\1\0\0\0\0", "if it is a dataset: abtune analyze FILE"),
        (b"SQLite format 3\0\x10\0", "write it as CSV: sqlite3 -header -csv FILE"),  # OpenTuner, nsys
        (b"PK\x03\x04\x14\0", "it is a workbook or an archive; save its sheet as CSV"),
        (b"PAR1\x15\0", r"it is Parquet; write it as CSV: pandas.read_parquet"),
        (
            b"10:00:00  ID | Name | FLOP | Weight | Latency (us) | Weighted Latency (us) | Trials | Done\n",
            r"begins with something else, .* cut that off: sed",
        ),
        (b'{"Time":"2026-11-23T02:25:58Z","Action":"output","Package":"x"}\n', "without -json"),
        (b"command,mean,stddev,median,user,system,min,max\nsleep,1,1,1,1,1,1,1\n", "hyperfine --export-json"),
        (
            b"# A\n| Command | Mean [ms] | Min [ms] | Max [ms] | Relative |\n|:---|---:|---:|---:|---:|\n",
            "hyperfine",
        ),
        (b"raw times: 1.2 msec, 1 msec\n\n5 loops, best of 2: 1 msec per loop\n", "pyperf timeit -o FILE"),
        (
            "9 \u00b5s \u00b1 1 ns per loop (mean \u00b1 std. dev. of 7 runs)\n".encode(),
            "pyperf timeit -o FILE",
        ),
        (b"\nreal\t0m1.206s\nuser\t0m1.190s\n", "hyperfine --export-json FILE COMMAND"),
        (b"1203.55,msec,task-clock:u,1203550000,100.00\n0,,faults,1,1\n", "hyperfine --export-json FILE"),
        (b"1203.55;msec;task-clock:u;1203550000;100.00\n0;;faults;1;1\n", "hyperfine --export-json FILE"),
        (b"Performance counter stats for './b':\n 1.2 msec task-clock\n", "hyperfine --export-json FILE"),
        (b'{"counter-value" : "1.5", "unit" : "msec", "event" : "cpu-clock"}\n', "hyperfine --export-json"),
        (
            b"-- benchmark: 1 tests --\nName (time in us)  Min  Max\nt  1.0 (1.0)  2.0 (1.0)\n",
            "pytest --bench",
        ),
        (b'<BenchmarkResults name="f" samples="100">\n<mean value="1"/>\n', "means or medians and no single"),
        (b"Name  Self CPU %  Self CPU\nconv  0.5%  316us\n", "means or medians and no single timings"),
        (b"window.BENCHMARK_DATA = {}\n", "means or medians and no single timings"),
        (b"[ 4s] INFO DisplayPlugin: tests=10, best {}, cost time=0.08\n", "its trials as CSV"),
        (b"[I] === Performance summary ===\n[I] Latency: min = 1 ms\n", "trtexec --exportTimes=FILE"),
        (b':::MLLOG {"namespace": "", "time_ms": 16}\n', "it has the events of a run"),
        (b'"pid": 7, "tid": 7, "ts": 10ns : version : 1 @ a\n', "it has the events of a run"),
        (
            b'{"results": [{"name": "f", "unit": "op", "median(elapsed)": 1e-8}]}',
            "rename its field unit, which",
        ),
        (b"model,n_gen,avg_ns,avg_ts,stddev_ts\nm,1,2,3,4\n", "llama-bench -o json"),
        (
            b'[{"Julia":"1","BenchmarkTools":"0.0.3"},[["BenchmarkTools.Trial",{}]]]',
            "in Julia: foreach",
        ),
        (
            b'[{"Julia":"1","BenchmarkTools":"1.0.0"},[["BenchmarkGroup",{"data":{"f":["Trial",{}]}}]]]',
            "in Julia: foreach",
        ),
        (
            b"BenchmarkTools.Trial: 100 samples with 1 evaluation.\n Time (median): 4 ns\n",
            "in Julia: foreach",
        ),
        (b"[{'shape': 'x', 'time_ms': 5}]\n", "write each by json.dumps"),
        (b"Type  Time(%)  Time\nGPU activities:  31.76%  350.25ms\n", "nvprof --csv --print-gpu-trace"),
        (b"<table>\n<tr><th>Shape</th></tr></table>\n", "pandas.read_html"),
        (b"\\begin{tabular}{lr}\nShape & old (ms) \\\\\n", "write the table in markdown"),
        (b"name,iterations,real_time,cpu_time,time_unit\nf,1,2,3,ns\n", "--benchmark_out_format=json"),
        (b"Run on (8 X 3 MHz CPU s)\nname,iterations,real_time,cpu_time\nf,1,2,3\n", "_out_format=json"),
        (
            b"shape   old  new  ratio\nconv    1.2  1.0  1.2\n",
            r"columns: sed 's/\^ \*//; s/  \*/,/g' .*/f > f-commas.csv$",
        ),
    ],
)
def test_other_files_of_known_tools_are_told_apart(tmp_path: Path, content: bytes, remedy: str) -> None:
    """Where a tool can write something that abtune reads, the message says how."""
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(InputError, match=remedy):
        recognise(sources(tmp_path / "f"))


@pytest.mark.parametrize(("content", "below"), [("", "/*"), ("logs", "/*"), ("deep", "/*/*"), ("words", "")])
def test_a_folder_of_results_says_what_to_give(tmp_path: Path, content: str, below: str) -> None:
    """Files below a folder are found, and the message is the command that takes them."""
    results = tmp_path / ("x/y" if content == "deep" else "x")
    results.parent.mkdir(exist_ok=True)
    if content == "words":
        results.write_text("just some words\n", encoding="utf-8")
    else:
        shutil.copytree(TUNED / "mainline-0" / content.replace("deep", ""), results)
    files = f"--run NAME='{tmp_path}{below}' --out {tmp_path.name}.nc"
    command = f"give the files of each configuration: abtune import {files}"
    with pytest.raises(InputError) as raised:
        recognise(sources(tmp_path))
    assert str(raised.value).endswith(command if below else "with columns shape, config, seed and time_ms")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_pipes_need_the_name_of_their_importer(tmp_path: Path) -> None:
    """To look at a pipe would take away what it holds."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is no regular file; name its importer: published, databases"):
        recognise(sources(tmp_path / "pipe"))


@pytest.mark.parametrize("chosen", IMPORTERS)
@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("|Shape|a|b|\n|-|-|-|\n", "published"),
        ("Shape | a | b\n", "published"),
        (" ID | Name | FLOP | Weight |\n", "logs"),
        ("[Task #0: main] Trial #1: Error in building:\n", "logs"),
        ('["123", "E0cAAAAAAAB7"]\n', "databases"),
        ('[0, [[[["GetSBlock", [], [], []]]]]]\n', "databases"),
        (CSV, "timings"),
        ("# by me\nkernel;latency [ms]\nx;1\n", "timings"),
        ("shape,config,time_ms,what was said of this run by hand\nx,a,1,-\n", "timings"),
        ("x\nProfileResult(mean=1, results=(1,))\n", "timings"),
        ('{"results": [{"command": "x", "times": [1]}]}', "timings"),
        ('{"context": {}, "benchmarks": []}', "timings"),
        ('{"benchmarks": [{"metadata": {}, "runs": []}]}', "pyperf"),
        ('{"results": [{"configuration": {}, "invalidity": 0}]}', "kernel-tuner"),
        ('{"env_name": "x", "result_columns": []}', "asv"),
        ("BenchmarkA-2\t1\t5 ns/op\n", "go-bench"),
        ('{"sampling_mode":"Flat","iters":[1.0],"times":[2.0]}', "criterion"),
        ('{"meta": {"argv": [], "version": {"nvbench": {}}}}', "nvbench"),
        ('{"input": ["llvm", "x", [], {}]}\n', "tvm-records"),
        ('{"i": [["k", "llvm"], []]}\n', "tvm-records"),
        ("| Kernel | old (ms) | new (ms) |\n", "published"),
        ("| Kernel | old (GB/s) | new (GB/s) |\n", "published"),
        ("M,old (GB/s),new (GB/s)\n8,1,2\n8,1,2\n", "timings"),
        ("shape,old (ms),new (ms)\nx,1,2\nx,1,2\n", "timings"),
        ("layer,old,new\nx,1,2\nx,1,2\n", "timings"),
        ("shape,seed,old (ms),new (ms)\nx,1,1,2\n", "timings"),
    ],
)
def test_a_file_of_another_kind_is_sent_on(tmp_path: Path, chosen: str, text: str, name: str) -> None:
    """Whichever importer was named, the message names the one that reads the file."""
    path = tmp_path / "file.txt"
    path.write_text(text, encoding="utf-8")
    values = {option.name: option.default for option in importer_named(chosen).options}
    if chosen == name:
        assert recognise(sources(path)).name == name
    if name in {chosen, importer_named(chosen).like}:
        return
    with pytest.raises(DatasetError) as raised:
        run_importer(importer_named(chosen), sources(path), values)
    other = importer_named(name)
    assert str(raised.value) == (
        f"{path}: is not {importer_named(chosen).kind} but {other.kind}: abtune import {name}"
    )


def test_what_nobody_knows_for_certain_is_read(tmp_path: Path) -> None:
    """A table whose column of times has a name of its own is no table of times for certain."""
    path = tmp_path / "t.csv"
    path.write_text("shape,config,elapsed\nx,a,1\n", encoding="utf-8")
    values = {"shape": "", "unit": "ms", "columns": "time=elapsed", "seed-is": "file"}
    assert run_importer(importer_named("timings"), sources(path), values).dataset["latency"].item() == 1e-3


def test_several_published_tables_are_seeds(tmp_path: Path) -> None:
    """Each file is one; what only some files have is missing elsewhere."""
    for name, rows in (("1.md", "|x|1|2|\n"), ("2.md", "|x|3|4|\n|y|5|6|\n")):
        (tmp_path / name).write_text(f"|Shape|a (s)|b (s)|\n|-|-|-|\n{rows}", encoding="utf-8")
    tables = find_files([f"{tmp_path}/*.md"], [])
    assert recognise(tables).name == "published"
    imported = run_importer(importer_named("published"), tables, {"unit": ""})
    latency = imported.dataset["latency"].sel(round=0, repeat=0)
    assert latency.sel(shape="x").values.tolist() == [[1, 3], [2, 4]]
    assert latency.sel(shape="y", seed=1).values.tolist() == [5, 6]
    assert imported.dataset["run_status"].sel(shape="y", seed=0).values.tolist() == [RunStatus.MISSING] * 2
    assert imported.notes[0].startswith("each file is one seed: 1 to 2 seeds per cell")


def test_times_that_look_like_two_units_are_said(tmp_path: Path) -> None:
    """A millisecond among microseconds is no noise."""
    (tmp_path / "t.csv").write_text("shape,config,seed,time_us\nx,a,0,1.5\nx,a,1,1500\nx,b,0,1\ny,a,0,1\n")
    imported = run_importer(
        importer_named("timings"),
        sources(tmp_path / "t.csv"),
        {"shape": "", "unit": "", "columns": "", "seed-is": "file"},
    )
    assert [note for note in imported.notes if "-fold" in note] == [
        "times of a differ more than 300-fold within x; check whether some are in another unit, of a "
        "warm-up, or mark failures"
    ]


def test_configurations_in_two_units_are_said(tmp_path: Path) -> None:
    """Seconds beside milliseconds are no boost; a configuration may have no time of a shape."""
    rows = "x,a,0,1.2\nx,b,0,0.0011\ny,a,0,1\ny,b,0,0.9\nz,a,0,\nz,b,0,1\n"
    (tmp_path / "t.csv").write_text(f"shape,config,seed,time_ms\n{rows}", encoding="utf-8")
    values = {"shape": "", "unit": "", "columns": "", "seed-is": "file"}
    notes = run_importer(importer_named("timings"), sources(tmp_path / "t.csv"), values).notes
    said = "configurations differ more than 300-fold in x; check that the times of all have the same unit"
    assert [note for note in notes if "-fold" in note] == [said]


@pytest.mark.parametrize(("slow", "said"), [(1, False), (3, True)])
def test_a_few_interrupted_timings_are_not_another_unit(tmp_path: Path, slow: int, *, said: bool) -> None:
    """Of hundreds of timings of a benchmark runner, one may be far slower; a seed counts by their median."""
    times = [*["1.5"] * (400 - slow), *["1500"] * slow]
    text = "shape,config,time_us\n" + "".join(f"x,a,{time}\n" for time in times)
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    values = {"shape": "", "unit": "", "columns": "", "seed-is": "file"}
    notes = run_importer(importer_named("timings"), sources(tmp_path / "t.csv"), values).notes
    assert any("300-fold" in note for note in notes) is said


def test_importers_describe_themselves() -> None:
    """The registry has their names; every importer and every option has a help."""
    for name, importer in zip(IMPORTERS, all_importers(), strict=True):
        assert importer.name == name
        assert importer.kind.startswith(("a ", "an "))
        assert importer.summary.strip()
        assert importer.inputs in Inputs
        assert all(option.help.strip() for option in importer.options)
        assert f"abtune import {name} " in importer.examples
    with pytest.raises(AbtuneError, match="unknown importer 'log'; did you mean: logs"):
        importer_named("log")


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\0", b"|" * 5000, b"\x89HDF\r\n\x1a\n"])
def test_any_content_may_be_looked_at(tmp_path: Path, content: bytes) -> None:
    """No importer fails at what it does not know."""
    path = tmp_path / "file"
    path.write_bytes(content)
    text = read_beginning(path)
    assert not [importer.name for importer in all_importers() if importer.recognises(path, text)]
    assert not [importer.name for importer in all_importers() if importer.recognises(tmp_path, "")]


@pytest.mark.parametrize(
    ("configs", "said"),
    [
        (["gcc_seed0", "gcc_seed1", "clang"], ["gcc_seed0 and gcc_seed1 look like runs of gcc"]),
        (["gcc_s0", "gcc_s1"], ["gcc_s0 and gcc_s1 look like runs of gcc"]),
        (["old run 1", "old run 2", "new run 1"], ["old run 1 and old run 2 look like runs of old"]),
        (
            ["a_0", "a_1", "b_0", "b_1"],
            ["a_0 and a_1 look like runs of a,", "b_0 and b_1 look like runs of b,"],
        ),
        (["new1", "new2", "old1", "old2"], ["new1 and new2 look like", "old1 and old2 look like"]),
        (
            ["seed_0", "seed_1", "seed_2"],
            ["seed_0 and seed_1 look like runs of one configuration, but count"],
        ),
        (["run1", "run2"], ["run1 and run2 look like runs of one configuration"]),
        (["0", "1", "2"], ["0 and 1 look like runs of one configuration"]),
        (["old", "old.1", "new"], ["old and old.1 look like runs of old"]),
        (["v2", "v2.1", "v3"], []),
        (["O2", "O3"], []),
        (["gcc-13", "gcc-14", "clang-16", "clang-17"], []),
        (["Old", "old", "new"], ["'Old' and 'old' count as different configurations"]),
        (["gcc-13", "gcc-14", "O2", "O3", "seed1", "seed2", "rerun 1", "rerun 2"], []),
    ],
)
def test_names_that_may_be_one_configuration_are_said(configs: list[str], said: list[str]) -> None:
    """Runs in columns of their own and other spellings would else pass for configurations."""
    notes = list(about_names(configs))
    assert [note.startswith(start) for note, start in zip(notes, said, strict=True)] == [True] * len(said)


@pytest.mark.parametrize(
    ("text", "configs"),
    [
        ("shape,config,time_us\na,new,1\na,old,2\na,other,3\n", ["old", "new", "other"]),
        ("shape,config,time_us\na,new,1\na,fast,2\n", ["new", "fast"]),
        ("shape,async_us,mainline_us\na,1,2\n", ["mainline", "async"]),
    ],
)
def test_the_baseline_is_what_a_name_calls_so(tmp_path: Path, text: str, configs: list[str]) -> None:
    """It comes first, with its timings; without such a name the order is the file's."""
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    inputs = sources(path)
    importer = recognise(inputs)
    values = {option.name: option.default for option in importer.options}
    as_read, dataset = importer.read(inputs, values).dataset, run_importer(importer, inputs, values).dataset
    assert dataset["config"].values.tolist() == configs
    for config in configs:
        xr.testing.assert_equal(dataset.sel(config=config), as_read.sel(config=config))


def test_every_import_has_notes_about_names(tmp_path: Path) -> None:
    """They come after the importer's own."""
    path = tmp_path / "wide.csv"
    path.write_text("name,gcc_seed0_ms,gcc_seed1_ms\na,1.0,1.1\n", encoding="utf-8")
    inputs = sources(path)
    values = {"unit": "", "shape": "", "columns": "", "seed-is": "file"}
    notes = run_importer(recognise(inputs), inputs, values).notes
    assert "look like runs of gcc" in notes[-1]


@pytest.mark.parametrize("other", ["CONV 3x3", "conv  3x3", "conv3x3", "conv 3x\uff13"])
def test_an_import_says_which_shapes_look_like_one(tmp_path: Path, other: str) -> None:
    """Case, blanks and the encoding of letters are easy to overlook, and each spelling is a shape."""
    path = tmp_path / "t.csv"
    path.write_text(f"shape,old_ms,new_ms\nconv 3x3,1,2\n{other},1,2\nconv 5x5,1,2\n", encoding="utf-8")
    inputs = sources(path)
    importer = recognise(inputs)
    values = {option.name: option.default for option in importer.options}
    notes = run_importer(importer, inputs, values).notes
    assert [note for note in notes if note.startswith(f"'conv 3x3' and '{other}' count as different shapes")]


def test_an_import_says_which_shapes_have_fewer_runs(tmp_path: Path) -> None:
    """A file is a seed, so a shape that one file lacks has a run less."""
    for number, shapes in enumerate(("xyz", "x", "xz")):
        lines = "".join(f"{shape},a,{number + 1}\n" for shape in shapes)
        (tmp_path / f"{number}.csv").write_text(f"shape,config,time_us\n{lines}", encoding="utf-8")
    inputs = sources(*sorted(tmp_path.iterdir()))
    values = {"unit": "", "shape": "", "columns": "", "seed-is": "file"}
    notes = run_importer(recognise(inputs), inputs, values).notes
    assert notes[-1] == "a has fewer runs of y, z than of others; they are missing, not failed"


def test_an_import_says_how_many_shapes_have_all_configurations(tmp_path: Path) -> None:
    """Of three configurations, a shape that lacks one has a verdict on the other."""
    path = tmp_path / "t.md"
    path.write_text("|Shape|old (ms)|new (ms)|other (ms)|\n|-|\n|a|1|2|3|\n|b|1|2|-|\n", encoding="utf-8")
    notes = run_importer(recognise(sources(path)), sources(path), {"unit": ""}).notes
    lacks = "the others get no verdict on what they lack: b"
    assert notes[-1] == f"1 of 2 shapes has all 3 configurations; {lacks}"
