// Graphs by the driver API: nodes of each kind, edges, clones, instantiating, launching, changing.
#include "driver.h"

const unsigned n = 512;

void CUDA_CB count(void* data) { ++*static_cast<int*>(data); }

CUgraphNodeParams paramsOf(CUgraphNodeType type) {
  CUgraphNodeParams params{};
  params.type = type;
  return params;
}

// One structure for all kinds; memory that is the graph's; objects that end with it.
void anyNodes(CUcontext context, CUstream stream, CUfunction scale, CUdeviceptr memory, CUgraphNode attributes) {
  CUgraph graph = nullptr, child = nullptr;
  CUgraphNode fill = nullptr, kernel = nullptr, copy = nullptr, node = nullptr, host = nullptr, last = nullptr;
  CUgraphExec exec = nullptr;
  CUevent event = nullptr;
  DRIVER(cuEventCreate, &event, CU_EVENT_DEFAULT);
  DRIVER(cuGraphCreate, &graph, 0);

  CUgraphNodeParams params = paramsOf(CU_GRAPH_NODE_TYPE_MEMSET);
  params.memset.dst = memory;
  params.memset.value = 4;
  params.memset.elementSize = 4;
  params.memset.width = n;
  params.memset.height = 1;
  params.memset.ctx = context;
  DRIVER(cuGraphAddNode_v2, &fill, graph, nullptr, nullptr, 0, &params);

  unsigned elements = n, factor = 3;
  void* arguments[] = {&memory, &elements, &factor};
  CUgraphNodeParams launch = paramsOf(CU_GRAPH_NODE_TYPE_KERNEL);
  launch.kernel.func = scale;
  launch.kernel.gridDimX = 4;
  launch.kernel.blockDimX = 128;
  launch.kernel.gridDimY = launch.kernel.gridDimZ = launch.kernel.blockDimY = launch.kernel.blockDimZ = 1;
  launch.kernel.kernelParams = arguments;
  DRIVER(cuGraphAddNode, &kernel, graph, &fill, 1, &launch);
  CUlaunchAttributeValue priority{};
  DRIVER(cuGraphKernelNodeCopyAttributes, kernel, attributes);
  DRIVER(cuGraphKernelNodeGetAttribute, kernel, CU_LAUNCH_ATTRIBUTE_PRIORITY, &priority);
  EXPECT(priority.priority == -1);

  std::vector<unsigned> result(n);
  params = paramsOf(CU_GRAPH_NODE_TYPE_MEMCPY);
  params.memcpy.copyCtx = context;
  params.memcpy.copyParams.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  params.memcpy.copyParams.srcDevice = memory;
  params.memcpy.copyParams.dstMemoryType = CU_MEMORYTYPE_HOST;
  params.memcpy.copyParams.dstHost = result.data();
  params.memcpy.copyParams.WidthInBytes = n * sizeof(unsigned);
  params.memcpy.copyParams.Height = params.memcpy.copyParams.Depth = 1;
  DRIVER(cuGraphAddNode_v2, &copy, graph, &kernel, nullptr, 1, &params);
  int calls = 0;
  params = paramsOf(CU_GRAPH_NODE_TYPE_HOST);
  params.host.fn = count;
  params.host.userData = &calls;
  DRIVER(cuGraphAddNode_v2, &host, graph, &copy, nullptr, 1, &params);
  DRIVER(cuGraphCreate, &child, 0);
  params = paramsOf(CU_GRAPH_NODE_TYPE_EMPTY);
  DRIVER(cuGraphAddNode_v2, &node, child, nullptr, nullptr, 0, &params);
  params = paramsOf(CU_GRAPH_NODE_TYPE_GRAPH);
  params.graph.graph = child;
  DRIVER(cuGraphAddNode_v2, &node, graph, &host, nullptr, 1, &params);
  EXPECT(params.graph.graph != child);
  DRIVER(cuGraphDestroy, child);
  // Moved into its parent instead of copied: the handle is the node's then, and its nodes stay what they are.
  CUgraph own = nullptr, inside = nullptr;
  CUgraphNode its = nullptr, moved = nullptr;
  DRIVER(cuGraphCreate, &own, 0);
  params = paramsOf(CU_GRAPH_NODE_TYPE_HOST);
  params.host.fn = count;
  params.host.userData = &calls;
  DRIVER(cuGraphAddNode_v2, &its, own, nullptr, nullptr, 0, &params);
  params = paramsOf(CU_GRAPH_NODE_TYPE_GRAPH);
  params.graph.graph = own;
  params.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
  if (check::throughRouse()) DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode_v2, &moved, own, nullptr, nullptr, 0, &params);
  DRIVER(cuGraphAddNode_v2, &moved, graph, &node, nullptr, 1, &params);
  DRIVER(cuGraphChildGraphNodeGetGraph, moved, &inside);
  EXPECT(params.graph.graph == own && inside == own);
  if (check::throughRouse()) {
    DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy, own);
    DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode_v2, &moved, graph, nullptr, nullptr, 0, &params);
  }
  node = moved;
  params = paramsOf(CU_GRAPH_NODE_TYPE_EVENT_RECORD);
  params.eventRecord.event = event;
  DRIVER(cuGraphAddNode_v2, &last, graph, &node, nullptr, 1, &params);

  CUDA_MEM_ALLOC_NODE_PARAMS_v1 room{}, told{};
  room.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  room.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  room.bytesize = 4096;
  CUgraphNode allocated = nullptr, freed = nullptr;
  DRIVER(cuGraphAddMemAllocNode, &allocated, graph, nullptr, 0, &room);
  DRIVER(cuGraphMemAllocNodeGetParams, allocated, &told);
  EXPECT(room.dptr != 0 && told.dptr == room.dptr && told.bytesize == 4096);
  CUdeviceptr named = 0;
  DRIVER(cuGraphAddMemFreeNode, &freed, graph, &allocated, 1, room.dptr);
  DRIVER(cuGraphMemFreeNodeGetParams, freed, &named);
  EXPECT(named == room.dptr);

  // What a loop of nodes asks for is refused by name.
  params = paramsOf(CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
  if (check::throughRouse()) DRIVER_ERROR(CUDA_ERROR_NOT_SUPPORTED, cuGraphAddNode_v2, &node, graph, nullptr, nullptr, 0, &params);

  CUuserObject object = nullptr;
  static int ended = 0;
  DRIVER(cuUserObjectCreate, &object, &ended, count, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
  DRIVER(cuUserObjectRetain, object, 1);
  DRIVER(cuGraphRetainUserObject, graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
  DRIVER(cuUserObjectRelease, object, 1);
  DRIVER(cuGraphRetainUserObject, graph, object, 1, 0);
  DRIVER(cuGraphReleaseUserObject, graph, object, 1);

  DRIVER(cuGraphInstantiateWithFlags, &exec, graph, 0);
  DRIVER(cuGraphLaunch, exec, stream);
  DRIVER(cuStreamSynchronize, stream);
  check::equal("nodes of any kind", result, std::vector<unsigned>(n, 4 * 3 + 1000));
  EXPECT(calls == 2);
  factor = 5;
  DRIVER(cuGraphExecNodeSetParams, exec, kernel, &launch);
  DRIVER(cuGraphLaunch, exec, stream);
  DRIVER(cuStreamSynchronize, stream);
  check::equal("one of the instance's changed", result, std::vector<unsigned>(n, 4 * 5 + 1000));
  DRIVER(cuGraphNodeSetParams, kernel, &launch);
  DRIVER(cuGraphExecDestroy, exec);
  DRIVER(cuGraphInstantiate, &exec, graph, nullptr, nullptr, 0);
  DRIVER(cuGraphLaunch, exec, stream);
  DRIVER(cuStreamSynchronize, stream);
  check::equal("one of the graph's changed", result, std::vector<unsigned>(n, 4 * 5 + 1000));
  DRIVER(cuGraphExecDestroy, exec);
  DRIVER(cuGraphDestroy, graph);
  for (int waited = 0; ended == 0 && waited < 1000; ++waited) usleep(10'000);
  EXPECT(ended == 1);
  DRIVER(cuEventDestroy_v2, event);
}

int main() {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction scale = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr memory = 0;
  CUevent event = nullptr, other = nullptr, found = nullptr;
  DRIVER(cuInit, 0);
  DRIVER(cuCtxCreate_v2, &context, 0, 0);
  DRIVER(cuModuleLoadData, &module, driver::source);
  DRIVER(cuModuleGetFunction, &scale, module, "scale");
  DRIVER(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  DRIVER(cuMemAlloc_v2, &memory, n * sizeof(unsigned));
  DRIVER(cuEventCreate, &event, CU_EVENT_DEFAULT);
  DRIVER(cuEventCreate, &other, CU_EVENT_DEFAULT);

  CUgraph graph = nullptr, child = nullptr, clone = nullptr, of = nullptr;
  CUgraphNode fill = nullptr, kernel = nullptr, copy = nullptr, host = nullptr, nested = nullptr, recorded = nullptr, waits = nullptr, empty = nullptr;
  DRIVER(cuGraphCreate, &graph, 0);
  CUDA_MEMSET_NODE_PARAMS_v1 zero{}, told{};
  zero.dst = memory;
  zero.value = 9;
  zero.elementSize = 4;
  zero.width = n;
  zero.height = 1;
  DRIVER(cuGraphAddMemsetNode, &fill, graph, nullptr, 0, &zero, context);
  if (check::throughRouse())
    DRIVER_ERROR(CUDA_ERROR_INVALID_CONTEXT, cuGraphAddMemsetNode, &empty, graph, nullptr, 0, &zero, reinterpret_cast<CUcontext>(8));
  DRIVER(cuGraphMemsetNodeGetParams, fill, &told);
  EXPECT(told.dst == memory && told.value == 9 && told.elementSize == 4 && told.width == n);
  zero.value = 5;
  DRIVER(cuGraphMemsetNodeSetParams, fill, &zero);

  unsigned elements = n, factor = 3;
  void* arguments[] = {&memory, &elements, &factor};
  CUDA_KERNEL_NODE_PARAMS_v2 launch{}, launched{};
  launch.func = scale;
  launch.gridDimX = 4;
  launch.blockDimX = 128;
  launch.gridDimY = launch.gridDimZ = launch.blockDimY = launch.blockDimZ = 1;
  launch.kernelParams = arguments;
  DRIVER(cuGraphAddKernelNode_v2, &kernel, graph, &fill, 1, &launch);
  DRIVER(cuGraphKernelNodeGetParams_v2, kernel, &launched);
  EXPECT(launched.func == scale && launched.gridDimX == 4 && launched.blockDimX == 128);
  factor = 2;
  DRIVER(cuGraphKernelNodeSetParams_v2, kernel, &launch);

  std::vector<unsigned> result(n), late(n);
  CUDA_MEMCPY3D_v2 out{};
  out.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  out.srcDevice = memory;
  out.dstMemoryType = CU_MEMORYTYPE_HOST;
  out.dstHost = late.data();
  out.WidthInBytes = n * sizeof(unsigned);
  out.srcPitch = out.dstPitch = out.WidthInBytes;
  out.Height = out.Depth = out.srcHeight = out.dstHeight = 1;
  DRIVER(cuGraphAddMemcpyNode, &copy, graph, &kernel, 1, &out, context);
  out.dstHost = result.data();
  DRIVER(cuGraphMemcpyNodeSetParams, copy, &out);

  int calls = 0, more = 0;
  CUDA_HOST_NODE_PARAMS_v1 call{}, called{};
  call.fn = count;
  call.userData = &more;
  DRIVER(cuGraphAddHostNode, &host, graph, nullptr, 0, &call);
  DRIVER(cuGraphHostNodeGetParams, host, &called);
  EXPECT(called.fn == count && called.userData == &more);
  call.userData = &calls;
  DRIVER(cuGraphHostNodeSetParams, host, &call);
  std::size_t number = 0;
  DRIVER(cuGraphAddDependencies_v2, graph, &copy, &host, nullptr, 1);
  DRIVER(cuGraphGetEdges_v2, graph, nullptr, nullptr, nullptr, &number);
  EXPECT(number == 3);
  DRIVER(cuGraphRemoveDependencies_v2, graph, &copy, &host, nullptr, 1);
  DRIVER(cuGraphGetEdges, graph, nullptr, nullptr, &number);
  EXPECT(number == 2);
  DRIVER(cuGraphAddDependencies, graph, &copy, &host, 1);
  CUgraphNode one = nullptr;
  number = 1;
  DRIVER(cuGraphNodeGetDependencies_v2, host, &one, nullptr, &number);
  EXPECT(one == copy && number == 1);
  DRIVER(cuGraphNodeGetDependencies, host, &one, &number);
  DRIVER(cuGraphNodeGetDependentNodes_v2, fill, &one, nullptr, &number);
  EXPECT(one == kernel);
  DRIVER(cuGraphNodeGetDependentNodes, fill, &one, &number);
  EXPECT(one == kernel && number == 1);

  DRIVER(cuGraphCreate, &child, 0);
  DRIVER(cuGraphAddEmptyNode, &empty, child, nullptr, 0);
  DRIVER(cuGraphAddChildGraphNode, &nested, graph, &host, 1, child);
  DRIVER(cuGraphChildGraphNodeGetGraph, nested, &of);
  DRIVER(cuGraphGetNodes, of, nullptr, &number);
  EXPECT(of != nullptr && number == 1);
  DRIVER(cuGraphDestroy, child);
  DRIVER(cuGraphAddEventRecordNode, &recorded, graph, &nested, 1, other);
  DRIVER(cuGraphEventRecordNodeSetEvent, recorded, event);
  DRIVER(cuGraphEventRecordNodeGetEvent, recorded, &found);
  EXPECT(found == event);
  DRIVER(cuEventRecord, event, stream);
  DRIVER(cuEventRecord, other, stream);
  DRIVER(cuGraphAddEventWaitNode, &waits, graph, nullptr, 0, event);
  DRIVER(cuGraphEventWaitNodeSetEvent, waits, other);
  DRIVER(cuGraphEventWaitNodeGetEvent, waits, &found);
  EXPECT(found == other);
  CUgraphNodeType type{};
  DRIVER(cuGraphNodeGetType, waits, &type);
  EXPECT(type == CU_GRAPH_NODE_TYPE_WAIT_EVENT);
  DRIVER(cuGraphGetRootNodes, graph, nullptr, &number);
  EXPECT(number == 2);
  DRIVER(cuGraphClone, &clone, graph);
  DRIVER(cuGraphNodeFindInClone, &one, kernel, clone);
  EXPECT(one != nullptr && one != kernel);
  DRIVER(cuGraphRemoveDependencies, graph, &nested, &recorded, 1);
  DRIVER(cuGraphDestroyNode, waits);
  DRIVER(cuGraphDebugDotPrint, graph, "/dev/null", 0);

  CUgraphExec exec = nullptr, second = nullptr;
  DRIVER(cuGraphInstantiateWithFlags, &exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
  cuuint64_t flags = 0;
  DRIVER(cuGraphExecGetFlags, exec, &flags);
  EXPECT(flags == CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
  DRIVER(cuGraphUpload, exec, stream);
  DRIVER(cuGraphUpload_ptsz, exec, stream);
  DRIVER(cuGraphLaunch, exec, stream);
  DRIVER(cuStreamSynchronize, stream);
  check::equal("launched", result, std::vector<unsigned>(n, 5 * 2 + 1000));
  EXPECT(calls == 1 && more == 0);
  factor = 4;
  DRIVER(cuGraphExecKernelNodeSetParams_v2, exec, kernel, &launch);
  DRIVER(cuGraphLaunch_ptsz, exec, nullptr);
  DRIVER(cuStreamSynchronize_ptsz, nullptr);
  check::equal("changed", result, std::vector<unsigned>(n, 5 * 4 + 1000));
  unsigned enabled = 0;
  DRIVER(cuGraphNodeSetEnabled, exec, kernel, 0);
  DRIVER(cuGraphNodeGetEnabled, exec, kernel, &enabled);
  EXPECT(enabled == 0);
  DRIVER(cuGraphLaunch, exec, stream);
  DRIVER(cuStreamSynchronize, stream);
  check::equal("without its kernel", result, std::vector<unsigned>(n, 5));
  DRIVER(cuGraphNodeSetEnabled, exec, kernel, 1);
  CUgraphExecUpdateResultInfo_v1 update{};
  DRIVER(cuGraphExecUpdate_v2, exec, graph, &update);
  EXPECT(update.result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
  DRIVER_ERROR(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate_v2, exec, clone, &update);
  DRIVER(cuGraphLaunch, exec, stream);
  DRIVER(cuStreamSynchronize, stream);
  check::equal("updated", result, std::vector<unsigned>(n, 5 * 2 + 1000));
  CUDA_GRAPH_INSTANTIATE_PARAMS how{};
  DRIVER(cuGraphInstantiateWithParams, &second, clone, &how);
  EXPECT(how.result_out == CUDA_GRAPH_INSTANTIATE_SUCCESS);
  DRIVER(cuGraphExecDestroy, second);
  DRIVER(cuGraphInstantiateWithParams_ptsz, &second, clone, &how);
  DRIVER(cuGraphExecDestroy, second);
  DRIVER(cuGraphExecDestroy, exec);
  // Up to CUDA 11: less of a kernel is said, and of what went wrong more.
  CUDA_KERNEL_NODE_PARAMS_v1 older{scale, 4, 1, 1, 128, 1, 1, 0, arguments, nullptr}, told1{};
  factor = 6;
  DRIVER(cuGraphKernelNodeSetParams, kernel, &older);
  DRIVER(cuGraphKernelNodeGetParams, kernel, &told1);
  EXPECT(told1.func == scale && told1.gridDimX == 4 && told1.blockDimX == 128);
  char text[8] = "unset";
  DRIVER(cuGraphInstantiate_v2, &exec, graph, &one, text, sizeof text);
  EXPECT(text[0] == 0);
  DRIVER(cuGraphLaunch, exec, stream);
  DRIVER(cuStreamSynchronize, stream);
  check::equal("older parameters", result, std::vector<unsigned>(n, 5 * 6 + 1000));
  factor = 7;
  DRIVER(cuGraphExecKernelNodeSetParams, exec, kernel, &older);

  // Single nodes of the instance: what is filled, where it is copied to, who is called, what is recorded.
  zero.value = 8;
  DRIVER(cuGraphExecMemsetNodeSetParams, exec, fill, &zero, context);
  DRIVER_ERROR(CUDA_ERROR_INVALID_CONTEXT, cuGraphExecMemsetNodeSetParams, exec, fill, &zero, nullptr);
  CUDA_MEMCPY3D_v2 where{};
  DRIVER(cuGraphMemcpyNodeGetParams, copy, &where);
  EXPECT(where.srcMemoryType == CU_MEMORYTYPE_DEVICE && where.srcDevice == memory && where.dstMemoryType == CU_MEMORYTYPE_HOST && where.dstHost == result.data());
  EXPECT(where.WidthInBytes == n * sizeof(unsigned) && where.Height == 1 && where.Depth == 1);
  where.dstHost = late.data();
  DRIVER(cuGraphExecMemcpyNodeSetParams, exec, copy, &where, context);
  call.userData = &more;
  DRIVER(cuGraphExecHostNodeSetParams, exec, host, &call);
  DRIVER(cuGraphExecEventRecordNodeSetEvent, exec, recorded, other);
  DRIVER(cuGraphExecChildGraphNodeSetParams, exec, nested, of);
  calls = more = 0;
  DRIVER(cuGraphLaunch, exec, stream);
  DRIVER(cuStreamSynchronize, stream);
  check::equal("changed node by node", late, std::vector<unsigned>(n, 8 * 7 + 1000));
  EXPECT(calls == 0 && more == 1);
  CUgraphExecUpdateResult outcome{};
  DRIVER(cuGraphExecUpdate, exec, graph, &one, &outcome);
  EXPECT(outcome == CU_GRAPH_EXEC_UPDATE_SUCCESS);
  CUlaunchAttributeValue priority{}, same{};
  priority.priority = -1;
  DRIVER(cuGraphKernelNodeSetAttribute, kernel, CU_LAUNCH_ATTRIBUTE_PRIORITY, &priority);
  DRIVER(cuGraphKernelNodeGetAttribute, kernel, CU_LAUNCH_ATTRIBUTE_PRIORITY, &same);
  EXPECT(same.priority == -1);
  DRIVER(cuGraphExecDestroy, exec);
  anyNodes(context, stream, scale, memory, kernel);
  DRIVER(cuGraphDestroy, clone);
  DRIVER(cuGraphDestroy, graph);
  DRIVER(cuCtxDestroy_v2, context);
  return check::done();
}
