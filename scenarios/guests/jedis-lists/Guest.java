import java.util.UUID;
import redis.clients.jedis.*;
import redis.clients.jedis.args.ListDirection;
import redis.clients.jedis.exceptions.JedisException;

/** A reliable queue of lists: Guest push URL pushes $JOBS jobs, Guest work URL works on them for $WORK_MS. */
final class Guest {
    public static void main(String[] words) throws Exception {
        var redis = new JedisPooled(words[1]);
        boolean works = words[0].equals("work");
        String own = "active:" + System.getenv().getOrDefault("WORKER", UUID.randomUUID().toString());
        System.err.println("ready");
        for (int index = 0; works || index < number("JOBS", 100); index++) {
            try {
                if (works) work(redis, own); else push(redis, "job-" + index);
            } catch (JedisException error) {
                System.err.println((works ? "work: " : "job-" + index + " is in doubt: ") + error.getMessage());
                Thread.sleep(100);
            }
            if (!works) Thread.sleep(number("GAP_MS", 10));
        }
    }

    static void push(JedisPooled redis, String id) {
        event("push", id);
        redis.lpush("waiting", id);
        event("accepted", id);
    }

    /** Take first what this worker had taken before it died, then what waits. */
    static void work(JedisPooled redis, String own) throws InterruptedException {
        String id = redis.lindex(own, -1);
        if (id == null) id = redis.blmove("waiting", own, ListDirection.RIGHT, ListDirection.LEFT, 1);
        if (id == null) return;
        event("begin", id);
        Thread.sleep(number("WORK_MS", 5));
        event("ending", id);
        redis.lrem(own, 1, id);
        event("end", id);
    }

    static void event(String op, String id) {
        long now = System.currentTimeMillis() * 1_000_000;
        System.out.printf("{\"op\": \"%s\", \"id\": \"%s\", \"t_ns\": %d}%n", op, id, now);
    }

    static int number(String name, int otherwise) {
        return Integer.parseInt(System.getenv().getOrDefault(name, "" + otherwise));
    }
}
