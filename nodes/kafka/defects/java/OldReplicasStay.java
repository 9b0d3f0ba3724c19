package defects;

import java.util.List;
import net.bytebuddy.asm.Advice;

/** A move of a partition adds the new replicas, and removes none of those from before. */
@Changes(type = "org.apache.kafka.controller.PartitionChangeBuilder", method = "setTargetRemoving", takes = 1)
final class OldReplicasStay {
    @Advice.OnMethodEnter
    static void enter(@Advice.Argument(value = 0, readOnly = false) List<Integer> removing) {
        removing = List.of();
    }
}
