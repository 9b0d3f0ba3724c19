"""Whatever is asked, in whatever order and across failovers: the log obeys D.23 and the answers
D.2, D.8 and D.9. The log is replayed here by code of its own, not by the image."""

from controller_harness import Harness, State
from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.kraft.metadata.records import decode_record
from nodes.kraft.wire.records import (
    BrokerRecord,
    FenceBrokerRecord,
    IsrChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnfenceBrokerRecord,
)
from tests.cases import cases

BROKERS = st.integers(4, 6)
NAMES = st.sampled_from(["a", "b", "c.d", "c_d"])
TARGETS = st.sampled_from([State.ACTIVE, State.ACTIVE, State.ACTIVE, State.FENCED, State.SHUTDOWN])
OPERATIONS = st.one_of(
    st.tuples(st.just("register"), BROKERS),
    st.tuples(st.just("heartbeat"), BROKERS, st.integers(0, 1), TARGETS),
    st.tuples(st.just("create"), NAMES, st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.just("delete"), NAMES),
    st.tuples(
        st.just("alter"),
        NAMES,
        BROKERS,
        st.sets(BROKERS, min_size=1),
        st.integers(0, 1),
        st.integers(0, 1),
    ),
    st.tuples(st.just("commit"), st.integers(0, 3)),
    st.tuples(st.just("wait"), st.integers(0, 3000)),
    st.tuples(st.just("failover"), st.integers(0, 3)),
)


class Replay:
    """A fold over records, batch by batch; asserts what D.23 asks for."""

    def __init__(self):
        self.brokers = {}
        self.active = set()
        self.names = {}
        self.partitions = {}
        self.ids = set()

    def batch(self, records, base):
        for offset, record in enumerate(records, base):
            self.apply(record, offset)
        for key, partition in self.partitions.items():
            leader = partition["leader"]
            assert leader == -1 or leader in self.active, (key, partition)
            assert leader == -1 or leader in partition["isr"]
            assert partition["isr"] and set(partition["isr"]) <= set(partition["replicas"])
            if len(partition["isr"]) > 1:
                assert set(partition["isr"]) <= self.active
        by_topic = {}
        for topic_id, number in self.partitions:
            by_topic.setdefault(topic_id, []).append(number)
        for topic_id, numbers in by_topic.items():
            assert topic_id in self.names.values()
            assert sorted(numbers) == list(range(len(numbers)))

    def apply(self, record, offset):
        match record:
            case BrokerRecord():
                assert record.broker_epoch == offset > self.brokers.get(record.broker_id, -1)
                assert record.broker_id not in self.active
                self.brokers[record.broker_id] = record.broker_epoch
            case FenceBrokerRecord():
                assert self.brokers[record.broker_id] == record.broker_epoch
                self.active.remove(record.broker_id)
            case UnfenceBrokerRecord():
                assert self.brokers[record.broker_id] == record.broker_epoch
                assert record.broker_id not in self.active
                self.active.add(record.broker_id)
            case TopicRecord(deleting=False):
                assert record.name not in self.names
                assert record.topic_id not in self.ids
                self.ids.add(record.topic_id)
                self.names[record.name] = record.topic_id
            case TopicRecord():
                assert self.names[record.name] == record.topic_id
            case RemoveTopicRecord():
                self.names = {n: i for n, i in self.names.items() if i != record.topic_id}
                self.partitions = {
                    key: p for key, p in self.partitions.items() if key[0] != record.topic_id
                }
            case PartitionRecord():
                assert set(record.isr) <= self.active
                self.partitions[record.topic_id, record.partition_id] = {
                    "replicas": record.replicas,
                    "isr": record.isr,
                    "leader": record.leader,
                    "leader_epoch": record.leader_epoch,
                    "version": record.partition_epoch,
                }
            case IsrChangeRecord():
                before = self.partitions[record.topic_id, record.partition_id]
                assert record.partition_epoch == before["version"] + 1
                moved = record.leader != before["leader"]
                assert record.leader_epoch == before["leader_epoch"] + moved
                assert set(record.isr) - set(before["isr"]) <= self.active
                before |= {
                    "isr": record.isr,
                    "leader": record.leader,
                    "leader_epoch": record.leader_epoch,
                    "version": record.partition_epoch,
                }


