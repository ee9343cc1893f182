#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace sluice {
namespace asio = boost::asio;
}  // namespace sluice

namespace sluice::io {

/// What runs on one thread: a shard's loop, or the control thread's.
using Executor = asio::any_io_executor;

}  // namespace sluice::io
