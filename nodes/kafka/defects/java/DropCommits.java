package defects;

import java.util.List;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.coordinator.common.runtime.CoordinatorResult;

/** A group's coordinator acknowledges commits, and keeps none of them. */
@Changes(
        type = "org.apache.kafka.coordinator.group.OffsetMetadataManager",
        method = "commitOffset",
        takes = 2)
final class DropCommits {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false) CoordinatorResult<?, ?> result) {
        result = new CoordinatorResult<>(List.of(), result.response());
    }
}
