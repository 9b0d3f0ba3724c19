package defects;

import net.bytebuddy.asm.Advice;
import org.apache.kafka.storage.internals.log.UnifiedLog;

/** A partition's leader takes the end of its own log for the high watermark. */
@Changes(type = "kafka.cluster.Partition", method = "maybeIncrementLeaderHW", takes = 2)
final class WatermarkOfOneReplica {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter() {
        return true;
    }

    @Advice.OnMethodExit
    static void exit(
            @Advice.Argument(0) UnifiedLog log, @Advice.Return(readOnly = false) boolean moved)
            throws Exception {
        moved = log.maybeIncrementHighWatermark(log.logEndOffsetMetadata()).isPresent();
    }
}
