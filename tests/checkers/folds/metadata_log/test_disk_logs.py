"""What disks carry of the committed log: what is sure, and what is not."""

from hypothesis import given, settings
from hypothesis import strategies as st
from planted_disks import Disks
from planted_runs import PLAN

from checkers.folds.metadata_log.disk_logs import (
    CommittedOnDisks,
    DiskLog,
    committed_on_disks,
    disk_logs,
)
from framework.evidence.changes import VotersNamed
from framework.evidence.ids import LeaderEpoch, Offset, ReplicaId
from framework.evidence.kinds import Evidence
from framework.evidence.quorum import Appended, LogBegan, LogOnDisk, SnapshotFile, Truncated, Voter
from framework.evidence.run_events import RunEvents
from tests.cases import cases

VOTERS = ("c1", "c2", "c3")


def committed(disks: Disks, **plan: object) -> CommittedOnDisks:
    return committed_on_disks(RunEvents(evidence=disks.all(), plan={**PLAN, **plan}))


def agreed(records: int = 4) -> Disks:
    """One leader, and all has reached all."""
    disks = Disks()
    disks.lead(1, 1, *VOTERS, votes=(1, 2))
    disks.fill(1, records - 1, *VOTERS)
    return disks


def test_what_all_have_is_committed() -> None:
    found = committed(agreed())
    assert (found.end, found.why) == (4, "")
    assert [each.offset for each in found.records] == [0, 1, 2, 3]
    assert sorted(found.entries) == [0, 1, 2, 3]


def test_what_a_majority_has_in_the_newest_epoch_is_committed() -> None:
    disks = agreed()
    disks.fill(1, 2, "c1", "c2")
    assert committed(disks).end == 6


def test_what_only_its_leader_has_is_not() -> None:
    disks = agreed()
    disks.fill(1, 2, "c1")
    assert committed(disks).end == 4


def test_what_a_later_leader_may_yet_cut_off_is_not() -> None:
    """Raft's figure 8: epoch 2 is on a majority, and who has epoch 3 can win without it."""
    disks = agreed()
    disks.lead(1, 2, "c1", "c2")
    disks.lead(3, 3, "c3")
    found = committed(disks)
    assert found.end == 4 and not found.why


def test_epoch_that_nobody_else_knows_of_changes_nothing() -> None:
    disks = agreed()
    disks.fill(1, 2, "c1", "c2")
    disks.lead(2, 2, "c2")
    assert committed(disks).end == 6


def test_stale_rest_of_a_former_leader_is_not() -> None:
    disks = agreed()
    disks.fill(1, 3, "c3")
    disks.lead(2, 2, "c1", "c2")
    found = committed(disks)
    assert found.end == 5 and found.entries[4][0] == 2


def test_copy_that_was_cut_back_is_not() -> None:
    disks = agreed()
    disks.fill(1, 2, *VOTERS)
    for node in VOTERS:
        disks.restart(node)
        disks.cut(node, 4)
    assert committed(disks).end == 4


def test_log_behind_a_snapshot_of_another_node() -> None:
    disks = agreed()
    disks.snapshot("c3", 4, 1)
    disks.begin("c3", 4, dropped=True)
    assert committed(disks).end == 4, "its snapshot says of which epoch its last record is"
    disks.fill(1, 2, *VOTERS)
    assert committed(disks).end == 6


def test_log_that_begins_where_no_snapshot_says_the_epoch() -> None:
    disks = agreed()
    disks.begin("c3", 4, dropped=True)
    assert committed(disks).why == "the log of c3 cannot be read whole"


def test_what_a_snapshot_took_the_place_of_stays_known() -> None:
    disks = agreed()
    for node in VOTERS:
        disks.restart(node)
        disks.snapshot(node, 3, 1)
        disks.begin(node, 3)
    found = committed(disks)
    assert found.end == 4 and len(found.records) == 4


