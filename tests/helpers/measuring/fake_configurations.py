"""Configurations for sweeps of the fake, as ``--baseline fake_configurations:PLAIN``."""

from abtune.configurations import Configuration

SPACE = "fake_configurations:space"
PLAIN = Configuration(name="plain", pass_config={"time_candidate": "slow"})
NEW = Configuration(name="new", pass_config={"time_candidate": "slow"})
BROKEN = Configuration(name="broken", pass_config={"build": "raise"})
STUCK = Configuration(name="stuck", pass_config={"time_candidate": "hang"}, space=SPACE)
UNBUILT = Configuration(name="unbuilt", pass_config={"build": "hang:once:hung"}, space=SPACE)
WRONG = Configuration(name="wrong", pass_config={"check_kernel": "wrong"})
EVEN = Configuration(name="even", space=SPACE)
FASTER = Configuration(name="faster", pass_config={"speed@M=16_N=16_K=16": "9"}, space=SPACE)
HALF = Configuration(
    name="half",
    pass_config={"speed@M=16_N=16_K=16": "9", "build@M=32_N=16_K=16": "raise"},
    space=SPACE,
)
REPEATED = Configuration(name="repeated", pass_config={"propose": "repeat"})
EMPTY = Configuration(name="empty", pass_config={"build": "raise"}, space=SPACE)


def space(target: object) -> None:
    """Stand for a design space, which the fake does not ask for."""
