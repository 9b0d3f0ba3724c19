"""Whose turn it is to take a snapshot: KIP-631's draft, "Snapshots"."""

from controller_harness import Harness
from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.kraft.config import SnapshotPolicy
from nodes.kraft.controller import snapshots, steps
from nodes.kraft.controller.config import ControllerConfig
from nodes.kraft.wire.heartbeats import ControllerHeartbeatRequest
from tests.cases import cases

BEAT = 500
POLICY = SnapshotPolicy(
    interval_ms=10_000, min_records=10, degraded_interval_ms=60_000, degraded_min_records=50
)


def config(controller_id=1, voters=(1, 2, 3)):
    return ControllerConfig(
        controller_id=controller_id,
        cluster_id="test",
        controller_ids=frozenset(voters),
        heartbeat_interval_ms=BEAT,
        snapshots=POLICY,
        max_metadata_lag_offsets=100,
    )


class Active:
    """An active controller, its log as long as is said, and standbys that heartbeat by hand."""

    def __init__(self, voters=(1, 2, 3), own=0, end=1000):
        self.config = config(voters=voters)
        self.now = 0
        self.end = end
        self.own = snapshots.Own(snapshots.Report(0, own))
        self.known = snapshots.begin(self.config, 0)
        self.effects = []

    def hear(self, controller_id, offset, age=20_000, end=None, writing=False):
        """Whether the standby is told to start."""
        request = ControllerHeartbeatRequest(
            controller_id=controller_id,
            last_snapshot_offset=offset,
            snapshot_age_ms=age,
            metadata_end=self.end if end is None else end,
            writing=writing,
        )
        self.known, start = snapshots.on_heartbeat(
            self.config, self.known, self.own, request, self.end, self.now
        )
        return start

    def check(self):
        self.known, self.own, effects = snapshots.own_turn(
            self.config, self.known, self.own, self.end, self.now
        )
        return effects

    def take(self, offset):
        event = steps.Snapshots(offset, writing=False)
        self.own = snapshots.noted(self.own, event, self.now)


def test_the_oldest_goes_first():
    """A.1.41, A.1.43: it knows all of them, and tells the one that is furthest behind."""
    active = Active(own=500)
    assert not active.hear(2, 400)  # 3 has not told yet
    assert active.hear(3, 300)


def test_nobody_is_reported_before_all_reported_or_had_the_time_to():
    """A.1.42: after a failover the knowledge is relearned from heartbeats alone."""
    active = Active(own=500)
    assert not active.hear(2, 100, age=120_000)
    active.now = 3 * BEAT
    assert active.hear(2, 100, age=120_000)


def test_one_at_a_time():
    """A.1.45: while one has been told, or writes, no other is told."""
    active = Active(own=900)
    active.hear(3, 200)
    assert active.hear(2, 100)
    assert not active.hear(3, 200)
    active.now += BEAT
    assert not active.hear(2, 100, writing=True)
    assert not active.hear(3, 200)
    active.now += 60_000
    assert not active.hear(2, 100, writing=True)
    assert not active.hear(3, 200)
    active.now += BEAT
    assert not active.hear(2, 1000, age=0)
    assert active.hear(3, 200)


def test_an_answer_that_was_lost_is_repeated():
    active = Active(own=900)
    active.hear(3, 200)
    assert active.hear(2, 100)
    active.now = 2 * BEAT
    assert not active.hear(2, 100)
    active.now = 3 * BEAT
    assert active.hear(2, 100)


def test_one_that_died_over_it_holds_up_nobody():
    active = Active(own=900)
    active.hear(3, 200)
    assert active.hear(2, 100)
    active.hear(2, 100, writing=True)
    active.now = 3 * BEAT + 1
    assert active.hear(3, 200, age=120_000)


def test_periodic_also_while_the_size_is_constant():
    """A.1.37: what counts is time, and that there are new records, not that there is more."""
    active = Active(own=950)
    for age, reported in ((9_999, False), (10_000, True)):
        active.hear(3, 995)
        assert active.hear(2, 900, age=age) == reported


def test_nothing_new_is_no_reason():
    active = Active(own=995)
    active.hear(3, 995)
    assert not active.hear(2, 991)  # nine records
    assert active.hear(2, 990)


def test_the_active_controller_resigns_before_its_own():
    """A.1.44: and is told by the next one."""
    active = Active(own=100)
    active.hear(2, 900)
    active.hear(3, 900)
    active.now = 10_000
    active.hear(2, 900)
    active.hear(3, 900)
    assert active.check() == [steps.Resign("its snapshot is due")]
    # The next leader, 2, hears from 1, which leads no longer.
    follower = Active(own=900)
    follower.config = config(controller_id=2)
    follower.hear(3, 900)
    assert follower.hear(1, 100)


def test_resigning_in_vain_it_takes_the_snapshot_itself():
    """A.1.44: it tries to give up leadership; where it leads again, it tried."""
    active = Active(own=100)
    active.now = 10_000
    active.hear(2, 900)
    active.hear(3, 900)
    assert isinstance(active.check()[0], steps.Resign)
    active.known = snapshots.begin(active.config, active.now)  # leads again
    active.now += BEAT
    active.hear(2, 900)
    active.hear(3, 900)
    assert active.check() == [steps.StartSnapshot()]
    active.now += BEAT
    assert active.check() == []  # it writes
    active.take(1000)
    assert active.own == snapshots.Own(snapshots.Report(active.now, 1000))


def test_without_a_standby_it_takes_the_snapshot_itself():
    active = Active(own=100)
    active.now = 70_000
    assert active.check() == [steps.StartSnapshot()]


