import java.lang.reflect.Constructor;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.LeaderChangeMessage;
import org.apache.kafka.common.message.VotersRecord;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.raft.LogFetchInfo;
import org.apache.kafka.raft.LogOffsetMetadata;
import org.apache.kafka.raft.ReplicatedLog;
import org.apache.kafka.raft.VoterSet;
import org.apache.kafka.raft.internals.KRaftControlRecordStateMachine;

/**
 * A log with voters 1, 2 and 3 at offset 0, and a tail of epoch 1 up to 8, which is cut back to 1, as
 * a later leader has something else there: its own beginning at 1, and voters 1 and 3 at 2. Prints
 * who votes by whoever followed that as it happened, and by whoever reads the log that came of it.
 */
public final class SkippedVoters {
    private static final int TAIL_END = 8;
    private static final TreeMap<Long, MemoryRecords> LOG = new TreeMap<>();

    public static void main(String[] none) throws Exception {
        LOG.put(0L, voters(0, 1, 1, 2, 3));
        for (long offset = 1; offset < TAIL_END; offset++) {
            LOG.put(offset, leads(offset, 1));
        }
        KRaftControlRecordStateMachine followed = reader();
        followed.updateState();
        LOG.tailMap(1L).clear();
        followed.truncateNewEntries(1);
        LOG.put(1L, leads(1, 2));
        followed.updateState();
        LOG.put(2L, voters(2, 2, 1, 3));
        followed.updateState();
        KRaftControlRecordStateMachine began = reader();
        began.updateState();
        System.out.println("began with this log: " + ids(began));
        System.out.println("followed another leader before: " + ids(followed));
    }

    private static Object ids(KRaftControlRecordStateMachine reader) {
        return reader.lastVoterSet().voterIds().stream().sorted().toList();
    }

    private static MemoryRecords voters(long offset, int epoch, Integer... ids) {
        List<VotersRecord.Voter> voters = List.of(ids).stream().map(SkippedVoters::voter).toList();
        return MemoryRecords.withVotersRecord(
            offset, 0, epoch, ByteBuffer.allocate(4096), new VotersRecord().setVoters(voters));
    }

    private static VotersRecord.Voter voter(int id) {
        VotersRecord.EndpointCollection endpoints = new VotersRecord.EndpointCollection();
        endpoints.add(new VotersRecord.Endpoint().setName("CONTROLLER").setHost("localhost").setPort(id));
        return new VotersRecord.Voter().setVoterId(id).setVoterDirectoryId(new Uuid(1, id))
            .setEndpoints(endpoints).setKRaftVersionFeature(
                new VotersRecord.KRaftVersionFeature().setMaxSupportedVersion((short) 1));
    }

    private static MemoryRecords leads(long offset, int epoch) {
        return MemoryRecords.withLeaderChangeMessage(
            offset, 0, epoch, ByteBuffer.allocate(4096), new LeaderChangeMessage().setLeaderId(1));
    }

    private static KRaftControlRecordStateMachine reader() throws Exception {
        Constructor<?> made = KRaftControlRecordStateMachine.class.getConstructors()[0];
        return (KRaftControlRecordStateMachine) made.newInstance(givenTo(made));
    }

    /** What a constructor of any release asks for: the log, and otherwise what does nothing. */
    private static Object[] givenTo(Constructor<?> made) throws Exception {
        Class<?>[] types = made.getParameterTypes();
        Object[] given = new Object[types.length];
        for (int at = 0; at < types.length; at++) {
            given[at] = given(types[at]);
        }
        return given;
    }

    private static Object given(Class<?> type) throws Exception {
        if (type == VoterSet.class || type == Optional.class) {
            return type.getMethod("empty").invoke(null);
        } else if (type == int.class) {
            return 1 << 20;
        } else if (type == String.class) {
            return "raft";
        } else if (type == BufferSupplier.class) {
            return BufferSupplier.NO_CACHING;
        } else if (type == LogContext.class || type == Metrics.class) {
            return type.getConstructor().newInstance();
        } else if (type.isInterface()) {
            return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type},
                (self, method, arguments) -> answer(method.getName(), arguments));
        }
        Constructor<?> made = type.getConstructors()[0];
        return made.newInstance(givenTo(made));
    }

    private static Object answer(String asked, Object[] arguments) {
        return switch (asked) {
            case "startOffset" -> 0L;
            case "latestSnapshot" -> Optional.empty();
            case "endOffset" -> new LogOffsetMetadata(LOG.lastKey() + 1);
            case "read" -> new LogFetchInfo(
                LOG.get((Long) arguments[0]), new LogOffsetMetadata((Long) arguments[0]));
            default -> null;
        };
    }
}
