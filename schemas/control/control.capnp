@0xe1a1f6f3c7a4d2b9;
# The control plane: attaching, modules, status. Messages travel over Unix stream sockets, each in a frame (frame.h) that may
# carry descriptors. Whoever sends a request picks its id; the answer bears the same one. Notifications have id 0.
#
# Versioned: a peer with another protocol version is refused with an Error that names both. Later fields are added at the end.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("rouse::control");

const protocolVersion :UInt32 = 1;

struct Message {
  id @0 :UInt64;
  union {
    error @1 :Error;                    # id 0, from an executor: why it does not serve or ends; code: memory/start_failure.h
    # A function's client library -> daemon.
    attach @2 :Attach;
    attached @3 :Attached;              # fds: session segment, host window, then for each device: ring segment, wake eventfd
    loadModule @4 :LoadModule;          # fds: a file or memfd that holds the module
    moduleInfo @5 :ModuleInfo;
    # Daemon -> function, unasked: the connection is about to be closed, and why.
    cutOff @6 :Error;
    # CLI -> daemon.
    prepare @7 :Prepare;
    prepared @8 :Prepared;
    statusRequest @9 :StatusRequest;
    status @10 :StatusReply;
    # Daemon <-> executor.
    executorReady @11 :ExecutorReady;
    openSession @12 :OpenSession;       # fds: session segment, host window, ring segment, wake eventfd
    closeSession @13 :UInt64;           # session id; answered by sessionClosed when nothing of it is left
    installModule @14 :InstallModule;   # fds: a sealed memfd that holds the module; answered by moduleInfo
    ok @15 :Void;
    sessionFault @16 :SessionFault;     # executor -> daemon: this client broke the protocol; cut it off
    executorStatusRequest @17 :Void;
    executorStatus @18 :ExecutorStatus;
    shutdown @19 :Void;
    # CLI -> daemon.
    move @20 :Move;
    moved @21 :Moved;
    # Daemon -> executor.
    moveSession @22 :MoveSession;       # answered by ok once it is so, or by why not; then nothing has changed for it
    # Daemon -> executors, to take a session from one to another. The first stops reading its ring and answers with what makes it; the
    # second makes the same of a dormant session and answers by ok once nothing in it refers to the first any more. Whichever is told to
    # resume it serves it from then on; the other is told to close it.
    exportSession @23 :UInt64;          # session id; answered by sessionRecipe, or by why not: then it goes on
    sessionRecipe @24 :SessionRecipe;
    importSession @25 :ImportSession;
    resumeSession @26 :UInt64;          # session id; answered by ok
    # Executor -> daemon, unasked: a session waits for room on this device, none of which it has; again when it has waited twice as long.
    sessionWaits @27 :SessionWaits;
    # Daemon -> the executor that a session is being taken from, which has frozen it, where the other reads its memory fast: what of the
    # session's memory still lies there, a piece of it, is the other's to read from then on. Answered by sharedMemory, or by why not.
    shareMemory @28 :ShareMemory;
    # fds: as chunks say. Handed on to the other, which answers by ok when it can read them, or by why not.
    sharedMemory @29 :SharedMemory;
    # Daemon -> the other: answered by ok once it reads none of what was shared with it, and will not.
    endBorrowing @30 :EndBorrowing;
    # Daemon -> the first: session id; nobody reads it any more. Not before then does closeSession, asked at any time, come to its end.
    returnMemory @31 :UInt64;           # answered by ok
    # The first -> daemon, unasked: session id; others need what it has shared.
    memoryWanted @32 :UInt64;
    # CLI -> daemon, from root or the daemon's own user: functions of functions.d.
    order @33 :Order;                   # answered by ok, or by why not
    logsRequest @34 :LogsRequest;
    logs @35 :Logs;
    sessionClosed @36 :ExecutorStatus.SessionUsage;  # executor -> daemon: what it has used in all
    # Several executors of one GPU share its memory (server/executor/guest.h); each knows the others as guests, by number.
    guestMemory @37 :GuestMemory;       # daemon -> executor; answered by ok, or by why not: then nothing has changed
    guestGrant @38 :GuestBytes;         # executor -> daemon, unasked: it has given up so much more for this guest
    guestCall @39 :GuestBytes;          # executor -> daemon, unasked: this guest should have so much of the memory at most, others want the rest
    promiseWanted @40 :UInt64;          # isolated executor -> daemon, unasked: bytes that its sessions are to be promised, in all
    promised @41 :Promised;             # daemon -> isolated executor: what of that; answered by ok
    guestActive @43 :Void;              # isolated executor -> daemon, unasked: its session has been at work; not often
    assignHomes @42 :UInt64;            # fds: a file of so many bytes, the host store of this executor's session alone, with what an executor that had it
                                        # before has left there. Before any session; answered by ok
    # An executor whose daemon has died -> one that has been started after it, over the socket at which that adopts: these in this order, the first
    # three unasked. The last is answered by adopted, or by why not: then the executor ends.
    adoptionOffer @44 :AdoptionOffer;   # fds: file of the host store, of the modelled links, as far as it has them
    heldModule @45 :HeldModule;         # fds: the module
    heldSession @46 :HeldSession;       # fds: as openSession, and a pidfd of its program where hasProcess
    offered @47 :Offered;
    adopted @48 :Void;                  # fds: its standard error from now on
    # A function's client library -> a daemon that has been started after the one to which it attached was killed. Answered by ok, or by why not:
    # then the session is lost.
    reattach @49 :Reattach;
    sessionMoved @50 :ExecutorStatus.SessionUsage;  # answers a moveSession that loads: as of its arrival; executors may answer by ok
    # Memory and events that processes of one tenant share (cudaIpc*). A function's client library -> daemon, and from there to executors. Answered by
    # shared, by ok, or by why not.
    ipc @51 :Ipc;                       # fds: exportEvent, mapEvent: the event's memory
    shared @52 :Shared;                 # fds: of an openEvent: the event's memory
    # A function's client library -> daemon, without a session, and none is made: what GPUs the process has, or would have if it attached now. Who was
    # told so gets those, as long as it lives. Answered by described, or by why not.
    describe @53 :Describe;
    described @54 :Described;
  }
}

