"""By what each run is to be judged: the checkers of its plan, or those that were named, with their
options."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from framework.checking.assignments import Members
from framework.checking.judged import loaded
from framework.checking.keyed import reason
from framework.checking.runs import StoredRun
from framework.checking.stored import Held
from framework.plugins.checker import Checker


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A run, and by what it is to be judged. wanted: checkers by name, in order, and their options;
    broken: of those that could not be loaded, why."""

    number: int
    run: StoredRun
    held: Held
    wanted: Mapping[str, str]
    plugins: Members
    broken: Mapping[str, str]


class Asking:
    """Finds out by what each run is to be judged. Checkers are loaded once, those that many runs
    ask for alike."""

    def __init__(self, options: Sequence[str] = (), *, strict: bool = False) -> None:
        """`strict`: raises `UsageError` for a checker that there is not."""
        self._options = options
        self._strict = strict
        self._loaded: dict[tuple[str, str], Checker | str] = {}
        self._alike: dict[tuple[tuple[str, str], ...], tuple[Members, Mapping[str, str]]] = {}

    def of(self, number: int, run: StoredRun, held: Held, names: Collection[str]) -> Asked:
        options = run.checker_options(self._options)
        wanted = tuple((name, options.get(name, "")) for name in sorted(names))
        if wanted not in self._alike:
            found = {name: self._load(name, given) for name, given in wanted}
            self._alike[wanted] = (
                {name: each for name, each in found.items() if not isinstance(each, str)},
                {name: each for name, each in found.items() if isinstance(each, str)},
            )
        plugins, broken = self._alike[wanted]
        return Asked(
            number=number,
            run=run,
            held=held,
            wanted=dict(wanted),
            plugins=plugins,
            broken=broken,
        )

    def _load(self, name: str, options: str) -> Checker | str:
        if (name, options) not in self._loaded:
            plugins, broken = loaded([name], {name: options}, strict=self._strict)
            self._loaded[name, options] = plugins[name] if plugins else reason(broken[name])
        return self._loaded[name, options]
