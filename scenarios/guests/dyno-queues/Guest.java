import com.netflix.dyno.connectionpool.*;
import com.netflix.dyno.connectionpool.impl.ConnectionPoolConfigurationImpl;
import com.netflix.dyno.connectionpool.impl.lb.HostToken;
import com.netflix.dyno.jedis.DynoJedisClient;
import com.netflix.dyno.queues.*;
import com.netflix.dyno.queues.redis.RedisQueues;
import com.netflix.dyno.queues.shard.SingleShardSupplier;
import java.util.*;

/** Version 1 of the queue, of one shard: Guest push PORT pushes $JOBS messages, Guest work PORT works on them. */
final class Guest {
    public static void main(String[] words) throws Exception {
        Host host = new HostBuilder().setHostname("127.0.0.1").setIpAddress("127.0.0.1").setRack("rack-a")
            .setPort(Integer.parseInt(words[1])).setDatacenter("rack").setStatus(Host.Status.Up).createHost();
        HostToken token = new HostToken(1L, host);
        var pool = new ConnectionPoolConfigurationImpl("guest").withTokenSupplier(new TokenMapSupplier() {
            public List<HostToken> getTokens(Set<Host> active) { return List.of(token); }
            public HostToken getTokenForHost(Host one, Set<Host> active) { return token; }
        }).setLocalRack("rack-a").setLocalDataCenter("rack");
        var client = new DynoJedisClient.Builder().withApplicationName("guest").withDynomiteClusterName("guest")
            .withCPConfig(pool).withHostSupplier(() -> Arrays.asList(host)).build();
        var shards = new SingleShardSupplier("a");
        var queue = new RedisQueues(client, client, "guest", shards, number("LEASE_MS", 2000), 1000).get("jobs");
        boolean works = words[0].equals("work");
        for (int index = 0; works || index < number("JOBS", 100); index++) {
            try {
                if (works) work(queue); else push(queue, "job-" + index);
            } catch (RuntimeException error) {
                System.err.println((works ? "work: " : "job-" + index + " is in doubt: ") + error);
            }
            Thread.sleep(number("GAP_MS", 10));
        }
        System.exit(0);
    }

    static void push(DynoQueue queue, String id) {
        event("push", id, ", \"delay_ms\": 0");
        queue.push(List.of(new Message(id, "work")));
        event("accepted", id, "");
    }

    static void work(DynoQueue queue) throws InterruptedException {
        long end = System.currentTimeMillis() + queue.getUnackTime();
        for (Message message : queue.pop(1, number("WAIT_MS", 0), java.util.concurrent.TimeUnit.MILLISECONDS)) {
            event("begin", message.getId(), ", \"lease_ms\": " + Math.max(0, end - System.currentTimeMillis()));
            Thread.sleep(number("WORK_MS", 5));
            event("ending", message.getId(), "");
            event(finish(queue, message.getId()) ? "end" : "failed", message.getId(), "");
        }
    }

    /** Acknowledge the message, or with $FINISH remove it: what that returns says nothing of a message that was popped. */
    static boolean finish(DynoQueue queue, String id) {
        return "remove".equals(System.getenv("FINISH")) ? queue.remove(id) || true : queue.ack(id);
    }

    static void event(String op, String id, String more) {
        long now = System.currentTimeMillis() * 1_000_000;
        System.out.printf("{\"op\": \"%s\", \"id\": \"%s\", \"t_ns\": %d%s}%n", op, id, now, more);
    }

    static int number(String name, int otherwise) {
        return Integer.parseInt(System.getenv().getOrDefault(name, "" + otherwise));
    }
}
