"""Small ways of breaking a module, each a change of one node of its syntax tree.

Not changed: docstrings, annotations, imports, asserts (they narrow types; `strict` of zip is one), `__repr__`, and the
wording of errors. That an error is raised is changed: a `raise` or a statement that checks is removed, conditions are
turned round.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from types import CodeType
from typing import Any

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}
NAMES = {"min": "max", "max": "min", "all": "any", "any": "all", "sum": "max", "sorted": "list", "reversed": "list"}
SYMMETRIC = {
    "min",
    "max",
    "isinstance",
    "gcd",
    "lcm",
    "zip",
    "require",
    "compare_digest",
}  # nothing is learnt by swapping what these are given
SKIPPED = (ast.Assert, ast.Import, ast.ImportFrom, ast.JoinedStr)
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Change:
    """One way of breaking a module. `function` is the outermost function that it is in, or None: when imported."""

    where: str
    before: str
    after: str
    lines: range
    function: str | None
    code: CodeType
    ordinal: int

    @property
    def key(self) -> str:
        """A name that stays the same while the rest of the module changes."""
        again = f" ({self.ordinal})" if self.ordinal > 1 else ""
        return f"{self.where}: {self.before} -> {self.after}{again}"


def changes(source: str, path: str) -> list[Change]:
    """Return every change of a module, compiled."""
    tree = ast.parse(source)
    found: list[Change] = []
    seen: Counter[str] = Counter()
    for trail in _trails(tree, ()):
        node = trail[-1][0]
        shown = _surroundings(trail)
        before, where = _text(shown), _where(trail)
        for replacement in _replacements(node, trail):
            parent, field, index = trail[-2][0], *trail[-1][1:]
            _put(parent, field, index, ast.fix_missing_locations(ast.copy_location(replacement, node)))
            after = _text(replacement if shown is node else shown)
            code = compile(tree, path, "exec", dont_inherit=True)
            _put(parent, field, index, node)
            name = f"{where}: {before} -> {after}"
            seen[name] += 1
            found.append(Change(where, before, after, _lines(trail), _function(trail), code, seen[name]))
    return found


class _Importless(ast.NodeTransformer):
    """Leave imports out: no change is made to them, and a module that moves stays what it was."""

    def visit_Import(self, node: ast.Import) -> ast.AST:
        return ast.Pass()

    visit_ImportFrom = visit_Import  # type: ignore[assignment]  # noqa: N815


def digest(source: str) -> str:
    """Return a name for what a source does: comments, docstrings, layout and where names come from do not count."""
    tree = _Importless().visit(ast.parse(source))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if (
            isinstance(body, list)
            and body
            and isinstance(body[0], ast.Expr)
            and isinstance(body[0].value, ast.Constant)
        ):
            body[0] = ast.Pass()
    return hashlib.sha256(ast.unparse(tree).encode()).hexdigest()[:16]


def probed(source: str, path: str) -> CodeType:
    """Return a module in which every statement of a function first tells its line to `__reached__`."""
    tree = ast.parse(source)
    for function in ast.walk(tree):
        if isinstance(function, Function):
            _probe(function)
    return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


def _probe(node: ast.AST) -> None:
    for field in ("body", "orelse", "finalbody"):
        inside = getattr(node, field, None)
        if isinstance(inside, list) and not (inside and isinstance(inside[0], ast.Expr) and _probes(inside[0])):
            told: list[ast.stmt] = []
            for statement in inside:
                call = ast.Call(ast.Name("__reached__", ast.Load()), [ast.Constant(statement.lineno)], [])
                told += [ast.copy_location(ast.Expr(call), statement), statement]
                _probe(statement)
            setattr(node, field, told)
    for handler in getattr(node, "handlers", []):
        _probe(handler)


def _probes(statement: ast.Expr) -> bool:
    return isinstance(statement.value, ast.Call) and _named(statement.value.func) == "__reached__"


Step = tuple[ast.AST, str, int | None]
Trail = tuple[Step, ...]


def _trails(node: ast.AST, above: Trail, field: str = "", index: int | None = None) -> Iterator[Trail]:
    """Go through all nodes that may be changed, each with those above it."""
    strict = isinstance(node, ast.keyword) and node.arg == "strict"  # of zip: an assert of another form
    if strict or isinstance(node, SKIPPED) or (isinstance(node, Function) and node.name == "__repr__"):
        return
    trail = (*above, (node, field, index))
    yield trail
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases"):
            continue
        if isinstance(node, ast.Raise) or (isinstance(node, ast.Assign) and _named(node.targets[0]) == "__all__"):
            continue
        for i, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST):
                yield from _trails(child, trail, name, i)


def _put(parent: ast.AST, field: str, index: int | None, node: ast.AST) -> None:
    if index is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[index] = node


def _replacements(node: ast.AST, trail: Trail) -> Iterator[ast.AST]:
    """Return what may stand in the place of a node."""
    yield from _other_expressions(node, trail)
    yield from _other_statements(node)
    if len(trail) > 1 and trail[-1][1] in ("test", "ifs") and isinstance(node, ast.expr):
        turned = isinstance(node, ast.UnaryOp) or (isinstance(node, ast.Compare) and len(node.ops) == 1)
        if not turned or (isinstance(node, ast.Compare) and isinstance(node.ops[0], ORDERED)):
            yield ast.UnaryOp(ast.Not(), node)


def _other_expressions(node: ast.AST, trail: Trail) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(left, ops, comparators):
            for i, op in enumerate(ops):
                yield ast.Compare(left, [*ops[:i], COMPARED[type(op)](), *ops[i + 1 :]], comparators)
        case ast.BinOp(left, op, right) if type(op) in COMPUTED:
            yield ast.BinOp(left, COMPUTED[type(op)](), right)
        case ast.BoolOp(op, values):
            yield ast.BoolOp(ast.And() if isinstance(op, ast.Or) else ast.Or(), values)
        case ast.UnaryOp(_, operand):
            yield operand
        case ast.Constant(bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(int() as value):
            yield ast.Constant(value + 1)
            if value or not isinstance(trail[-2][0], ast.Subscript):  # the last of one is the first
                yield ast.Constant(value - 1)
        case ast.Constant(float() as value):
            yield ast.Constant(value * 2 + 1)
        case ast.Constant(str() as value) if not _wording(value, trail):
            yield ast.Constant(value + "?")
        case ast.Constant(bytes() as value):
            yield ast.Constant(value + b"?")
        case ast.Call(ast.Name(name), args, keywords) if name in NAMES:
            yield ast.Call(ast.Name(NAMES[name], ast.Load()), args, keywords)
    if isinstance(node, ast.Call) and len(node.args) == 2 and _named(node.func) not in SYMMETRIC:
        first, second = node.args
        if not isinstance(first, ast.Starred) and not isinstance(second, ast.Starred):
            yield ast.Call(node.func, [second, first], node.keywords)


def _other_statements(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Return(value) if value is not None and not (isinstance(value, ast.Constant) and value.value is None):
            yield ast.Return(ast.Constant(None))
        case ast.Raise() | ast.AugAssign():
            yield ast.Pass()
        case ast.Expr(value) if not isinstance(value, ast.Constant):
            yield ast.Pass()
        case ast.Continue():
            yield ast.Break()
        case ast.Break():
            yield ast.Continue()
    if isinstance(node, ast.AugAssign) and type(node.op) in COMPUTED:
        yield ast.AugAssign(node.target, COMPUTED[type(node.op)](), node.value)


def _wording(value: str, trail: Trail) -> bool:
    """Tell whether a string is for people: a docstring, an error's text, or the name of a thing in one."""
    above = trail[-2][0]
    texts = isinstance(above, ast.Call) and (
        _named(above.func) == "require" or any(_named(argument).endswith("Error") for argument in above.args)
    )
    return " " in value or texts or isinstance(above, ast.Expr)


