"""What the user asked for, checked and resolved before anything is started."""

import re
import secrets
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Final, get_args, get_origin, get_type_hints

from framework.errors import UsageError
from framework.history.event import Json, Recorded
from framework.hosts.choose import choose
from framework.plugins import registry
from framework.plugins.capabilities import (
    CAPABILITIES,
    FAULTS,
    NODE_ANSWERS,
    Applicable,
    applicable,
    unmet,
)
from framework.plugins.checker import Checker
from framework.plugins.fault import Drastic, Fault, Nemesis
from framework.plugins.host import HostProvider
from framework.plugins.observer import OBSERVE_S, Observer
from framework.plugins.options import Named, create, named, need_options, options_of
from framework.plugins.system import NodeSpec, System
from framework.plugins.targets import check_targets
from framework.plugins.workload import NamesNodes, NeedsMore, Workload
from framework.run.settings import node_settings

ROOM: Final = 3
"""So many that last have room in a main phase, or none lasts."""
BUSY: Final = 1.4
"""So many times as long may nodes take to whom a busy machine does not give all of the time, or who
first have to get over the fault before."""
LOOKS: Final = 2.5
"""So many rounds of an observer's questions hold two whole ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The arguments of `run`, as given."""

    nemesis: str = "none"
    workload: str = "all"
    system: str | None = None
    """None: `registry.default`."""
    hosts: str = "auto"
    inventory: Path | None = None
    nodes: str | None = None
    targets: str = ""
    rate: float = 60.0
    concurrency: str | None = None
    """None: twice the number of nodes, or more where the workloads need more."""
    time_limit_s: float = 60.0
    exactly: bool = False
    """Where too little was done in that time the main phase is no longer all the same."""
    interval_s: float = 5.0
    lasting_s: float | None = 0.0
    """One of every three faults that a nemesis draws lasts at least so long; 0: none does, as in
    plans of older releases. None: long enough for `fencing_s` of the system to be seen."""
    observe_s: float = OBSERVE_S
    """How often every node is asked what it would tell anybody; 0: never."""
    seed: int | None = None
    name: str | None = None
    results: Path = Path("results")
    keep: bool = False
    check: bool = True
    """Else it is recorded only, to be judged by `check`, here or elsewhere."""
    live: bool = False
    """Clauses are judged while the run goes on."""
    fail_fast: bool = False
    """`live`, and what is broken for good ends the run."""
    junit: Path | None = None
    spark_master: str = "local[*]"
    defect: str | None = None
    budget_s: float = 30.0
    settings: tuple[str, ...] = ()
    """`--set`: [NODE-OR-ROLE:]KEY=VALUE."""
    checker: tuple[str, ...] = ()
    """Options of checkers: NAME:KEY=VALUE,..."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """A test that can be run: every name looked up, every number resolved."""

    __test__ = False  # not a class of tests, whatever pytest thinks of its name

    options: Options
    seed: int
    name: str
    system_name: str
    system: System
    provider: HostProvider
    hosts_reason: str
    specs: Sequence[NodeSpec]
    workloads: Sequence[Workload]
    observer: Observer | None
    left_out: Mapping[str, str]
    """Workloads of `--workload all` that this system or cluster cannot have, and why."""
    nemeses: Mapping[str, Nemesis]
    targets: Sequence[str]
    settings: Mapping[str, Mapping[str, str]]
    """Node -> key -> value, from `--set`."""
    checkers: Sequence[str]
    not_applicable: Mapping[str, str]
    """The other checkers, and why they have nothing to check here."""
    threads: int
    lasting_s: float = 0.0
    capabilities: Set[str] = frozenset()
    """Of the system, with these settings."""

    @property
    def recovery_s(self) -> float:
        """Of the system, with these settings."""
        return self.system.recovery_s(self.specs, self.settings)

    @property
    def longer_s(self) -> float:
        """How much longer than asked for the main phase takes at most, where too little was done:
        as long again, and until what faults took down is back, for much is asked for only then."""
        return self.options.time_limit_s + self.recovery_s

    @property
    def faults(self) -> list[Fault]:
        """Of all nemeses."""
        return [fault for package in self.nemeses.values() for fault in package.faults]

    def threads_of(self, index: int) -> range:
        """The threads of the workload at `index`: an equal share, the first ones one more."""
        share, rest = divmod(self.threads, len(self.workloads))
        first = index * share + min(index, rest)
        return range(first, first + share + (index < rest))


def resolve(options: Options) -> Test:
    """Look everything up. Raises `UsageError` with one clear line."""
    _positive("--rate", options.rate)
    _positive("--time-limit", options.time_limit_s)
    _positive("--interval", options.interval_s)
    _positive("--budget", options.budget_s)
    if not 0 <= options.observe_s < 1e9:
        raise UsageError(f"--observe {options.observe_s:g}: it is a number of s, or 0 for never")
    if options.lasting_s is not None and not 0 <= options.lasting_s < 1e9:
        raise UsageError(f"--lasting {options.lasting_s:g}: it is a number of s, or 0 for none")
    if options.seed is not None and options.seed < 0:
        raise UsageError(f"--seed {options.seed}: it is a whole number from 0 up")
    system_name = options.system or registry.default("systems")
    system: System = registry.load("systems", system_name)
    nemeses = _nemeses(options.nemesis)
    if options.defect is not None and options.defect not in system.defects:
        known = ", ".join(sorted(system.defects))
        raise UsageError(f"unknown defect: {options.defect!r} (known: {known})")
    specs = system.layout(options.nodes)
    put_in = () if options.defect is None else system.defect_settings(options.defect)
    settings = node_settings((*put_in, *options.settings), specs)
    system.check_settings(specs, settings)
    capabilities = system.capabilities_with(specs, settings)
    _check_drastic(nemeses, system, capabilities)
    workloads, left_out = _workloads(options.workload, system, capabilities, specs)
    observer = _observer(capabilities) if options.observe_s else None
    observed = _observed(workloads, nemeses, observer)
    asked = options_of("checkers", options.checker)
    checking = _checking(system.name, capabilities | observed, workloads, asked)
    targets = [item.strip() for item in options.targets.split(",") if item.strip()]
    _check_aims(nemeses, system, specs, targets)
    threads = _threads(options.concurrency, len(specs), workloads)
    _check_threads(workloads, threads)
    provider, reason = choose(
        options.hosts, system.image_with(specs, settings), len(specs), options.inventory
    )
    _check_abilities(provider, nemeses)
    return Test(
        options=options,
        seed=secrets.randbelow(2**31) if options.seed is None else options.seed,
        name=options.name or "+".join((*(w.name for w in workloads), *nemeses)),
        system_name=system_name,
        system=system,
        provider=provider,
        hosts_reason=reason,
        specs=specs,
        workloads=workloads,
        observer=observer,
        left_out=left_out,
        nemeses=nemeses,
        targets=targets,
        settings=settings,
        checkers=checking.checkers,
        not_applicable=checking.not_applicable,
        threads=threads,
        lasting_s=_lasting_s(options, lambda: system.fencing_s(specs, settings)),
        capabilities=capabilities,
    )


def _lasting_s(options: Options, fencing_s: Callable[[], float]) -> float:
    """How long some faults last: until whoever is gone must be fenced, and every node is asked
    twice after that; none in a main phase too short for three."""
    if options.lasting_s is not None:
        return options.lasting_s
    lasting_s = BUSY * fencing_s() + LOOKS * options.observe_s
    return lasting_s if options.time_limit_s >= ROOM * lasting_s else 0.0


def _nemeses(text: str) -> dict[str, Nemesis]:
    """Those asked for; `all` are all but the drastic ones."""
    made: dict[str, Nemesis] = {
        item.name: create("nemeses", item) for item in named("nemeses", text)
    }
    if text.strip() != "all":
        return made
    return {name: each for name, each in made.items() if not isinstance(each, Drastic)}


def _check_drastic(nemeses: Mapping[str, Nemesis], system: System, capabilities: Set[str]) -> None:
    for name, nemesis in nemeses.items():
        lacks = unmet(nemesis.requires, capabilities) if isinstance(nemesis, Drastic) else None
        if lacks is not None:
            raise UsageError(f"nemesis {name} cannot be had with system {system.name}: {lacks}")


def _check_aims(
    nemeses: Mapping[str, Nemesis],
    system: System,
    specs: Sequence[NodeSpec],
    targets: Sequence[str],
) -> None:
    check_targets(targets, specs)
    _check_faults(nemeses, specs)
    for nemesis in nemeses.values():
        if isinstance(nemesis, Drastic):
            nemesis.check_system(system, specs, targets)


def _workloads(
    text: str, system: System, capabilities: Set[str], specs: Sequence[NodeSpec]
) -> tuple[list[Workload], dict[str, str]]:
    """Those asked for; of `all` those that the system can have, and why it cannot the others."""
    found: list[Workload] = []
    left_out: dict[str, str] = {}
    for item in named("workloads", text):
        workload: Workload = create("workloads", item)
        reason = unmet(workload.requires, capabilities) or _too_few(workload, specs)
        if text.strip() == "all":
            reason = reason or _to_be_named(workload, system.costly)
            if reason is not None:
                left_out[item.name] = reason
                continue
        elif reason is not None:
            raise UsageError(
                f"workload {item.name} cannot be had with system {system.name}: {reason}"
            )
        elif isinstance(workload, NeedsMore) and (lacks := workload.lacking()) is not None:
            raise UsageError(f"workload {item.name} cannot be had here: {lacks}")
        if isinstance(workload, NamesNodes):
            workload.check_nodes(specs)
        found.append(workload)
    if not found:
        raise UsageError(
            f"system {system.name} can have none of the workloads: "
            + "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
            if left_out
            else "--workload none: a test needs at least one workload"
        )
    return found, left_out


def _to_be_named(workload: Workload, costly: Mapping[str, str]) -> str | None:
    """Why it is none of `all`."""
    needs = [
        f"{CAPABILITIES.get(name, name)} ({costs})"
        for name, costs in costly.items()
        if name in workload.requires
    ]
    if isinstance(workload, NeedsMore):
        needs.append(workload.more)
    return f"it needs {', '.join(needs)}, and is run where it is named" if needs else None


def _too_few(workload: Workload, specs: Sequence[NodeSpec]) -> str | None:
    """Which role has fewer nodes than the workload needs."""
    for role, needed in workload.min_roles.items():
        present = sum(role in spec.roles for spec in specs)
        if present < needed:
            return f"it needs {needed} nodes with role {role}, --nodes has {present}"
    return None


def _observer(capabilities: Set[str]) -> Observer | None:
    """The first installed one that this system's nodes have answers for."""
    known: list[Observer] = [
        registry.load("observers", name) for name in registry.names("observers")
    ]
    return next((each for each in known if each.requires <= capabilities), None)


