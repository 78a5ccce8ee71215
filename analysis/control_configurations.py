"""Controls: a configuration that equals mainline, and one that is worse by construction.

``PYTHONPATH=analysis abtune sweep --candidate control_configurations:SCALAR ...`` uses one.
"""

from __future__ import annotations

from dataclasses import replace

from abtune.configurations import MAINLINE

AGAIN = replace(MAINLINE, name="again")
# Loads and stores are built without vectors.
SCALAR = replace(MAINLINE, name="scalar", pass_config={"tirx.disable_vectorize": True})