def _named(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _where(trail: Trail) -> str:
    names = [node.name for node, _, _ in trail if isinstance(node, Function | ast.ClassDef)]
    return ".".join(names) or "module"


def _function(trail: Trail) -> str | None:
    """Return the outermost function in whose body this is: what stands before the body is run on import."""
    names: list[str] = []
    for (node, _, _), (_, field, _) in pairwise(trail):
        if isinstance(node, ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, Function):
            return ".".join([*names, node.name]) if field == "body" else None
    return None


def _lines(trail: Trail) -> range:
    """Return the lines of the statement, without those of the statements in it."""
    for node, _, _ in reversed(trail):
        if isinstance(node, ast.stmt):
            body: Any = getattr(node, "body", None)
            return range(node.lineno, max(body[0].lineno, node.lineno + 1) if body else (node.end_lineno or 0) + 1)
    return range(0)


def _surroundings(trail: Trail) -> ast.AST:
    """Return what to show of a change: a few words around it, at most a statement's first line."""
    shown = trail[-1][0]
    for node, _, _ in reversed(trail):
        if isinstance(node, Function | ast.ClassDef | ast.For | ast.While | ast.If | ast.With | ast.Try | ast.Module):
            break
        if isinstance(node, ast.expr | ast.stmt | ast.comprehension):
            if len(_text(node)) > 100:
                break
            shown = node
            if len(_text(node)) > 24:
                break
    return shown


def _text(node: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(node)).strip().split("\n")[0]