def _observed(
    workloads: Sequence[Workload], nemeses: Mapping[str, Nemesis], observer: Observer | None
) -> set[str]:
    """What the run observes."""
    found = {each for workload in workloads for each in workload.provides}
    found |= {FAULTS} if nemeses else set()
    return found | {NODE_ANSWERS} if observer is not None else found


def _checking(
    system: str,
    available: Set[str],
    workloads: Sequence[Workload],
    given: Mapping[str, str],
) -> Applicable:
    """What is checked. Raises `UsageError` where nothing of the system would be, or not what is
    given options."""
    need_options("checkers", given)
    checkers: dict[str, Checker] = {
        name: create("checkers", Named(name)) for name in registry.names("checkers")
    }
    found = applicable(checkers, available)
    if not any(checkers[name].requires - {FAULTS} for name in found.checkers):
        raise UsageError(
            f"there is nothing to check: no checker applies to system {system} with "
            f"{', '.join(workload.name for workload in workloads)}"
        )
    for name in given.keys() & found.not_applicable.keys():
        raise UsageError(
            f"checker {name} is given options, and does not apply: {found.not_applicable[name]}"
        )
    return found


def _threads(text: str | None, nodes: int, workloads: Sequence[Workload]) -> int:
    if text is None:
        return max(2 * nodes, _needed(workloads))
    match = re.fullmatch(r"(\d+)(n?)", text)
    if match is None or int(match[1]) == 0:
        raise UsageError(
            f"--concurrency {text!r}: it is a number, or a number of times n, as in 2n"
        )
    return int(match[1]) * (nodes if match[2] else 1)


