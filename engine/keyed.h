#pragma once

#include <sluice/engine/key_group.h>

namespace sluice {

/// A record of a keyed stream: what it is, and whose.
template <class Key, class T>
struct Keyed {
  Key key;
  T value;
  KeyGroup group;  ///< of the key; its state lies under it
};

}  // namespace sluice
