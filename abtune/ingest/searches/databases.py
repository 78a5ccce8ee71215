"""MetaSchedule's JSON databases: the ``work_dir`` of ``ms.tune_tir``, read without TVM.

Each folder is one run. A line of ``database_workload.json`` holds a structural hash and a module. A line of
``database_tuning_record.json`` holds the number of a workload and one trial, in the order of the search.

A workload has its published label if that is certain, else its sizes. Sizes alone do not tell: B may be
transposed, a stride may be two. So the blocks of the module are read, as TVM's own JSON has them.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
import statistics
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from abtune.dataset.schema import TrialStatus
from abtune.errors import DatasetError, InputError, naming
from abtune.ingest.importers import Importer, Inputs
from abtune.ingest.searches.logs import logs_in
from abtune.ingest.searches.searches import Trial, TuningRun, search_reader
from abtune.ingest.texts import json_documents, reading, well_formed
from abtune.ingest.units import MARKS_FAILURE, all_seconds
from abtune.shapes import Conv2d, Gemm, Published

WORKLOADS = "database_workload.json"
RECORDS = "database_tuning_record.json"
# How the lines of the two files begin. No repetition is within another, so that matching is fast.
_LINES = re.compile(r'\s*(?:\[\d+, *\[\[\[\["|\["-?\d+", *")', re.ASCII)


# The trial of a record, and its trace, times, target and arguments.
_Record: TypeAlias = tuple[Trial, list[Any]]


def _recognises(path: Path, text: str) -> bool:
    # With one of the two files alone, the error names the other one.
    return bool(_LINES.match(text)) or any((path / name).is_file() for name in (WORKLOADS, RECORDS))


def _files_of(path: Path) -> list[Path]:
    """Return the two files of a database; else say what to give."""
    with reading(path):
        missing = [name for name in (WORKLOADS, RECORDS) if not (path / name).is_file()]
    if missing:
        hint = "give the work_dir of the tuning"
        if path.name in {WORKLOADS, RECORDS}:
            hint = f"give its folder, {_files_of(path.parent)[0].parent}"
        elif logs_in(path):
            hint = "there are logs: abtune import logs"
        raise DatasetError(f"{path}: is no folder with {' and '.join(missing)}; {hint}")
    return [path / WORKLOADS, path / RECORDS]


def _searches(_: Path, texts: Mapping[Path, str]) -> list[TuningRun]:
    (workloads_file, workloads_text), (records_file, records_text) = texts.items()
    with naming(workloads_file):
        workloads = _read_workloads(workloads_text)
    with naming(records_file):
        records = _read_records(records_text, len(workloads))
        return [_search(*workloads[workload], tried) for workload, tried in sorted(records.items())]


def _read_records(text: str, workloads: int) -> dict[int, list[_Record]]:
    records: dict[int, list[_Record]] = {}
    timed: dict[str, int] = {}
    for number, line in json_documents(text):
        with naming(f"line {number}"):
            match line:
                case [int(workload), [list(), seconds, dict(), list()] as content]:
                    trial = _trial(seconds)
                case _:
                    raise DatasetError("not a tuning record: [workload, [trace, times, target, arguments]]")
            if not 0 <= workload < workloads:
                has = f"but {WORKLOADS} has {workloads}; the files are not of one run"
                raise DatasetError(f"is of workload {workload}, {has}")
            # Failures may be alike. A timed record that comes again shows a file appended to itself.
            if trial[0] is TrialStatus.OK and (first := timed.setdefault(json.dumps(line), number)) != number:
                raise DatasetError(f"is the same as line {first}; the file has a search twice")
            records.setdefault(workload, []).append((trial, content))
    return records


def _trial(seconds: Any) -> Trial:
    """Return what a record says of its trial, by the mean of its times, by which MetaSchedule ranks, too."""
    if seconds is None:
        return TrialStatus.NOT_RUN, math.nan
    if isinstance(seconds, list) and any(isinstance(t, int | float) and t >= MARKS_FAILURE for t in seconds):
        return TrialStatus.RUN_FAILED, math.nan  # the file does not say why
    return TrialStatus.OK, statistics.fmean(all_seconds(seconds, "s", "times"))


def _read_workloads(text: str) -> list[tuple[str, str]]:
    workloads = []
    for number, line in json_documents(text):
        match line:
            case [str(hash_text), str(module)]:
                workloads.append((hash_text, module))
            case _:
                raise DatasetError(f"line {number}: not a workload: [hash, module]")
    return workloads


def _search(hash_text: str, module: str, records: Sequence[_Record]) -> TuningRun:
    arguments = records[0][1][3]
    with well_formed("an argument is not a tensor of fixed sizes"):
        dtypes = {dtype for _, dtype, _ in arguments}
        sizes = tuple(tuple(map(int, size)) for _, _, size in arguments)
    timed = [record for record in records if record[0][0] is TrialStatus.OK]
    best = min(timed, key=lambda record: record[0][1], default=None)
    return TuningRun(
        label=label_of(module, hash_text, sizes, dtypes),
        trials=[trial for trial, _ in records],
        targets={json.dumps(content[2], sort_keys=True) for _, content in records},
        winner=json.dumps(best[1]) if best else "",
    )


DATABASES = Importer(
    name="databases",
    kind="a MetaSchedule database",
    summary="""Read JSON databases of MetaSchedule, one folder for each run.

    A folder holds database_workload.json and database_tuning_record.json, as ms.tune_tir writes them into
    its work_dir. The workload tells the shape, every trial is kept in order, and TVM is not needed. Nobody
    measured the winners again, so each time is the search's own.
    """,
    recognises=_recognises,
    read=search_reader("MetaSchedule databases", _searches, files_of=_files_of, seed_unit="folder"),
    inputs=Inputs.RUNS,
    run_is="The work_dir of a tuning run",
    examples="""
  abtune import databases --run old='tuned/old-*' --run new='tuned/new-*' --out t.nc
  abtune import databases --pattern 'tuned/{config}/{shape}-{seed}' --out t.nc
