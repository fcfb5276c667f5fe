# Third-party code as the distribution's static archives, or as headers where there is no archive.
foreach(library lz4 zstd crypto jemalloc)
  find_library(ROUSE_STATIC_${library} NAMES lib${library}.a REQUIRED)
  set_property(TARGET PkgConfig::${library} PROPERTY INTERFACE_LINK_LIBRARIES ${ROUSE_STATIC_${library}})
endforeach()
# In the archives' own order of need: jemalloc's arithmetic, crypto's threads and loader.
set_property(TARGET PkgConfig::jemalloc APPEND PROPERTY INTERFACE_LINK_LIBRARIES m Threads::Threads ${CMAKE_DL_LIBS})
set_property(TARGET PkgConfig::crypto APPEND PROPERTY INTERFACE_LINK_LIBRARIES Threads::Threads ${CMAKE_DL_LIBS})

foreach(library capnp kj)
  find_library(ROUSE_STATIC_${library} NAMES lib${library}.a REQUIRED)
  set_target_properties(CapnProto::${library} PROPERTIES IMPORTED_LOCATION ${ROUSE_STATIC_${library}} IMPORTED_SONAME "")
endforeach()

# toml++ is headers alone, unless told that there is a library.
set_target_properties(tomlplusplus::tomlplusplus PROPERTIES INTERFACE_COMPILE_OPTIONS "")
add_library(tomlplusplus INTERFACE)

find_path(ROUSE_SPDLOG_INCLUDE spdlog/spdlog.h REQUIRED)
find_path(ROUSE_FMT_INCLUDE fmt/core.h REQUIRED)
add_library(spdlog::spdlog INTERFACE IMPORTED)
set_target_properties(spdlog::spdlog PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES "${ROUSE_SPDLOG_INCLUDE};${ROUSE_FMT_INCLUDE}"
  INTERFACE_COMPILE_DEFINITIONS "SPDLOG_FMT_EXTERNAL;FMT_HEADER_ONLY"
  INTERFACE_LINK_LIBRARIES Threads::Threads)

add_link_options(-static-libstdc++ -static-libgcc)

# Asked for by name at the beginning of each link: libstdc++, which needs it, comes last.
add_library(rouse-arc4random STATIC ${CMAKE_SOURCE_DIR}/tools/packaging/arc4random.c)
set_target_properties(rouse-arc4random PROPERTIES C_EXTENSIONS ON)
link_libraries(rouse-arc4random)
add_link_options(-Wl,--undefined=arc4random)