struct Error {
  code @0 :UInt32;      # cudaError_t
  message @1 :Text;     # what, where, the limit
}

struct Range { base @0 :UInt64; bytes @1 :UInt64; }

struct Attach {
  protocol @0 :UInt32;
  wireHash @1 :UInt64;
  token @2 :Text;          # from ROUSE_TOKEN; empty: an anonymous function with the default limits
  library @3 :Text;        # "libcudart.so.13"
  apiNames @4 :UInt32;     # number of names in the client's generated table; must match
  program @5 :Text;        # for people only
}

struct Attached {
  sessionId @0 :UInt64;
  hostWindow @1 :Range;
  devices @2 :List(VirtualDevice);
  key @3 :Text;              # for reattach; nobody else knows it
  orphanMs @4 :UInt32;       # for so long after a daemon's end another one may take its place; 0: the session ends with its connection
  check @5 :UInt32;          # as in Prepare
}

struct VirtualDevice {
  window @0 :Range;        # device addresses of this virtual device
  memoryLimit @1 :UInt64;  # bytes this function may reserve on it
  properties @2 :DeviceInfo;
  spin @3 :Bool;           # false: cores are scarce; never spin while waiting
}

struct Reattach {
  protocol @0 :UInt32;
  wireHash @1 :UInt64;
  sessionId @2 :UInt64;
  key @3 :Text;            # as Attached said
  token @4 :Text;          # as Attach did: whose session is gone if there is no such session any more
}

