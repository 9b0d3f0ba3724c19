import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.controller.PartitionChangeBuilder;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * A partition on 5 and 4 that is asked to be on 5, 4 and 6: where it rests, and where a move to 6 and
 * 4 is under way, which is to be overridden. Prints where it will be once the move is over, by the
 * record that comes of the wish: replicas without those that are on their way out.
 */
public final class StillRemoved {
    private static final List<Integer> WISH = List.of(5, 4, 6);
    private static final Uuid SOMEWHERE = Uuid.fromString("AAAAAAAAAAAAAAAAAAAAAQ");

    public static void main(String[] none) throws Exception {
        System.out.println("at rest: " + goalAfterWish(new int[] {5, 4}, new int[] {}, new int[] {}));
        System.out.println("under way to 6 and 4: "
            + goalAfterWish(new int[] {6, 4, 5}, new int[] {6}, new int[] {5}));
    }

    private static List<Integer> goalAfterWish(int[] replicas, int[] adding, int[] removing)
            throws Exception {
        Uuid[] directories = new Uuid[replicas.length];
        java.util.Arrays.fill(directories, SOMEWHERE);
        PartitionRegistration partition = new PartitionRegistration.Builder()
            .setReplicas(replicas).setDirectories(directories).setIsr(new int[] {4, 5})
            .setAddingReplicas(adding).setRemovingReplicas(removing)
            .setLeader(5).setLeaderRecoveryState(LeaderRecoveryState.RECOVERED)
            .setLeaderEpoch(1).setPartitionEpoch(7).build();
        PartitionRegistration after = partition.merge(wished(partition, listOf(replicas)));
        List<Integer> goal = new ArrayList<>(listOf(after.replicas));
        goal.removeAll(listOf(after.removingReplicas));
        return goal;
    }

    /** The steps of ReplicationControlManager.changePartitionReassignment, with what it uses. */
    private static PartitionChangeRecord wished(PartitionRegistration partition, List<Integer> now)
            throws Exception {
        Class<?> type = Class.forName("org.apache.kafka.controller.PartitionReassignmentReplicas");
        Class<?> assignment = Class.forName("org.apache.kafka.metadata.placement.PartitionAssignment");
        Constructor<?> made = type.getDeclaredConstructor(assignment, assignment);
        made.setAccessible(true);
        Object move = made.newInstance(assigned(assignment, now), assigned(assignment, WISH));
        PartitionChangeBuilder change = new PartitionChangeBuilder(
            partition, Uuid.randomUuid(), 0, broker -> true, MetadataVersion.latestProduction(), 1);
        change.setDefaultDirProvider(broker -> SOMEWHERE);
        if (!asked(move, "replicas").equals(now)) {
            change.setTargetReplicas(asked(move, "replicas"));
        }
        if (!asked(move, "removing").isEmpty()) {
            change.setTargetRemoving(asked(move, "removing"));
        }
        if (!asked(move, "adding").isEmpty()) {
            change.setTargetAdding(asked(move, "adding"));
        }
        return (PartitionChangeRecord) change.build().orElseThrow().message();
    }

    private static Object assigned(Class<?> assignment, List<Integer> replicas) throws Exception {
        org.apache.kafka.metadata.placement.DefaultDirProvider provider = broker -> SOMEWHERE;
        return assignment.getConstructors()[0].newInstance(replicas, provider);
    }

    @SuppressWarnings("unchecked")
    private static List<Integer> asked(Object move, String what) throws Exception {
        Method method = move.getClass().getDeclaredMethod(what);
        method.setAccessible(true);
        return (List<Integer>) method.invoke(move);
    }

    private static List<Integer> listOf(int[] numbers) {
        return java.util.Arrays.stream(numbers).boxed().toList();
    }
}
