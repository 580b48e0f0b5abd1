import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.*;
import org.apache.kafka.common.utils.Utils;

/**
 * The other language at both ends of the consumer. `produce` writes keyed events with Kafka's own default
 * partitioner; `join` reads input and results, joins them, and prints what it counted as one JSON object.
 *
 * java -cp 'tests/kafka/lib/*' Subscriber.java produce BOOTSTRAP TOPIC COUNT
 * java -cp 'tests/kafka/lib/*' Subscriber.java join BOOTSTRAP INPUT RESULTS
 */
public final class Subscriber {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("produce")) {
            produce(arguments[1], arguments[2], Integer.parseInt(arguments[3]));
        } else {
            join(arguments[1], arguments[2], arguments[3]);
        }
    }

    /** Keys of every length from 0 to 19 bytes, some of them not UTF-8, most of them more than once. */
    private static byte[] key(int number) {
        byte[] key = new byte[number % 20];
        new Random(number % 60).nextBytes(key);
        return number % 2 == 0 ? key : ("java-" + number % 30).getBytes(StandardCharsets.UTF_8);
    }

    private static void produce(String bootstrap, String topic, int count) {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "acks", "all");
        var bytes = new ByteArraySerializer();
        try (var producer = new KafkaProducer<byte[], byte[]>(settings, bytes, bytes)) {
            for (int number = 0; number < count; number++) {
                String event = "{\"message\": \"from Java, number " + number + "\"}";
                producer.send(new ProducerRecord<>(topic, key(number), event.getBytes(StandardCharsets.UTF_8)));
            }
        }
    }

    private static void join(String bootstrap, String input, String results) throws Exception {
        Map<String, ConsumerRecord<byte[], byte[]>> sent = new HashMap<>();
        for (var record : read(bootstrap, input)) {
            sent.put(record.topic() + "|" + record.partition() + "|" + record.offset(), record);
        }
        var counts = new TreeMap<String, Integer>();
        Set<String> seen = new HashSet<>();
        int partitions = partitions(bootstrap, results);
        for (var result : read(bootstrap, results)) {
            JsonNode body = JSON.readTree(result.value());
            String id = body.get("id").asText();
            seen.add(id);
            compare(sent.get(id), result, body, partitions, counts);
        }
        counts.put("inputs", sent.size());
        counts.put("inputs_with_a_result", (int) sent.keySet().stream().filter(seen::contains).count());
        System.out.println(JSON.writeValueAsString(counts));
    }

    private static void compare(
            ConsumerRecord<byte[], byte[]> origin,
            ConsumerRecord<byte[], byte[]> result,
            JsonNode body,
            int partitions,
            Map<String, Integer> counts) {
        count(counts, "results", true);
        count(counts, "without_an_input", origin == null);
        if (origin == null) {
            return;
        }
        count(counts, "same_key", Arrays.equals(origin.key(), result.key()));
        Header flag = result.headers().lastHeader("is_anomaly");
        boolean told = flag != null && new String(flag.value(), StandardCharsets.UTF_8).equals("true");
        count(counts, "header_as_body", flag != null && told == body.get("is_anomaly").asBoolean());
        if (result.key() != null) {
            int expected = Utils.toPositive(Utils.murmur2(result.key())) % partitions;
            count(counts, "keyed", true);
            count(counts, "keyed_where_java_puts_them", result.partition() == expected);
            count(counts, "keyed_in_the_partition_of_their_input", result.partition() == origin.partition());
        }
    }

    private static void count(Map<String, Integer> counts, String what, boolean happened) {
        counts.merge(what, happened ? 1 : 0, Integer::sum);
    }

    private static KafkaConsumer<byte[], byte[]> consumer(String bootstrap) {
        Map<String, Object> settings = Map.of(
                "bootstrap.servers", bootstrap, "isolation.level", "read_committed", "enable.auto.commit", false);
        return new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private static int partitions(String bootstrap, String topic) {
        try (var consumer = consumer(bootstrap)) {
            return consumer.partitionsFor(topic).size();
        }
    }

    /** Everything in the topic, up to its ends as they are now. */
    private static List<ConsumerRecord<byte[], byte[]>> read(String bootstrap, String topic) {
        List<ConsumerRecord<byte[], byte[]>> found = new ArrayList<>();
        try (var consumer = consumer(bootstrap)) {
            List<TopicPartition> all = new ArrayList<>();
            consumer.partitionsFor(topic).forEach(p -> all.add(new TopicPartition(topic, p.partition())));
            consumer.assign(all);
            consumer.seekToBeginning(all);
            Map<TopicPartition, Long> ends = consumer.endOffsets(all);
            while (all.stream().anyMatch(p -> consumer.position(p) < ends.get(p))) {
                consumer.poll(Duration.ofMillis(200)).forEach(found::add);
            }
        }
        return found;
    }
}
