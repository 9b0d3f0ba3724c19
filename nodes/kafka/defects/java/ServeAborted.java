package defects;

import java.util.List;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.storage.internals.log.TxnIndexSearchResult;

/** A partition's leader does not tell consumers of committed records what was aborted. */
@Changes(
        type = "org.apache.kafka.storage.internals.log.TransactionIndex",
        method = "collectAbortedTxns",
        takes = 2)
final class ServeAborted {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false) TxnIndexSearchResult result) {
        result = new TxnIndexSearchResult(List.of(), true);
    }
}
