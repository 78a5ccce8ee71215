"""Compare the numbers of two versions of abtune, over every bundled dataset and every section.

    python analysis/same_numbers.py write FOLDER           with the version that is imported
    python analysis/same_numbers.py compare BEFORE AFTER   exit code 1 if a number differs

`write` runs each command of `commands()` and keeps its JSON. `compare` reads two such folders. It reports
every number, name or flag that changed, and every field that came or went. Sentences may change freely.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from abtune.cli import main as abtune
from abtune.dataset.netcdf import BUNDLED

TABLE = "tvm14009-rtx3080"
SWEEPS = tuple(name for name in BUNDLED if name != TABLE)
ROOT = Path(__file__).parent.parent


def commands() -> Iterator[str]:
    """Yield the commands whose JSON is compared."""
    for name in (*SWEEPS, TABLE):
        yield f"analyze {name} --section report,overall --weights resnet50"
        for option in ("--estimand best-of:2", "--correction bh", "--correction none"):
            yield f"analyze {name} {option}"
        yield f"analyze {name} --ci 90 --margin 5 --rng-seed 3"
        for test in ("--correction max-t", "--method welch"):
            yield f"analyze {name} {test}"
    for name in SWEEPS:
        yield f"analyze {name} --section report,noise"
        yield f"analyze {name} --section curve"
        yield f"analyze {name} --explain M=512_N=3072_K=768"
        yield f"power {name} --shapes 29"
        yield f"analyze {name} --section report,timings"
    yield f"analyze {TABLE} --section report,single-run"
    yield "analyze h200-tvm14009 --explain N=1_H=14_W=14_C=1024_K=512_R=1_S=1_STR=2_PAD=0_DIL=1"
    yield "analyze torchvision.nc --section timings"
    yield "compare h200-tvm14009 h200-deep"
    yield "compare h200-tvm14009 h100-tvm14009-winners"
    yield "history h200-deep h200-tvm14009 h200-pilot"
    yield "power --cv 10 --shapes 29"
    yield "calibrate h200-pilot --replications 200"


def run(command: str) -> str:
    """Return what a command prints; a refusal is kept as its exit code."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        code = abtune([*command.split(), "--format", "json"])
    return printed.getvalue() if code in {0, 1} else json.dumps({"exit_code": code})


def write(folder: Path) -> None:
    """Run all commands and keep what they print, a file each."""
    folder.mkdir(parents=True, exist_ok=True)
    dump = ROOT / "data" / "torchvision-variants.txt"
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        words = ["--shape", "faster-rcnn", "--out", "torchvision.nc", "--overwrite"]
        abtune(["import", "timings", str(dump), *words])
    for command in commands():
        with contextlib.chdir(folder):
            text = run(command)
        (folder / f"{command.replace(' ', '_').replace('/', '_')}.json").write_text(text, encoding="utf-8")


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path and value of everything in a JSON document that is no sentence."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from leaves(inner, f"{path}.{name}")
    elif isinstance(value, list):
        sentences = value and all(isinstance(inner, str) and " " in inner for inner in value)
        for index, inner in enumerate([] if sentences else value):
            yield from leaves(inner, f"{path}[{index}]")
    elif not isinstance(value, str) or (" " not in value and not path.endswith(".found")):
        yield path, value


def differences(before: Path, after: Path) -> Iterator[str]:
    """Yield a line for every number that changed, and for every field that came or went."""
    for file in sorted(before.glob("*.json")):
        other = after / file.name
        if not other.exists():
            yield f"{file.stem}: not made"
            continue
        old, new = (
            dict(leaves(json.loads(json_file.read_text(encoding="utf-8")))) for json_file in (file, other)
        )
        if old.get(".exit_code") != new.get(".exit_code"):
            yield f"{file.stem}: exit code was {old.get('.exit_code', 0)}, is {new.get('.exit_code', 0)}"
            continue
        for path in old:
            if path not in new:
                yield f"{file.stem}: {path} is gone"
            elif old[path] != new[path]:
                yield f"{file.stem}: {path} was {old[path]!r}, is {new[path]!r}"
        for path in new.keys() - old.keys():
            yield f"{file.stem}: {path} is new"


def main(arguments: list[str]) -> int:
    """Write or compare, as the arguments say."""
    match arguments:
        case ["write", folder]:
            write(Path(folder))
            return 0
        case ["compare", before, after]:
            lines = list(differences(Path(before), Path(after)))
            print("\n".join(lines[:30]) or "all numbers are the same")
            print(f"{len(lines)} differences")
            return 1 if lines else 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
