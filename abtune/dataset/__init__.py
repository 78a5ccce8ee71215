"""The dataset: its variables, how to build, check, open and save one."""
