"""What guards the project on its host: workflows, hooks, bounds of dependencies, templates."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

CHECKOUT = Path(__file__).parents[1]
WORKFLOWS = sorted((CHECKOUT / ".github" / "workflows").glob("*.yml"))
MAKEFILE = (CHECKOUT / "Makefile").read_text(encoding="utf-8")
PROJECT: dict[str, Any] = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def jobs_of(name: str) -> dict[str, Any]:
    text = (CHECKOUT / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text)["jobs"])


def commands_of(job: dict[str, Any]) -> str:
    return "\n".join(step.get("run", "") for step in job["steps"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_digest(path: Path) -> None:
    """Every action is named by a whole digest, with its version behind it; one action has one digest."""
    used = re.findall(r"uses: *(.*)", path.read_text(encoding="utf-8"))
    assert used
    for action in used:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action
    everywhere = {
        action for file in WORKFLOWS for action in re.findall(r"uses: *(.*)", file.read_text("utf-8"))
    }
    assert len({action.partition("@")[0] for action in everywhere}) == len(everywhere)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_jobs_are_bounded_and_call_what_exists(path: Path) -> None:
    """Every job ends in time, reads only unless it says so, and makes targets that exist."""
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    targets = {*re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE), ".venv/.ready"}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 360
        assert set(re.findall(r"^ *make (\S+)", commands_of(job), re.MULTILINE)) <= targets
        for name in re.findall(r"\btests/\S+", commands_of(job)):
            assert (CHECKOUT / name).exists(), name


def test_the_matrix_of_versions() -> None:
    """Tests run on every Python, with the oldest dependencies, and on three versions of Spark."""
    jobs = jobs_of("test")
    pythons = jobs["test"]["strategy"]["matrix"]["python"]
    assert pythons == ["3.11", "3.12", "3.13", "3.14"]
    assert PROJECT["requires-python"] == f">={pythons[0]}"
    assert "make test-oldest" in commands_of(jobs["oldest"])
    assert jobs["spark"]["strategy"]["matrix"]["spark"] == ["3.5", "4.0", "4.1"]
    assert "meshwright bench --quick" in commands_of(jobs["bench"])
    assert "make test-slow" in commands_of(jobs_of("nightly")["test-slow"])


def test_a_release_is_built_once_and_attested() -> None:
    """Files, site and image wait for the tested build; files and image get attestations."""
    jobs = jobs_of("release")
    assert {name for name, job in jobs.items() if job.get("needs") == "build"} == {"publish", "image", "site"}
    for words in ("make test", "python -m build", "make docs", "cyclonedx_py environment"):
        assert words in commands_of(jobs["build"])
    for name in ("publish", "image"):
        assert jobs[name]["permissions"]["attestations"] == "write"
        assert any("attest-build-provenance" in step.get("uses", "") for step in jobs[name]["steps"])


def test_hooks_run_what_make_test_runs_first() -> None:
    """The hooks before a commit are the commands of `make test` before pytest."""
    first = re.search(r"^test:.*?\n(.*?)\n\n", MAKEFILE, re.MULTILINE | re.DOTALL)
    assert first is not None
    expected = re.findall(r"\$\(BIN\)/((?:ruff|mypy|lint-imports)[^&\n]*)", first[1])
    assert len(expected) == 4
    config = yaml.safe_load((CHECKOUT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    hooks = [hook for repo in config["repos"] for hook in repo["hooks"]]
    assert [hook["entry"].removeprefix(".venv/bin/") for hook in hooks] == [it.strip() for it in expected]
    assert not any(hook["pass_filenames"] for hook in hooks)


def test_the_oldest_dependencies_are_the_lower_bounds() -> None:
    """`make test-oldest` installs the lower bound of every dependency, and of every extra without Spark."""
    extras = PROJECT["optional-dependencies"]
    names = extras["all"][0].removeprefix("meshwright[").rstrip("]").split(",")
    stated = [*PROJECT["dependencies"], *(it for name in names for it in extras[name])]
    bounds = dict(re.findall(r"^([\w-]+)>=([\d.]+)", "\n".join(stated), re.MULTILINE))
    del bounds["pyspark"]  # a job of its own for each version
    text = (CHECKOUT / "tests" / "oldest.txt").read_text(encoding="utf-8")
    assert dict(re.findall(r"^([\w-]+)==([\d.]+)$", text, re.MULTILINE)) == bounds


def test_numba_is_the_newest_that_was_tested() -> None:
    """Private parts of numba are used, so its upper bound is above the version of these tests."""
    import numba

    bound = next(re.search(r"numba.*,<(\d+)\.(\d+)", it) for it in PROJECT["dependencies"] if "numba" in it)
    assert bound is not None
    assert tuple(map(int, numba.__version__.split(".")[:2])) < tuple(map(int, bound.groups()))


def test_dependabot_watches_every_ecosystem() -> None:
    """Dependabot proposes updates of Python, npm, actions and the image, where their files are."""
    config = yaml.safe_load((CHECKOUT / ".github" / "dependabot.yml").read_text(encoding="utf-8"))
    watched = {one["package-ecosystem"]: one["directory"] for one in config["updates"]}
    assert set(watched) == {"pip", "npm", "github-actions", "docker"}
    files = {"pip": "pyproject.toml", "npm": "package-lock.json", "docker": "Dockerfile"}
    for name, file in files.items():
        assert (CHECKOUT / watched[name].lstrip("/") / file).is_file()


def test_reports_of_faults_ask_for_doctor() -> None:
    """Whoever reports a fault is asked for the output of `meshwright doctor --json`."""
    folder = CHECKOUT / ".github" / "ISSUE_TEMPLATE"
    for path in folder.glob("*.yml"):
        assert yaml.safe_load(path.read_text(encoding="utf-8"))
    form = yaml.safe_load((folder / "fault.yml").read_text(encoding="utf-8"))
    asked = {one["id"]: one for one in form["body"] if "id" in one}
    assert "meshwright doctor --json" in asked["doctor"]["attributes"]["label"]
    assert asked["doctor"]["validations"]["required"]
