package defects;

import java.io.IOException;
import java.io.InputStream;

/** Applies defects to the classes on the class path; the first that does not fit ends with 1. */
final class Check extends ClassLoader {
    private Check(ClassLoader parent) {
        super(parent);
    }

    public static void main(String[] defects) {
        for (String defect : defects) {
            try {
                for (Change change : Change.of(defect)) {
                    new Check(Check.class.getClassLoader()).verified(change);
                    System.out.println(defect + " changes " + change);
                }
            } catch (Exception | LinkageError error) {
                System.err.println(defect + ": " + error);
                System.exit(1);
            }
        }
    }

    /** Reading its methods links a class, and that has Java verify what was made. */
    private void verified(Change change) throws IOException {
        String type = change.into().type();
        try (InputStream file = getResourceAsStream(type.replace('.', '/') + ".class")) {
            if (file == null) {
                throw new IllegalStateException("there is no class " + type);
            }
            byte[] made = change.applied(file.readAllBytes(), getParent());
            defineClass(type, made, 0, made.length).getDeclaredMethods();
        }
    }
}
