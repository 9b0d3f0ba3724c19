package defects;

import java.util.function.IntPredicate;
import net.bytebuddy.asm.Advice;

/** A controller takes any live replica for one that may lead, in sync or not. */
@Changes(
        type = "org.apache.kafka.controller.PartitionChangeBuilder",
        method = "isValidNewLeader",
        takes = 1)
final class ElectAnyReplica {
    @Advice.OnMethodExit
    static void exit(
            @Advice.Argument(0) int replica,
            @Advice.FieldValue("isAcceptableLeader") IntPredicate live,
            @Advice.Return(readOnly = false) boolean may) {
        may = live.test(replica);
    }
}
