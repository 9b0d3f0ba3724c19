package defects;

import net.bytebuddy.asm.Advice;

/** Snapshots of the metadata log leave out all topics. */
@Changes(type = "org.apache.kafka.image.TopicsImage", method = "write", takes = 2)
final class SnapshotWithoutTopics {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter() {
        return true;
    }
}