def _needed(workloads: Sequence[Workload]) -> int:
    """So many threads that the equal share of each is enough."""
    return max(each.min_threads for each in workloads) * len(workloads)


def _check_threads(workloads: Sequence[Workload], threads: int) -> None:
    for index, workload in enumerate(workloads):
        share = threads // len(workloads) + (index < threads % len(workloads))
        if share < workload.min_threads:
            raise UsageError(
                f"workload {workload.name} needs {workload.min_threads} threads and would have "
                f"{share}: give --concurrency {_needed(workloads)} or more"
            )


def _check_faults(nemeses: Mapping[str, Nemesis], specs: Sequence[NodeSpec]) -> None:
    owner: dict[str, str] = {}
    for name, nemesis in nemeses.items():
        for fault in nemesis.faults:
            if (other := owner.setdefault(fault.name, name)) != name:
                raise UsageError(f"nemeses {other} and {name} both have a fault {fault.name}")
            fault.check(specs)


def _check_abilities(provider: HostProvider, nemeses: Mapping[str, Nemesis]) -> None:
    for name, nemesis in nemeses.items():
        for fault in nemesis.faults:
            for ability in fault.abilities(provider):
                if not ability.works:
                    raise UsageError(
                        f"nemesis {name} cannot be done on {provider.name} hosts here: "
                        f"{ability.detail}. {ability.remedy}".strip()
                    )


