import java.util.List;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.RemoveTopicRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;

/**
 * A topic with a configuration, and its removal: what image a broker has of that, which publishes the
 * records one by one, or all at once, as one that was behind does. Prints both.
 */
public final class LeftConfiguration {
    private static final String NAME = "topic-2";

    public static void main(String[] none) throws Exception {
        Uuid id = Uuid.randomUuid();
        List<ApiMessage> records = List.of(
            new TopicRecord().setName(NAME).setTopicId(id),
            new ConfigRecord().setResourceType(ConfigResource.Type.TOPIC.id()).setResourceName(NAME)
                .setName("retention.ms").setValue("200626883"),
            new RemoveTopicRecord().setTopicId(id));
        System.out.println("one by one: " + configurationAfter(records, 1));
        System.out.println("at once: " + configurationAfter(records, records.size()));
    }

    /** What the image has set of the topic, after deltas of so many records each. */
    private static Object configurationAfter(List<ApiMessage> records, int each) throws Exception {
        MetadataImage image = MetadataImage.EMPTY;
        for (int first = 0; first < records.size(); first += each) {
            MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
            for (ApiMessage record : records.subList(first, first + each)) {
                delta.replay(record);
            }
            image = delta.apply(provenance(first + each));
        }
        ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, NAME);
        return image.configs().configMapForResource(topic);
    }

    /** From 4.0 on it also says whether the offset ends a batch. */
    private static MetadataProvenance provenance(long offset) throws Exception {
        var made = MetadataProvenance.class.getConstructors()[0];
        Object[] all = {offset, 1, 0L, true};
        return (MetadataProvenance) made.newInstance(java.util.Arrays.copyOf(all, made.getParameterCount()));
    }
}
