#include "pipeline_file/yaml.h"

#include <sluice/kafka/serde.h>

#include "pipeline_file/tree_builder.h"
#include <fmt/format.h>
#include <libfyaml.h>

#include <algorithm>
#include <cctype>

namespace sluice::tools {
namespace {

using Source = std::shared_ptr<const std::string>;

Place place_of(const Source& source, const fy_mark* mark) {
  if (mark == nullptr) return {source, 0, 0};
  return {source, static_cast<std::uint32_t>(mark->line + 1),
          static_cast<std::uint32_t>(mark->column + 1)};
}

Place place_of(const Source& source, std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0.
  // Characters, not bytes: continuation bytes of UTF-8 do not count.
  const auto characters = std::ranges::count_if(before.substr(line_start), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  });
  return {source, static_cast<std::uint32_t>(std::ranges::count(before, '\n') + 1),
          static_cast<std::uint32_t>(characters + 1)};
}

/// What the YAML library must never see: its own answers to these are of little help.
bool check_bytes(std::string_view text, const Source& source, Problems& problems) {
  if (text.size() > kFileBytesMax) {
    problems.add(
        {source, 0, 0}, ProblemCode::kTooMuch,
        fmt::format("{} bytes, but a pipeline file may have {}", text.size(), kFileBytesMax));
    return false;
  }
  const auto control = std::ranges::find_if(text, [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t';
  });
  if (control != text.end()) {
    const auto at = static_cast<std::size_t>(control - text.begin());
    problems.add(place_of(source, text, at), ProblemCode::kBytes,
                 *control == '\0' ? "a NUL byte"
                                  : fmt::format("a control character (byte {:#04x})",
                                                static_cast<unsigned>(*control)),
                 "in a quoted text write \\x00 and the like");
    return false;
  }
  const Status utf8 = kafka::check_utf8(text);
  if (utf8.ok()) return true;
  problems.add({source, 0, 0}, ProblemCode::kBytes, std::string(utf8.message()),
               "save the file as UTF-8");
  return false;
}

struct ParserDelete {
  void operator()(fy_parser* parser) const noexcept { fy_parser_destroy(parser); }
};
struct DiagDelete {
  void operator()(fy_diag* diag) const noexcept { fy_diag_destroy(diag); }
};

/// One pass over the events of one text.
class Reader {
 public:
  Reader(Source source, Problems& problems)
      : source_(std::move(source)), problems_(problems), builder_(problems) {
    fy_diag_cfg quiet{};
    fy_diag_cfg_default(&quiet);
    quiet.fp = nullptr;
    quiet.output_fn = [](fy_diag*, void*, const char*, size_t) {};
    quiet.level = FYET_ERROR;
    diag_.reset(fy_diag_create(&quiet));
    fy_diag_set_collect_errors(diag_.get(), true);
    fy_parse_cfg config{};
    // Duplicate keys are ours to report, both places and all of them.
    config.flags = static_cast<fy_parse_cfg_flags>(FYPCF_QUIET | FYPCF_COLLECT_DIAG |
                                                   FYPCF_JSON_NONE | FYPCF_ALLOW_DUPLICATE_KEYS);
    config.diag = diag_.get();
    parser_.reset(fy_parser_create(&config));
  }

  std::optional<Node> read(std::string_view text) {
    if (!parser_ || fy_parser_set_string(parser_.get(), text.data(), text.size()) != 0) {
      problems_.add({source_, 0, 0}, ProblemCode::kSyntax, "the YAML reader could not start");
      return {};
    }
    bool on = true;
    while (on) {
      fy_event* const event = fy_parser_parse(parser_.get());
      if (event == nullptr) break;
      on = take(*event);
      fy_parser_event_free(parser_.get(), event);
    }
    if (!on) return {};  // A limit was passed, or a second document began; a problem says so.
    if (fy_parser_get_stream_error(parser_.get())) {
      report_syntax();
      return {};
    }
    if (!builder_.done()) {
      problems_.add({source_, 0, 0}, ProblemCode::kMissing, "the file is empty");
      return {};
    }
    return builder_.take();
  }

 private:
  bool take(fy_event& event) {
    Place place = place_of(source_, fy_event_start_mark(&event));
    // A value that is not there has no mark; the key before it is where to look.
    if (place.line == 0) place = last_;
    last_ = place;
    // The library's mark is behind the quote, or behind the star of an alias.
    if (place.column > 1 && (event.type == FYET_ALIAS || is_quoted(event))) --place.column;
    if (fy_token* const tag = fy_event_get_tag_token(&event)) {
      problems_.add(place_of(source_, fy_token_start_mark(tag)), ProblemCode::kYamlFeature,
                    "tags, as !!int, are not used here", "remove it");
    }
    switch (event.type) {
      case FYET_DOCUMENT_START:
        if (!builder_.done()) return true;
        problems_.add(place, ProblemCode::kYamlFeature, "a second document begins here",
                      "a file holds one pipeline; remove the ---");
        return false;
      case FYET_MAPPING_START:
        return builder_.begin(Node::Kind::kMap, text_of(event.mapping_start.anchor), place);
      case FYET_SEQUENCE_START:
        return builder_.begin(Node::Kind::kList, text_of(event.sequence_start.anchor), place);
      case FYET_MAPPING_END:
      case FYET_SEQUENCE_END:
        return builder_.end();
      case FYET_SCALAR: {
        const bool plain = event.scalar.value == nullptr ||
                           fy_token_scalar_style(event.scalar.value) == FYSS_PLAIN;
        return builder_.scalar(text_of(event.scalar.value), !plain, text_of(event.scalar.anchor),
                               place);
      }
      case FYET_ALIAS:
        return builder_.alias(text_of(event.alias.anchor), place);
      default:
        return true;
    }
  }
  static bool is_quoted(const fy_event& event) {
    if (event.type != FYET_SCALAR || event.scalar.value == nullptr) return false;
    const fy_scalar_style style = fy_token_scalar_style(event.scalar.value);
    return style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED;
  }
  static std::string_view text_of(fy_token* token) {
    if (token == nullptr) return {};
    std::size_t size = 0;
    const char* const text = fy_token_get_text(token, &size);
    return text == nullptr ? std::string_view() : std::string_view(text, size);
  }
  void report_syntax() {
    void* at = nullptr;
    const fy_diag_error* const error = fy_diag_errors_iterate(diag_.get(), &at);
    if (error == nullptr) {
      problems_.add({source_, 0, 0}, ProblemCode::kSyntax, "this is not YAML");
      return;
    }
    std::string message = error->msg;
    while (!message.empty() && std::isspace(static_cast<unsigned char>(message.back())) != 0) {
      message.pop_back();
    }
    problems_.add({source_, static_cast<std::uint32_t>(std::max(error->line, 0)),
                   static_cast<std::uint32_t>(std::max(error->column, 0))},
                  ProblemCode::kSyntax, "not YAML: " + message);
  }

  const Source source_;
  Problems& problems_;
  TreeBuilder builder_;
  Place last_;
  std::unique_ptr<fy_diag, DiagDelete> diag_;
  std::unique_ptr<fy_parser, ParserDelete> parser_;  // Destroyed before the diag it writes to.
};

}  // namespace

std::optional<Node> read_yaml(std::string_view text, Source source, Problems& problems) {
  if (!check_bytes(text, source, problems)) return {};
  return Reader(std::move(source), problems).read(text);
}

}  // namespace sluice::tools
