"""`python -m consumer` and the `consumer` command."""

import os
import sys
from io import TextIOWrapper

from consumer.cli import cli


def main() -> None:
    """Run the command line; exits the process."""
    complete_standard_streams()
    cli(prog_name="consumer")


def complete_standard_streams() -> None:
    """Put something behind each standard stream that whoever started us has closed; otherwise the next
    file or connection gets its number, and with it what is meant for people. A closed input is empty,
    a closed output refuses what is written, and what is told on a closed standard error is dropped."""
    for descriptor, flags in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, flags), True)  # opened as the lowest free number: this one
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    # Without a buffer, or what could not be written would fail once more at exit.
    sys.stdout = sys.stdout or TextIOWrapper(os.fdopen(1, "wb", 0, closefd=False), write_through=True)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


if __name__ == "__main__":
    main()
