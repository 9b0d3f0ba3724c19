package defects;

import net.bytebuddy.asm.Advice;
import org.apache.kafka.image.MetadataImage;

/** A broker answers from the first metadata that had a topic in it, and from none after that. */
@Changes(type = "kafka.server.metadata.KRaftMetadataCache", method = "setImage", takes = 1)
final class FrozenMetadata {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter(@Advice.FieldValue("_currentImage") MetadataImage shown) {
        return !shown.topics().isEmpty();
    }
}
