package clients;

import static clients.Calls.await;
import static clients.Calls.that;
import static clients.JavaClient.TOPIC;
import static clients.Records.GROUP;
import static clients.Records.STATIC_GROUP;

import clients.Calls.Call;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.ClassicGroupState;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.TopicPartition;

/** Admin's calls for groups and their offsets, of those that consumers have left behind. */
final class Groups implements AutoCloseable {
    private static final TopicPartition FIRST = new TopicPartition(TOPIC, 0);
    private static final TopicPartition SECOND = new TopicPartition(TOPIC, 1);

    private final Admin admin = Admin.create(Map.of("bootstrap.servers", Calls.brokers()));

    List<Call> calls() {
        return List.of(
                new Call("listGroups", () -> await(() -> names().contains(GROUP))),
                new Call("describeConsumerGroups", () -> {
                    var found = admin.describeConsumerGroups(List.of(GROUP)).all().get().get(GROUP);
                    that(found.groupState() == GroupState.EMPTY, found);
                }),
                new Call("describeClassicGroups", () -> {
                    var found = admin.describeClassicGroups(List.of(GROUP)).all().get().get(GROUP);
                    that(found.state() == ClassicGroupState.EMPTY, found);
                }),
                new Call("listConsumerGroupOffsets", () -> that(offsets().get(FIRST).offset() > 0, offsets())),
                new Call("alterConsumerGroupOffsets", () -> {
                    admin.alterConsumerGroupOffsets(GROUP, Map.of(FIRST, new OffsetAndMetadata(1))).all().get();
                    that(offsets().get(FIRST).offset() == 1, offsets());
                }),
                new Call("deleteConsumerGroupOffsets", () -> {
                    admin.deleteConsumerGroupOffsets(GROUP, Set.of(FIRST)).all().get();
                    that(offsets().get(FIRST) == null, offsets());
                    that(offsets().get(SECOND) != null, offsets());
                }),
                new Call("removeMembersFromConsumerGroup, of a static member", () -> {
                    var who = new RemoveMembersFromConsumerGroupOptions(List.of(new MemberToRemove("one")));
                    admin.removeMembersFromConsumerGroup(STATIC_GROUP, who).all().get();
                    var left = admin.describeConsumerGroups(List.of(STATIC_GROUP)).all().get().get(STATIC_GROUP);
                    that(left.members().isEmpty(), left);
                }),
                new Call("deleteConsumerGroups", () -> {
                    admin.deleteConsumerGroups(List.of(GROUP)).all().get();
                    that(!names().contains(GROUP), names());
                }));
    }

    private List<String> names() throws Exception {
        return admin.listGroups().all().get().stream().map(each -> each.groupId()).toList();
    }

    private Map<TopicPartition, OffsetAndMetadata> offsets() throws Exception {
        return admin.listConsumerGroupOffsets(GROUP).partitionsToOffsetAndMetadata().get();
    }

    @Override
    public void close() {
        admin.close();
    }
}
