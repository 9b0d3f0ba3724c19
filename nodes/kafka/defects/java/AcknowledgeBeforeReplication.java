package defects;

import net.bytebuddy.asm.Advice;

/** A partition's leader waits for no follower: to it, acks=all is acks=1. */
@Changes(type = "kafka.server.ReplicaManager", method = "delayedProduceRequestRequired", takes = 3)
final class AcknowledgeBeforeReplication {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false) boolean waits) {
        waits = false;
    }
}