def test_records_that_one_has_no_more_another_tells() -> None:
    """c1 has a snapshot of another node in the place of the first four, c2 has them."""
    disks = agreed()
    disks.snapshot("c1", 4, 1)
    disks.begin("c1", 4, dropped=True)
    disks.fill(1, 2, *VOTERS)
    found = committed(disks)
    assert [each.offset for each in found.records] == [0, 1, 2, 3, 4, 5]
    assert [each.node for each in found.records] == ["c2"] * 4 + ["c1"] * 2


def test_record_in_the_place_of_one_that_was_cut_off() -> None:
    disks = agreed()
    disks.fill(1, 2, "c1")
    disks.restart("c1")
    disks.cut("c1", 4)
    disks.lead(2, 2, *VOTERS)
    found = committed(disks)
    assert [(each.offset, each.epoch) for each in found.records][3:] == [(3, 1), (4, 2)]
    assert {each.node for each in found.records} == {"c1"}


def test_records_of_a_log_that_begins_anew_are_told_by_who_has_them() -> None:
    """A snapshot of another node takes the place of all that a log had, also of what was cut off;
    one of its own of nothing."""
    disks = agreed()
    disks.fill(1, 2, "c1")
    disks.cut("c1", 5)
    disks.snapshot("c1", 4, 1)
    disks.begin("c1", 4, dropped=True)
    disks.fill(2, 2, *VOTERS)
    assert [each.node for each in committed(disks).records] == ["c2"] * 4 + ["c1"] * 2
    disks.snapshot("c1", 6, 2)
    disks.begin("c1", 6)
    assert [each.node for each in committed(disks).records] == ["c2"] * 4 + ["c1"] * 2


def test_nothing_is_sure_where_a_voter_was_not_read() -> None:
    disks = agreed()
    disks.lost = {"c2"}
    assert committed(disks).why == "the log of c2 cannot be read whole"
    disks.lost, disks.wrong = set(), {"c1": "nothing from 2 to 3"}
    assert committed(disks).why == "the log of c1 cannot be read whole"


def test_nothing_is_sure_of_nodes_that_went_on() -> None:
    assert "went on" in committed(agreed(), options={"keep": True}).why
    assert "nothing says who votes" in committed(agreed(), nodes={}).why


def test_brokers_do_not_vote() -> None:
    disks = agreed()
    disks.fill(2, 9, "b1")
    assert committed(disks).end == 4
    assert disk_logs(disks.all())["b1"].end == 9


# --- a log by itself ----------------------------------------------------------------------


def appended(base: int, *crcs: int, epoch: int = 1) -> Appended:
    end = Offset(base + len(crcs))
    return Appended(
        node="c1",
        base_offset=Offset(base),
        end_offset=end,
        epoch=LeaderEpoch(epoch),
        control=False,
        crcs=crcs,
        leading=None,
    )


def on_disk(*wrong: str) -> LogOnDisk:
    return LogOnDisk(
        node="c1", start_offset=Offset(0), end_offset=Offset(0), torn=False, wrong=wrong
    )


def fed(*told: Evidence) -> DiskLog:
    log = DiskLog()
    for each in told:
        log.feed(each)
    return log


def test_the_last_record_is_told_by_the_log_or_by_a_snapshot_that_ends_there() -> None:
    snapshot = SnapshotFile(
        node="c1", end_offset=Offset(2), epoch=LeaderEpoch(3), records=1, wrong=()
    )
    began = LogBegan(node="c1", offset=Offset(2), dropped=True)
    assert fed(on_disk()).last == (0, 0), "an empty one"
    assert fed(appended(0, 7, 8, epoch=2), on_disk()).last == (2, 2)
    assert fed(snapshot, began, on_disk()).last == (3, 2)
    assert fed(began, on_disk()).last is None
    assert fed(appended(0, 7)).last is None, "of which nobody knows how far it can be read"
    assert fed(appended(0, 7), on_disk("a gap")).last is None


