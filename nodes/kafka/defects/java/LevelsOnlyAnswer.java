package defects;

import net.bytebuddy.asm.Advice;

/** A controller takes each change of a feature's level for one that is only to be tried. */
@Changes(
        type = "org.apache.kafka.controller.FeatureControlManager",
        method = "updateFeatures",
        takes = 4)
final class LevelsOnlyAnswer {
    @Advice.OnMethodEnter
    static void enter(@Advice.Argument(value = 2, readOnly = false) boolean dry) {
        dry = true;
    }
}
