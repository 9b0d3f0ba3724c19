package clients;

import static clients.Calls.await;
import static clients.Calls.refused;
import static clients.Calls.that;
import static clients.JavaClient.TOPIC;

import clients.Calls.Call;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** Admin's calls for topics and configurations. */
final class Topics implements AutoCloseable {
    private static final int PARTITIONS = 3;
    private static final String TAKEN = "min.insync.replicas";

    private final Admin admin = Admin.create(Map.of("bootstrap.servers", Calls.brokers()));

    List<Call> made() {
        NewTopic topic = new NewTopic(TOPIC, PARTITIONS, (short) 3);
        NewTopic never = new NewTopic("java-never", PARTITIONS, (short) 3);
        CreateTopicsOptions validating = new CreateTopicsOptions().validateOnly(true);
        ConfigResource ours = new ConfigResource(ConfigResource.Type.TOPIC, TOPIC);
        ConfigResource all = new ConfigResource(ConfigResource.Type.BROKER, "");
        ConfigResource broker = new ConfigResource(ConfigResource.Type.BROKER, "2");
        return List.of(
                new Call("createTopics", () -> {
                    Uuid id = admin.createTopics(List.of(topic)).topicId(TOPIC).get();
                    that(!id.equals(Uuid.ZERO_UUID), id);
                }),
                new Call("createTopics, of one that is there: TopicExistsException", () ->
                        refused(TopicExistsException.class, () -> admin.createTopics(List.of(topic)).all().get())),
                new Call("createTopics, validated only", () -> {
                    admin.createTopics(List.of(never), validating).all().get();
                    that(!names().contains(never.name()), names());
                }),
                new Call("listTopics", () -> await(() -> names().contains(TOPIC))),
                new Call("describeTopics", () -> await(() -> partitions() == PARTITIONS)),
                new Call("createPartitions", () -> {
                    admin.createPartitions(Map.of(TOPIC, NewPartitions.increaseTo(PARTITIONS + 1))).all().get();
                    await(() -> partitions() == PARTITIONS + 1);
                }),
                new Call("incrementalAlterConfigs of a topic", () -> set(ours, TAKEN, "2")),
                new Call("describeConfigs of a topic", () -> await(() -> "2".equals(value(ours, TAKEN)))),
                new Call("incrementalAlterConfigs of a topic, back to the default", () -> {
                    alter(ours, new AlterConfigOp(new ConfigEntry(TAKEN, null), AlterConfigOp.OpType.DELETE));
                    await(() -> "1".equals(value(ours, TAKEN)));
                }),
                new Call("incrementalAlterConfigs of all brokers", () -> set(all, "message.max.bytes", "900000")),
                new Call("describeConfigs of a broker", () -> await(() -> "900000".equals(value(broker, "message.max.bytes")))),
                new Call("listConfigResources", () -> {
                    Collection<ConfigResource> found = admin.listConfigResources().all().get();
                    that(found.contains(ours), found);
                }));
    }

    List<Call> removed() {
        return List.of(
                new Call("deleteTopics", () -> admin.deleteTopics(List.of(TOPIC)).all().get()),
                new Call("describeTopics of one that is gone: UnknownTopicOrPartitionException", () -> {
                    await(() -> !names().contains(TOPIC));
                    refused(UnknownTopicOrPartitionException.class, this::partitions);
                }));
    }

    private Collection<String> names() throws Exception {
        return admin.listTopics().names().get();
    }

    private int partitions() throws Exception {
        return admin.describeTopics(List.of(TOPIC)).allTopicNames().get().get(TOPIC).partitions().size();
    }

    private void set(ConfigResource whose, String name, String value) throws Exception {
        alter(whose, new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET));
    }

    private void alter(ConfigResource whose, AlterConfigOp change) throws Exception {
        admin.incrementalAlterConfigs(Map.of(whose, List.of(change))).all().get();
    }

    private String value(ConfigResource whose, String name) throws Exception {
        ConfigEntry found = admin.describeConfigs(List.of(whose)).all().get().get(whose).get(name);
        return found == null ? null : found.value();
    }

    @Override
    public void close() {
        admin.close();
    }
}
