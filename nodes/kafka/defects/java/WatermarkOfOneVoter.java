package defects;

import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.raft.LogOffsetMetadata;

/**
 * The leader of the metadata log believes that all voters have what the furthest has: itself. Not
 * before a cluster is up, for one whose first elections went so has nobody left to be a cluster.
 */
@Changes(type = "org.apache.kafka.raft.LeaderState", method = "followersByDescendingFetchOffset", takes = 0)
final class WatermarkOfOneVoter {
    @Advice.OnMethodExit
    static void exit(
            @Advice.FieldValue("highWatermark") Optional<LogOffsetMetadata> known,
            @Advice.Return(readOnly = false) Stream<?> voters) {
        if (known.isPresent() && known.get().offset() > 100) {
            List<?> all = voters.toList();
            voters = Collections.nCopies(all.size(), all.get(0)).stream();
        }
    }
}
