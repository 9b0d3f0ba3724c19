import java.util.List;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.controller.PartitionChangeBuilder;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * A partition whose in-sync replicas are all gone, and of which one broker is eligible; another one
 * tells in which of its directories its replica is. What record comes of that where the builder was
 * told that eligible leader replicas are on, and where it was not, as nobody tells it who assigns
 * directories. Prints both: null is that the record leaves them as they are.
 */
public final class ForgottenEligible {
    private static final int ELIGIBLE = 3;
    private static final int TELLS = 4;

    public static void main(String[] none) {
        System.out.println("told that they are on: " + eligibleAfter(true));
        System.out.println("as for directories: " + eligibleAfter(false));
    }

    private static List<Integer> eligibleAfter(boolean told) {
        int[] nobody = {};
        Uuid unknown = Uuid.fromString("AAAAAAAAAAAAAAAAAAAAAQ");
        PartitionRegistration partition = new PartitionRegistration.Builder()
            .setReplicas(new int[] {ELIGIBLE, TELLS})
            .setDirectories(new Uuid[] {unknown, unknown})
            .setIsr(nobody).setElr(new int[] {ELIGIBLE}).setLastKnownElr(new int[] {TELLS})
            .setLeader(-1).setLeaderRecoveryState(LeaderRecoveryState.RECOVERED)
            .setLeaderEpoch(5).setPartitionEpoch(7).build();
        PartitionChangeBuilder change = new PartitionChangeBuilder(
            partition, Uuid.randomUuid(), 0, broker -> false, MetadataVersion.latestProduction(), 2);
        change.setDirectory(TELLS, Uuid.randomUuid());
        change.setDefaultDirProvider(broker -> unknown);
        if (told) {
            change.setEligibleLeaderReplicasEnabled(true);
        }
        return ((PartitionChangeRecord) change.build().orElseThrow().message()).eligibleLeaderReplicas();
    }
}