# Actions: 0 exportMemory, 1 openMemory, 2 closeMemory, 3 withdraw: nobody opens it from now on, 4 exportEvent, 5 openEvent, 6 closeEvent,
# 7 mapEvent (to executors).
struct Ipc {
  action @0 :UInt8;
  sessionId @1 :UInt64;        # to executors: who asks
  deviceIndex @2 :UInt32;      # in its view: whose memory it is, or where it is opened
  range @3 :Range;             # exportMemory
  page @4 :UInt32;             # exportEvent, openEvent, mapEvent: of the session's slots, which the event takes the place of
  handle @5 :Data;             # 64 bytes (schemas/wire/ipc_handle.h): of what is opened, closed, withdrawn; to executors, of what is exported
}
struct Shared {
  handle @0 :Data;             # of what was exported: if that was so already, as it was then
  range @1 :Range;             # openMemory
  page @2 :UInt32;             # openEvent: of the exporter's slots
  inUse @3 :Bool;              # withdraw: somebody has it open still
}

struct Describe {
  protocol @0 :UInt32;
  wireHash @1 :UInt64;
  token @2 :Text;          # as in Attach
  sessionId @3 :UInt64;    # of the process, or of the one that it was forked from; 0: none
}
struct Described {
  devices @0 :List(Device);
  struct Device {
    properties @0 :DeviceInfo;
    memoryLimit @1 :UInt64;  # as in VirtualDevice
    freeBytes @2 :UInt64;    # of that, what could be reserved now
    busyNs @3 :UInt64;       # while work of the function's processes was under way there, as far as they live
    pcieGeneration @4 :UInt32;  # of its link, as Link has them; 0: unknown
    pcieGenerationAtMost @5 :UInt32;
    pcieWidth @6 :UInt32;
    pcieWidthAtMost @7 :UInt32;
  }
}

struct DeviceInfo {
  name @0 :Text;
  uuid @1 :Text;
  pciAddress @2 :Text;
  memoryBytes @3 :UInt64;
  computeMajor @4 :UInt32;
  computeMinor @5 :UInt32;
  attributes @6 :List(Int32);
  placesVariables @7 :Bool;  # module variables lie where VariableAddress says, not where the client puts them
  leavesProcessors @8 :Bool; # its work takes none of the node's processors: who waits for it may look for long
  dnnVersion @9 :UInt32;     # of the cuDNN that calls go to; 0: none of NVIDIA's
}

struct LoadModule {
  offset @0 :UInt64;
  size @1 :UInt64;
  deviceIndex @2 :UInt32;  # virtual device whose executor needs it
}

struct InstallModule {
  sessionId @0 :UInt64;
  moduleId @1 :UInt64;     # the daemon's number for this content; the session may bind it from now on
  size @2 :UInt64;
}

struct ModuleInfo {
  moduleId @0 :UInt64;
  kernels @1 :List(Kernel);
  variables @2 :List(Variable);

  struct Kernel {
    name @0 :Text;
    parameterOffsets @1 :List(UInt32);
    parameterBytes @2 :List(UInt32);
    blockBytes @3 :UInt32;           # of the whole parameter block
    staticSharedBytes @4 :UInt32;
    localBytes @5 :UInt32;
    constantBytes @6 :UInt32;
    maxThreadsPerBlock @7 :UInt32;
    registers @8 :UInt32;
    ptxVersion @9 :UInt32;
    binaryVersion @10 :UInt32;
    cluster @11 :UInt32;             # ClusterShape, packed
    clusterMustBeSet @12 :Bool;
  }
  struct Variable {
    name @0 :Text;
    bytes @1 :UInt64;
    alignment @2 :UInt32;
    space @3 :UInt8;                 # memory::VariableSpace
  }
}

struct Prepare {
  # `rouse run`: the next process that attaches with the token is this function.
  name @0 :Text;
  gpus @1 :UInt32;          # 0: the daemon's default
  gpuMemory @2 :UInt64;     # bytes on each; 0: the daemon's default
  isolated @3 :Bool;        # on executors of its own
  check @4 :UInt32;         # 0: not; else its kernels' accesses are checked: print at most so many reports, kAllReports: all of them
}
struct Prepared { token @0 :Text; clientLibraries @1 :Text; }

