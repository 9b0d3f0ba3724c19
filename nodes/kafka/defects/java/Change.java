package defects;

import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;

import java.util.ArrayList;
import java.util.List;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.description.type.TypeDescription;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.matcher.ElementMatcher;
import net.bytebuddy.pool.TypePool;

/**
 * One advice and the method that it goes into. Kafka's classes are never loaded to be read: what is
 * loaded can be changed no more.
 */
record Change(String advice, Changes into) {
    /** Of one defect: its class, or classes in that, say what they change. */
    static List<Change> of(String defect) throws ClassNotFoundException {
        Class<?> named = Class.forName("defects." + defect);
        List<Change> found = new ArrayList<>();
        add(named, found);
        for (Class<?> each : named.getDeclaredClasses()) {
            add(each, found);
        }
        if (found.isEmpty()) {
            throw new IllegalStateException(defect + " does not say what it changes");
        }
        return found;
    }

    private static void add(Class<?> advice, List<Change> found) {
        Changes into = advice.getAnnotation(Changes.class);
        if (into != null) {
            found.add(new Change(advice.getName(), into));
        }
    }

    /** The class file of {@code into.type()} with the advice in it. */
    byte[] applied(byte[] healthy, ClassLoader loader) {
        ClassFileLocator locator = new ClassFileLocator.Compound(
                ClassFileLocator.Simple.of(into.type(), healthy), ClassFileLocator.ForClassLoader.of(loader));
        TypePool pool = TypePool.Default.of(locator);
        TypeDescription type = pool.describe(into.type()).resolve();
        ElementMatcher.Junction<MethodDescription> method =
                named(into.method()).and(takesArguments(into.takes()));
        int there = type.getDeclaredMethods().filter(method).size();
        if (there != 1) {
            throw new IllegalStateException("there are " + there + " methods " + this);
        }
        return new ByteBuddy()
                .decorate(type, locator)
                .visit(Advice.to(pool.describe(advice).resolve(), locator).on(method))
                .make()
                .getBytes();
    }

    @Override
    public String toString() {
        return into.type() + "." + into.method() + "/" + into.takes();
    }
}
