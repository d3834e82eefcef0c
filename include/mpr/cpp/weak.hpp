// SPDX-License-Identifier: MIT
/*
    mpr/cpp/weak.hpp - References that do not keep what they refer to, and what follows when it has gone. Over handles
    (mpr/handle.h).
 */
#ifndef MPR_CPP_WEAK_HPP
#define MPR_CPP_WEAK_HPP

#include "mpr/cpp/detail/c_api.hpp"
#include "mpr/cpp/detail/reference.hpp"

#include <atomic>
#include <cstddef>
#include <ctime>
#include <new>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace mpr {

namespace detail {

/** Between two looks whether another thread has got on: one that wants this processor does, whatever its priority. */
inline void waitAWhile([[maybe_unused]] int looks) noexcept {
#ifdef MPR_HAS_BATCHES
    constexpr int few = 1000;
    constexpr timespec millisecond{0, 1'000'000};
    if (looks >= few) {
        ::nanosleep(&millisecond, nullptr);
    }
#endif
}

/** Owns a handle. */
class Handle {
public:
    Handle() noexcept = default;
    explicit Handle(MprHandle handle) noexcept : handle_(handle) {}
    Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, 0)) {}
    Handle& operator=(Handle&& other) noexcept {
        Handle moved(std::move(other));
        std::swap(handle_, moved.handle_);
        return *this;
    }
    ~Handle() { mprDestroyHandle(handle_); }

    MprHandle get() const noexcept { return handle_; }

private:
    MprHandle handle_ = 0;
};

/** A block as calls of C take it. */
template <class T>
void* blockOf(T* ref) noexcept {
    return const_cast<std::remove_const_t<T>*>(ref);
}

} // namespace detail

/**
    A reference that does not keep its target, and becomes nullptr when the target dies.

        mpr::Weak<Texture> cached = texture;
        if (Texture* still = cached.get()) { ... }       // safe until this thread yields

    The target is the start of a block, as for Member. May stand anywhere; a managed object need not trace it.

    Threads: attached threads that run; construction from nothing, moves and destruction also yielded ones. One Weak is
    used by one thread at a time. Yields: never. Cost: of one handle. Without memory for it, it is nullptr (and logged).
 */
template <class T>
class Weak {
public:
    using element_type = T;

    Weak() noexcept = default;
    Weak(T* ref) noexcept : handle_(ref ? mprCreateHandle(MPR_HANDLE_WEAK_SHORT, ref) : 0) {}
    template <detail::UpcastTo<T> U>
    Weak(U* ref) noexcept : Weak(detail::upcast<T>(ref)) {}
    template <detail::ReferenceTo<T> R>
    Weak(const R& other) noexcept : Weak(detail::upcast<T>(other.get())) {}
    Weak(const Weak& other) noexcept : Weak(other.get()) {}
    Weak(Weak&&) noexcept = default;
    Weak& operator=(Weak&&) noexcept = default;
    Weak& operator=(const Weak& other) noexcept { return *this = other.get(); }
    Weak& operator=(T* ref) noexcept {
        if (handle_.get() != 0) {
            mprSetHandle(handle_.get(), ref);
        } else {
            handle_ = detail::Handle(ref ? mprCreateHandle(MPR_HANDLE_WEAK_SHORT, ref) : 0);
        }
        return *this;
    }
    template <detail::UpcastTo<T> U>
    Weak& operator=(U* ref) noexcept {
        return *this = detail::upcast<T>(ref);
    }
    template <detail::ReferenceTo<T> R>
    Weak& operator=(const R& other) noexcept {
        return *this = detail::upcast<T>(other.get());
    }

    T* get() const noexcept { return static_cast<T*>(mprGetHandle(handle_.get())); }
    explicit operator bool() const noexcept { return get() != nullptr; }

private:
    detail::Handle handle_;
};

/**
    A value that is kept as long as its key lives, and a weak reference to that key. The value may lead to the key: that
    does not keep either. When the key has died both are nullptr.

    Threads, yields and cost: as Weak.
 */
template <class K, class V>
class Ephemeron {
public:
    Ephemeron() noexcept = default;
    Ephemeron(K* key, V* value) noexcept
        : handle_(mprCreateHandleFor(MPR_HANDLE_DEPENDENT, key, detail::blockOf(value), 0)) {}
    Ephemeron(Ephemeron&&) noexcept = default;
    Ephemeron& operator=(Ephemeron&&) noexcept = default;

    K* key() const noexcept { return static_cast<K*>(mprGetHandle(handle_.get())); }
    V* value() const noexcept {
        return handle_.get() != 0 ? static_cast<V*>(mprGetHandleValue(handle_.get())) : nullptr;
    }
    /** @return false when the key has died. */
    bool setValue(V* value) noexcept { return handle_.get() != 0 && mprSetHandleValue(handle_.get(), value) == 0; }

private:
    detail::Handle handle_;
};

/**
    A map from objects, by address, to values that it keeps as long as their keys live. A value may lead to its key.
    Entries whose keys have died are gone for all that asks, and are dropped as the map grows.

    Its own memory is that of std::unordered_map; values and keys are managed. Threads: as Weak, one at a time. Yields:
    never.
 */