def _positive(name: str, value: float) -> None:
    if not 0 < value < 1e9:
        raise UsageError(f"{name} {value:g}: it is a number above 0")


def as_json(options: Options) -> dict[str, Json]:
    """Options as plan.json keeps them; `from_json` reads them back for `replay`."""
    return {
        name: str(value) if isinstance(value, Path) else value
        for name in Options.__dataclass_fields__
        if (value := getattr(options, name)) is not None
    }


def from_json(stored: Mapping[str, Recorded]) -> Options:
    """The inverse of `as_json`; settings that this version does not know are passed over.

    Raises `UsageError` for a value that no such option can have.
    """
    known = {key: value for key, value in stored.items() if key in Options.__dataclass_fields__}
    hints = get_type_hints(Options)
    for key, value in known.items():
        if not _fits(value, hints[key]):
            raise UsageError(f"no plan that `run` wrote: option {key} is {value!r}")
    for key in ("results", "junit", "inventory"):
        if key in known:
            known[key] = Path(known[key])
    for key in ("settings", "checker"):
        if key in known:
            known[key] = tuple(known[key])
    return Options(**known)


_STORED: Final[Mapping[type, tuple[type, ...]]] = {Path: (str,), float: (float, int)}
"""What JSON makes of an option's type, where that is another one."""


def _fits(value: object, hint: object) -> bool:
    if get_origin(hint) is tuple:
        return isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)
    kinds = get_args(hint) or (hint,)
    if isinstance(value, bool):
        return bool in kinds
    return any(isinstance(value, _STORED.get(kind, (kind,))) for kind in kinds)
