"""``abtune``, and ``python -m abtune``."""

import signal
import sys

INTERRUPTED = 130


# Windows has no SIGHUP.
ENDING = [number for name in ("SIGINT", "SIGTERM", "SIGHUP") if (number := getattr(signal, name, None))]


def run() -> int:
    """Run the command line, and return its exit code; an interruption while loading ends as any other."""
    for number in ENDING:  # end as Ctrl-C does, unless nohup forbids
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
    code = INTERRUPTED
    try:
        from abtune.cli import main

        code = main()
    except KeyboardInterrupt:
        sys.stderr.write("abtune: interrupted\n")
    if code == INTERRUPTED:
        for number in ENDING:  # a second one would change the exit code
            signal.signal(number, signal.SIG_IGN)
    return code


if __name__ == "__main__":
    sys.exit(run())
