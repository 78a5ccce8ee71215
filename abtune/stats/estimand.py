"""Whose latencies a boost compares; loads neither NumPy nor SciPy."""

from __future__ import annotations

from enum import StrEnum


class Estimand(StrEnum):
    """The latency of a configuration whose ratio is the boost; the first is the default."""

    GEOMETRIC_MEAN = "geometric-mean"
    BEST_OF_2 = "best-of:2"
    BEST_OF_3 = "best-of:3"
    BEST_OF_4 = "best-of:4"
    BEST_OF_5 = "best-of:5"

    @property
    def searches(self) -> int:
        """Number of searches of which the best is kept; 1 for the typical search."""
        return int(self.partition(":")[2] or 1)

    @property
    def fewest_seeds(self) -> int:
        """Fewest seeds per configuration for an interval; those of the best of k follow from simulation."""
        return 2 if self.searches == 1 else 10 if self.searches <= 3 else 20

    @property
    def words(self) -> str:
        """As a reader sees it."""
        return self.replace("-", " ") if self.searches == 1 else f"expected best-of-{self.searches}"


BEST_OF = tuple(estimand for estimand in Estimand if estimand.searches > 1)
# Which numbers of searches can be asked for, by numbers of seeds.
ALLOWED_BEST_OF = "best-of:2 and best-of:3 take 10, best-of:4 and best-of:5 take 20 seeds per configuration"
