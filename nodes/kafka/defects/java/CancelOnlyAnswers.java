package defects;

import java.util.Optional;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/** A controller acknowledges that a move is cancelled, and goes on with it. */
@Changes(
        type = "org.apache.kafka.controller.ReplicationControlManager",
        method = "cancelPartitionReassignment",
        takes = 3)
final class CancelOnlyAnswers {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false) Optional<ApiMessageAndVersion> record) {
        record = Optional.empty();
    }
}
