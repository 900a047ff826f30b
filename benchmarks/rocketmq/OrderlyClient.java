import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.topic.TopicValidator;
import org.apache.rocketmq.remoting.RPCHook;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;

/** A producer that says when it is done, or an orderly consumer that starts when told and says what happens to it. */
public class OrderlyClient {
    static final int FACTOR = 20;

    public static void main(String[] arguments) throws Exception {
        String servers = arguments[1];
        String topic = arguments[2];
        if (arguments[0].equals("produce")) {
            produce(servers, topic, Integer.parseInt(arguments[3]));
        } else {
            consume(servers, topic, arguments[3], Integer.parseInt(arguments[4]));
        }
    }

    static void produce(String servers, String topic, int messages) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("producers-" + topic);
        producer.setNamesrvAddr(servers);
        producer.setSendMsgTimeout(60_000);
        producer.start();
        try {
            awaitRoute(producer, TopicValidator.AUTO_CREATE_TOPIC_KEY_TOPIC);
            for (int number = 0; number < messages; number++) {
                producer.send(new Message(topic, "body".getBytes(StandardCharsets.UTF_8)));
            }
            awaitRoute(producer, topic);
        } finally {
            producer.shutdown();
        }
        System.out.println("started");
        Thread.sleep(Long.MAX_VALUE);
    }

    /** A broker listens before the name server knows it. */
    static void awaitRoute(DefaultMQProducer producer, String topic) throws InterruptedException {
        while (true) {
            try {
                producer.fetchPublishMessageQueues(topic);
                return;
            } catch (MQClientException unknown) {
                Thread.sleep(100);
            }
        }
    }

    static void consume(String servers, String topic, String name, int workMs) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(new Requests());
        consumer.setConsumerGroup("group-" + topic);
        consumer.setNamesrvAddr(servers);
        consumer.setInstanceName(name + "-" + topic);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setHeartbeatBrokerInterval(30_000 / FACTOR);
        consumer.setPollNameServerInterval(30_000 / FACTOR);
        consumer.setPersistConsumerOffsetInterval(5_000 / FACTOR);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
            System.out.println("begun " + context.getMessageQueue().getQueueId());
            try {
                Thread.sleep(workMs);
            } catch (InterruptedException stopped) {
                Thread.currentThread().interrupt();
            }
            return ConsumeOrderlyStatus.SUCCESS;
        });
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            System.out.println("stopping");
            consumer.shutdown();
        }));
        System.out.println("up");
        System.in.read();
        consumer.start();
        System.out.println("started");
        Thread.sleep(Long.MAX_VALUE);
    }

    /** Says that a request about locks, or of a client that leaves its group, is sent. */
    static class Requests implements RPCHook {
        static final Map<Integer, String> NAMES = Map.of(41, "lock", 42, "unlock", 35, "leave");

        @Override
        public void doBeforeRequest(String address, RemotingCommand request) {
            if (NAMES.containsKey(request.getCode())) {
                System.out.println(NAMES.get(request.getCode()));
            }
        }

        @Override
        public void doAfterResponse(String address, RemotingCommand request, RemotingCommand response) {}
    }
}
