package defects;

import net.bytebuddy.asm.Advice;

/** A controller takes any broker epoch for the right one. */
@Changes(
        type = "org.apache.kafka.controller.ClusterControlManager",
        method = "checkBrokerEpoch",
        takes = 2)
final class IgnoreBrokerEpoch {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter() {
        return true;
    }
}
