package clients;

import static clients.Calls.await;
import static clients.Calls.that;
import static clients.JavaClient.TOPIC;

import clients.Calls.Call;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionReplica;
import org.apache.kafka.common.errors.ElectionNotNeededException;

/** Admin's calls for partitions: their offsets and records, where replicas are, and who leads. */
final class Partitions implements AutoCloseable {
    private static final TopicPartition FIRST = new TopicPartition(TOPIC, 0);
    private static final TopicPartition SECOND = new TopicPartition(TOPIC, 1);
    private static final long END = 3L * Records.COUNT;

    private final Admin admin = Admin.create(Map.of("bootstrap.servers", Calls.brokers()));

    List<Call> calls() {
        return List.of(
                new Call("listOffsets, earliest and latest", () -> {
                    that(offset(OffsetSpec.earliest()) == 0, offset(OffsetSpec.earliest()));
                    that(offset(OffsetSpec.latest()) == END, offset(OffsetSpec.latest()));
                }),
                new Call("listOffsets, of the largest timestamp and after a time", () -> {
                    that(offset(OffsetSpec.maxTimestamp()) >= 0, offset(OffsetSpec.maxTimestamp()));
                    that(offset(OffsetSpec.forTimestamp(1)) == 0, offset(OffsetSpec.forTimestamp(1)));
                }),
                new Call("describeProducers", () -> {
                    var found = admin.describeProducers(List.of(FIRST)).all().get().get(FIRST);
                    that(!found.activeProducers().isEmpty(), found);
                }),
                new Call("deleteRecords", () -> {
                    var low = admin.deleteRecords(Map.of(FIRST, RecordsToDelete.beforeOffset(5))).all();
                    low.get();
                    that(offset(OffsetSpec.earliest()) == 5, offset(OffsetSpec.earliest()));
                }),
                new Call("describeLogDirs", () -> {
                    var found = admin.describeLogDirs(List.of(2, 3, 4)).allDescriptions().get();
                    that(found.values().stream().allMatch(each -> each.values().stream().anyMatch(
                            dir -> dir.replicaInfos().containsKey(FIRST))), found);
                }),
                new Call("describeReplicaLogDirs", () -> {
                    var which = new TopicPartitionReplica(TOPIC, 0, 2);
                    var found = admin.describeReplicaLogDirs(List.of(which)).all().get().get(which);
                    that(found.getCurrentReplicaLogDir() != null, found);
                }),
                new Call("electLeaders, preferred", () -> elect(ElectionType.PREFERRED)),
                new Call("electLeaders, unclean, where none is needed", () -> elect(ElectionType.UNCLEAN)),
                new Call("alterPartitionReassignments", () -> {
                    var target = Optional.of(new NewPartitionReassignment(List.of(4, 3)));
                    admin.alterPartitionReassignments(Map.of(SECOND, target)).all().get();
                }),
                new Call("listPartitionReassignments, until none is left", () ->
                        await(() -> admin.listPartitionReassignments().reassignments().get().isEmpty())),
                new Call("describeTopics of what was moved", () -> await(() -> replicas().equals(List.of(4, 3)))));
    }

    private long offset(OffsetSpec which) throws Exception {
        return admin.listOffsets(Map.of(FIRST, which)).all().get().get(FIRST).offset();
    }

    private void elect(ElectionType how) throws Exception {
        Optional<Throwable> found = admin.electLeaders(how, Set.of(FIRST)).partitions().get().get(FIRST);
        that(found.isEmpty() || found.get() instanceof ElectionNotNeededException, found);
    }

    private List<Integer> replicas() throws Exception {
        var found = admin.describeTopics(List.of(TOPIC)).allTopicNames().get().get(TOPIC);
        return found.partitions().get(1).replicas().stream().map(Node::id).toList();
    }

    @Override
    public void close() {
        admin.close();
    }
}
