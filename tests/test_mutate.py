"""What must hold of the mutation tester: it finds the places to change, and changes nothing else."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from coverage import CoverageData

from mutate import (
    Copy,
    Outcome,
    Reach,
    ignored_rows,
    mutants_of,
    statement_at,
    suite_of,
    summarise,
    why_ignored,
)
from mutations import COMPILED, Mutant, Mutations

ROOT = Path(__file__).parents[1]

LEFT_ALONE = '''"""Has 3 lines."""
import typer
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

if TYPE_CHECKING:
    LIMIT = 5
__all__ = ["a"] + ["b"]
Count: TypeAlias = Annotated[int, typer.Option("--count", min=1)]

@cache(maxsize=1)
def command(count: Annotated[int, 1] = 3, *, level: Literal[2] = 2) -> None:
    """Is 1 < 2?"""
    logger.info("%d", 3)
    text = "a" + f"{count + 1:>3}" + "%d" % count
    return None

if __name__ == "__main__":
    command(4)
'''


def changes(source: str, *, keys: bool = False) -> list[str]:
    """Return the lines that the mutants of a source come to."""
    return [mutant.after for mutant in Mutations(source.encode(), "a.py", keys=keys).mutants()]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a < b", ["a <= b"]),
        ("a <= b", ["a < b"]),
        ("a > b >= c", ["a >= b >= c", "a > b > c"]),
        ("a == b", ["a != b"]),
        ("a != b", ["a == b"]),
        ("a in b", ["a not in b"]),
        ("a not  in b", ["a in b"]),
        ("a is b", ["a is not b"]),
        ("a is not b", ["a is b"]),
        ("(a) < (b)", ["(a) <= (b)"]),
        ("(ä # > and\n < b)", ["<= b)"]),
        ("a and b or c", ["a or b or c", "a and b and c"]),
        ("x = not a", ["x = a"]),
        ("x = not(a)", ["x = (a)"]),
        ("a + b - c", ["a - b - c", "a + b + c"]),
        ("a * b / c", ["a / b / c", "a * b * c"]),
        ("a // b % c", ["a * b % c", "a // b // c"]),
        ("a ** b", []),
        ("a += b", ["a -= b"]),
        ("a //= b", ["a *= b"]),
        ("a **= b", []),
        ("a + 'b'", []),
        ("x = 0", ["x = 1"]),
        ("x = -1", ["x = -2"]),
        ("x = 0.0", ["x = 1.0"]),
        ("x = 0.5", ["x = 5.0"]),
        ("x = 1e-9", [f"x = {1e-9 * 1000!r}"]),
        ("x = True", ["x = False"]),
        ("x = 'text'", []),
        ("f(a)", ["pass"]),
        ("raise E(\n    a\n)", ["pass"]),
        ("async def f():\n    await g()", ["pass"]),
        ("if a: b", ["if not (a): b"]),
        ("if a == b: c", ["if a != b: c"]),
        ("if not a: b", ["if a: b"]),
        ("a if b else c", ["a if not (b) else c"]),
        ("[a for a in b if c]", ["[a for a in b if not (c)]"]),
        ("x = min(a, b)", ["x = max(a, b)"]),
        ("x = a.any()", ["x = a.all()"]),
        ("a[b:c]", ["a[(b) + 1:c]", "a[b:(c) + 1]"]),
        ("a[:2]", ["a[:3]"]),
        ("def f() -> int:\n    return a", ["return None"]),
        ("def f() -> bool:\n    return False", ["return True"]),
        ("def f() -> None:\n    return a", []),
        ("def f():\n    return a", []),
        ("def f(a: int = 1): ...", ["def f(a: int = 2): ..."]),
        (LEFT_ALONE, []),
    ],
)
def test_the_places_that_change(source: str, expected: list[str]) -> None:
    assert sorted(changes(source)) == sorted(" ".join(line.split()) for line in expected)


def test_keys_change_only_if_asked_to() -> None:
    source = "x = {'a': y['b']}"
    assert changes(source) == []
    assert changes(source, keys=True) == ["x = {'a_': y['b']}", "x = {'a': y['b_']}"]


@pytest.mark.parametrize("folder", ["workloads", "cli/plans", "greedy/kernels"])
def test_each_changes_one_place_and_compiles(folder: str) -> None:
    mutants = mutants_of([ROOT / "src" / "meshwright" / folder], [], compiled=True)
    assert len({(mutant.file, mutant.start, mutant.end, mutant.new) for mutant in mutants}) == len(mutants)
    for mutant in mutants[:: max(1, len(mutants) // 20)]:
        source = (ROOT / mutant.file).read_bytes()
        changed = mutant.applied(source)
        assert changed.startswith(source[: mutant.start])
        assert changed.endswith(source[mutant.end :])
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source))
        assert source[: mutant.start].count(b"\n") == mutant.line - 1
        compile(changed, mutant.file, "exec")


def test_kernels_can_be_skipped() -> None:
    places = [ROOT / "src" / "meshwright" / "greedy"]
    files = {mutant.file for mutant in mutants_of(places, ["kernels"], compiled=True)}
    assert files
    assert not any("kernels" in file for file in files)


def test_compiled_functions_are_left_out_wherever_they_are() -> None:
    plain = "def f():\n    x = 1\n"
    for decorator in ["kernel", "compiler.inner", "intrinsic", "cache\n@inlined", "helper()"]:
        source = f"@{decorator}\n{plain}{plain}".encode()
        lines = [mutant.line for mutant in Mutations(source, "a.py", compiled=False).mutants()]
        assert lines == [source.count(b"\n")]
    for left in (plain, f"@cache\n{plain}", f"@other(kernel)\n{plain}"):
        assert Mutations(left.encode(), "a.py", compiled=False).mutants()
    place = [ROOT / "src" / "meshwright" / "jit" / "addresses.py"]
    assert 0 < len(mutants_of(place, [])) < len(mutants_of(place, [], compiled=True))


def test_every_decorator_that_compiles_is_known() -> None:
    tree = ast.parse((ROOT / "src" / "meshwright" / "jit" / "compiler.py").read_bytes())
    public = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name[0] != "_"}
    assert public | {"intrinsic"} == COMPILED


def test_the_tests_of_a_file_are_those_of_its_room_its_own_first() -> None:
    suite = suite_of("src/meshwright/workloads/draw.py")
    assert suite[0] == "tests/workloads/test_draw.py"
    assert {ROOT / test for test in suite} == set((ROOT / "tests" / "workloads").glob("test_*.py"))
    assert suite_of("src/meshwright/overlay.py")[0] == "tests/test_overlay.py"
    assert "tests/workloads/test_draw.py" not in suite_of("src/meshwright/interest.py")
    assert suite_of("src/meshwright/overlay.py", [ROOT / "tests/test_interest.py"]) == [
        "tests/test_interest.py"
    ]


def test_tests_reach_the_whole_statement_of_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["def f(", "    a,", "):", "    if (a and", "        b):", "        c = [", "            1,"]
    source = "\n".join([*lines, "        ]", "    else:", "        d", ""])
    spans = [statement_at(source.encode(), line) for line in (1, 3, 4, 5, 6, 7, 8, 10)]
    assert spans == [(1, 3), (1, 3), (4, 5), (4, 5), (6, 8), (6, 8), (6, 8), (10, 10)]
    (tmp_path / "a.py").write_text(source)
    data = CoverageData(str(tmp_path / ".coverage"))
    for context, line in [
        ("t.py::test_a[x@y]@room|run", 6),
        ("t.py::test_b|setup", 7),
        ("", 8),
        ("c|run", 4),
    ]:
        data.set_context(context)
        data.add_lines({str(tmp_path / "a.py"): [line]})
    data.write()
    monkeypatch.setattr("mutate.ROOT", tmp_path)
    reach = Reach(tmp_path / ".coverage")
    assert reach.tests_of(Mutant("a.py", 7, 0, 0, "", "", "")) == ["t.py::test_a[x@y]", "t.py::test_b"]
    assert reach.tests_of(Mutant("a.py", 10, 0, 0, "", "", "")) == []
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text("")
    data.set_context("")
    data.add_lines({str(tmp_path / "a.py"): [1]})
    data.write()
    at_import = Reach(tmp_path / ".coverage").tests_of(Mutant("a.py", 1, 0, 0, "", "", ""))
    assert at_import == ["tests/test_a.py"]
    with pytest.raises(SystemExit, match="--cov-context=test makes one"):
        Reach(tmp_path / "none")


def test_a_row_ignores_what_it_names(tmp_path: Path) -> None:
    (tmp_path / "ignored").write_text("# why\n\na.py: if a < 3: -> if a <= 3: never 3\n")
    rows = ignored_rows(tmp_path / "ignored")
    reasons = [why_ignored(mutant, rows) for mutant in Mutations(b"if a < 3:\n    b", "a.py").mutants()]
    assert sorted(reason or "" for reason in reasons) == ["", "", "never 3"]
    (tmp_path / "ignored").write_text("a.py: no reason\n")
    with pytest.raises(SystemExit, match="not `file: fragment: reason`"):
        ignored_rows(tmp_path / "ignored")


@pytest.mark.slow
def test_a_copy_is_as_before_after_a_mutant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "root"
    (root / "tests").mkdir(parents=True)
    (root / "module.py").write_text("ONE = 1\n")
    (root / "tests" / "test_module.py").write_text("from module import ONE\ndef test(): assert ONE < 3\n")
    monkeypatch.setattr("mutate.ROOT", root)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    copy, tests = Copy(), ["tests/test_module.py"]
    assert Copy().place != copy.place
    for start, new, limit, result in [
        (6, "9", 60, "killed"),
        (6, "2", 60, "survived"),
        (0, "while 1: pass", 1, "killed"),
    ]:
        outcome = copy.try_out(Mutant("module.py", 1, start, 7, new, "", ""), tests, limit)
        assert outcome.result == result
        assert (copy.tree / "module.py").read_text() == "ONE = 1\n"
        assert (copy.tree / "module.py").stat().st_mtime_ns == (root / "module.py").stat().st_mtime_ns
    (copy.tree / "tests" / "test_wrong.py").write_text("def test(): assert False\n")
    wrong, right = "tests/test_wrong.py::test", "tests/test_module.py::test"
    for new, by, tests in [
        ("9", right, ["tests/test_wrong.py", "tests/test_module.py"]),
        ("9", right, [wrong, right]),
        ("2", "", [wrong, right]),
        ("9", "no test reaches it", [wrong]),
    ]:
        outcome = copy.try_reached(Mutant("module.py", 1, 6, 7, new, "", ""), tests, 60)
        assert (outcome.result, outcome.by) == ("killed" if by == right else "survived", by)


def test_the_summary_counts_the_ignored_apart(capsys: pytest.CaptureFixture[str]) -> None:
    mutant = Mutations(b"a < b", "a.py").mutants()[0]
    results = ["killed", "killed", "killed", "survived", "ignored"]
    summarise([Outcome(mutant, result, "why") for result in results], None)
    assert capsys.readouterr().out.splitlines() == [
        "ignored   a.py:1  a < b -> a <= b  (why)",
        "killed 3 of 4 (75%), 1 survived, 1 ignored",
    ]
