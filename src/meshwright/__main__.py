"""The `meshwright` program, also as `python -m meshwright`."""

import sys


def run() -> None:
    """Run the program; Ctrl-C ends it with code 130 even during the first imports."""
    try:
        from meshwright.cli.main import run as program
    except KeyboardInterrupt:
        sys.exit(130)
    program()


if __name__ == "__main__":
    run()
