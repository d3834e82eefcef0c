// SPDX-License-Identifier: MIT
/*
    mpr/cpp/memory_pressure.hpp - Memory outside the heap that an object keeps, said to the collector as long as it does:
    a member of managed types.

        struct Picture {
            explicit Picture(std::size_t size) : pixels(std::make_unique<std::byte[]>(size)), pressure(size) {}
            std::unique_ptr<std::byte[]> pixels;
            mpr::MemoryPressure pressure;
        };
 */
#ifndef MPR_CPP_MEMORY_PRESSURE_HPP
#define MPR_CPP_MEMORY_PRESSURE_HPP

#include "mpr/cpp/detail/c_api.hpp"

#include <cstddef>
#include <utility>

namespace mpr {

/** Adds memory pressure (mpr/host.h) while it exists. A sum that mprAddMemoryPressure refuses is none. Any thread. */
class MemoryPressure {
public:
    MemoryPressure() noexcept = default;
    explicit MemoryPressure(std::size_t bytes) noexcept { set(bytes); }
    ~MemoryPressure() { set(0); }
    MemoryPressure(MemoryPressure&& other) noexcept : bytes_(std::exchange(other.bytes_, 0)) {}
    MemoryPressure& operator=(MemoryPressure&& other) noexcept {
        MemoryPressure moved(std::move(other));
        std::swap(bytes_, moved.bytes_);
        return *this;
    }

    /** The memory outside has grown or shrunk. */
    void set(std::size_t bytes) noexcept {
        if (bytes > bytes_ && mprAddMemoryPressure(static_cast<std::ptrdiff_t>(bytes - bytes_)) != 0) {
            return;
        }
        if (bytes < bytes_) {
            mprRemoveMemoryPressure(static_cast<std::ptrdiff_t>(bytes_ - bytes));
        }
        bytes_ = bytes;
    }
    [[nodiscard]] std::size_t get() const noexcept { return bytes_; }

private:
    std::size_t bytes_ = 0;
};

} // namespace mpr

#endif /* MPR_CPP_MEMORY_PRESSURE_HPP */
