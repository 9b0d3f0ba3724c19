"""What holds of the coordinator whatever happens: members, time, refused writes, failovers."""

from group_harness import Coordinator
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from nodes.kraft.group.state import Phase
from nodes.kraft.group.steps import Joined

MEMBER = st.integers(0, 5)
ACTIONS = st.one_of(
    st.tuples(st.just("join"), st.booleans()),
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

    def member(self, number: int) -> tuple[str, int]:
        """Some member and the generation that it last heard of."""
        heard = [each for each in self.it.answers.values() if isinstance(each, Joined)]
        known = [each for each in heard if each.member_id]
        if not known:
            return "nobody", 0
        chosen = known[number % len(known)].member_id
        generations = [each.generation for each in known if each.member_id == chosen]
        return chosen, max(generations)

    def act(self, name: str, what: object) -> None:
        it = self.it
        match name, what:
            case "join", bool(id_first):
                it.join(id_first=id_first)
            case "rejoin", int(number):
                it.join(self.member(number)[0])
            case "sync", int(number):
                member, generation = self.member(number)
                it.sync(member, generation, {member: b"part"})
            case "beat", int(number):
                it.beat(*self.member(number))
            case "leave", int(number):
                it.leave(self.member(number)[0])
            case "commit", int(number):
                member, generation = self.member(number)
                self.offset += 1
                it.commit(self.offset, member, generation if generation > 0 else -1)
                self.commits[it.token] = self.offset
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
        """All who joined a generation were told the same; its leader also who is in it."""
        for token in self.it.answers.keys() - self.seen:
            self.seen.add(token)
            answer = self.it.answers[token]
            if isinstance(answer, Joined) and answer.error == ErrorCode.none:
                reported = (answer.leader, answer.protocol)
                key = (self.coordinator, answer.generation)
                assert self.generations.setdefault(key, reported) == reported
                leads = answer.leader == answer.member_id
                assert leads == (answer.member_id in {each for each, *_ in answer.members})

    def acknowledged(self) -> int | None:
        """The newest commit that a client knows to be done."""
        done = [
            offset
            for token, offset in self.commits.items()
            if token in self.it.answers and self.it.answers[token].error == ErrorCode.none
        ]
        return max(done, default=None)


@settings(max_examples=300, deadline=None)
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
                assert all(not each.waits for each in group.members.values())
    run.it.fail_over()
    unanswered = set(range(1, run.it.token + 1)) - set(run.it.answers)
    assert not unanswered


@settings(max_examples=100, deadline=None)
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
