package defects;

import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;
import net.bytebuddy.asm.Advice;

/** The leader of the metadata log believes that all voters have what the furthest has: itself. */
@Changes(type = "org.apache.kafka.raft.LeaderState", method = "followersByDescendingFetchOffset", takes = 0)
final class WatermarkOfOneVoter {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false) Stream<?> voters) {
        List<?> all = voters.toList();
        voters = Collections.nCopies(all.size(), all.get(0)).stream();
    }
}
