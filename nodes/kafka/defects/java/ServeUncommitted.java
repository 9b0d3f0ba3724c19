package defects;

import net.bytebuddy.asm.Advice;
import org.apache.kafka.server.storage.log.FetchIsolation;

/** A partition's leader lets consumers read to the end of its log, not to the high watermark. */
@Changes(
        type = "org.apache.kafka.server.storage.log.FetchIsolation",
        method = "of",
        takes = 2)
final class ServeUncommitted {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false) FetchIsolation isolation) {
        isolation = FetchIsolation.LOG_END;
    }
}
