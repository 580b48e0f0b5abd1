"""`python -m consumer` and the `consumer` command."""

from consumer.cli import cli


def main() -> None:
    """Run the command line; exits the process."""
    cli(prog_name="consumer")


if __name__ == "__main__":
    main()
