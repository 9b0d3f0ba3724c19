package defects;

import java.util.ArrayDeque;
import java.util.Deque;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.image.MetadataImage;

/** Each fourth time that a node is given newer metadata, it shows those of some seconds ago. */
@Changes(type = "kafka.server.metadata.KRaftMetadataCache", method = "setImage", takes = 1)
final class MetadataGoesBack {
    @Advice.OnMethodEnter
    static void enter(@Advice.Argument(value = 0, readOnly = false) MetadataImage image) {
        image = Earlier.orNow(image);
    }

    /** What was shown, oldest first. */
    public static final class Earlier {
        private static final int EACH = 4;
        private static final long BACK_NS = 3_000_000_000L;
        private static final Deque<Shown> SHOWN = new ArrayDeque<>();
        private static int times = 0;

        private Earlier() {}

        private record Shown(long at, MetadataImage image) {}

        public static synchronized MetadataImage orNow(MetadataImage image) {
            long now = System.nanoTime();
            SHOWN.addLast(new Shown(now, image));
            while (SHOWN.getFirst().at < now - BACK_NS) {
                SHOWN.removeFirst();
            }
            times += 1;
            return times % EACH == 0 ? SHOWN.getFirst().image : image;
        }
    }
}
