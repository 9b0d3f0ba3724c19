"""All mutants of a module: each with one thing changed."""

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Set
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType
from typing import Final, TypeAlias

from benchmarks.mutation.operators import OPERATORS, Context


@dataclass(frozen=True, slots=True)
class Module:
    """`name` as it is imported."""

    name: str
    path: Path


Key: TypeAlias = tuple[str, str, str, str]
"""Module, function, line, change."""
At: TypeAlias = tuple[str, str]
"""Function, line: as a key has them."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """`function` is the outermost one, or `Class.method`, or what there is outside of functions;
    `line` the source's, without indentation; `change` says what is otherwise there, and which of
    several it is."""

    module: Module
    function: str
    number: int
    line: str
    change: str
    code: CodeType

    @property
    def key(self) -> Key:
        """By which it is known wherever it stands in its file."""
        return self.module.name, self.function, self.line, self.change


def mutants(module: Module) -> Iterator[Mutant]:
    return _mutants(module, lambda tree, _: tree)


def keys(module: Module, at: Set[At] | None = None) -> Iterator[Key]:
    """Of all its mutants, or of those of some lines, in a fraction of the time: of each only the
    statement that it is in, of those of the module, is compiled."""
    of_statement = _mutants(module, lambda tree, top: ast.Module([tree.body[top]], []), at)
    return (each.key for each in of_statement)


def _mutants(
    module: Module, part: Callable[[ast.Module, int], ast.Module], at: Set[At] | None = None
) -> Iterator[Mutant]:
    """`code` is of the part of the module that is asked for."""
    source = module.path.read_text()
    tree = ast.parse(source)
    lines = source.splitlines()
    known: Counter[tuple[str, ...]] = Counter()
    for top, place in places_of(tree):
        node, line = place.node, lines[place.line - 1].strip()
        if at is not None and (place.function, line) not in at:
            continue
        for operator in OPERATORS:
            for other in operator(node, place.context):
                # A copy: what is put may be a part of the node, whose own place stays as it is.
                here = ast.copy_location(copy(other), node)
                place.put(ast.fix_missing_locations(here))
                try:
                    code = compile(part(tree, top), str(module.path), "exec")
                except SyntaxError:  # a case behind one that takes everything
                    continue
                finally:
                    place.put(node)
                change = _change(node, other)
                known[key := (place.function, line, change)] += 1
                again = f" ({known[key]})" if known[key] > 1 else ""
                yield Mutant(module, place.function, place.line, line, change + again, code)


LONGEST: Final = 160


def _change(node: ast.AST, other: ast.AST) -> str:
    """Of a node with a part less, that part is told."""
    for field in ("values", "elts", "patterns", "cases"):
        before, after = getattr(node, field, ()), getattr(other, field, ())
        if isinstance(after, list) and len(after) == len(before) - 1 and type(node) is type(other):
            return f"without {_text(next(each for each in before if each not in after))}"
    if isinstance(node, ast.For):
        return f"for {_text(node.target)} in {_text(node.iter)} -> in ()"
    return f"{_text(node)} -> {_text(other)}"


def _text(node: ast.AST) -> str:
    """On one line; of a block its head."""
    if isinstance(node, ast.match_case):
        node = node.pattern
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node hangs in the tree."""

    node: ast.AST
    index: int | None
    function: str
    context: Context
    line: int

    def put(self, node: ast.AST) -> None:
        at = self.context
        if self.index is None:
            setattr(at.parent, at.field, node)
        else:
            getattr(at.parent, at.field)[self.index] = node


_NOT_CODE: Final = {"annotation", "returns", "decorator_list", "type_comment", "bases"}
"""Fields that say what a thing is, rather than what is done."""
_NOT_JUDGED: Final = (ast.JoinedStr, ast.Raise, ast.Assert, ast.Import, ast.ImportFrom)
"""Nodes whose parts stay: messages, errors, what holds for the reader's sake."""


def _is_typed_dict(node: ast.AST) -> bool:
    """Its keywords are for the type checker."""
    bases = node.bases if isinstance(node, ast.ClassDef) else ()
    return any(isinstance(each, ast.Name) and each.id == "TypedDict" for each in bases)


def places_of(tree: ast.Module) -> Iterator[tuple[int, Place]]:
    """With the number of the module's statement that each is in."""
    for top, statement in enumerate(tree.body):
        alone = ast.Module([statement], [])
        for place in _places(alone, None, ""):
            if place.context.parent is alone:
                at = Context(tree, place.context.field, place.context.function)
                place = replace(place, index=top, context=at)
            yield top, place


def _places(
    parent: ast.AST, function: ast.FunctionDef | None, name: str, line: int = 1
) -> Iterator[Place]:
    """`function` is the innermost, `name` that of the outermost or of the class."""
    for field, value in ast.iter_fields(parent):
        if field in _NOT_CODE or isinstance(parent, _NOT_JUDGED):
            continue
        if field == "keywords" and _is_typed_dict(parent):
            continue
        many = isinstance(value, list)
        for index, node in enumerate(value if many else [value]):
            if not isinstance(node, ast.AST):
                continue
            at = getattr(node, "lineno", line)
            context = Context(parent, field, function)
            yield Place(node, index if many else None, name, context, at)
            inner, below = function, name
            if isinstance(node, ast.FunctionDef):
                inner = node
            if function is None and isinstance(node, ast.FunctionDef | ast.ClassDef):
                below = f"{name}.{node.name}".lstrip(".")
            yield from _places(node, inner, below, at)
