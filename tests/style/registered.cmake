# A test that CTest does not run proves nothing: ctest -R style.registered finds *_test.cc files
# that are in no target, or in one that no registered test starts.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND ${CTEST} --test-dir ${BINARY} --show-only=json-v1
  OUTPUT_VARIABLE tests ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(READ ${BINARY}/compile_commands.json compiled)
file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/tests/*_test.cc)
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME)
  get_filename_component(folder ${file} DIRECTORY)
  # "… -o tests/io/CMakeFiles/mailbox_test.dir/mailbox_test.cc.o …"
  if(NOT compiled MATCHES "${folder}/CMakeFiles/([A-Za-z0-9_.-]+)\\.dir/${name}\\.o")
    message(SEND_ERROR "${file} is in no target; add it with sluice_test")
    continue()
  endif()
  set(target ${CMAKE_MATCH_1})
  if(NOT tests MATCHES "/${target}\"")
    message(SEND_ERROR "${file} is in ${target}, which CTest does not run or which is not built")
  endif()
endforeach()
