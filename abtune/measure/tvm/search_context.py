"""What one search is set up with: MetaSchedule's context, and the design spaces that it may use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from abtune.configurations import import_attribute
from abtune.errors import TargetError
from abtune.measure.plan.problem import Problem
from abtune.measure.tvm.load_tvm import load_tensor_intrinsics, ms, tensor_program
from abtune.measure.tvm.tvm_devices import tvm_target
from abtune.text import one_line


def search_context(
    problem: Problem, rng_seed: int, threads: int = 1, *, postprocessors: Sequence[Any] | None = None
) -> Any:
    """Return a ``TuneContext`` with the space generator and the strategy of a problem."""
    config = problem.config
    return ms.TuneContext(
        mod=tensor_program(problem.shape),
        target=tvm_target(problem.target),
        space_generator=_space_generator(problem, postprocessors),
        search_strategy=ms.search_strategy.create(config.strategy, **_numbers(config.strategy_options)),
        rand_state=rng_seed,
        num_threads=threads,
    )


def design_spaces(context: Any, problem: Problem) -> list[Any]:
    """Return the design spaces that the configuration does not skip."""
    skipped = problem.config.skipped_annotation
    spaces = [
        space for space in context.generate_design_space() if not (skipped and skipped in str(space.trace))
    ]
    if not spaces:
        raise TargetError(
            f"configuration {problem.config.name!r} leaves no design space for {problem.shape.label}; "
            "change its skipped_annotation"
        )
    return spaces


def _space_generator(problem: Problem, postprocessors: Sequence[Any] | None) -> Any:
    target = tvm_target(problem.target)
    if problem.config.space:
        make_space = import_attribute(problem.config.space)  # first: the intrinsics take long to load
        if problem.config.space_is_foreign:
            load_tensor_intrinsics()
        try:
            space = make_space(target)
        except Exception as error:
            # Of a longer message, such as TVM's with a whole program, the last line alone is told.
            if len(text := one_line(str(error))) > 200:
                raise
            raise TargetError(f"{problem.config.space} raises {type(error).__name__}: {text}") from error
        if not isinstance(space, ms.SpaceGenerator):
            raise TargetError(f"{problem.config.space} returns {type(space).__name__}, not a SpaceGenerator")
        return space
    # Not the rules "from-target": those add tensor-core and VNNI tiling, which float32 cannot use.
    rules = str(target.kind.name)
    return ms.space_generator.PostOrderApply(
        sch_rules=rules, postprocs=rules if postprocessors is None else postprocessors, mutator_probs=rules
    )


def _numbers(options: Mapping[str, float]) -> dict[str, float]:
    """Return options with whole numbers as integers, which TVM tells apart."""
    return {name: int(value) if float(value).is_integer() else value for name, value in options.items()}
