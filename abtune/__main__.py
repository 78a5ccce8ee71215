"""``abtune``, and ``python -m abtune``."""

import signal
import sys

INTERRUPTED = 130


def run() -> int:
    """Run the command line of this process; one that is interrupted while it is loaded ends as any other.

    Returns
    -------
    int
        The exit code, as of :func:`abtune.cli.main`.
    """
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
