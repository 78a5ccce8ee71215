"""The functions that a child process is asked for by name; importing this module imports TVM.

Each function takes and returns plain data, keeps no state that matters, and may crash its process. A new
function for a child is written in a module beside this one and imported here.
"""
# ruff: noqa: F401 - they are called by name

from __future__ import annotations

from abtune.measure.plan.nvml import device_state
from abtune.measure.tvm.build_kernel import adopt, build, carry_over
from abtune.measure.tvm.propose import check, propose, sampling_rate
from abtune.measure.tvm.time_kernel import check_kernel, memory_grown, time_candidate, time_kernel
from abtune.measure.tvm.tvm_devices import describe_target, device_name
from abtune.measure.tvm.workloads import program_hash
