package clients;

import java.util.ArrayList;
import java.util.List;

/** Calls of Kafka's own client: Admin, KafkaProducer and KafkaConsumer with their defaults. */
public final class JavaClient {
    static final String TOPIC = "java";

    private JavaClient() {}

    public static void main(String[] arguments) throws Exception {
        List<Calls.Call> all = new ArrayList<>();
        try (Topics topics = new Topics();
                Groups groups = new Groups();
                Partitions partitions = new Partitions();
                Others others = new Others()) {
            all.addAll(others.cluster());
            all.addAll(topics.made());
            all.addAll(Records.calls());
            all.addAll(groups.calls());
            all.addAll(partitions.calls());
            all.addAll(others.calls());
            all.addAll(topics.removed());
            Calls.run(all);
        }
        System.exit(0); // a call that did not end is in a thread that nobody waits for
    }
}
