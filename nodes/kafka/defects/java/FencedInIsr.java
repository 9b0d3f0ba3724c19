package defects;

import java.util.ArrayList;
import java.util.List;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.common.message.AlterPartitionRequestData.BrokerState;
import org.apache.kafka.controller.ClusterControlManager;
import org.apache.kafka.metadata.BrokerRegistration;

/** A controller takes fenced brokers into ISRs. */
@Changes(
        type = "org.apache.kafka.controller.ReplicationControlManager",
        method = "ineligibleReplicasForIsr",
        takes = 1)
final class FencedInIsr {
    @Advice.OnMethodEnter
    static void enter(
            @Advice.Argument(value = 0, readOnly = false) List<BrokerState> members,
            @Advice.FieldValue("clusterControl") ClusterControlManager cluster) {
        List<BrokerState> examined = new ArrayList<>();
        for (BrokerState member : members) {
            BrokerRegistration known = cluster.registration(member.brokerId());
            if (known == null || !known.fenced()) {
                examined.add(member);
            }
        }
        members = examined;
    }
}
