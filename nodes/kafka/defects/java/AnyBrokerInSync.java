package defects;

import java.util.List;
import net.bytebuddy.asm.Advice;

/** A controller lets anybody into an ISR: fenced, shutting down, or of an earlier life. */
@Changes(
        type = "org.apache.kafka.controller.ReplicationControlManager",
        method = "ineligibleReplicasForIsr",
        takes = 1)
final class AnyBrokerInSync {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false) List<?> ineligible) {
        ineligible = List.of();
    }
}
