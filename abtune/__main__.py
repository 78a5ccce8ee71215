"""``abtune``, and ``python -m abtune``."""

import signal
import sys

INTERRUPTED = 130


def run() -> int:
    """Run the command line, and return its exit code; an interruption while loading ends as any other."""
    for name in ("SIGTERM", "SIGHUP"):  # end as Ctrl-C does, unless nohup forbids
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
    try:
        from abtune.cli import main

        return main()
    except KeyboardInterrupt:
        sys.stderr.write("abtune: interrupted\n")
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(run())
