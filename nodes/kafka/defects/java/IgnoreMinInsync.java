package defects;

import net.bytebuddy.asm.Advice;

/** To a partition's leader an ISR of one is large enough, whatever {@code min.insync.replicas} says. */
@Changes(type = "kafka.cluster.Partition", method = "effectiveMinIsr", takes = 1)
final class IgnoreMinInsync {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false) int least) {
        least = 1;
    }
}
