# A whole build in about half the time: sources of a target are compiled several at once, headers and templates once for them all. A
# small change costs more then, and a missing #include can hide, so that it is for builds from nothing: the sanitizers' and tools/test's.
#
#   off    every source by itself
#   tests  those of the tests together
#   on     all
set(ROUSE_UNITY "off" CACHE STRING "Compile sources together: off, tests or on")
set_property(CACHE ROUSE_UNITY PROPERTY STRINGS off tests on)
if(NOT ROUSE_UNITY MATCHES "^(off|tests|on)$")
  message(FATAL_ERROR "ROUSE_UNITY is off, tests or on, not '${ROUSE_UNITY}'")
endif()
if(NOT DEFINED CMAKE_UNITY_BUILD_BATCH_SIZE)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)
endif()
if(ROUSE_UNITY STREQUAL "on")
  set(CMAKE_UNITY_BUILD ON)
endif()

# rouse_alone(SOURCES …): sources whose own names (in no namespace but their file's) are those of others of their target.
function(rouse_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
