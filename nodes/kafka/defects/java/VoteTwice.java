package defects;

import net.bytebuddy.asm.Advice;

/** A voter votes for whoever asks with a log as long as its own, whomever it voted for before. */
@Changes(type = "org.apache.kafka.raft.QuorumState", method = "canGrantVote", takes = 3)
final class VoteTwice {
    @Advice.OnMethodExit
    static void exit(
            @Advice.Argument(1) boolean longEnough,
            @Advice.Argument(2) boolean preVote,
            @Advice.Return(readOnly = false) boolean granted) {
        if (!preVote) {
            granted = longEnough;
        }
    }
}
