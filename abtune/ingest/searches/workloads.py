"""What a tuned module computes: its published label if that is certain, else its sizes.

Sizes alone do not tell: B may be transposed, a stride may be two. So the blocks of the module are read, as
TVM's own JSON has them.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from abtune.errors import InputError
from abtune.shapes import Conv2d, Gemm, Shape

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


def label_of(module: str, hash_text: str, sizes: Sizes, dtypes: Sequence[str]) -> str:
    """Return the published label of a workload; its sizes and hash if that is not certain."""
    shape = _recognise(module, sizes) if set(dtypes) == {"float32"} else None
    by_sizes = f"{','.join('x'.join(map(str, size)) for size in sizes)}#{hash_text[:10]}"
    return shape.label if shape else by_sizes


def _recognise(module: str, sizes: Sizes) -> Shape | None:
    try:
        raw = base64.b64decode(module, validate=True)
        # TVM writes eight bytes with the length before the JSON.
        shape = _shape_of(_blocks(json.loads(raw[raw.index(b"{") :])["nodes"]), sizes)
    except (binascii.Error, LookupError, TypeError, ValueError, RecursionError, InputError):
        return None  # other ranks, another TVM's JSON, or other operations
    fits = shape is not None and (*shape.input_shapes, shape.output_shape) == sizes
    return shape if fits else None


def _shape_of(blocks: Sequence[str], sizes: Sizes) -> Shape | None:
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
