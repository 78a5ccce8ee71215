"""What a tuned module computes: its published label if that is certain, else its sizes.

Sizes alone do not tell: B may be transposed, a stride may be two. So the index expressions of the module are
read, as TVM's own JSON has them.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from abtune.errors import InputError
from abtune.shapes import Conv2d, Gemm, Shape

Sizes = tuple[tuple[int, ...], ...]


# An index is a sum: the coefficient of each variable by its number, and of 1 by _CONSTANT.
_Index: TypeAlias = Mapping[int, int]
_CONSTANT = -1
# The most visits of nodes in recognising a module; a matrix product takes 37.
_MOST_VISITS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Access:
    """One load or store."""

    buffer: int
    indices: tuple[_Index, ...]


# What a block stores, and what it loads for that.
_Block: TypeAlias = tuple[_Access, Sequence[_Access]]


def label_of(module: str, hash_text: str, sizes: Sizes, dtypes: Sequence[str]) -> str:
    """Return the published label of a workload; its sizes and hash if that is not certain."""
    shape = _recognise(module, sizes) if set(dtypes) == {"float32"} else None
    by_sizes = f"{','.join('x'.join(map(str, size)) for size in sizes)}#{hash_text[:10]}"
    return shape.label if shape else by_sizes


def _recognise(module: str, sizes: Sizes) -> Shape | None:
    by_ranks: Mapping[tuple[int, ...], Callable[[_Graph, Sizes], Shape | None]] = {
        (2, 2, 2): _gemm,
        (4, 4, 4): _conv2d,
    }
    try:
        recognise = by_ranks[tuple(map(len, sizes))]
        raw = base64.b64decode(module, validate=True)
        # TVM writes eight bytes with the length before the JSON.
        shape = recognise(_Graph(json.loads(raw[raw.index(b"{") :])["nodes"]), sizes)
    except (binascii.Error, LookupError, TypeError, ValueError, RecursionError, InputError):
        return None  # other ranks, another TVM's JSON, or not affine
    fits = shape is not None and (*shape.input_shapes, shape.output_shape) == sizes
    return shape if fits else None


def _gemm(graph: _Graph, sizes: Sizes) -> Shape | None:
    """Recognise C[i, j] += A[i, k] * B[k, j] in a module with no other block."""
    ((store, loaded),) = graph.blocks
    loads = {load.buffer: load.indices for load in loaded}
    (i, j), (row, k), (inner, column) = store.indices, *(loads[buffer] for buffer in graph.inputs[:2])
    fits = len(loaded) == 2 and store.buffer not in loads and (row, inner, column) == (i, k, j)
    single = all(map(_is_variable, (i, j, k))) and i != j != k != i
    (m, _), (depth, n) = sizes[0], sizes[1]
    return Gemm(m=m, n=n, k=depth) if fits and single else None


def _conv2d(graph: _Graph, sizes: Sizes) -> Shape | None:
    """Recognise padding, then out[n, h, w, k] += padded[n, h S + r D, w S + s D, c] * weight[r, s, c, k]."""
    (padded, (moved,)), (store, loaded) = graph.blocks
    if moved.buffer != graph.inputs[0] or len(loaded) != 2:
        return None
    loads = {load.buffer: load for load in loaded}
    weight, data = loads[graph.inputs[1]], loads[padded.buffer]
    variables = [*store.indices, *weight.indices[:3]]
    if weight.indices[3] != store.indices[3] or not all(map(_is_variable, variables)):
        return None
    n, h, w, _, r, s, c = (next(iter(index)) for index in variables)
    padding = -moved.indices[1].get(_CONSTANT, 0)
    stride, dilation = data.indices[1].get(h, 0), data.indices[1].get(r, 0)
    expected = ({n: 1}, {h: stride, r: dilation}, {w: stride, s: dilation}, {c: 1})
    first, row, column, last = padded.indices
    shift = {_CONSTANT: -padding} if padding else {}
    if data.indices != expected or moved.indices != (first, {**row, **shift}, {**column, **shift}, last):
        return None
    (batch, height, width, channels), (taps_h, taps_w, _, out) = sizes[0], sizes[1]
    return Conv2d(
        n=batch, h=height, w=width, c=channels, k=out, r=taps_h, s=taps_w,
        stride=stride, padding=padding, dilation=dilation,
    )  # fmt: skip


def _is_variable(index: _Index) -> bool:
    return list(index.values()) == [1] and _CONSTANT not in index


class _Graph:
    """The nodes of a module: its blocks but the root, in order, and the numbers of its first two buffers."""

    def __init__(self, nodes: Sequence[Mapping[str, Any]]) -> None:
        self._nodes = nodes
        self._visits = 0
        (function,) = self._of_type(".PrimFunc")
        self.inputs: list[int] = nodes[nodes[function]["data"]["params"]]["data"]
        bodies = [nodes[index]["data"]["body"] for index in self._of_type(".SBlock")]
        self.blocks = [self._block(body) for body in bodies if nodes[body]["type"].endswith(".BufferStore")]
        if len(self.blocks) + 1 != len(bodies):
            raise ValueError("blocks within blocks")

    def _of_type(self, suffix: str) -> list[int]:
        return [index for index, node in enumerate(self._nodes) if node["type"].endswith(suffix)]

    def _node(self, index: int) -> tuple[str, Any]:
        self._visits += 1
        if self._visits > _MOST_VISITS:  # nodes may share others, so that few of them take exponential time
            raise ValueError("too large an expression")
        node = self._nodes[index]
        return node["type"], node.get("data")

    def _block(self, body: int) -> _Block:
        data = self._nodes[body]["data"]
        store = self._access(data["buffer"], data["indices"])
        value = self._nodes[data["value"]]
        loads = list(self._loads(data["value"]))
        if value["type"].endswith(".Add"):  # the sum so far is loaded too
            same = [load for load in loads if load == store]
            product = self._nodes[value["data"]["b"]]["type"]
            if len(same) != 1 or not product.endswith(".Mul"):
                raise ValueError("not a sum of products")
            loads.remove(store)
        elif len(loads) != 1:
            raise ValueError("not a copy")
        return store, loads

    def _loads(self, index: int) -> Sequence[_Access]:
        """Return the loads of a value: of sums, products, conditions' values and copies."""
        kind, data = self._node(index)
        if kind.endswith(".TensorLoad"):
            return [self._access(data["source"], data["indices"])]
        if kind.endswith((".Add", ".Mul")):
            return [*self._loads(data["a"]), *self._loads(data["b"])]
        if kind.endswith(".Call"):  # if_then_else(inside, value, zero), the only call that padding makes
            condition, value, other = self._nodes[data["args"]]["data"]
            if not self._nodes[other]["type"].endswith("FloatImm") or self._loads(condition):
                raise ValueError("not zero padding")
            return self._loads(value)
        if kind.endswith((".And", ".LE", ".LT", ".GE", ".GT", "IntImm", ".Var", ".Sub")):
            return []
        raise ValueError(f"unknown node {kind}")

    def _access(self, buffer: int, indices: int) -> _Access:
        return _Access(buffer=buffer, indices=tuple(map(self._affine, self._nodes[indices]["data"])))

    def _affine(self, index: int) -> _Index:
        """Return the coefficients of an index, without zeros, so that equal indices are equal mappings."""
        kind, data = self._node(index)
        if kind.endswith(".Var"):
            return {index: 1}
        if kind.endswith("IntImm"):
            value = int(self._nodes[data["value"]]["data"])
            return {_CONSTANT: value} if value else {}
        a, b = self._affine(data["a"]), self._affine(data["b"])
        if kind.endswith(".Mul"):
            scaled, scale = (a, b) if b.keys() <= {_CONSTANT} else (b, a)
            if not scale.keys() <= {_CONSTANT}:
                raise ValueError("not affine")
            sums = {variable: factor * scale.get(_CONSTANT, 0) for variable, factor in scaled.items()}
        else:
            sign = {"Add": 1, "Sub": -1}[kind.rpartition(".")[2]]
            sums = {
                variable: a.get(variable, 0) + sign * b.get(variable, 0) for variable in a.keys() | b.keys()
            }
        return {variable: sums[variable] for variable in sorted(sums) if sums[variable]}
