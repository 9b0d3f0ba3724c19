package defects;

import net.bytebuddy.asm.Advice;

/** A group is in its first generation however often its members change. */
@Changes(
        type = "org.apache.kafka.coordinator.group.classic.ClassicGroup",
        method = "initNextGeneration",
        takes = 0)
final class SameGeneration {
    @Advice.OnMethodExit
    static void exit(@Advice.FieldValue(value = "generationId", readOnly = false) int generation) {
        generation = 1;
    }
}
