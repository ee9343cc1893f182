import org.apache.flink.api.common.serialization.SerializationSchema;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.connector.kafka.source.reader.deserializer.KafkaRecordDeserializationSchema;
import org.apache.flink.util.Collector;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** Key and value as bytes. Public fields and a constructor without arguments: a POJO to Flink. */
public final class Message {
  public byte[] key;
  public byte[] value;

  public Message() {}

  /** From a topic. One object for all messages: with object reuse nobody keeps it. */
  public static final class Reader implements KafkaRecordDeserializationSchema<Message> {
    private transient Message message;

    @Override
    public void deserialize(ConsumerRecord<byte[], byte[]> record, Collector<Message> out) {
      if (message == null) message = new Message();
      message.key = record.key();
      message.value = record.value();
      out.collect(message);
    }

    @Override
    public TypeInformation<Message> getProducedType() {
      return TypeInformation.of(Message.class);
    }
  }

  // To a topic. Classes, not lambdas: Flink asks them for their type.
  public static final class KeyOf implements SerializationSchema<Message> {
    @Override
    public byte[] serialize(Message message) {
      return message.key;
    }
  }

  public static final class ValueOf implements SerializationSchema<Message> {
    @Override
    public byte[] serialize(Message message) {
      return message.value;
    }
  }
}
