// The heap of a simulator whose ranks are processes of their own (rank_processes.h): what `new` gives lies in
// memory that all of them share, at the same addresses, so that each can work on the queue of events, the
// fabric and the library's objects as if there were one process. What a program allocates (malloc, and its
// own copy of the C++ library) stays its own.
//
// No locks: only one of the processes runs at a time.
#pragma once

namespace hawser::shared_heap {

// From now on `new` takes from it. Before any process is made; false: the system has no such memory.
bool enable();
bool holds(const void* address);

}  // namespace hawser::shared_heap
