// Pivots that are 0: the executor writes the first one's row where the info object says, and who asks waits for what has been queued.
#pragma once

#include "client-shim/cusparse/call.h"

namespace rouse::cusparse {

// From here on the object's number is that of `call`.
cusparseStatus_t watchPivot(InfoDescriptor& info, sparse::Call& call);
// The object is about to end. Its memory is another's as soon as what is queued has written it.
void forgetPivot(InfoDescriptor& info);
// CUSPARSE_STATUS_ZERO_PIVOT, and where: -1 with success, there is none.
cusparseStatus_t tellPivot(cusparseHandle_t handle, const void* info, int* position);

}  // namespace rouse::cusparse