def test_a_log_is_what_is_left_of_it() -> None:
    log = fed(appended(0, 7, 8, 9), Truncated(node="c1", end_offset=Offset(1)))
    assert log.entries == {0: (1, 7)} and log.end == 1
    log.feed(LogBegan(node="c1", offset=Offset(1), dropped=False))
    assert log.entries == {0: (1, 7)} and log.end == 1, "a snapshot took its place, it is known"
    log.feed(LogBegan(node="c1", offset=Offset(4), dropped=True))
    assert log.entries == {} and log.end == 4
    assert DiskLog().end == 0


def test_a_node_whose_log_was_not_found_has_none() -> None:
    """Whatever else it left."""
    found = [
        each for each in agreed().all() if not (isinstance(each, LogOnDisk) and each.node == "c2")
    ]
    assert sorted(disk_logs(found)) == ["c1", "c3"]


def test_nothing_sure_is_nothing_at_all() -> None:
    found = committed(agreed(), nodes={})
    assert (found.end, list(found.records), found.entries) == (0, [], {})


def test_records_that_may_yet_be_cut_off_are_not_among_them() -> None:
    disks = agreed()
    disks.fill(1, 2, "c1")
    assert [each.offset for each in committed(disks).records] == [0, 1, 2, 3]


def test_logs_that_are_known_are_not_looked_for() -> None:
    longer = agreed(6)
    events = RunEvents(evidence=agreed().all(), plan=PLAN)
    assert committed_on_disks(events, disk_logs(longer.all())).end == 6


def test_of_five_voters_three_elect() -> None:
    """Who has more than two others cannot lead: what the three with most have is committed."""
    five = [f"c{number}" for number in range(1, 6)]
    disks = Disks()
    disks.lead(1, 1, *five, votes=(1, 2, 3))
    disks.fill(1, 3, *five)
    disks.fill(1, 1, *five[1:])
    disks.fill(1, 1, *five[2:])
    nodes = {node: {"votes": True} for node in five}
    assert committed(disks, nodes=nodes).end == 6


# --- Raft itself --------------------------------------------------------------------------


@settings(max_examples=cases(300), deadline=None)
@given(st.data())
def test_all_that_was_committed_is_there_and_stays(data: st.DataObject) -> None:
    """Random elections and replication between three voters: what a leader's majority had in the
    leader's own epoch is in what disks carry, at any time; and what they carry is never cut off."""
    logs: dict[str, list[int]] = {node: [] for node in VOTERS}
    epoch, leader = 0, "c1"
    promised = committed_count = 0
    reported: list[int] = []
    for _ in range(data.draw(st.integers(1, 25))):
        match data.draw(st.sampled_from(["elect", "append", "append", "fetch", "fetch"])):
            case "elect":
                node = data.draw(st.sampled_from(VOTERS))
                mine = (logs[node][-1:] or [0], len(logs[node]))
                if sum((logs[each][-1:] or [0], len(logs[each])) <= mine for each in VOTERS) >= 2:
                    epoch, leader = epoch + 1, node
                    logs[node].append(epoch)
            case "append" if epoch:
                logs[leader].append(epoch)
            case "fetch" if epoch:
                node = data.draw(st.sampled_from(VOTERS))
                own, theirs = logs[node], logs[leader]
                same = 0
                while same < min(len(own), len(theirs)) and own[same] == theirs[same]:
                    same += 1
                logs[node] = theirs[: min(len(theirs), same + data.draw(st.integers(1, 3)))]
        if epoch and logs[leader][-1] == epoch:
            ends = sorted(
                len(log) for log in logs.values() if log[: len(log)] == logs[leader][: len(log)]
            )
            if len(ends) >= 2 and logs[leader][ends[-2] - 1 : ends[-2]] == [epoch]:
                committed_count = max(committed_count, ends[-2])
        disks = Disks()
        for node, log in logs.items():
            disks.write(node, 0)  # so that none is empty
            for each in log:
                disks.write(node, each)
        found = committed(disks)
        assert not found.why
        assert found.end - 1 >= committed_count
        now = [found.entries[offset][0] for offset in range(1, found.end)]
        assert now[:promised] == reported[:promised]
        promised, reported = max(promised, len(now)), now


