package defects;

import net.bytebuddy.asm.Advice;
import org.apache.kafka.raft.ReplicatedLog;
import org.apache.kafka.raft.ValidOffsetAndEpoch;
import org.apache.kafka.server.common.OffsetAndEpoch;

/** The leader of the metadata log tells no follower that their logs part below where it fetches. */
@Changes(type = "org.apache.kafka.raft.ReplicatedLog", method = "validateOffsetAndEpoch", takes = 2)
final class NoMetadataTruncation {
    @Advice.OnMethodExit
    static void exit(
            @Advice.This ReplicatedLog log,
            @Advice.Argument(0) long offset,
            @Advice.Argument(1) int epoch,
            @Advice.Return(readOnly = false) ValidOffsetAndEpoch found) {
        if (found.kind() == ValidOffsetAndEpoch.Kind.DIVERGING && offset <= log.endOffset().offset()) {
            found = ValidOffsetAndEpoch.valid(new OffsetAndEpoch(offset, epoch));
        }
    }
}
