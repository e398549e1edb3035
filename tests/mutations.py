"""The changes that `mutate.py` tries out: one place of a source each, while all other bytes stay.

Left alone are texts, annotations, decorators, the defaults of options, `__all__`, and what only type checkers
or scripts run. Compiled functions, known by their decorators, are left alone on request.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
COMPARISONS |= {"in": "not in", "not in": "in", "is": "is not", "is not": "is"}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "%": "//"}
CALLS = {"min": "max", "any": "all", "minimum": "maximum", "argmin": "argmax"}
CALLS |= {after: before for before, after in CALLS.items()}
NEGATED_BY_SWAP = (ast.Eq, ast.NotEq, ast.In, ast.NotIn, ast.Is, ast.IsNot)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
COMPILED = {"compiled", "kernel", "inner", "helper", "inlined", "spliced", "intrinsic"}
"""The decorators of `meshwright.jit.compiler`, and numba's own for functions that write machine code."""


@dataclass(frozen=True)
class Mutant:
    """One change of a file: the bytes from `start` to `end` become `new`."""

    file: str
    line: int
    start: int
    end: int
    new: str
    before: str  # the lines that change, in one
    after: str

    def applied(self, source: bytes) -> bytes:
        """Return the source with this change."""
        return source[: self.start] + self.new.encode() + source[self.end :]

    def __str__(self) -> str:
        return f"{self.file}:{self.line}  {self.before} -> {self.after}"