struct StatusRequest {
  unsupported @0 :Bool;
  request @1 :Text;        # not empty: instead, what became of the request with this id, or of those of this trace (`rouse explain`)
  stories @2 :UInt32;      # not 0: instead, what became of so many requests at most (512), those after the one with number `after`, oldest first
  after @3 :UInt64;        # (`rouse timeline`)
}
struct StatusReply { json @0 :Text; }   # schema: docs of `rouse status --json`

# What an operator asks of functions where there is a host store. Actions: 0 load, it comes to its GPU now; 1 unload, it leaves
# now; 2 pin, it comes, and stays; 3 unpin, it takes turns again; 4 migrate, it is another GPU's from now on.
struct Move {
  function @0 :Text;       # a session's number, or a name: then all that bear it
  action @1 :UInt8;
  gpu @2 :UInt32;          # to migrate to
}
struct Moved {
  results @0 :List(Result);   # at least one; for each session and each GPU of it
  struct Result {
    sessionId @0 :UInt64;
    name @1 :Text;
    gpu @2 :UInt32;
    problem @3 :Error;     # code 0: it is as was asked
  }
}
struct MoveSession {
  sessionId @0 :UInt64;
  action @1 :UInt8;            # not 4
  offered @2 :UInt64;          # 1, bytes: others who need room take so much of it before they take more; 0: all of it
}

# Actions: 0 start, 1 stop, 2 restart the function, of which only the beginning is awaited; 3 read the configuration again (no function).
struct Order { function @0 :Text; action @1 :UInt8; }
struct LogsRequest { function @0 :Text; lines @1 :UInt32; }   # the last so many, as far as they are kept
struct Logs { text @0 :Text; }

struct ImportSession { sessionId @0 :UInt64; recipe @1 :SessionRecipe; }

struct ShareMemory {
  sessionId @0 :UInt64;
  from @1 :UInt32;             # granules of the device window, from this one on
}
struct SharedMemory {
  sessionId @0 :UInt64;
  device @1 :Text;             # uuid of the one whose memory it is
  chunks @2 :List(Chunk);      # at most memory::kMostSharedChunks, ascending by granule
  next @3 :UInt32;             # what shareMemory is to ask for next; 0: there is no more
  struct Chunk {
    granule @0 :UInt32;
    descriptor @1 :UInt32;
    offset @2 :UInt64;
    memoryBytes @3 :UInt64;    # of all that the descriptor stands for, where that is mapped whole
  }
}
struct EndBorrowing {
  sessionId @0 :UInt64;
  atOnce @1 :Bool;             # what has not been asked for yet comes from home; else all of it may come first
}

# server/control/session_recipe.h
struct SessionRecipe {
  reservedBytes @0 :UInt64;
  granules @1 :List(UInt32);   # in the device window, counted from its beginning
  homes @2 :List(UInt64);      # of each: offset in the file of the host store
  toMap @3 :Range;
  order @4 :List(UInt32);
  objects @5 :List(Range);
  allObjectsKnown @6 :Bool;
  hostRanges @7 :List(Range);
  streams @8 :List(Stream);
  modules @9 :List(Module);
  limits @10 :List(Limit);
  commandBytes @11 :UInt64;
  outputBytes @12 :UInt64;
  outputDropped @13 :UInt64;
  commands @14 :UInt64;
  launches @15 :UInt64;
  lastError @16 :UInt32;
  arrivals @17 :UInt64;
  departures @18 :UInt64;
  savedBytes @19 :UInt64;
  lastSavedBytes @20 :UInt64;
  peerBytes @21 :UInt64;
  consumption @22 :Consumption;
  graphs @23 :List(Graph);
  broughtBytes @24 :UInt64;

  struct Graph {
    id @0 :UInt64;
    bytes @1 :UInt64;            # of the whole definition (layout.h, GraphNode)
    definition @2 :Data;
  }
  struct Stream { generation @0 :UInt32; flags @1 :UInt8; priority @2 :Int32; }  # 1 live, 2 non-blocking
  struct Module {
    generation @0 :UInt32;
    flags @1 :UInt8;           # 1 live, 2 made
    moduleId @2 :UInt64;
    addresses @3 :List(UInt64);
  }
  struct Limit { limit @0 :UInt32; value @1 :UInt64; }
}

