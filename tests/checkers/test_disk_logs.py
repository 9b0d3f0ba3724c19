"""What disks carry of the committed log: what is sure, and what is not."""

from hypothesis import given, settings
from hypothesis import strategies as st
from planted_disks import Disks
from planted_runs import PLAN

from checkers.folds.disk_logs import CommittedOnDisks, committed_on_disks, disk_logs
from framework.evidence.run_events import RunEvents

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


# --- Raft itself --------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
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
