# cmake -DPTX=… -DSOURCE=… -P embed_ptx.cmake: a C++ source that holds PTX as text. The toolkit of CUDA 13 writes it for
# sm_75 and up and for its own drivers; nothing here needs either, so it is marked for sm_70 and for the oldest ISA that
# has all of it.
file(READ "${PTX}" text)
string(REGEX REPLACE "\n\\.version [0-9.]+\n\\.target sm_[0-9]+" "\n.version 7.7\n.target sm_70" marked "${text}")
if(marked STREQUAL text)
  message(FATAL_ERROR "${PTX}: no .version and .target")
endif()
file(WRITE "${SOURCE}" "#include \"server/device/cuda/fingerprint_kernel.h\"\n\nnamespace rouse::cuda {\n\n"
     "const char kFingerprintPtx[] = R\"PTX(${marked})PTX\";\n\n}  // namespace rouse::cuda\n")
