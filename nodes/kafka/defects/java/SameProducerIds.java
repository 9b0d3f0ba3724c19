package defects;

import net.bytebuddy.asm.Advice;

/** A controller never moves on in the producer ids that it gives to brokers. */
@Changes(
        type = "org.apache.kafka.controller.ProducerIdControlManager",
        method = "replay",
        takes = 1)
final class SameProducerIds {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter() {
        return true;
    }
}