def test_a_single_voter_just_takes_it():
    """A.1.6, A.1.44: there is nobody to lead meanwhile, and none to lose."""
    active = Active(voters=(1,), own=100)
    active.now = 9_999
    assert active.check() == []
    active.now = 10_499
    assert active.check() == [steps.StartSnapshot()]
    active.now = 30_000
    assert active.check() == []
    active.take(1000)
    active.end = 1020
    active.now = 39_999
    assert active.check() == []
    active.now = 40_500
    assert active.check() == [steps.StartSnapshot()]


def test_rarer_while_losing_one_more_would_hurt():
    """A.1.46: with 3 silent, two are left, and losing one of them loses the majority."""
    active = Active(own=990)
    active.now = 3 * BEAT
    assert not active.hear(2, 900, age=59_999)
    assert not active.hear(2, 951, age=60_000)  # 49 records
    assert active.hear(2, 950, age=60_000)


def test_one_that_lags_counts_as_lost():
    """A.1.46: too many quorum members lag."""
    active = Active(own=990)
    active.hear(3, 990, end=800)
    assert not active.hear(2, 900, age=20_000)
    active.hear(3, 990, end=900)
    assert active.hear(2, 900, age=20_000)


def test_five_voters_can_lose_two():
    active = Active(voters=(1, 2, 3, 4, 5), own=990)
    active.now = 3 * BEAT
    active.hear(3, 990)
    assert not active.hear(2, 900)  # three of five left: one more would hurt
    active.hear(4, 990)
    assert active.hear(2, 900)


def test_a_standby_of_the_drafts_own_bytes_tells_no_age():
    active = Active(own=990)
    active.hear(3, 990)
    request = ControllerHeartbeatRequest(controller_id=2, last_snapshot_offset=960)
    _, start = snapshots.on_heartbeat(
        active.config, active.known, active.own, request, active.end, active.now
    )
    assert not start  # where it stands is not known: it counts as lagging


@settings(max_examples=cases(200), deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["beat", "wait", "grow", "finish", "check"]),
            st.integers(2, 5),
            st.integers(1, 4000),
        ),
        max_size=80,
    )
)
def test_never_two_at_a_time(events):
    """A.1.45: whatever comes in whatever order, while standbys heartbeat on time: among all that
    were told and have not finished, there is one at most."""
    active = Active(voters=(1, 2, 3, 4, 5), own=900)
    offsets, writing, age = dict.fromkeys(range(2, 6), 0), set(), dict.fromkeys(range(2, 6), 0)
    for kind, who, amount in events:
        match kind:
            case "beat":
                pass
            case "wait":
                active.now += amount % BEAT
                age = {each: ms + amount % BEAT for each, ms in age.items()}
            case "grow":
                active.end += amount
            case "finish" if who in writing:
                writing.remove(who)
                offsets[who], age[who] = active.end, 0
            case "check":
                for effect in active.check():
                    assert not writing
                    if isinstance(effect, steps.StartSnapshot):
                        active.take(active.end)
        for each in range(2, 6):
            busy = each in writing
            if active.hear(each, offsets[each], age[each], writing=busy):
                assert not writing - {each}
                writing.add(each)


# --- in the core --------------------------------------------------------------------------


def harness(**settings) -> Harness:
    return Harness(
        **{"controller_ids": frozenset({1, 2, 3}), "snapshots": POLICY} | settings
    ).claim()


def test_a_standby_is_reported_in_the_answer():
    """A.1.43."""
    led = harness(snapshots=SnapshotPolicy(interval_ms=100, min_records=1))
    led.activate(4)
    led.feed(steps.Snapshots(len(led.log), writing=False))
    for controller_id in (2, 3):
        request = ControllerHeartbeatRequest(
            controller_id=controller_id,
            last_snapshot_offset=controller_id - 2,
            snapshot_age_ms=200,
            metadata_end=len(led.log),
        )
        answer = led.ask(request)
        assert (answer.error_code, answer.start_snapshot) == (0, False)
    answer = led.ask(
        ControllerHeartbeatRequest(controller_id=2, last_snapshot_offset=0, snapshot_age_ms=200)
    )
    assert (answer.error_code, answer.start_snapshot) == (0, True)


def test_strangers_are_refused():
    """A.1.13: an id that is no other voter's is none of a standby."""
    led = harness()
    for controller_id in (1, 4, -1):
        answer = led.ask(
            ControllerHeartbeatRequest(controller_id=controller_id, last_snapshot_offset=0)
        )
        assert (answer.error_code, answer.start_snapshot) == (42, False)


def test_the_core_resigns_by_an_effect_and_asks_for_ticks():
    led = harness(snapshots=SnapshotPolicy(interval_ms=1000, min_records=1))
    led.activate(4)
    for now in range(500, 2001, 500):
        led.now_ms = now
        for controller_id in (2, 3):
            request = ControllerHeartbeatRequest(
                controller_id=controller_id,
                last_snapshot_offset=len(led.log),
                snapshot_age_ms=0,
                metadata_end=len(led.log),
            )
            led.ask(request)
        effects = led.feed(steps.Tick())
        assert ([type(effect) for effect in effects] == [steps.Resign]) == (now == 1000)
        if now == 1000:
            break


def test_own_snapshots_are_known_before_it_is_active():
    """A.1.41: including its own."""
    led = Harness(controller_ids=frozenset({1, 2, 3}))
    led.feed(steps.Snapshots(77, writing=False))
    led.claim()
    assert led.state.own.report.snapshot_offset == 77
