package defects;

import net.bytebuddy.asm.Advice;
import org.apache.kafka.coordinator.group.CommitPartitionValidator;

/** A group's coordinator takes commits of whoever was a member once, in whatever generation. */
@Changes(
        type = "org.apache.kafka.coordinator.group.classic.ClassicGroup",
        method = "validateOffsetCommit",
        takes = 5)
final class IgnoreGeneration {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter() {
        return true;
    }

    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false) CommitPartitionValidator validator) {
        validator = CommitPartitionValidator.NO_OP;
    }
}
