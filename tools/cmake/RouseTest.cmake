# rouse_test(NAME SOURCES … LIBS … [LABELS …] [TIMEOUT s] [OPTIMIZED] [ONE_THREAD]): one Catch2 executable, one ctest entry.
# tools/test adds up the test cases of all of them. ONE_THREAD: what is tested has one thread, or is a kernel
# whose blocks have nothing to do with each other: not built with ThreadSanitizer.
function(rouse_test name)
  cmake_parse_arguments(ARG "OPTIMIZED;ONE_THREAD" "TIMEOUT" "SOURCES;LIBS;LABELS" ${ARGN})
  add_executable(test-${name} ${ARG_SOURCES})
  target_link_libraries(test-${name} PRIVATE rouse-test-main ${ARG_LIBS})
  if(ARG_OPTIMIZED AND ROUSE_SANITIZE)
    target_compile_options(test-${name} PRIVATE -O2)  # so that it can't share headers with the others
  else()
    target_precompile_headers(test-${name} REUSE_FROM rouse-test-headers)
  endif()
  set_target_properties(test-${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
  add_test(NAME ${name} COMMAND test-${name})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(ARG_ONE_THREAD AND ROUSE_SANITIZE MATCHES "thread")
    set(ARG_LABELS one-thread)
    set_target_properties(test-${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
endfunction()

# rouse_fuzzer(NAME SOURCES … LIBS … [CORPUS …]): a libFuzzer target in build/<preset>/fuzz, run briefly from its committed corpus
# test/fuzz/corpus/NAME, or CORPUS there. Sources define LLVMFuzzerTestOneInput.
function(rouse_fuzzer name)
  cmake_parse_arguments(ARG "" "CORPUS" "SOURCES;LIBS" ${ARGN})
  if(NOT ARG_CORPUS)
    set(ARG_CORPUS ${name})
  endif()
  if(NOT ROUSE_FUZZ)
    return()
  endif()
  add_executable(fuzz-${name} ${ARG_SOURCES})
  target_link_libraries(fuzz-${name} PRIVATE ${ARG_LIBS})
  target_compile_options(fuzz-${name} PRIVATE -O2 -fsanitize=fuzzer)
  target_link_options(fuzz-${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(fuzz-${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  add_test(NAME fuzz-${name}
    COMMAND ${CMAKE_SOURCE_DIR}/tools/fuzz-briefly $<TARGET_FILE:fuzz-${name}> ${CMAKE_SOURCE_DIR}/test/fuzz/corpus/${ARG_CORPUS})
  set_tests_properties(fuzz-${name} PROPERTIES LABELS fuzz TIMEOUT 120)
endfunction()
