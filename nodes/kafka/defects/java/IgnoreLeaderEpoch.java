package defects;

import net.bytebuddy.asm.Advice;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.metadata.PartitionRegistration;

/** A controller takes any leader epoch of an ISR change for the right one. */
@Changes(
        type = "org.apache.kafka.controller.ReplicationControlManager",
        method = "validateAlterPartitionData",
        takes = 5)
final class IgnoreLeaderEpoch {
    @Advice.OnMethodEnter
    static void enter(
            @Advice.Argument(3) PartitionRegistration partition,
            @Advice.Argument(4) AlterPartitionRequestData.PartitionData asked) {
        if (partition != null) {
            asked.setLeaderEpoch(partition.leaderEpoch);
        }
    }
}
