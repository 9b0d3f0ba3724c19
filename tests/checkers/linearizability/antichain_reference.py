"""The antichain's levels with Python's own sets, and a list of all configurations: what the kernel
of "jit antichain" does with bits, chains and numbers, in the same order."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from checkers.linearizability.encoded import NEVER, EncodedHistory, Kind

BY_A = (Kind.READ, Kind.CAS, Kind.DIFFERS, Kind.CHANGE)
SURVIVED, DIED, PAUSED = 0, 1, 2
Effect = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Config:
    """`trail`: where it began (-1 or less), and what was put. `bare`: by a write of no use."""

    value: int
    trail: tuple[int, ...]
    satisfied: frozenset[int] = frozenset()
    used: frozenset[int] = frozenset()
    pending: tuple[int, ...] = ()
    spent: int = 0
    bare: bool = False

    def dominates(self, other: "Config") -> bool:
        return (
            self.value == other.value
            and self.satisfied >= other.satisfied
            and self.used <= other.used
            and self.bare <= other.bare
            and not Counter(self.pending) - Counter(other.pending)
        )

    def without(self, row: int) -> "Config":
        return replace(self, satisfied=self.satisfied - {row}, used=self.used - {row}, bare=False)


@dataclass
class Level:
    """What is made at a return. None: dropped again."""

    row: int
    way: list[Config | None]
    own: int
    active: list[int] = field(default_factory=list)
    sources: set[int] = field(default_factory=set)
    """Values that an active class may go on from; -1: any."""
    results: list[Config | None] = field(default_factory=list)

    @property
    def kept(self) -> list[Config]:
        return [each for each in self.results if each is not None]


def add(made: list[Config | None], new: Config) -> bool:
    if any(each is not None and each.dominates(new) for each in made):
        return False
    made[:] = [None if each is not None and new.dominates(each) else each for each in made]
    made.append(new)
    return True


class Reference:
    """`account`: by class, -1 where it is endless."""

    def __init__(self, encoded: EncodedHistory, account: Sequence[int], width: int) -> None:
        self.encoded, self.width = encoded, width
        self.call, self.ret = encoded.call.tolist(), encoded.ret.tolist()
        self.kind, self.a, self.b = (each.tolist() for each in (encoded.kind, encoded.a, encoded.b))
        self.is_model = encoded.transitions is not None
        self.known: dict[tuple[int, int], int] = {}
        self.wanted: list[tuple[int, int]] = []
        self.account = list(account)
        self.classes = self._classes()
        self.called: Counter[int] = Counter()
        self.open: list[int] = []
        self.next_row = self.work = self.levels = 0
        self.truncated = False
        self.returned: list[int] = []
        self.configs = [Config(encoded.initial, (-1,))]

    def _classes(self) -> list[int]:
        """The first row of each."""
        first: dict[Effect, int] = {}
        for row in range(len(self.ret)):
            if self.ret[row] == NEVER and self.changes(row):
                first.setdefault(self.effect(row), row)
        return list(first.values())

    def effect(self, row: int) -> Effect:
        return self.kind[row], self.a[row], self.b[row]

    def changes(self, row: int) -> bool:
        return self.kind[row] in (Kind.WRITE, Kind.CAS, Kind.CHANGE, Kind.STEP)

    def of(self, kind: Kind) -> list[int]:
        return [row for row in self.open if self.kind[row] == kind]

    def begin_after(self, since: int, values: Sequence[int]) -> None:
        while self.next_row < len(self.ret) and self.call[self.next_row] <= since:
            if self.ret[self.next_row] > since:
                self._call(self.next_row)
            self.next_row += 1
        had = frozenset(self.open)
        self.configs = [Config(value, (-2 - at,), had) for at, value in enumerate(values)]

    def _call(self, row: int) -> None:
        if self.ret[row] != NEVER:
            self.open.append(row)
        elif self.changes(row):
            effects = [self.effect(each) for each in self.classes]
            self.called[effects.index(self.effect(row))] += 1

    def advance(self, until: int) -> int:
        while True:
            while self.next_row < len(self.ret) and not (
                self.open and self.call[self.next_row] > min(self.ret[row] for row in self.open)
            ):
                self._call(self.next_row)
                self.next_row += 1
            if not self.open:
                return SURVIVED
            row = min(self.open, key=lambda each: self.ret[each])
            if self.ret[row] > until:
                return PAUSED
            self._see()
            if all(
                row in each.satisfied and (not self.changes(row) or row in each.used)
                for each in self.configs
            ):
                kept = self.configs
            elif not (kept := self._narrowed(self._level(row).kept)):
                return DIED
            self.configs = [each.without(row) for each in kept]
            self.returned.append(row)
            self.open.remove(row)

    def _see(self) -> None:
        self.wanted = [(-1, -1)]
        while self.wanted:
            self.wanted = []
            self.work += len(self.configs)
            for at, each in enumerate(self.configs):
                fits = self._fits(each) or frozenset()
                self.configs[at] = replace(each, satisfied=each.satisfied | fits)
            self._answer()

    def _answer(self) -> None:
        assert self.encoded.transitions is not None or not self.wanted
        for state, action in self.wanted:
            assert self.encoded.transitions is not None
            self.known[state, action] = max(self.encoded.transitions.step(state, action), -1)

    def _step(self, state: int, action: int) -> int | None:
        """None: it is asked for."""
        if (state, action) not in self.known and (state, action) not in self.wanted:
            self.wanted.append((state, action))
        return self.known.get((state, action))

    def _fits(self, each: Config) -> frozenset[int] | None:
        """The observers that a value satisfies. None: of some that is not known yet."""
        if not self.is_model:
            sees = {row for row in self.of(Kind.READ) if self.a[row] == each.value}
            return frozenset(sees | {r for r in self.of(Kind.DIFFERS) if self.a[r] != each.value})
        found: set[int] = set()
        for row in self.of(Kind.LOOK):
            if row not in each.satisfied:
                then = self._step(each.value, self.a[row])
                if then is None:
                    return None
                found |= {row} if then == each.value else set()
        return frozenset(found)

    def _level(self, row: int) -> Level:
        self.levels += 1
        level = Level(row, list(self.configs), len(self.configs))
        self._activate(level)
        at = 0
        while at < len(level.way):
            each = level.way[at]
            if at >= level.own and len(level.kept) >= self.width:
                self.truncated = True
                break
            if each is not None and not (at < level.own and self._returns(level, each)):
                self.work += 1
                self.wanted = []
                self._expand(level, each)
                self._answer()
                at -= bool(self.wanted)  # once more
            at += 1
        return level

    def _returns(self, level: Level, each: Config) -> bool:
        """Whether it has what returns, and need not be extended."""
        row = level.row
        if row not in each.satisfied:
            return False
        self._keep(level, each)
        if not self.changes(row) or row in each.used:
            return True
        now = self.ret[row]
        is_seen = self._need(self.b[row]) > now or self._last_differs() > now
        return not is_seen and len(each.satisfied) == len(self.open)

    def _need(self, value: int) -> int:
        rows = range(len(self.ret))
        if self.is_model:
            return -1
        reads = [r for r in rows if self.kind[r] == Kind.READ and self.ret[r] != NEVER]
        needs = reads + [r for r in rows if self.kind[r] == Kind.CAS]
        return max((self.ret[r] for r in needs if self.a[r] == value), default=-1)

    def _last_differs(self) -> int:
        rows = range(len(self.ret))
        failed = [r for r in rows if self.kind[r] == Kind.DIFFERS and self.ret[r] != NEVER]
        every = failed + [r for r in rows if self.kind[r] == Kind.CHANGE]
        return max((self.ret[r] for r in every), default=-1)

    def _keep(self, level: Level, each: Config) -> bool:
        now = self.ret[level.row]
        result = each.without(level.row)
        if not self.is_model and max(self._last_differs(), self._need(result.value)) <= now:
            result = replace(result, value=-1)
        return add(level.results, result)

    def _activate(self, level: Level) -> None:
        """Classes that may serve somebody: in the order in which the values are found wanted."""
        todo: list[int] = []
        everything = self.is_model or bool(self.of(Kind.CHANGE))
        for row in sorted(self.open, key=lambda each: -self.ret[each]):
            has = [
                row in (c.used if self.kind[row] == Kind.CAS else c.satisfied) for c in level.way
            ]
            if self.kind[row] != Kind.WRITE and not all(has):
                everything |= self.kind[row] == Kind.DIFFERS
                todo += [self.a[row]] if self.a[row] not in todo else []
        wanted, called = set(todo), [n for n in range(len(self.classes)) if self.called[n]]
        while todo and not everything:
            value = todo.pop()
            for number in called:
                does, source, target = self.effect(self.classes[number])
                if target == value:
                    level.active.append(number)
                    everything |= does == Kind.CHANGE
                    if does == Kind.CAS and source not in wanted:
                        wanted.add(source)
                        todo.append(source)
        if everything:
            level.active = called
        effects = [self.effect(self.classes[number]) for number in level.active]
        level.sources = {a for does, a, _ in effects if does == Kind.CAS}
        level.sources |= {-1 for does, _, _ in effects if does == Kind.CHANGE}

    def _expand(self, level: Level, each: Config) -> None:
        tried: dict[Effect, bool] = {}
        """Whether with one that serves: one that has not been satisfied."""
        for row in sorted(filter(self.changes, self.open), key=lambda row: self.ret[row]):
            serves = self.kind[row] == Kind.WRITE or row not in each.satisfied
            effect = self.effect(row)
            if row not in each.used and serves > tried.get(effect, -1):
                tried[effect] = serves
                then = self._after(each, effect)
                if then is not None:
                    self._put(level, each, row, effect[0], then, each.pending)
        for row in self.of(Kind.LOOK):
            if row not in each.satisfied:
                then = self._step(each.value, self.a[row])
                if then is not None and then >= 0 and then != each.value:
                    self._put(level, each, row, Kind.LOOK, then, each.pending)
        if level.active and len(level.kept) >= self.width:
            self.truncated = True
            return
        for number in level.active:
            effect = self.effect(self.classes[number])
            if effect in tried:
                continue
            then = self._after(each, effect)
            if then is None or (then == each.value and effect[0] != Kind.WRITE):
                continue
            account, pending = self.account[number], each.pending
            if account >= 0:
                like = [n for n in range(len(self.classes)) if self.account[n] == account]
                if pending.count(account) >= sum(self.called[n] for n in like):
                    continue
                pending = (*pending, account)
            self._put(level, each, -1 - number, effect[0], then, pending)

    def _after(self, each: Config, effect: Effect) -> int | None:
        does, source, target = effect
        if does == Kind.WRITE:
            return None if each.bare else target
        if does == Kind.STEP:
            then = self._step(each.value, source)
            return then if then is not None and then >= 0 else None
        return target if (each.value == source) == (does == Kind.CAS) else None

    def _put(
        self, level: Level, each: Config, put: int, does: int, then: int, pending: tuple[int, ...]
    ) -> None:
        row = level.row
        satisfied, used = each.satisfied, each.used
        if put >= 0:
            satisfied, used = satisfied | {put}, used | ({put} if does != Kind.LOOK else set())
        trail, spent = (*each.trail, put), each.spent + (put < 0)
        new = Config(then, trail, satisfied, used, pending, spent)
        fits = self._fits(new)
        if fits is None:
            return
        is_bare = fits <= satisfied
        if does == Kind.WRITE:
            fits |= frozenset(self.of(Kind.WRITE))
        new = replace(new, satisfied=satisfied | fits)
        if put == row or (not self.changes(row) and row in new.satisfied):
            self._keep(level, new)
            return
        if is_bare and (does == Kind.WRITE or (put < 0 and does != Kind.STEP)):
            sources = level.sources | {self.a[row] for row in self.of(Kind.CAS)}
            if not self.of(Kind.CHANGE) and not sources & {then, -1}:
                return
            new = replace(new, bare=True)
        before = len(level.way)
        if add(level.way, new) and before - level.own >= 4 * self.width:
            self.truncated = True
            level.way.pop()

    def _narrowed(self, kept: list[Config]) -> list[Config]:
        if len(kept) <= self.width:
            return kept
        self.truncated = True
        least = min(each.spent for each in kept)

        def cost(at: int) -> int:
            each = kept[at]
            spoilt = len(each.satisfied & each.used)
            lacking = len(self.open) - 1 - len(each.satisfied)
            return min(2 * (each.spent - least) + lacking + 2 * spoilt, 1023)

        best = sorted(range(len(kept)), key=lambda at: (cost(at), at))[: self.width]
        return [kept[at] for at in sorted(best)]
