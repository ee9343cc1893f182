#include "pipeline_file/problem_code.h"

#include <strings.h>

#include <algorithm>
#include <array>
#include <string>

namespace sluice::tools {
namespace {

using enum ProblemCode;

constexpr auto kTexts = std::to_array<ProblemText>({
    {kUnreadable, "E001", false, "the file cannot be read",
     "The pipeline file does not exist, is a directory, or may not be read by this user. Nothing "
     "else was checked."},
    {kSyntax, "E002", false, "this is not YAML",
     "The place is where the YAML reader gave up, which may be behind the mistake: look at the "
     "lines above it for a missing quote, a missing space behind a colon, a tab, or brackets that "
     "do not match. Nothing behind this place was checked."},
    {kTooMuch, "E003", false, "larger than a pipeline file may be",
     "A file may have 1 MiB, 32 levels of nesting, and 10,000 values after aliases are expanded. "
     "The limits keep a broken or hostile file from filling memory. No pipeline that a person "
     "wrote comes near them; split the job where one does."},
    {kBytes, "E004", false, "bytes that are no text",
     "The file is not UTF-8, or it holds a NUL byte or another control character. Save it as "
     "UTF-8; write such a character in a quoted text as \\x00 or \\uXXXX where it is meant."},
    {kDuplicate, "E005", false, "the same key twice",
     "A map may have each key once. YAML readers differ in which of two they take, so neither is "
     "taken. Remove one."},
    {kUnknownKey, "E006", false, "no such key",
     "The key is not one that may stand here, so it would have no effect. The nearest name that "
     "exists is proposed. \"sluice explain KEY\" describes a key, \"sluice explain --reference\" "
     "prints all of them."},
    {kWrongType, "E007", false, "the wrong kind of value",
     "The key wants another kind of value: a number, a duration with a unit (250ms, 10s, 2m, 1h), "
     "true or false, a list, or a map. A number in quotes is a text."},
    {kNotAllowed, "E008", false, "a value that is not possible",
     "The kind of value is right, but it is not one of the words that may stand here, or it is "
     "outside the range that the message names."},
    {kMissing, "E009", false, "a key is missing",
     "The section does not work without this key, and no default would be a good guess."},
    {kVariable, "E010", false, "a variable is not set, or not written properly",
     "${NAME} takes the text of an environment variable, ${NAME:-text} has a default for when it "
     "is not set or empty, and $${ is a literal ${. A name consists of letters, digits and _. "
     "--env-file FILE reads variables from a file. Variables are filled in after the YAML was "
     "read: their text can never add keys."},
    {kConflict, "E011", false, "keys that exclude each other",
     "Exactly one, or at most one, of the keys that the message names may stand in the section."},
    {kUndefined, "E012", false, "a name that nothing has",
     "An input, a connection, a sink, or what a test is of is named that the file does not define. "
     "Names are those of the keys below sources:, operators:, sinks: and connections:."},
    {kCycle, "E013", false, "a circle in the graph",
     "Records would flow in a circle: following the inputs from here leads back here. A pipeline "
     "flows from sources to sinks."},
    {kUnused, "E014", false, "records that go nowhere, or come from nowhere",
     "Nothing reads this source or operator, or nothing writes to this sink, so it would cost work "
     "and have no effect. Name it as an input, let an on_error send to it, or remove it."},
    {kSameId, "E015", false, "one name for two things",
     "Sources, operators and sinks share one set of names, since they name state and positions in "
     "checkpoints. Give each its own."},
    {kNotYet, "E016", false, "not supported yet",
     "The key is part of the pipeline language, but this version cannot do what it says. It is "
     "refused so that nobody relies on it."},
    {kSecret, "E017", false, "a secret cannot be read",
     "{file: PATH} takes a text from a file, without its last line end. The file must exist, be "
     "readable, not empty, and at most 64 KiB. Relative paths start at the pipeline file."},
    {kProperty, "E018", false, "a property that the Kafka client refuses",
     "Properties are passed on to librdkafka. It does not know this one, refuses its value, or the "
     "property belongs to the engine and would break what it promises."},
    {kGuarantee, "E019", false, "a setting breaks the guarantee",
     "With this setting the pipeline could not keep what guarantee: promises. Change the setting, "
     "or ask for a weaker guarantee."},
    {kExpression, "E020", false, "a pattern, pointer or condition that cannot be read",
     "Patterns are RE2 regular expressions, pointers are JSON pointers (\"\" or /a/b/0, with ~1 "
     "for / and ~0 for ~), conditions are described by \"sluice explain filter\"."},
    {kYamlFeature, "E021", false, "a part of YAML that pipeline files do not use",
     "Tags, merge keys (<<), several documents in one file, and keys that are not plain texts are "
     "refused: they make a file mean something else than it seems to. Anchors and aliases work."},
    {kOverride, "E022", false, "--set or SLUICE_… does not fit",
     "--set takes PATH=VALUE, where PATH leads through the file by keys with dots, as "
     "checkpoint.interval or sinks.out.kafka.topic, and VALUE is YAML. The variable of a setting "
     "that every pipeline has is its path in capitals: SLUICE_CHECKPOINT_INTERVAL."},
    {kOrder, "E023", false, "an operator where it cannot work",
     "number counts the records of each source partition in their order. Behind a union of several "
     "inputs, or behind an operator with a key, there is no such order: put it in front of them."},
    {kNoTime, "E024", false, "an operator needs event time, and a source has none",
     "window, join, deduplicate with a time and lookup with a time_to_live ask when each record "
     "happened and how far time has come in every partition. A source says so: time: {field: /ts, unit: ms, max_out_of_order: 5s, "
     "idle_after: 30s} takes it from the document, time: {from: record, idle_after: 30s} takes Kafka's "
     "timestamp. Without idle_after a topic that is quiet, as a table may be, holds time for ever."},
    {kNotJson, "E025", false, "an operator needs JSON, and a source may have anything",
     "join and lookup copy whole documents into their rows: what is no JSON would make rows that "
     "are none. Give each source in front of them format: json, which checks every value; on_error "
     "of the source says what one that is no JSON leads to."},
    {kBroker, "E030", false, "the cluster does not fit the pipeline",
     "The cluster was asked, and a topic, a right, a timeout or the cluster itself is not as the "
     "pipeline needs it. The exit status is 69 when it could not be reached, 77 when it refused "
     "for lack of rights, 78 otherwise."},
    {kEngine, "E031", false, "the engine refuses the pipeline",
     "The parts fit, but the engine cannot run what they make together; its message says why."},
    {kLiteralSecret, "W001", true, "a password in the file",
     "Whoever can read the file, its history or a copy has the password. Take it from a file, "
     "{file: /run/secrets/kafka}, or from the environment, ${KAFKA_PASSWORD}."},
    {kUnusedPart, "W002", true, "defined, but not used", "Nothing refers to it. It has no effect."},
});

}  // namespace

const ProblemText& explain(ProblemCode code) { return kTexts[static_cast<std::size_t>(code)]; }

const ProblemText* find_problem(std::string_view code) {
  const auto same = [&](const ProblemText& text) {
    return text.code.size() == code.size() &&
           strncasecmp(text.code.data(), code.data(), code.size()) == 0;
  };
  const auto at = std::ranges::find_if(kTexts, same);
  return at == kTexts.end() ? nullptr : &*at;
}

std::span<const ProblemText> all_problems() { return kTexts; }

static_assert(
    [] {
      for (std::size_t i = 0; i < kTexts.size(); ++i) {
        if (kTexts[i].value != static_cast<ProblemCode>(i)) return false;
      }
      return true;
    }(),
    "explain() finds a text by its place");

}  // namespace sluice::tools
