package defects;

import java.util.Map;
import net.bytebuddy.asm.Advice;

/** A controller makes topics without the configuration that their create asked for. */
@Changes(
        type = "org.apache.kafka.controller.ReplicationControlManager",
        method = "translateCreationConfigs",
        takes = 1)
final class DropConfigs {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false) Map<String, String> configs) {
        configs = Map.of();
    }
}