class Mutations:
    """Finds the places of a source that can be changed, and what they become."""

    def __init__(self, source: bytes, file: str, *, keys: bool = False, compiled: bool = True) -> None:
        self.source, self.file, self.keys, self.compiled = source, file, keys, compiled
        self.lines = [0]
        for line in source.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        tree = ast.parse(source)
        self.has_options = any(
            isinstance(node, ast.Import) and node.names[0].name == "typer" for node in ast.walk(tree)
        )
        self.found: dict[tuple[int, int, str], Mutant] = {}
        self._visit(tree, None)

    def mutants(self) -> list[Mutant]:
        """Return all mutants, in the order of their places."""
        return [self.found[place] for place in sorted(self.found)]

    def _visit(self, node: ast.AST, function: ast.AST | None) -> None:
        if not _is_left_alone(node) and (self.compiled or not _is_compiled(node)):
            self._change(node, function)
            for child in self._children(node):
                self._visit(child, node if isinstance(node, FUNCTIONS) else function)

    def _children(self, node: ast.AST) -> Iterator[ast.AST]:
        """Return what is looked into: no annotations, decorators or defaults of options."""
        for name, value in ast.iter_fields(node):
            skipped = {"annotation", "returns", "decorator_list"}
            if isinstance(node, ast.If) and _is_for_types_or_scripts(node.test):
                skipped |= {"test", "body"}
            if self.has_options and isinstance(node, ast.arguments):
                skipped |= {"defaults", "kw_defaults"}
            if name not in skipped:
                children = value if isinstance(value, list) else [value]
                yield from (child for child in children if isinstance(child, ast.AST))

    def _change(self, node: ast.AST, function: ast.AST | None) -> None:
        match node:
            case ast.Compare():
                for left, right in zip([node.left, *node.comparators], node.comparators, strict=False):
                    self._swap(left, right, r"[<>=!]=|[<>]|not\s+in|is\s+not|in|is", COMPARISONS)
            case ast.BoolOp():
                for left, right in zip(node.values, node.values[1:], strict=False):
                    self._swap(left, right, "and|or", {"and": "or", "or": "and"})
            case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() | ast.FloorDiv() | ast.Mod()):
                if not (_is_text(node.left) or _is_text(node.right)):
                    self._swap(node.left, node.right, "//|[-+*/%]", ARITHMETIC)
            case ast.AugAssign(
                op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() | ast.FloorDiv() | ast.Mod()
            ):
                if not _is_text(node.value):
                    self._swap(node.target, node.value, "//|[-+*/%]", ARITHMETIC)
            case ast.UnaryOp(op=ast.Not()):
                start = self._span(node)[0]
                spaces = re.compile(rb"not[ ]*").match(self.source, start)
                self._add(start, spaces.end() if spaces else start, "")
            case ast.Constant():
                self._change_constant(node)
            case ast.Dict() if self.keys:
                for key in node.keys:
                    self._rename(key)
            case ast.Return(value=ast.expr() as value) if _returns_more_than(value, function):
                self._add(*self._span(value), "None")
            case ast.Raise() | ast.Expr(value=ast.Call() | ast.Await()):
                self._add(*self._span(node), "pass")
            case ast.If() | ast.IfExp():
                if not _is_for_types_or_scripts(node.test):
                    self._negate(node.test)
            case ast.comprehension():
                for condition in node.ifs:
                    self._negate(condition)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in CALLS:
                end = self._span(node.func)[1]
                self._add(end - len(name), end, CALLS[name])
            case ast.Slice():
                for bound in (node.lower, node.upper):
                    if bound is not None and not isinstance(bound, ast.Constant):
                        start, end = self._span(bound)
                        self._add(start, end, f"({self._text(start, end)}) + 1")
            case ast.Subscript() if self.keys:
                self._rename(node.slice)
            case _:
                pass

    def _change_constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self._add(*self._span(node), str(not value))
        elif isinstance(value, int):
            self._add(*self._span(node), str(value + 1))
        elif isinstance(value, float) and math.isfinite(10 * value):
            larger = value * (1000 if value < 1e-3 else 10)  # the small ones are tolerances
            self._add(*self._span(node), repr(larger or 1.0))

    def _rename(self, node: ast.AST | None) -> None:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            self._add(*self._span(node), repr(node.value + "_"))

    def _negate(self, test: ast.expr) -> None:
        """Turn a condition round, unless the change of its own operator does so already."""
        turned = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            turned = isinstance(test.ops[0], NEGATED_BY_SWAP)
        if not turned:
            start, end = self._span(test)
            self._add(start, end, f"not ({self._text(start, end)})")

    def _swap(self, left: ast.expr, right: ast.expr, operators: str, swaps: dict[str, str]) -> None:
        """Change the operator between two operands; around it are only brackets, spaces and comments."""
        start, end = self._span(left)[1], self._span(right)[0]
        between = re.sub(rb"#[^\n]*", lambda comment: b" " * len(comment[0]), self.source[start:end])
        operator = re.search(operators.encode(), between)
        if operator is not None:
            new = swaps[" ".join(operator[0].decode().split())]
            self._add(start + operator.start(), start + operator.end(), new)

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        start = self.lines[node.lineno - 1] + node.col_offset
        end = self.lines[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        return start, end

    def _text(self, start: int, end: int) -> str:
        return self.source[start:end].decode()

    def _add(self, start: int, end: int, new: str) -> None:
        first = self.source.rfind(b"\n", 0, start) + 1
        last = end + len(self.source[end:].partition(b"\n")[0])
        before = self._text(first, last)
        after = self._text(first, start) + new + self._text(end, last)
        shown = [" ".join(text.split()) for text in (before, after)]
        line = self.source.count(b"\n", 0, start) + 1
        self.found[start, end, new] = Mutant(self.file, line, start, end, new, *shown)


def _is_left_alone(node: ast.AST) -> bool:
    """Say whether nothing in a node is changed: texts, types, the list of public names."""
    match node:
        case ast.JoinedStr() | ast.Subscript(value=ast.Name(id="Literal" | "Annotated")):
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")]) | ast.AugAssign(target=ast.Name(id="__all__")):
            return True
        case (
            ast.AnnAssign(annotation=ast.Name(id="TypeAlias")) | ast.AnnAssign(target=ast.Name(id="__all__"))
        ):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name(id="typer"), attr="Option" | "Argument")):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="log" | "logger" | "logging")))):
            return True
        case _:
            return False


def _is_compiled(node: ast.AST) -> bool:
    """Say whether a node is a function that numba compiles."""
    decorators = node.decorator_list if isinstance(node, FUNCTIONS) else []
    called = [each.func if isinstance(each, ast.Call) else each for each in decorators]
    return not COMPILED.isdisjoint(ast.unparse(each).rpartition(".")[2] for each in called)


def _is_for_types_or_scripts(test: ast.expr) -> bool:
    """Say whether a condition is `TYPE_CHECKING` or `__name__ == …`."""
    return ast.unparse(test).endswith("TYPE_CHECKING") or ast.unparse(test).startswith("__name__ ==")


def _is_text(node: ast.expr) -> bool:
    """Say whether an operand is a text or a list, which know one operator only."""
    if isinstance(node, ast.BinOp):
        return _is_text(node.left) or _is_text(node.right)
    is_constant = isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))
    return is_constant or isinstance(node, (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp))


def _returns_more_than(value: ast.expr, function: ast.AST | None) -> bool:
    """Say whether None instead of a value is another answer, by the annotation of the function."""
    if not isinstance(function, FUNCTIONS) or function.returns is None:
        return False
    promised = ast.unparse(function.returns)
    same = {"None"} | ({"False"} if "bool" in promised else set())
    return promised != "None" and ast.unparse(value) not in same
