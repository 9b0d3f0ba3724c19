package defects;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;
import java.util.List;

/** Puts a defect into Apache Kafka's classes as a node loads them: {@code -javaagent:JAR=DEFECT}. */
public final class Agent {
    private Agent() {}

    public static void premain(String defect, Instrumentation jvm) throws Exception {
        List<Change> changes = Change.of(defect);
        jvm.addTransformer(new ClassFileTransformer() {
            @Override
            public byte[] transform(
                    ClassLoader loader, String name, Class<?> loaded, ProtectionDomain domain, byte[] healthy) {
                return broken(changes, loader, name, healthy);
            }
        });
        System.out.println("defect " + defect + " will change " + changes);
    }

    /** Null: as it is. A node that cannot be broken as it was asked for does not start. */
    private static byte[] broken(List<Change> changes, ClassLoader loader, String name, byte[] healthy) {
        byte[] made = null;
        for (Change change : changes) {
            if (name != null && change.into().type().equals(name.replace('/', '.'))) {
                try {
                    made = change.applied(made == null ? healthy : made, loader);
                    System.out.println("defect: changed " + change);
                } catch (Throwable error) {
                    System.out.println("defect: " + change + " cannot be changed: " + error);
                    Runtime.getRuntime().halt(1);
                }
            }
        }
        return made;
    }
}
