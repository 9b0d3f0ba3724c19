package clients;

import static clients.Calls.await;
import static clients.Calls.that;
import static clients.JavaClient.TOPIC;

import clients.Calls.Call;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** What KafkaProducer and KafkaConsumer do with records and offsets. */
final class Records {
    /** Records of one call. */
    static final int COUNT = 10;

    static final String GROUP = "java", STATIC_GROUP = "java-static";
    private static final TopicPartition FIRST = new TopicPartition(TOPIC, 0);
    private static final Duration POLL = Duration.ofMillis(200);

    private Records() {}

    static List<Call> calls() {
        List<Call> all = new ArrayList<>(producing());
        all.addAll(subscribing());
        all.addAll(assigning());
        all.addAll(later());
        return all;
    }

    private static List<Call> producing() {
        return List.of(
                new Call("KafkaProducer with its defaults (acks=all, idempotent)", () -> {
                    long last = produced(TOPIC, Map.of());
                    that(last == COUNT - 1, last);
                }),
                new Call("KafkaProducer, acks=1", () -> produced(TOPIC, Map.of("acks", "1"))),
                new Call("KafkaProducer, zstd", () -> produced(TOPIC, Map.of("compression.type", "zstd"))),
                new Call("KafkaProducer to a topic that nobody made", () -> produced("java-made-on-the-way", Map.of())),
                new Call("KafkaProducer.partitionsFor", () -> {
                    try (Producer<String, String> producer = producer(Map.of())) {
                        that(producer.partitionsFor(TOPIC).size() == 4, producer.partitionsFor(TOPIC));
                    }
                }));
    }

    private static List<Call> subscribing() {
        return List.of(
                new Call("KafkaConsumer: subscribe, poll, commitSync", () -> {
                    try (Consumer<String, String> consumer = consumer(GROUP, Map.of())) {
                        consumer.subscribe(List.of(TOPIC));
                        read(consumer);
                        consumer.commitSync();
                        that(offset(consumer) >= COUNT, offset(consumer));
                    }
                }),
                new Call("KafkaConsumer: the next one goes on from there, commitAsync", () -> {
                    try (Consumer<String, String> consumer = consumer(GROUP, Map.of())) {
                        consumer.subscribe(List.of(TOPIC));
                        await(() -> consumer.poll(POLL).isEmpty() && consumer.assignment().contains(FIRST));
                        that(consumer.position(FIRST) == offset(consumer), consumer.position(FIRST));
                        AtomicReference<Object> told = new AtomicReference<>();
                        consumer.commitAsync((offsets, error) -> told.set(error == null ? offsets : error));
                        await(() -> consumer.poll(POLL).isEmpty() && told.get() != null);
                        that(told.get() instanceof Map, told.get());
                    }
                }),
                new Call("KafkaConsumer: subscribe to a pattern", () -> {
                    try (Consumer<String, String> consumer = consumer("java-pattern", Map.of())) {
                        consumer.subscribe(Pattern.compile("jav."));
                        read(consumer);
                    }
                }),
                new Call("KafkaConsumer, a static member", () -> {
                    try (Consumer<String, String> consumer = consumer(STATIC_GROUP, Map.of("group.instance.id", "one"))) {
                        consumer.subscribe(List.of(TOPIC));
                        read(consumer);
                        consumer.commitSync();
                    }
                }));
    }

