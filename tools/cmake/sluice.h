#pragma once

// Everything a program that uses sluice needs; each header may also be included by itself.
#include <sluice/checkpoint/engine.h>       // IWYU pragma: export
#include <sluice/engine/collection.h>       // IWYU pragma: export
#include <sluice/engine/formats/json_filter.h>  // IWYU pragma: export
#include <sluice/engine/formats/json_replace.h> // IWYU pragma: export
#include <sluice/engine/formats/json_select.h>  // IWYU pragma: export
#include <sluice/engine/formats/json_set.h>     // IWYU pragma: export
#include <sluice/engine/job.h>              // IWYU pragma: export
#include <sluice/engine/operators/deduplicate.h> // IWYU pragma: export
#include <sluice/engine/operators/number.h> // IWYU pragma: export
#include <sluice/engine/operators/running.h> // IWYU pragma: export
#include <sluice/engine/windows/calendar.h>        // IWYU pragma: export
#include <sluice/engine/windows/windowed_stream.h> // IWYU pragma: export
#include <sluice/kafka/sink.h>              // IWYU pragma: export
#include <sluice/kafka/source.h>            // IWYU pragma: export