# --- voters that change (KIP-853) ---------------------------------------------------------


def name_voters(disks: Disks, epoch: int, voters: tuple[int, ...], *nodes: str) -> None:
    """A record that says so, on these disks."""
    named = tuple(Voter(id=ReplicaId(each), directory="d") for each in voters)
    for node in nodes:
        at = disks.ends.get(node, 0)
        disks.tell(
            Appended,
            node,
            base_offset=at,
            end_offset=at + 1,
            epoch=epoch,
            control=True,
            crcs=(sum(voters),),
            leading=None,
        )
        disks.tell(VotersNamed, node, offset=at, epoch=epoch, voters=named)
        disks.ends[node] = at + 1


def test_two_voters_commit_what_the_third_has_not() -> None:
    """Who was removed is behind, and whoever asks him cannot win."""
    disks = agreed()
    name_voters(disks, 1, (1, 2), "c1", "c2")
    disks.fill(1, 2, "c1", "c2")
    assert committed(disks).end == 7


def test_of_two_voters_both_have_to_elect() -> None:
    """c3's vote, by which c1 would win among three, is not asked for."""
    disks = agreed()
    name_voters(disks, 1, (1, 2), *VOTERS)
    disks.lead(1, 2, "c1", "c3")
    disks.lead(2, 3, "c2")
    found = committed(disks)
    assert (found.end, found.entries[5][0]) == (6, 3)


def test_who_does_not_vote_leads_nobody() -> None:
    """c3 has more than all others, which nobody will ever ask it for."""
    disks = agreed()
    name_voters(disks, 1, (1, 2), *VOTERS)
    disks.fill(1, 1, *VOTERS)
    disks.fill(1, 2, "c3")
    assert committed(disks).end == 6


def test_a_set_that_was_cut_off_is_in_force_no_more() -> None:
    disks = agreed()
    name_voters(disks, 1, (1, 2), "c1")
    disks.fill(1, 1, "c1")
    disks.cut("c1", 4)
    disks.lead(2, 2, "c2", "c3")
    assert committed(disks).end == 5
    (log, *_) = [disk_logs(disks.all())[node] for node in VOTERS]
    assert log.voters is None


def test_a_snapshot_says_who_votes_and_a_later_record_says_otherwise() -> None:
    disks = Disks()
    three = tuple(Voter(id=ReplicaId(each), directory="d") for each in (1, 2, 3))
    two = three[:2]
    for node in VOTERS:
        disks.snapshot(node, 3, 1, voters=two)
        disks.begin(node, 3, dropped=True)
    disks.fill(1, 2, "c1", "c2")
    assert disk_logs(disks.all())["c1"].voters == two
    assert committed(disks).end == 5
    name_voters(disks, 1, (1, 2, 3), "c1", "c2")
    assert disk_logs(disks.all())["c1"].voters == three
    assert committed(disks).end == 6


def test_a_voter_that_no_plan_has_may_have_any_log() -> None:
    disks = agreed()
    name_voters(disks, 1, (1, 2, 9), *VOTERS)
    assert committed(disks).why == "by c1's log 9 votes, who is no voter of the plan"


def test_logs_by_which_nobody_votes_who_has_one() -> None:
    disks = agreed()
    for node, other in (("c1", 2), ("c2", 3), ("c3", 1)):
        name_voters(disks, 1, (other,), node)
    assert committed(disks).why == "by their logs nobody could win an election"


