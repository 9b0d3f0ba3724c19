package clients;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Makes calls one after the other and prints what came of each: a line of JSON with the call's name
 * and, where it failed, the error. One that fails or does not end leaves the next ones be.
 */
final class Calls {
    /** How long one call may take. */
    static final Duration LONGEST = Duration.ofSeconds(20);

    private static final Duration BETWEEN = Duration.ofMillis(100);

    private Calls() {}

    /** Something that a client is asked to do; it throws what keeps it from that. */
    interface Body {
        void run() throws Exception;
    }

    record Call(String name, Body body) {}

    /** The addresses that a client begins with. */
    static String brokers() {
        return System.getenv("BOOTSTRAP_SERVERS");
    }

    static void run(List<Call> all) throws Exception {
        ObjectMapper json = new ObjectMapper();
        for (Call call : all) {
            Map<String, Object> said = new LinkedHashMap<>();
            String error = errorOf(call.body());
            said.put("name", call.name());
            said.put("ok", error == null);
            if (error != null) {
                said.put("error", error);
            }
            System.out.println(json.writeValueAsString(said));
        }
    }

    private static String errorOf(Body body) throws InterruptedException {
        FutureTask<Void> task = new FutureTask<>(() -> {
            body.run();
            return null;
        });
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        thread.start();
        try {
            task.get(LONGEST.toMillis(), TimeUnit.MILLISECONDS);
            return null;
        } catch (TimeoutException late) {
            task.cancel(true);
            return "no end within " + LONGEST.toSeconds() + " s";
        } catch (ExecutionException failed) {
            return told(failed.getCause());
        }
    }

    /** The class of an exception and its message, without the future that had it. */
    private static String told(Throwable failure) {
        Throwable found = failure;
        while (found instanceof ExecutionException && found.getCause() != null) {
            found = found.getCause();
        }
        return found.getClass().getSimpleName() + ": " + found.getMessage();
    }

    /** That a condition holds; else an error says what was found instead. */
    static void that(boolean holds, Object found) {
        if (!holds) {
            throw new IllegalStateException("found " + found);
        }
    }

    /** Wants this exception: a call that is to fail, and how. */
    static void refused(Class<? extends Exception> how, Body body) throws Exception {
        try {
            body.run();
        } catch (ExecutionException failed) {
            that(how.isInstance(failed.getCause()), failed.getCause());
            return;
        }
        throw new IllegalStateException("was not refused");
    }

    /** Asks again until a condition holds; the call's time ends it. */
    static void await(Callable<Boolean> holds) throws Exception {
        while (!holds.call()) {
            Thread.sleep(BETWEEN.toMillis());
        }
    }
}
