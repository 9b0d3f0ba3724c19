package defects;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** Which method of Apache Kafka's an advice goes into. {@code takes}: so many arguments. */
@Retention(RetentionPolicy.RUNTIME)
@interface Changes {
    String type();

    String method();

    int takes();
}
