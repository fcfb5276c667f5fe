# Debian packages and a tarball of what is installed. cpack builds nothing: tools/package does both.
set(CPACK_PACKAGE_NAME rouse)
set(CPACK_PACKAGE_VENDOR "The Rouse authors")
# Whoever gives packages to others names themselves: -DCPACK_PACKAGE_CONTACT="Name <address>".
if(NOT CPACK_PACKAGE_CONTACT)
  set(CPACK_PACKAGE_CONTACT "The Rouse authors <rouse@localhost>")
endif()
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR "DEB;TGZ")
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_FILE_NAME rouse-${PROJECT_VERSION}-linux-x86_64)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/cpack_generator.cmake)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/cpack_staging.cmake)
set(CPACK_ROUSE_PACKAGING ${CMAKE_CURRENT_LIST_DIR})

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${ROUSE_CLIENT_LIBRARY_DIR})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(same "(= ${PROJECT_VERSION})")
# LLVM is 100 MB that a node with GPUs has no use for.
set(CPACK_DEBIAN_SERVER_PACKAGE_NAME rouse-server)
set(CPACK_DEBIAN_SERVER_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_SERVER_PACKAGE_DEPENDS "rouse-client ${same}, systemd | systemd-standalone-sysusers | systemd-sysusers")
set(CPACK_DEBIAN_SERVER_PACKAGE_RECOMMENDS "rouse-tools, rouse-device-cpu")
set(CPACK_DEBIAN_SERVER_PACKAGE_SUGGESTS "libcuda1")
set(CPACK_DEBIAN_SERVER_PACKAGE_CONTROL_EXTRA
  "${CMAKE_CURRENT_LIST_DIR}/debian/postinst;${CMAKE_CURRENT_LIST_DIR}/debian/prerm;${CMAKE_CURRENT_LIST_DIR}/debian/postrm;${CMAKE_CURRENT_LIST_DIR}/debian/conffiles")
set(CPACK_DEBIAN_SERVER_DESCRIPTION "daemon that pools the GPUs of a node
roused owns every GPU of a machine and serves them to unprivileged
processes; it starts functions itself, and routes HTTP requests to them.

Kernels run on NVIDIA GPUs, or on the processor with rouse-device-cpu.")

set(CPACK_DEBIAN_DEVICE-CPU_PACKAGE_NAME rouse-device-cpu)
set(CPACK_DEBIAN_DEVICE-CPU_PACKAGE_DEPENDS "rouse-server ${same}")
set(CPACK_DEBIAN_DEVICE-CPU_DESCRIPTION "GPUs of a Rouse pool that are the processor's
Compiles PTX with LLVM and runs it on the processor's cores; cuBLAS,
cuDNN and cuSOLVER by way of OpenBLAS, cuFFT by pocketfft. For machines that
have no GPU.")

set(CPACK_DEBIAN_CLIENT_PACKAGE_NAME rouse-client)
set(CPACK_DEBIAN_CLIENT_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_CLIENT_DESCRIPTION "CUDA libraries of programs that use a Rouse pool
libcudart.so.13, libcublas.so.13, libcudnn.so.9, libcufft.so.12, libcurand.so.10, libcusparse.so.12,
libcusolver.so.12 and their like, which forward to the pool; in a folder of
their own, that programs are led to by rouse run. They replace none of
NVIDIA's for other programs.")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME rouse-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "rouse-client ${same}")
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS rouse-server)
set(CPACK_DEBIAN_TOOLS_DESCRIPTION "command line of a pool of GPUs, simulator and benchmarks
rouse runs programs on a pool, or on one of their own where rouse-server is
installed, and shows and tells it what to do. rouse-sim simulates its
scheduler, rouse-bench and rouse-probe measure.")
include(CPack)