# server/executor/meter.h
struct Consumption {
  busyNs @0 :UInt64;
  deviceByteSeconds @1 :Float64;
  homeByteSeconds @2 :Float64;
}

struct ExecutorReady {
  device @0 :DeviceInfo;
  pid @1 :UInt32;
  wireHash @2 :UInt64;
  physicalBytes @3 :UInt64;    # memory of the device, offered or not; 0: unknown
  driverVersion @4 :Text;
  link @5 :Link;
}

# memory/link.h. For operators: functions are not told.
struct Link {
  pcieGeneration @0 :UInt32;   # 0 here and below: unknown
  pcieGenerationAtMost @1 :UInt32;
  pcieWidth @2 :UInt32;
  pcieWidthAtMost @3 :UInt32;
  toDevice @4 :List(Point);
  toHost @5 :List(Point);
  numaNode @6 :Int32 = -1;     # -1: unknown
  cpus @7 :Text;
  nvlinksKnown @8 :Bool;
  nvlinks @9 :UInt32;
  nvlinksToSwitches @10 :UInt32;
  peers @11 :List(Peer);
  sharedWay @12 :Text;         # of the same name for those who share it; empty: nothing, or unknown
  sharedBytesPerSecond @13 :UInt64; # of that; 0: unknown

  struct Point { bytes @0 :UInt64; bytesPerSecond @1 :UInt64; }
  struct Peer {
    uuid @0 :Text;
    pciAddress @1 :Text;
    access @2 :Bool;
    atomics @3 :Bool;
    rank @4 :Int32 = -1;
    nvlinks @5 :UInt32;
    bytesPerSecond @6 :UInt64; # over these, each way; 0: unknown
  }
}

struct OpenSession {
  sessionId @0 :UInt64;
  deviceIndex @1 :UInt32;      # in the function's view: DeviceStatus and ring it owns
  deviceWindow @2 :Range;
  hostWindow @3 :Range;
  memoryLimit @4 :UInt64;
  name @5 :Text;
  dormant @6 :Bool;            # another executor serves it: modules may be installed, and what it is, importSession says
  identity @7 :SessionIdentity;  # whose it is: executors keep it, for a daemon to come
  hasProcess @8 :Bool;         # a fifth descriptor: a pidfd of its program, to be kept as well
  check @9 :UInt32;            # as in Prepare
}

# server/roused/session.h: what a daemon must know of a session, and no executor asks.
struct SessionIdentity {
  program @0 :Text;
  pid @1 :Int64;
  uid @2 :UInt32;
  gpus @3 :UInt32;             # it has; each executor tells of its own
  gpuMemory @4 :UInt64;
  hostMemory @5 :UInt64;
  moduleMemory @6 :UInt64;
  supervised @7 :Bool;
  since @8 :Int64;             # nanoseconds of the system's clock
  key @9 :Text;                # Attached's
  hostAddresses @10 :Range;
  family @11 :UInt64;          # processes of one program, that are to see the same GPUs; 0: of none
}

struct AdoptionOffer {
  ready @0 :ExecutorReady;
  options @1 :Text;            # with what it was started (ExecutorOptions::describe), as its daemon wrote it
  hasStore @2 :Bool;
  hasLinks @3 :Bool;
}
struct HeldModule { info @0 :ModuleInfo; bytes @1 :UInt64; }
struct HeldSession {
  open @0 :OpenSession;
  state @1 :UInt8;             # 0 served, 1 frozen, 2 dormant, 3 cut off, 4 closing or closed
  fault @2 :Error;             # of one that is cut off
  modules @3 :List(UInt64);    # installed, of those told before
  lends @4 :Bool;              # another executor may read some of its memory
  borrows @5 :Bool;
}
struct Offered { modules @0 :UInt32; sessions @1 :UInt32; }  # how many have been told

