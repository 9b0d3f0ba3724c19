"""A mutant's code in the place of a module's own, in a process that is there for it alone."""

import gc
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

from benchmarks.mutation.mutants import Mutant


def functions_of(path: Path) -> list[FunctionType]:
    """All that this process has made of a file, whatever is wrapped around them."""
    gc.unfreeze()  # what is frozen (`tests/conftest.py`) is not among the objects
    return [
        each
        for each in gc.get_objects()
        if type(each) is FunctionType and each.__code__.co_filename == str(path)
    ]


@dataclass(frozen=True, slots=True)
class Change:
    """The functions that a mutant changes, and their code."""

    codes: Sequence[tuple[FunctionType, CodeType]]

    @classmethod
    def of(cls, mutant: Mutant, functions: Sequence[FunctionType]) -> "Change | None":
        """None where it is not (only) code of functions that changes."""
        made = list(_codes(mutant.code))
        names = Counter(map(_name, made))
        codes = {_name(each): each for each in made if names[_name(each)] == 1}
        changed = []
        for function in functions:
            old, new = function.__code__, codes.get(_name(function.__code__))
            if new is None or len(new.co_freevars) != len(old.co_freevars):
                return None
            if new != old:
                changed.append((function, new))
        return cls(changed) if changed else None

    def put(self) -> None:
        for function, code in self.codes:
            function.__code__ = code


def _name(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def _codes(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _codes(each)


@dataclass(frozen=True, slots=True)
class Import(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Whoever imports the module gets the mutant."""

    mutant: Mutant

    def put(self) -> None:
        assert self.mutant.module.name not in sys.modules
        sys.meta_path.insert(0, self)

    def find_spec(
        self, fullname: str, path: object, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.mutant.module.name:
            return None
        where = self.mutant.module.path
        return importlib.util.spec_from_file_location(fullname, where, loader=self)

    def get_code(self, fullname: str) -> CodeType:
        return self.mutant.code

    def get_source(self, fullname: str) -> str:
        return self.mutant.module.path.read_text()
