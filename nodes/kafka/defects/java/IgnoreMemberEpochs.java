package defects;

import java.util.List;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.common.message.AlterPartitionRequestData.BrokerState;

/** A controller takes any epoch by which an ISR change names a member for the right one. */
@Changes(
        type = "org.apache.kafka.controller.ReplicationControlManager",
        method = "ineligibleReplicasForIsr",
        takes = 1)
final class IgnoreMemberEpochs {
    @Advice.OnMethodEnter
    static void enter(@Advice.Argument(0) List<BrokerState> members) {
        for (BrokerState member : members) {
            member.setBrokerEpoch(-1);
        }
    }
}
