#pragma once

#include <sluice/engine/context.h>
#include <sluice/engine/on_error.h>
#include <sluice/engine/options.h>

#include "pipeline_file/node.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

/// A pipeline as the file describes it: names and settings, nothing opened yet.
namespace sluice::tools {

/// A name that was used, and where.
struct Reference {
  std::string name;
  Place place;
};

struct OnErrorSpec {
  OnError what = OnError::kFail;
  Reference sink = {};  ///< of kReject
};

struct Property {
  std::string value;
  Place place;
  bool secret = false;
};
using PropertySpecs = std::map<std::string, Property>;

struct ConnectionSpec {
  std::string id;
  Place place;
  std::string brokers;
  PropertySpecs properties;
};

struct SourceSpec {
  std::string id;
  Place place;
  Reference connection;
  std::string format;
  OnErrorSpec on_error;
  PropertySpecs properties;
  const Node* kafka = nullptr;  ///< all other settings; of Pipeline::root
  const Node* time = nullptr;   ///< event time, where the file says it; of Pipeline::root
};

struct OperatorSpec {
  std::string id;
  Place place;
  std::vector<Reference> inputs;
  std::vector<Reference> second = {};  ///< of join and lookup: the right side, or the table
  std::string kind;  ///< "json_replace"; empty where the file has none, or several
  OnErrorSpec on_error;
  Place on_error_place;           ///< no source: not given
  const Node* options = nullptr;  ///< of Pipeline::root
  std::string first_source = {}, second_source = {};  ///< of join and lookup: whose their state is
  Reference late = {};            ///< of window: the sink of late records, or no name
};

struct SinkSpec {
  std::string id;
  Place place;
  std::vector<Reference> inputs;
  Reference connection;
  std::string topic;
  OnErrorSpec on_error;
  PropertySpecs properties;
  const Node* kafka = nullptr;
};

struct TestSpec {
  Place place;
  Reference target;
  std::vector<const Node*> input, expect;
  std::int64_t errors = 0;
};

struct Pipeline {
  std::shared_ptr<const Node> root;  ///< what the parts below point into
  std::string name;
  Delivery guarantee = Delivery::kExactlyOnce;
  JobOptions options;
  std::vector<ConnectionSpec> connections;
  std::vector<SourceSpec> sources;
  std::vector<OperatorSpec> operators;
  std::vector<SinkSpec> sinks;
  std::vector<TestSpec> tests;

  [[nodiscard]] const ConnectionSpec* connection(const std::string& id) const;
  [[nodiscard]] const OperatorSpec* find_operator(const std::string& id) const;
};

/// The sources whose records reach one of `inputs`, with all operators in between.
void parts_before(const Pipeline& pipeline, const std::vector<Reference>& inputs,
                  std::set<std::string>& seen);

/// Takes over what is there, with defaults for the rest; what is wrong was told by check().
[[nodiscard]] Pipeline read_pipeline(std::shared_ptr<const Node> root);

}  // namespace sluice::tools
