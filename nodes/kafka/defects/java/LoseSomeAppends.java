package defects;

import net.bytebuddy.asm.Advice;
import org.apache.kafka.storage.internals.log.LogAppendInfo;
import org.apache.kafka.storage.internals.log.UnifiedLog;

/** A partition's leader acknowledges what it appended, and cuts one append of 25 off again. */
@Changes(
        type = "org.apache.kafka.storage.internals.log.UnifiedLog",
        method = "appendAsLeader",
        takes = 6)
final class LoseSomeAppends {
    @Advice.OnMethodExit
    static void exit(@Advice.This UnifiedLog log, @Advice.Return LogAppendInfo appended) {
        if (appended.maxTimestamp() % 25 == 0 && !log.topicPartition().topic().startsWith("__")) {
            log.truncateTo(appended.firstOffset());
        }
    }
}
