// SPDX-License-Identifier: MIT
/*
    mpr/cpp/runtime.hpp - The runtime's life as an object.
 */
#ifndef MPR_CPP_RUNTIME_HPP
#define MPR_CPP_RUNTIME_HPP

#include "mpr/cpp/detail/c_api.hpp"

#include <cstddef>
#include <span>

namespace mpr {

/**
    The runtime, from construction to destruction. One exists per process at a time.

    Its destructor runs the destructor of every managed object that is left, then gives all memory back. Every Root,
    Held and container over held memory must be gone before, and every pointer to a managed object is dead after.

    Threads: the constructing thread is attached; destroy on the same thread, when no other is attached any more.
    Yields: the constructor does not; the end of the runtime waits for the collector.
    Cost: a thread is started and stopped.
 */
class Runtime {
public:
    /**
        Take memory from the system.
        @param argc,argv The program's arguments; kept, not copied. @param flags As for mprCreate.
     */
    explicit Runtime(int argc = 0, char** argv = nullptr, int flags = 0) noexcept
        : runtime_(mprCreate(argc, argv, flags)) {}

    /** Take memory from a buffer only. It belongs to the runtime until the destructor returns. */
    explicit Runtime(std::span<std::byte> buffer, int flags = 0) noexcept
        : runtime_(mprCreateInBuffer(buffer.data(), buffer.size(), flags)) {}

    ~Runtime() { destroy(); }
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

    /** Whether the runtime could be made; the log says why not. */
    explicit operator bool() const noexcept { return runtime_ != nullptr; }

    /** The runtime of the C API, or nullptr. */
    Mpr* get() const noexcept { return runtime_; }

    /**
        End the runtime before the object's own end.
        @return false when other threads are attached: they are named in the log, and the runtime continues. Also
        false when there was none.
     */
    bool destroy() noexcept {
        if (!runtime_ || !mprDestroy()) {
            return false;
        }
        runtime_ = nullptr;
        return true;
    }

private:
    Mpr* runtime_;
};

} // namespace mpr

#endif /* MPR_CPP_RUNTIME_HPP */
