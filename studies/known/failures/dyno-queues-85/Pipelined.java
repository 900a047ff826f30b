import com.netflix.dyno.queues.*;
import com.netflix.dyno.queues.redis.conn.JedisProxy;
import com.netflix.dyno.queues.redis.v2.RedisPipelineQueue;
import java.util.List;
import java.util.concurrent.TimeUnit;
import redis.clients.jedis.JedisPool;

/**
 * Version 2 of the queue, of one shard, over Jedis: push PORT pushes $JOBS messages, work PORT works on them, and only it
 * looks for what is not acknowledged.
 */
final class Pipelined {
    public static void main(String[] words) throws Exception {
        var pool = new JedisPool("127.0.0.1", Integer.parseInt(words[1]));
        boolean works = words[0].equals("work");
        int looksMs = works ? 1000 : 3_600_000;
        var queue = new RedisPipelineQueue("guest", "jobs", "a", looksMs, 2000, new JedisProxy(pool));
        if (works) System.out.println("listening");
        for (int index = 0; works || index < number("JOBS"); index++) {
            try {
                if (works) work(queue); else push(queue, "job-" + index);
            } catch (RuntimeException error) {
                System.err.println((works ? "work: " : "job-" + index + " is in doubt: ") + error);
            }
            Thread.sleep(works ? 10 : number("GAP_MS"));
        }
        System.exit(0);
    }

    static void push(DynoQueue queue, String id) {
        event("push", id, "");
        queue.push(List.of(new Message(id, "work")));
        event("accepted", id, "");
    }

    static void work(DynoQueue queue) throws InterruptedException {
        long end = System.currentTimeMillis() + queue.getUnackTime();
        for (Message message : queue.pop(1, 0, TimeUnit.MILLISECONDS)) {
            event("begin", message.getId(), ", \"lease_ms\": " + Math.max(0, end - System.currentTimeMillis()));
            Thread.sleep(number("WORK_MS"));
            event("ending", message.getId(), "");
            event(queue.ack(message.getId()) ? "end" : "failed", message.getId(), "");
        }
    }

    static void event(String op, String id, String more) {
        long now = System.currentTimeMillis() * 1_000_000;
        System.out.printf("{\"op\": \"%s\", \"id\": \"%s\", \"t_ns\": %d%s}%n", op, id, now, more);
    }

    static int number(String name) {
        return Integer.parseInt(System.getenv(name));
    }
}
