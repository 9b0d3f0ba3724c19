package defects;

import net.bytebuddy.asm.Advice;

/** A controller gives every registration the same broker epoch. */
@Changes(
        type = "org.apache.kafka.controller.ClusterControlManager",
        method = "registerBroker",
        takes = 4)
final class SameBrokerEpoch {
    @Advice.OnMethodEnter
    static void enter(@Advice.Argument(value = 1, readOnly = false) long epoch) {
        epoch = 1;
    }
}
