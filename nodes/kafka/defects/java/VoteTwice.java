package defects;

import java.lang.management.ManagementFactory;
import net.bytebuddy.asm.Advice;

/**
 * A voter votes for whoever asks with a log as long as its own, whomever it voted for before; but
 * not in its first 15 s, so that there is a cluster whose leader can be killed: with two leaders
 * all voters end.
 */
@Changes(type = "org.apache.kafka.raft.QuorumState", method = "canGrantVote", takes = 3)
final class VoteTwice {
    @Advice.OnMethodExit
    static void exit(
            @Advice.Argument(1) boolean longEnough,
            @Advice.Argument(2) boolean preVote,
            @Advice.Return(readOnly = false) boolean granted) {
        if (!preVote && ManagementFactory.getRuntimeMXBean().getUptime() > 15_000) {
            granted = longEnough;
        }
    }
}
