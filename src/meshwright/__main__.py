"""`python -m meshwright` is `meshwright`."""

from meshwright.cli.main import run

if __name__ == "__main__":
    run()
