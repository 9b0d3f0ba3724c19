package defects;

import java.util.ArrayList;
import java.util.List;
import net.bytebuddy.asm.Advice;

/** A controller ends a move of a partition at once, and says that the new replicas are in sync. */
@Changes(
        type = "org.apache.kafka.controller.PartitionReassignmentReplicas",
        method = "maybeCompleteReassignment",
        takes = 1)
final class MoveAtOnce {
    @Advice.OnMethodEnter
    static void enter(
            @Advice.Argument(value = 0, readOnly = false) List<Integer> isr,
            @Advice.FieldValue("adding") List<Integer> adding) {
        List<Integer> all = new ArrayList<>(isr);
        for (Integer replica : adding) {
            if (!all.contains(replica)) {
                all.add(replica);
            }
        }
        isr = all;
    }
}
