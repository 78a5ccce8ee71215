"""Configurations for real searches of a second or two: ``--candidate quick_configurations:QUICK``."""

from abtune.configurations import Configuration

QUICK = Configuration(name="quick", strategy_options={"population_size": 64, "genetic_num_iters": 1})
SAMPLED = Configuration(name="sampled", strategy="replay-trace")
