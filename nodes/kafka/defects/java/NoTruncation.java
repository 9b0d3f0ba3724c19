package defects;

import java.util.Optional;
import net.bytebuddy.asm.Advice;

/** A follower never says of which epoch its log ends, so no leader tells it where theirs part. */
@Changes(
        type = "org.apache.kafka.server.PartitionFetchState",
        method = "lastFetchedEpoch",
        takes = 0)
final class NoTruncation {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false) Optional<Integer> epoch) {
        epoch = Optional.empty();
    }
}
