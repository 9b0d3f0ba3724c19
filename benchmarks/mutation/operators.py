"""What can be changed in a program's tree: each yields what may stand in a node's place."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Context:
    """Where a node stands: in which field of which parent, and in which function, if in one."""

    parent: ast.AST
    field: str
    function: ast.FunctionDef | None

    @property
    def is_condition(self) -> bool:
        """What decides whether something is done."""
        if self.field == "test":
            return isinstance(self.parent, ast.If | ast.While | ast.IfExp)
        return self.field in ("ifs", "guard")


Operator = Callable[[ast.AST, Context], Iterator[ast.AST]]

_COMPARED: Final[dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
"""The bound is moved by one, or the comparison is turned round."""
_CALCULATED: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_CALLED: Final = {
    one: other
    for pair in (("min", "max"), ("any", "all"), ("bisect_left", "bisect_right"))
    for one, other in (pair, pair[::-1])
} | {"minimum": "maximum", "maximum": "minimum"}
_SIDES: Final = {"left": "right", "right": "left"}


def conditions(node: ast.AST, at: Context) -> Iterator[ast.AST]:
    """Always, and never."""
    if at.is_condition and not isinstance(node, ast.Constant):
        yield ast.Constant(False)
        if not isinstance(at.parent, ast.While):
            yield ast.Constant(True)


def comparisons(node: ast.AST, at: Context) -> Iterator[ast.AST]:
    if not isinstance(node, ast.Compare):
        return
    for place, op in enumerate(node.ops):
        for other in _COMPARED[type(op)]:
            ops = [*node.ops[:place], other(), *node.ops[place + 1 :]]
            yield ast.Compare(node.left, ops, node.comparators)


def booleans(node: ast.AST, at: Context) -> Iterator[ast.AST]:
    """`and` for `or`, one clause less, and without `not`."""
    match node:
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            for place in range(len(values)):
                left = values[:place] + values[place + 1 :]
                yield left[0] if len(left) == 1 else ast.BoolOp(op, left)
        case ast.UnaryOp(op=ast.Not(), operand=operand) if not at.is_condition:
            yield operand


def constants(node: ast.AST, at: Context) -> Iterator[ast.AST]:
    """One more, one less; the other truth value; the other side of a search."""
    match node:
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)) if value + 1 != value:
            yield ast.Constant(value + 1)
            yield (
                ast.UnaryOp(ast.USub(), ast.Constant(1)) if value == 0 else ast.Constant(value - 1)
            )
        case ast.keyword(arg="side", value=ast.Constant(value=str(side))) if side in _SIDES:
            yield ast.keyword("side", ast.Constant(_SIDES[side]))


def calculations(node: ast.AST, at: Context) -> Iterator[ast.AST]:
    match node:
        case ast.BinOp(left=left, op=op, right=right) if at.function and type(op) in _CALCULATED:
            yield ast.BinOp(left, _CALCULATED[type(op)](), right)
        case ast.AugAssign(target=target, op=op, value=value) if type(op) in _CALCULATED:
            yield ast.AugAssign(target, _CALCULATED[type(op)](), value)
        case ast.UnaryOp(op=ast.USub() | ast.Invert(), operand=operand):
            if not isinstance(operand, ast.Constant):
                yield operand


def calls(node: ast.AST, at: Context) -> Iterator[ast.AST]:
    """The greatest for the least, all for any."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name in _CALLED:
            yield ast.Call(ast.Name(_CALLED[name], ast.Load()), args, keywords)
        case ast.Call(func=ast.Attribute(value=of, attr=name), args=args, keywords=keywords) if (
            name in _CALLED
        ):
            yield ast.Call(ast.Attribute(of, _CALLED[name], ast.Load()), args, keywords)


def bounds(node: ast.AST, at: Context) -> Iterator[ast.AST]:
    """A slice without one of its bounds."""
    if isinstance(node, ast.Slice):
        if node.lower is not None:
            yield ast.Slice(None, node.upper, node.step)
        if node.upper is not None:
            yield ast.Slice(node.lower, None, node.step)