template <class K, class V>
class WeakMap {
public:
    /** Set the value of a key. nullptr takes the key out. */
    void set(K* key, V* value) {
        if (!value) {
            entries_.erase(key);
            return;
        }
        if (entries_.size() >= purgeAt_) {
            purge();
            purgeAt_ = 2 * entries_.size() + least;
        }
        Ephemeron<K, V>& entry = entries_[key];
        // At a dead key's address another may live by now.
        if (entry.key() != key || !entry.setValue(value)) {
            entry = Ephemeron<K, V>(key, value);
        }
    }
    /** @return nullptr when there is none. */
    V* get(const K* key) const {
        const auto at = entries_.find(const_cast<K*>(key));
        return at != entries_.end() && at->second.key() == key ? at->second.value() : nullptr;
    }
    bool contains(const K* key) const { return get(key) != nullptr; }
    void erase(const K* key) { entries_.erase(const_cast<K*>(key)); }
    /** Drop the entries of keys that have died. @return How many are left. */
    std::size_t purge() {
        std::erase_if(entries_, [](const auto& entry) { return !entry.second.key(); });
        return entries_.size();
    }
    /** Call f(key, value) for each entry; f does not change the map, and does not yield. */
    template <class F>
    void forEach(F&& f) const {
        for (const auto& [address, entry] : entries_) {
            if (K* key = entry.key()) {
                f(key, entry.value());
            }
        }
    }

private:
    static constexpr std::size_t least = 16;

    std::unordered_map<K*, Ephemeron<K, V>> entries_;
    std::size_t purgeAt_ = least;
};

/**
    Has a function called once a block has gone: when a collection finds the block dead, with the managers of that
    collection, or with the next collection if the block is freed by hand; mprDestroy calls what is left.

    The function is called once, on the collector's thread, while the application runs. It may do what a manager may in
    MPR_MANAGE_FREE: release what is outside of managed memory; it should not wait for locks that a thread holds while it
    allocates. The block is not to be had any more. A Cleanup that is destroyed first takes the call back, unless it was
    detached; then, once its destructor has returned, the function is not running and will not be called. Only the
    function itself may destroy it while it runs: it is not waited for then.

    The function is kept in memory of operator new, so it is for systems that have one, as WeakMap is.

    Threads: attached threads that run; destruction also yielded ones. Yields: never.
 */
class Cleanup {
public:
    Cleanup() noexcept = default;
    template <class T, class F>
    Cleanup(T* block, F function) {
        auto* task = block ? new (std::nothrow) TaskOf<F>(std::move(function)) : nullptr;
        auto** sentinel =
            task ? static_cast<Task**>(mprAllocManaged(sizeof(Task*), manage, MPR_ALLOC_BARRIER)) : nullptr;
        if (!sentinel) {
            delete task;
            return;
        }
        // The sentinel is kept by the block alone. Its manager is called with those of the block's collection.
        *sentinel = task;
        task->handle = mprCreateHandleFor(MPR_HANDLE_DEPENDENT, block, sentinel, 0);
        if (task->handle == 0) {
            task->state.store(State::cancelled); // the sentinel dies at once
        }
        task_ = task;
    }
    template <class R, class F>
    requires detail::isReference<R> Cleanup(const R& block, F function) : Cleanup(block.get(), std::move(function)) {}
    Cleanup(Cleanup&& other) noexcept : task_(std::exchange(other.task_, nullptr)) {}
    Cleanup& operator=(Cleanup&& other) noexcept {
        Cleanup moved(std::move(other));
        std::swap(task_, moved.task_);
        return *this;
    }
    ~Cleanup() {
        if (!task_) {
            return;
        }
        State waits = State::waits;
        if (task_->state.compare_exchange_strong(waits, State::cancelled)) {
            task_->destroyHandle(); // the sentinel dies before the block
        } else {
            const bool runsHere = task_->runner.load(std::memory_order_relaxed) == mprGetCurrentOsThread();
            for (int looks = 0; !runsHere && task_->state.load(std::memory_order_acquire) == State::runs; ++looks) {
                detail::waitAWhile(looks);
            }
        }
        detach();
    }

    /** Whether the function is still to be called. False also when there was no memory for it, or no block. */
    explicit operator bool() const noexcept { return task_ && task_->state.load() == State::waits; }
    /** Have it called whatever becomes of this object. */
    void detach() noexcept { drop(std::exchange(task_, nullptr)); }

private:
    enum class State : int { waits, runs, done, cancelled };
    struct Task {
        virtual ~Task() = default;
        virtual void call() = 0;
        std::atomic<State> state{State::waits};
        std::atomic<MprOsThread> runner{0}; // written before the state says that it runs
        std::atomic<int> owners{2};         // a Cleanup and a sentinel
        std::atomic<MprHandle> handle{0};   // taken by who destroys it
        void destroyHandle() noexcept { mprDestroyHandle(handle.exchange(0, std::memory_order_relaxed)); }
    };
    template <class F>
    struct TaskOf final : Task {
        explicit TaskOf(F f) : function(std::move(f)) {}
        void call() override { function(); }
        F function;
    };

    static void drop(Task* task) noexcept {
        if (task && task->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            delete task;
        }
    }
    static void manage(void* block, int flags) {
        if (flags & MPR_MANAGE_FREE) {
            Task* task = *static_cast<Task**>(block);
            State waits = State::waits;
            task->runner.store(mprGetCurrentOsThread(), std::memory_order_relaxed);
            if (task->state.compare_exchange_strong(waits, State::runs)) {
                task->call();
                task->state.store(State::done, std::memory_order_release);
            }
            task->destroyHandle();
            drop(task);
        }
    }

    Task* task_ = nullptr;
};

} // namespace mpr

#endif /* MPR_CPP_WEAK_HPP */
