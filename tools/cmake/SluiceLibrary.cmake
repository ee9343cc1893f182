# The four functions that every folder's CMakeLists.txt is made of.

# sluice_library(kafka PUBLIC source.h … PRIVATE source.cc … SHOWS sluice::engine HIDES PkgConfig::rdkafka)
#   PUBLIC   headers, relative to the folder: installed, each compiled alone (VERIFY_INTERFACE_HEADER_SETS)
#   PRIVATE  sources
#   SHOWS    what appears in our headers; HIDES what appears only in sources
function(sluice_library name)
  cmake_parse_arguments(ARG "" "" "PUBLIC;PRIVATE;SHOWS;HIDES" ${ARGN})
  set(target sluice_${name})
  add_library(${target} STATIC ${ARG_PRIVATE})
  add_library(sluice::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} VERIFY_INTERFACE_HEADER_SETS ON)
  list(TRANSFORM ARG_PUBLIC PREPEND ${SLUICE_INCLUDE_ROOT}/sluice/${name}/)
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${SLUICE_INCLUDE_ROOT}
    FILES ${ARG_PUBLIC})
  target_link_libraries(${target} PUBLIC ${ARG_SHOWS} PRIVATE ${ARG_HIDES})
endfunction()

# sluice_test(backoff_test SOURCES backoff_test.cc LINKS sluice::io LABELS unit)
#   Registers one CTest test a file. LABELS: unit (no broker), broker (starts or shares a real one), kill.
function(sluice_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LINKS;LABELS;ARGS" ${ARGN})
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES ${name}.cc)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  add_executable(${name} ${ARG_SOURCES} ${SLUICE_TSAN_THREADS})
  target_link_libraries(${name} PRIVATE ${ARG_LINKS} GTest::gmock GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name} ${ARG_ARGS})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT}
    ENVIRONMENT "SLUICE_SOURCE_DIR=${PROJECT_SOURCE_DIR};SLUICE_BINARY_DIR=${PROJECT_BINARY_DIR}")
endfunction()

# sluice_bench(mailbox_bench LINKS sluice::io): Google Benchmark, to <build>/bench/
function(sluice_bench name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES ${name}.cc)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINKS} benchmark::benchmark)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
endfunction()

# sluice_program(hello SOURCES hello.cc LINKS sluice::sluice): a program to <build>/bin/
function(sluice_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES ${name}.cc)
  endif()
  add_executable(${name} ${ARG_SOURCES} ${SLUICE_TSAN_THREADS})
  target_link_libraries(${name} PRIVATE ${ARG_LINKS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
endfunction()

# See the file: librdkafka's threads under the thread sanitizer.
if(SLUICE_SANITIZE MATCHES thread)
  set(SLUICE_TSAN_THREADS ${CMAKE_CURRENT_LIST_DIR}/tsan_threads.cc)
endif()