""",
)


Sizes = tuple[tuple[int, ...], ...]
_Nodes: TypeAlias = Sequence[Mapping[str, Any]]
# The longest text of a block. Nodes may share others, so that few of them take an exponential one.
_LONGEST = 10_000
_MARKS = {"Add": "+", "Sub": "-", "Mul": "*", "And": "&", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}
# What blocks compute, as _blocks() writes it.
_GEMM = "C[a,b]=((A[a,c]*B[c,b])+C[a,b])"
_PADDING = re.compile(
    r"C\[a,b,c,d\]=(?:A\[a,b,c,d\]|if\([^\[\]?]*\?A\[a,\(b-(?P<padding>\d+)\),\(c-(?P=padding)\),d\]:0\.0\))"
)
_CONV2D = re.compile(
    r"D\[a,b,c,d\]=\(\(B\[e,f,g,d\]\*C\[a,"
    r"\((?:b|\((?P<stride>\d+)\*b\))\+(?:e|\((?P<dilation>\d+)\*e\))\),"
    r"\((?(stride)\((?P=stride)\*c\)|c)\+(?(dilation)\((?P=dilation)\*f\)|f)\),"
    r"g\]\)\+D\[a,b,c,d\]\)"
)


def label_of(module: str, hash_text: str, sizes: Sizes, dtypes: Collection[str]) -> str:
    """Return the published label of a workload; its sizes and hash if that is not certain."""
    shape = _recognise(module, sizes) if set(dtypes) == {"float32"} else None
    by_sizes = f"{','.join('x'.join(map(str, size)) for size in sizes)}#{hash_text[:10]}"
    return shape.label if shape else by_sizes


def _recognise(module: str, sizes: Sizes) -> Published | None:
    try:
        raw = base64.b64decode(module, validate=True)
        # TVM writes eight bytes with the length before the JSON.
        shape = _shape_of(_blocks(json.loads(raw[raw.index(b"{") :])["nodes"]), sizes)
    except (binascii.Error, LookupError, TypeError, ValueError, RecursionError, InputError):
        return None  # other ranks, another TVM's JSON, or other operations
    fits = shape is not None and (*shape.input_shapes, shape.output_shape) == sizes
    return shape if fits else None


def _shape_of(blocks: Sequence[str], sizes: Sizes) -> Published | None:
    match blocks, sizes:
        case [product], [(m, k), (_, n), _] if product == _GEMM:
            return Gemm(m=m, n=n, k=k)
        case [copy, product], [(n, h, w, c), (r, s, _, k), _]:
            around, conv = _PADDING.fullmatch(copy), _CONV2D.fullmatch(product)
            if around and conv:
                given = {**around.groupdict(default="0"), **conv.groupdict(default="1")}
                return Conv2d(n=n, h=h, w=w, c=c, k=k, r=r, s=s, **{name: int(given[name]) for name in given})
    return None


def _blocks(nodes: _Nodes) -> list[str]:
    """Return what each block but the root stores, such as ``C[a,b]=(A[a,b]+B[b,a])``.

    A and B are the first two arguments; other buffers, and the variables of a block, have letters in the
    order in which they come. Terms and factors are sorted by these letters.
    """
    (function,) = (node for node in nodes if node["type"].endswith(".PrimFunc"))
    arguments = nodes[function["data"]["params"]]["data"]
    buffers = {arguments[0]: "A", arguments[1]: "B"}
    bodies = [nodes[node["data"]["body"]] for node in nodes if node["type"].endswith(".SBlock")]
    stores = [body["data"] for body in bodies if body["type"].endswith(".BufferStore")]
    if len(stores) + 1 != len(bodies):
        raise ValueError("blocks within blocks")
    variables: dict[int, str] = {}

    def access(buffer: int, indices: int) -> str:
        name = buffers.setdefault(buffer, chr(ord("A") + len(buffers)))
        return f"{name}[{','.join(map(written, nodes[indices]['data']))}]"

    def written(index: int) -> str:
        kind, data = nodes[index]["type"].rpartition(".")[2], nodes[index]["data"]
        match kind:
            case "Var":
                text = variables.setdefault(index, chr(ord("a") + len(variables)))
            case "IntImm":
                text = str(int(nodes[data["value"]]["data"]))
            case "FloatImm":
                text = str(data["value"])
            case "TensorLoad":
                text = access(data["source"], data["indices"])
            case "Call":  # if_then_else(inside, value, zero), the only call that padding makes
                condition, value, other = map(written, nodes[data["args"]]["data"])
                text = f"if({condition}?{value}:{other})"
            case _:
                both = [written(data["a"]), written(data["b"])]
                if kind in {"Add", "Mul"}:
                    both.sort(key=lambda term: term.lstrip("(0123456789*"))
                text = f"({_MARKS[kind].join(both)})"
        if len(text) > _LONGEST:
            raise ValueError("too large an expression")
        return text

    blocks = []
    for store in stores:
        variables.clear()
        blocks.append(f"{access(store['buffer'], store['indices'])}={written(store['value'])}")
    return blocks
