# CMAKE_UNITY_BUILD compiles several sources of a target at once, headers and templates once for them all. A small change costs more then, and a missing
# #include can hide, so that it is for builds from nothing: the sanitizers' and tools/test's.

# rouse_alone(SOURCES …): sources whose own names (in no namespace but their file's) are those of others of their target.
function(rouse_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