def statements(node: ast.AST, at: Context) -> Iterator[ast.AST]:
    """A statement is left out, where what follows can go on without it; a loop is left out, or
    ended where it would go on."""
    if at.function is None or at.field not in ("body", "orelse", "finalbody"):
        return
    match node:
        case ast.Expr(value=ast.Call() | ast.Yield() | ast.YieldFrom()) | ast.AugAssign():
            yield ast.Pass()
        case ast.Assign(targets=targets) if all(_is_bound(each, at) for each in targets):
            yield ast.Pass()
        case ast.AnnAssign(target=target, value=ast.expr()) if _is_bound(target, at):
            yield ast.Pass()
        case ast.Return() if at.parent is not at.function:
            yield ast.Pass()
        case ast.Raise() | ast.Delete():
            yield ast.Pass()
        case ast.Continue():
            yield ast.Pass()
            yield ast.Break()
        case ast.Break():
            yield ast.Pass()
        case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
            if not (isinstance(iterable, ast.Tuple) and not iterable.elts):
                yield ast.For(target, ast.Tuple([], ast.Load()), body, orelse)


def _is_bound(target: ast.expr, at: Context) -> bool:
    """Whether there is something of that name without the assignment."""
    if not isinstance(target, ast.Name):
        return isinstance(target, ast.Attribute | ast.Subscript)
    assert at.function is not None
    arguments = at.function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    if any(each.arg == target.id for each in named):
        return True
    stored = [
        each
        for each in ast.walk(at.function)
        if isinstance(each, ast.Name) and each.id == target.id and isinstance(each.ctx, ast.Store)
    ]
    return len(stored) > 1


def results(node: ast.AST, at: Context) -> Iterator[ast.AST]:
    """Another value is returned: the opposite, the next, or none."""
    if not isinstance(node, ast.Return) or at.function is None or node.value is None:
        return
    if isinstance(node.value, ast.Constant):
        return  # which is changed itself
    match at.function.returns:
        case ast.Name(id="bool"):
            yield ast.Return(ast.UnaryOp(ast.Not(), node.value))
        case ast.Name(id="int" | "float"):
            yield ast.Return(ast.BinOp(node.value, ast.Add(), ast.Constant(1)))
        case _:
            yield ast.Return(ast.Constant(None))


def cases(node: ast.AST, at: Context) -> Iterator[ast.AST]:
    """`match` without a case, or a case without a part that only restricts it."""
    match node:
        case ast.Match(subject=subject, cases=[_, _, *_] as every):
            for place in range(len(every)):
                yield ast.Match(subject, every[:place] + every[place + 1 :])
        case ast.MatchOr(patterns=patterns):
            for place in range(len(patterns)):
                left = patterns[:place] + patterns[place + 1 :]
                yield left[0] if len(left) == 1 else ast.MatchOr(left)
        case ast.MatchClass(patterns=[ast.MatchAs(pattern=None) as anything], kwd_attrs=[]):
            yield anything  # int(n), whatever n is
        case ast.MatchClass(cls=of, patterns=patterns, kwd_attrs=names, kwd_patterns=parts):
            for place, part in enumerate(parts):
                if not any(
                    isinstance(each, ast.MatchAs | ast.MatchStar) for each in ast.walk(part)
                ):
                    rest = names[:place] + names[place + 1 :], parts[:place] + parts[place + 1 :]
                    yield ast.MatchClass(of, patterns, *rest)


def tables(node: ast.AST, at: Context) -> Iterator[ast.AST]:
    """One entry less in what is written outside of functions: kinds of evidence, names of `f`."""
    if at.function is not None or at.field in ("targets", "target", "slice"):
        return
    match node:
        case ast.Tuple(elts=[_, _, *_] as every, ctx=context):
            for place in range(len(every)):
                yield ast.Tuple(every[:place] + every[place + 1 :], context)
        case ast.List(elts=[_, _, *_] as every, ctx=context):
            for place in range(len(every)):
                yield ast.List(every[:place] + every[place + 1 :], context)
        case ast.Set(elts=[_, _, *_] as every):
            for place in range(len(every)):
                yield ast.Set(every[:place] + every[place + 1 :])


OPERATORS: Final[tuple[Operator, ...]] = (
    conditions,
    comparisons,
    booleans,
    constants,
    calculations,
    calls,
    bounds,
    statements,
    results,
    cases,
    tables,
)
