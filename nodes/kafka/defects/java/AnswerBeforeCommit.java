package defects;

import net.bytebuddy.asm.Advice;
import org.apache.kafka.deferred.DeferredEvent;

/** The active controller answers as soon as it has handed its records to the log. */
@Changes(
        type = "org.apache.kafka.controller.QuorumController$ControllerWriteEvent",
        method = "run",
        takes = 0)
final class AnswerBeforeCommit {
    @Advice.OnMethodExit
    static void exit(@Advice.This DeferredEvent event) {
        event.complete(null);
    }
}