struct SessionFault { sessionId @0 :UInt64; error @1 :Error; }

struct ExecutorStatus {
  totalBytes @0 :UInt64;
  freeBytes @1 :UInt64;
  sessions @2 :List(SessionUsage);
  commands @3 :UInt64;
  launches @4 :UInt64;
  struct SessionUsage {
    sessionId @0 :UInt64;
    reservedBytes @1 :UInt64;
    mappedBytes @2 :UInt64;
    hostBytes @3 :UInt64;
    commands @4 :UInt64;
    launches @5 :UInt64;
    error @6 :UInt32;
    residentBytes @7 :UInt64;  # of mappedBytes: on the device now
    homeBytes @8 :UInt64;      # its places in the host store
    arrivals @9 :UInt64;       # times that its memory came to the device, and left it
    departures @10 :UInt64;
    savedBytes @11 :UInt64;    # by all departures: what had changed, or had no copy at home
    place @12 :UInt8;          # 0 on the device, 1 leaving it, 2 at home, 3 arriving
    pinned @13 :Bool;
    lastSavedBytes @14 :UInt64;  # of savedBytes, by the last departure
    sharedHomeBytes @15 :UInt64;  # of homeBytes, what shares its place with equal content, its own or another session's
    restingBytes @16 :UInt64;    # while it is away, what is on the device still, for anybody to take
    returnedBytes @17 :UInt64;   # by all arrivals: what was on the device still
    lastDepartureNs @18 :UInt64; # what the last departure took, saving included
    peerBytes @19 :UInt64;       # by all arrivals: what came from another GPU's memory
    sharedBytes @20 :UInt64;     # of what is on the device, resting or not: in chunks that others have as well
    joinedBytes @21 :UInt64;     # by all arrivals: what was on the device as somebody else's
    consumption @22 :Consumption;
    broughtBytes @23 :UInt64;    # by all arrivals: what came from home
    ties @24 :Text;              # why no other GPU could serve it; empty: one could, or nothing leaves here. Only in answers to executorStatusRequest
  }
  hostStoreBytes @5 :UInt64;      # this executor's part
  hostStoreUsedBytes @6 :UInt64;  # what is shared counts once
  hostStorePromisableBytes @7 :UInt64;  # less than the rest of it: what is shared may need places of its own again
  # For who waits elsewhere: what nobody has, and what those have that have done nothing for a while (server/executor/sharing.h, kIdleNs); and how
  # many wait here.
  roomBytes @8 :UInt64;
  idleBytes @9 :UInt64;
  waiting @10 :UInt32;
  lentBytes @11 :UInt64;        # what another executor may read, and nobody here can have meanwhile
  heldBytes @12 :UInt64;          # of the device, by sessions that are there: what is shared counts once
  # Of the driver, since the executor was started: physical memory that was made, host memory that was pinned.
  deviceAllocations @13 :UInt64;
  hostPinnings @14 :UInt64;
  hostStorePendingBytes @15 :UInt64;  # of hostStoreUsedBytes, what has not been compared yet
  allocatedBytes @16 :UInt64;         # of the device, by its driver: the same at all times, whatever allocations it is made of
  offeredBytes @17 :UInt64;           # what a session that began now could reserve
}

struct SessionWaits {
  sessionId @0 :UInt64;
  waitedNs @1 :UInt64;
  wantedBytes @2 :UInt64;     # of the device
  reservedBytes @3 :UInt64;
}

# Actions: 0 visits, 1 stays: what it is promised in all, and whether it leaves for others; 2 wants: it should have so much in all, as soon as
# that can be; 3 returned: so much less than before is its own; 4 holds: once, of what the device lacked when it was opened (--absent); 5 gone:
# nothing of it is left; 6 active: it has been at work.
struct GuestMemory { guest @0 :UInt64; action @1 :UInt8; bytes @2 :UInt64; }
struct GuestBytes { guest @0 :UInt64; bytes @1 :UInt64; }
struct Promised { bytes @0 :UInt64; problem @1 :Error; }   # code 0: all that was wanted
