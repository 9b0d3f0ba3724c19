package defects;

import net.bytebuddy.asm.Advice;

/** A controller acknowledges that a topic is deleted, and writes no record of it. */
@Changes(
        type = "org.apache.kafka.controller.ReplicationControlManager",
        method = "deleteTopic",
        takes = 3)
final class DeleteOnlyAnswers {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter() {
        return true;
    }
}