    private static List<Call> assigning() {
        return List.of(
                new Call("KafkaConsumer: assign, seek, position", () -> {
                    try (Consumer<String, String> consumer = consumer()) {
                        consumer.seek(FIRST, COUNT / 2);
                        var first = new AtomicReference<Long>();
                        await(() -> {
                            consumer.poll(POLL).records(FIRST).stream().findFirst().ifPresent(each -> first.set(each.offset()));
                            return first.get() != null;
                        });
                        that(first.get() == COUNT / 2, first);
                        that(consumer.position(FIRST) > COUNT / 2, consumer.position(FIRST));
                    }
                }),
                new Call("KafkaConsumer: seekToBeginning, seekToEnd, currentLag", () -> {
                    try (Consumer<String, String> consumer = consumer()) {
                        consumer.seekToBeginning(Set.of(FIRST));
                        that(consumer.position(FIRST) == 0, consumer.position(FIRST));
                        consumer.seekToEnd(Set.of(FIRST));
                        that(consumer.position(FIRST) == 3 * COUNT, consumer.position(FIRST));
                        await(() -> consumer.poll(POLL).isEmpty() && consumer.currentLag(FIRST).orElse(-1) == 0);
                    }
                }),
                new Call("KafkaConsumer: beginningOffsets, endOffsets", () -> {
                    try (Consumer<String, String> consumer = consumer()) {
                        that(consumer.beginningOffsets(Set.of(FIRST)).get(FIRST) == 0, "another beginning");
                        long end = consumer.endOffsets(Set.of(FIRST)).get(FIRST);
                        that(end == 3 * COUNT, end);
                    }
                }),
                new Call("KafkaConsumer: offsetsForTimes", () -> {
                    try (Consumer<String, String> consumer = consumer()) {
                        var found = consumer.offsetsForTimes(Map.of(FIRST, 1L)).get(FIRST);
                        that(found != null && found.offset() == 0, found);
                        long later = System.currentTimeMillis() + Duration.ofHours(1).toMillis();
                        var none = consumer.offsetsForTimes(Map.of(FIRST, later)).get(FIRST);
                        that(none == null, none);
                    }
                }),
                new Call("KafkaConsumer: partitionsFor, listTopics", () -> {
                    try (Consumer<String, String> consumer = consumer()) {
                        that(consumer.partitionsFor(TOPIC).size() == 4, consumer.partitionsFor(TOPIC));
                        that(consumer.listTopics().containsKey(TOPIC), consumer.listTopics().keySet());
                    }
                }));
    }

    /** What came after classic groups and idempotent producers. */
    private static List<Call> later() {
        return List.of(
                new Call("KafkaConsumer, group.protocol=consumer (KIP-848)", () -> {
                    try (Consumer<String, String> consumer = consumer("java-next", Map.of("group.protocol", "consumer"))) {
                        consumer.subscribe(List.of(TOPIC));
                        read(consumer);
                        consumer.commitSync();
                    }
                }),
                new Call("KafkaShareConsumer (KIP-932): subscribe, poll", () -> {
                    try (var consumer = new KafkaShareConsumer<>(
                            settings(Map.of("group.id", "java-share")), new StringDeserializer(), new StringDeserializer())) {
                        consumer.subscribe(List.of(TOPIC));
                        consumer.poll(POLL);
                    }
                }),
                new Call("KafkaProducer, transactional.id: initTransactions, send, commitTransaction", () -> {
                    try (Producer<String, String> producer = producer(Map.of("transactional.id", "java"))) {
                        producer.initTransactions();
                        producer.beginTransaction();
                        producer.send(new ProducerRecord<>(TOPIC, 1, "key", "value"));
                        producer.commitTransaction();
                    }
                }));
    }

    /** Sends some records to a topic's first partition; the last one's offset. */
    private static long produced(String topic, Map<String, Object> more) throws Exception {
        try (Producer<String, String> producer = producer(more)) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (int each = 0; each < COUNT; each++) {
                sent.add(producer.send(new ProducerRecord<>(topic, 0, "key", "value " + each)));
            }
            long last = -1;
            for (Future<RecordMetadata> each : sent) {
                long offset = each.get().offset();
                that(offset > last, offset);
                last = offset;
            }
            return last;
        }
    }

    /** Polls until all records of one producer were there. */
    private static void read(Consumer<String, String> consumer) throws Exception {
        int[] found = {0};
        await(() -> (found[0] += consumer.poll(POLL).count()) >= COUNT);
    }

    private static long offset(Consumer<String, String> consumer) {
        OffsetAndMetadata found = consumer.committed(Set.of(FIRST)).get(FIRST);
        return found == null ? -1 : found.offset();
    }

    private static Producer<String, String> producer(Map<String, Object> more) {
        return new KafkaProducer<>(settings(more), new StringSerializer(), new StringSerializer());
    }

    /** Of the first partition, without a group. */
    private static Consumer<String, String> consumer() {
        Consumer<String, String> made = new KafkaConsumer<>(settings(Map.of()), new StringDeserializer(), new StringDeserializer());
        made.assign(Set.of(FIRST));
        return made;
    }

    private static Consumer<String, String> consumer(String group, Map<String, Object> more) {
        Map<String, Object> all = settings(more);
        all.put("group.id", group);
        all.put("auto.offset.reset", "earliest"); // else there is nothing to read
        return new KafkaConsumer<>(all, new StringDeserializer(), new StringDeserializer());
    }

    private static Map<String, Object> settings(Map<String, Object> more) {
        Map<String, Object> all = new HashMap<>(more);
        all.put("bootstrap.servers", Calls.brokers());
        return all;
    }
}
