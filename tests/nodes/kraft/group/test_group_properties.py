"""What holds of the coordinator whatever happens: members, time, refused writes, failovers."""

from group_harness import Coordinator
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from nodes.kraft.group.state import Phase
from nodes.kraft.group.steps import Joined
from tests.cases import cases

MEMBER = st.integers(0, 5)
ACTIONS = st.one_of(
    st.tuples(st.just("join"), st.booleans()),
    st.tuples(st.just("return"), st.sampled_from(["i", "j"])),
    st.tuples(st.just("rejoin"), MEMBER),
    st.tuples(st.just("sync"), MEMBER),
    st.tuples(st.just("beat"), MEMBER),
    st.tuples(st.just("leave"), MEMBER),
    st.tuples(st.just("commit"), MEMBER),
    st.tuples(st.just("written"), st.sampled_from(["ok", "refused", "unknown"])),
    st.tuples(st.just("pass"), st.integers(1, 20_000)),
    st.tuples(st.just("fail over"), st.none()),
)


class Run:
    """A coordinator under a random plan, and what its clients were told."""

    def __init__(self) -> None:
        self.it = Coordinator(settle=False)
        self.ids: list[str] = []
        self.commits: dict[int, int] = {}
        self.offset = 0
        self.coordinator = 0
        self.seen: set[int] = set()
        self.generations: dict[tuple[int, int], tuple[str, str | None]] = {}
        self.instances: dict[str, str] = {}
        """Id of a static member -> its instance."""
        self.returns: dict[int, str] = {}
        """A static member's join -> its instance."""
        self.fenced: set[str] = set()
        """Ids of static members after which another process of the instance has joined."""
        self.zombies: set[int] = set()
        """Their commits, by token."""

    def member(self, number: int) -> tuple[str, int]:
        """Some member and the generation that it last heard of."""
        heard = [each for each in self.it.answers.values() if isinstance(each, Joined)]
        known = [each for each in heard if each.member_id]
        if not known:
            return "nobody", 0
        chosen = known[number % len(known)].member_id
        generations = [each.generation for each in known if each.member_id == chosen]
        return chosen, max(generations)

    def named(self, member: str) -> dict[str, str | None]:
        return {"instance": self.instances.get(member)}

    def act(self, name: str, what: object) -> None:
        it = self.it
        match name, what:
            case "join", bool(id_first):
                it.join(id_first=id_first)
            case "return", str(instance):
                self.returns[it.token + 1] = instance
                it.join(instance=instance)
            case "rejoin", int(number):
                member, _ = self.member(number)
                it.join(member, **self.named(member))
            case "sync", int(number):
                member, generation = self.member(number)
                it.sync(member, generation, {member: b"part"}, **self.named(member))
            case "beat", int(number):
                member, generation = self.member(number)
                code = it.beat(member, generation, **self.named(member))
                assert member not in self.fenced or code != ErrorCode.none
            case "leave", int(number):
                it.leave(self.member(number)[0])
            case "commit", int(number):
                member, generation = self.member(number)
                self.offset += 1
                if member in self.fenced:
                    self.zombies.add(it.token + 1)
                else:
                    self.commits[it.token + 1] = self.offset
                known = generation if generation > 0 else -1
                it.commit(self.offset, member, known, **self.named(member))
            case "written", str(end) if it.writes:
                errors = {
                    "ok": ErrorCode.none,
                    "refused": ErrorCode.not_leader_or_follower,
                    "unknown": ErrorCode.not_enough_replicas_after_append,
                }
                it.written(errors[end], reach=end != "refused")
            case "pass", int(ms):
                it.pass_ms(ms)
            case "fail over", None:
                it.fail_over()
                self.coordinator += 1
        self.check_generations()

    def check_generations(self) -> None:
        """All who joined a generation were told the same; its leader also who is in it. That of a
        static one has another id after it has come back."""
        new = {token: self.it.answers[token] for token in self.it.answers.keys() - self.seen}
        self.seen |= new.keys()
        assert all(new[token].error != ErrorCode.none for token in new.keys() & self.zombies)
        joins = {
            token: each
            for token, each in sorted(new.items())
            if isinstance(each, Joined) and each.error == ErrorCode.none
        }
        for token, answer in joins.items():
            self.remember(token, answer.member_id)
        for answer in joins.values():
            reported = (self.instances.get(answer.leader, answer.leader), answer.protocol)
            key = (self.coordinator, answer.generation)
            assert self.generations.setdefault(key, reported) == reported
            leads = answer.leader == answer.member_id
            assert leads == (answer.member_id in {each for each, *_ in answer.members})

    def remember(self, token: int, member_id: str) -> None:
        """Whose id that is, and who is fenced by it."""
        instance = self.returns.get(token)
        if instance is not None:
            before = {each for each, known in self.instances.items() if known == instance}
            self.instances[member_id] = instance
            self.fenced |= before - {member_id}

    def acknowledged(self) -> int | None:
        """The newest commit that a client knows to be done."""
        done = [
            offset
            for token, offset in self.commits.items()
            if token in self.it.answers and self.it.answers[token].error == ErrorCode.none
        ]
        return max(done, default=None)


@settings(max_examples=cases(300), deadline=None)
@given(st.lists(ACTIONS, max_size=40))
def test_whatever_happens(plan):
    """A.5.4, A.5.11: nothing acknowledged is lost by a failover, nobody waits for ever, and a
    generation has one leader and one protocol."""
    run = Run()
    for name, what in plan:
        run.act(name, what)
        acknowledged = run.acknowledged()
        if acknowledged is not None:
            position = run.it.position()
            assert position is not None and position >= acknowledged
        for group in run.it.state.groups.values():
            assert (group.phase is Phase.EMPTY) == (not group.members) or group.gathering
            if group.phase is Phase.STABLE:
                assert group.leader in group.members
                waiting = [each for each in group.members.values() if each.waits]
                assert all(each.instance_id and run.it.writes for each in waiting)
    run.it.fail_over()
    unanswered = set(range(1, run.it.token + 1)) - set(run.it.answers)
    assert not unanswered


@settings(max_examples=cases(100), deadline=None)
@given(st.lists(ACTIONS, max_size=40))
def test_left_alone_a_group_comes_to_rest(plan):
    """Whatever state a group is in, time alone ends each wait: there is no deadlock."""
    run = Run()
    for name, what in plan:
        run.act(name, what)
    for _ in range(8):
        while run.it.writes:
            run.it.written()
        run.it.pass_ms(30_000)
    assert all(group.phase is Phase.EMPTY for group in run.it.state.groups.values())
    assert set(range(1, run.it.token + 1)) == set(run.it.answers)
