"""``abtune``, and ``python -m abtune``."""

import atexit
import faulthandler
import gc
import os
import signal
import sys
import time

INTERRUPTED = 130
# Seconds after a signal in which others do nothing: they would interrupt the end itself.
PATIENCE = 5.0
# An analysis makes fewer objects. To look for garbage after every 700 takes a tenth of a command's time.
OBJECTS = 300_000

# Windows has no SIGHUP.
ENDING = [number for name in ("SIGINT", "SIGTERM", "SIGHUP") if (number := getattr(signal, name, None))]


def run() -> int:
    """Run the command line, and return its exit code; an interruption while loading ends as any other."""
    # Products of matrices are small here: a second thread of OpenBLAS waits longer than it computes.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(OBJECTS)
    deaf_until = 0.0

    def interrupt(*_: object) -> None:
        nonlocal deaf_until
        if time.monotonic() > deaf_until:
            deaf_until = time.monotonic() + PATIENCE
            raise KeyboardInterrupt

    def leave(*_: object) -> None:
        if time.monotonic() > deaf_until:
            os._exit(code)

    default = (signal.SIG_DFL, signal.default_int_handler)
    ending = [number for number in ENDING if signal.getsignal(number) in default]  # nohup forbids others
    for number in ending:  # end as Ctrl-C does
        signal.signal(number, interrupt)
    if hasattr(signal, "SIGUSR1"):  # a command that hangs can be asked where
        faulthandler.register(signal.SIGUSR1, file=2, all_threads=True)
    code = INTERRUPTED
    try:
        from abtune.cli import main

        code = main()
    except KeyboardInterrupt:
        sys.stderr.write("abtune: interrupted\n")
    # One that comes now must not change the exit code, but end a process that a thread of a user keeps.
    for number in ending:
        signal.signal(number, leave)
        # Behind the threads, the interpreter would give this handler up, and the signal would kill.
        atexit.register(signal.signal, number, signal.SIG_IGN)
    gc.disable()  # the process ends, and would look once more
    exec("")  # noqa: S102 - if the last exec was interrupted, CPython ends by SIGINT whatever the exit code
    return code


if __name__ == "__main__":
    # With -m the working directory comes first, and a user's random.py there would hide the one of Python.
    if not sys.flags.safe_path:
        del sys.path[0]
    sys.exit(run())
