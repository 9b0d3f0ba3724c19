"""Digests of what is mutated, by which the mutants of what has not changed are not asked again."""

import ast
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from textwrap import dedent
from typing import TypeAlias

from benchmarks.mutation.mutants import Module, places_of
from benchmarks.mutation.operators import OPERATORS
from benchmarks.mutation.run import Target

Digests: TypeAlias = Mapping[str, Mapping[str, str]]
"""By module, and by function as mutants name it: "" is what is in none."""


def functions(of: Digests) -> set[tuple[str, str]]:
    """In whichever file of the target they are."""
    return {each for found in of.values() for each in found.items()}


def digests(target: Target) -> dict[str, dict[str, str]]:
    return {each.name: _digests(each) for each in target.modules}


def _digests(module: Module) -> dict[str, str]:
    """Of a function's code, without comments, docstrings and imports, and of how many mutants there
    are of it: a new kind of mutant is a change as well."""
    source = module.path.read_text()
    tree = ast.parse(source)
    changes = Counter(
        place.function
        for _, place in places_of(tree)
        for operator in OPERATORS
        for _ in operator(place.node, place.context)
    )
    return {
        function: hashlib.sha256(f"{changes[function]}\n{text}".encode()).hexdigest()[:12]
        for function, text in _texts(tree, source).items()
    }


def _texts(tree: ast.Module, source: str) -> dict[str, str]:
    lines = source.splitlines()
    owners = [""] * len(lines)
    for function, owner in _owners(tree, ""):
        first = min(each.lineno for each in (owner, *owner.decorator_list))
        last = owner.end_lineno or first
        owners[first - 1 : last] = [function] * (last - first + 1)
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and _is_not_code(node):
            last = node.end_lineno or node.lineno
            lines[node.lineno - 1 : last] = [""] * (last - node.lineno + 1)
    code = defaultdict[str, list[str]](list)
    for function, line in zip(owners, lines, strict=True):
        if line.strip() and not line.lstrip().startswith("#"):
            code[function].append(line)
    return {function: dedent("\n".join(some)) for function, some in {"": [], **code}.items()}


def _owners(parent: ast.AST, name: str) -> Iterator[tuple[str, ast.FunctionDef | ast.ClassDef]]:
    """Functions, methods and classes, each before what is in it."""
    for node in ast.iter_child_nodes(parent):
        below = name
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield (below := f"{name}.{node.name}".lstrip(".")), node
        if not isinstance(node, ast.FunctionDef):
            yield from _owners(node, below)


def _is_not_code(node: ast.stmt) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant(value=str())):
            return True
    return False
