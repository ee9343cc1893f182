// Writes records into partition 0 of a topic in a transaction and aborts it: abort_some BROKERS TOPIC COUNT
#include <cstdio>
#include <cstdlib>
#include <string>

#include <librdkafka/rdkafka.h>

namespace {

void check(rd_kafka_error_t* error, const char* what) {
  if (error == nullptr) return;
  std::fprintf(stderr, "abort_some: %s: %s\n", what, rd_kafka_error_string(error));
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  char text[512];
  rd_kafka_conf_t* const conf = rd_kafka_conf_new();
  rd_kafka_conf_set(conf, "bootstrap.servers", argv[1], text, sizeof text);
  rd_kafka_conf_set(conf, "transactional.id", (std::string("abort-some-") + argv[2]).c_str(), text, sizeof text);
  rd_kafka_t* const producer = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof text);
  check(rd_kafka_init_transactions(producer, 20'000), "init");
  check(rd_kafka_begin_transaction(producer), "begin");
  for (int i = 0; i < std::atoi(argv[3]); ++i) {
    rd_kafka_producev(producer, RD_KAFKA_V_TOPIC(argv[2]), RD_KAFKA_V_PARTITION(0), RD_KAFKA_V_VALUE(const_cast<char*>("aborted"), 7),
                      RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
  }
  // Written for certain, so that there is something to leave out.
  while (rd_kafka_outq_len(producer) > 0) rd_kafka_poll(producer, 10);
  check(rd_kafka_abort_transaction(producer, 20'000), "abort");
  rd_kafka_destroy(producer);
  return 0;
}