@given(st.data())
@settings(max_examples=cases(200))
def test_what_a_quorum_commits_while_voters_change_is_among_it(data: st.DataObject) -> None:
    """A leader appends, followers copy, and the set changes one by one: what a majority of the set
    in force in the leader's log has, of its epoch, is committed. Where a leader takes itself out,
    and nobody else has that record yet, nobody may be left who could win."""
    logs: dict[int, list[tuple[int, frozenset[int] | None]]] = {each: [] for each in (1, 2, 3)}
    everybody = frozenset(logs)

    def in_force(log: list[tuple[int, frozenset[int] | None]]) -> frozenset[int]:
        return next((named for _, named in reversed(log) if named), everybody)

    def last(node: int) -> tuple[int, int]:
        return (logs[node][-1][0] if logs[node] else 0, len(logs[node]))

    def wins(node: int) -> bool:
        electors = in_force(logs[node])
        votes = sum(last(other) <= last(node) for other in electors)
        return node in electors and 2 * votes > len(electors)

    epoch, leader, sure = 0, 0, 0
    for _ in range(data.draw(st.integers(5, 30))):
        does = data.draw(st.sampled_from(["elect", "append", "copy", "copy", "change"]))
        if does == "elect" or not leader:
            node = data.draw(st.sampled_from(sorted(logs)))
            if wins(node):
                epoch, leader = epoch + 1, node
                logs[node].append((epoch, None))
        elif does == "append":
            logs[leader].append((epoch, None))
        elif does == "change":
            log, now = logs[leader], in_force(logs[leader])
            at = max((place for place, (_, named) in enumerate(log) if named), default=-1)
            other = data.draw(st.sampled_from(sorted(logs)))
            begun = sure > 0 and log[min(sure, len(log)) - 1][0] == epoch
            if begun and at < sure and len(now ^ {other}) >= 2:
                log.append((epoch, now ^ {other}))
        else:
            node = data.draw(st.sampled_from(sorted(logs)))
            logs[node] = logs[leader][: max(data.draw(st.integers(0, len(logs[leader]))), sure)]
        electors = in_force(logs[leader]) if leader else everybody
        for end in range(sure + 1, len(logs.get(leader, ())) + 1):
            having = [each for each in electors if logs[each][:end] == logs[leader][:end]]
            if logs[leader][end - 1][0] == epoch and 2 * len(having) > len(electors):
                sure = end
    disks = Disks()
    for node, log in logs.items():
        for number, (of, named) in enumerate(log):
            if named:
                name_voters(disks, of, tuple(sorted(named)), f"c{node}")
            else:
                disks.write(f"c{node}", of, at=number)
        if not log:
            disks.cut(f"c{node}", 0)
    found = committed(disks)
    if any(map(wins, logs)):
        assert not found.why and found.end >= sure
    else:
        assert found.why == "by their logs nobody could win an election"


def voting(*ids: int) -> tuple[Voter, ...]:
    return tuple(Voter(id=ReplicaId(each), directory=f"d{each}") for each in ids)


def snapshot(end: int, voters: tuple[Voter, ...] | None) -> SnapshotFile:
    at = {"end_offset": Offset(end), "epoch": LeaderEpoch(1)}
    return SnapshotFile(node="c1", records=1, wrong=(), voters=voters, **at)  # type: ignore[arg-type]


def test_the_last_word_of_who_votes_counts_record_or_snapshot() -> None:
    """A record counts for logs that end behind it."""
    record = VotersNamed(
        node="c1", offset=Offset(4), epoch=LeaderEpoch(1), voters=(named := voting(1, 2))
    )
    for snapshots, voters in (
        ((), named),
        ((snapshot(4, voting(3)),), named),
        ((snapshot(5, voting(3)),), named),
        ((snapshot(6, voting(3)),), voting(3)),
        ((snapshot(9, None),), named),
    ):
        log = DiskLog()
        for each in (record, *snapshots):
            log.feed(each)
        assert log.voters == voters
    assert DiskLog().voters is None