class Driver:
    """Carries out operations, as brokers and clients that know what was committed last."""

    def __init__(self):
        self.harness = Harness(settle=False).claim()
        self.seen_ids = set()
        self.batches = []

    def run(self, operations):
        for name, *arguments in operations:
            getattr(self, name)(*arguments)
        self.harness.settle = True
        self.harness.commit()
        self.harness.pass_barriers()

    def register(self, broker_id):
        self.harness.heartbeat(broker_id)

    def heartbeat(self, broker_id, back, target):
        broker = self.harness.state.leadership.speculative.brokers.get(broker_id)
        if broker is not None:
            self.harness.heartbeat(broker_id, broker.epoch - back, target=target)

    def create(self, name, partitions, replication):
        self.harness.create(name, partitions=partitions, replication=replication)

    def delete(self, name):
        self.harness.delete(name)

    def alter(self, name, broker_id, isr, leader_back, version_back):
        image = self.harness.state.leadership.speculative
        broker = image.brokers.get(broker_id)
        topic = image.topic(name)
        if broker is None or topic is None:
            return
        partition = image.partitions[topic.topic_id, 0]
        self.harness.alter(
            topic.topic_id,
            broker_id,
            broker.epoch,
            sorted(isr),
            leader_epoch=partition.leader_epoch - leader_back,
            partition_epoch=partition.partition_epoch - version_back,
        )

    def commit(self, batches_back):
        ends = [end for _, end in self.harness.batches]
        if len(ends) > batches_back:
            self.harness.commit(ends[len(ends) - 1 - batches_back])
        self.harness.pass_barriers()

    def wait(self, ms):
        self.harness.tick(self.harness.now_ms + ms)

    def failover(self, batches_kept):
        uncommitted = [e for _, e in self.harness.batches if e > self.harness.committed_end]
        kept = uncommitted[:batches_kept]
        self.harness.fail_over(kept[-1] if kept else None)


@settings(max_examples=cases(150), deadline=None)
@given(st.lists(OPERATIONS, min_size=5, max_size=60))
def test_replay_invariants(operations):
    driver = Driver()
    for broker_id in (4, 5, 6):
        driver.register(broker_id)
        driver.heartbeat(broker_id, 0, State.ACTIVE)
    driver.run(operations)
    harness, replay = driver.harness, Replay()
    for start, end in harness.batches:
        records = [decode_record(data) for data in harness.log[start:end]]
        replay.batch(records, start)
    assert len(harness.answers) == harness.token  # each request is answered, once
    assert dict(harness.committed.topic_ids.items()) == replay.names
    for key, partition in harness.committed.partitions.items():
        assert partition.isr == tuple(replay.partitions[key]["isr"])
        assert partition.leader == replay.partitions[key]["leader"]


@settings(max_examples=cases(100), deadline=None)
@given(st.lists(OPERATIONS, min_size=5, max_size=60))
def test_success_is_reported_of_committed_records_alone(operations):
    """D.9: whatever id or version a client was told is in the final log."""
    driver = Driver()
    for broker_id in (4, 5, 6):
        driver.register(broker_id)
        driver.heartbeat(broker_id, 0, State.ACTIVE)
    driver.run(operations)
    harness = driver.harness
    records = [decode_record(data) for data in harness.log]
    ids = {r.topic_id for r in records if isinstance(r, TopicRecord)}
    versions = {
        (r.topic_id, r.partition_id, r.partition_epoch)
        for r in records
        if isinstance(r, IsrChangeRecord)
    }
    reported = []
    for response in harness.answers.values():
        match type(response).__name__:
            case "CreateTopicsResponse":
                for result in response.topics:
                    assert result.error_code != 0 or result.topic_id in ids
            case "AlterPartitionResponse":
                for topic in response.topics:
                    for part in topic.partitions:
                        if part.error_code == 0:
                            reported.append(
                                (topic.topic_id, part.partition_index, part.partition_epoch)
                            )
            case "BrokerHeartbeatResponse":
                if response.broker_epoch >= 0:
                    record = records[response.broker_epoch]
                    assert isinstance(record, BrokerRecord)
    assert set(reported) <= versions
    assert len(reported) == len(set(reported))  # D.2: no two successes name one version
