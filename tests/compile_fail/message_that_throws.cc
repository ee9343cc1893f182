// A message whose move can throw could get lost between two shards.
// Expect: throw
#include <sluice/io/mailbox.h>

struct Message {
  Message() = default;
#ifdef MISUSE
  Message(Message&&) noexcept(false) {}
#else
  Message(Message&&) noexcept {}
#endif
  Message& operator=(Message&&) noexcept { return *this; }
};

template class sluice::io::Mailbox<Message>;
