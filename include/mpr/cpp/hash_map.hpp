// SPDX-License-Identifier: MIT
/*
    mpr/cpp/hash_map.hpp - A managed map from keys without references to managed objects.
 */
#ifndef MPR_CPP_HASH_MAP_HPP
#define MPR_CPP_HASH_MAP_HPP

#include "mpr/cpp/make.hpp"
#include "mpr/cpp/marker.hpp"
#include "mpr/cpp/member.hpp"
#include "mpr/cpp/reference_array.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>

namespace mpr {

/**
    A managed object that maps keys to managed objects and keeps these alive:

        mpr::Root<mpr::HashMap<uint64_t, Message>> messages = mpr::make<mpr::HashMap<uint64_t, Message>>();
        if (!messages->set(id, message)) ... // no memory
        if (Message* found = messages->find(id)) ...

    Open addressing with linear probing, at most three quarters full; removal moves entries back (D. Knuth, TAOCP vol.
    3, 6.4, algorithm R), so there are no tombstones. It doubles when full: that one call takes time for every entry.

    K is trivially copyable and holds no managed references. Hash is called often; std::hash of integers is mixed here. When
    a search turns out to be long, by bad luck or since somebody has chosen the keys, a client say, they are mixed
    with a number that the process has drawn at random; then the order of forEach differs from run to run.
    Threads: attached ones, one at a time, or all of them reading. Yields: never.
 */
template <class K, class T, class Hash = std::hash<K>>
class HashMap {
    static_assert(
        std::is_trivially_copyable_v<K>,
        "mpr::HashMap<K, T>: keys are copied as bytes and never destroyed, so K must be trivially copyable: a "
        "number, an enumeration or a struct of such, not a std::string");
    static_assert(alignof(K) <= 2 * sizeof(void*), "mpr::HashMap<K, T>: K wants to be aligned to more than a block is");

public:
    HashMap() noexcept = default;
    HashMap(const HashMap&) = delete; // the tables are one map's, which frees them when it makes others
    HashMap& operator=(const HashMap&) = delete;

    void trace(Marker& marker) { marker(keys_, values_); }

    std::size_t size() const noexcept { return size_; }

    /** Make room for so many entries. @return false when memory fails; nothing has changed. */
    [[nodiscard]] bool reserve(std::size_t entries) noexcept {
        if (entries > PTRDIFF_MAX / (4 * (sizeof(K) + sizeof(T*)))) { // no heap has so much
            return false;
        }
        const std::size_t wanted = std::bit_ceil(entries + entries / 2 + 8);
        return wanted <= capacity() || rehash(wanted);
    }

    /** @return the object, nullptr when there is none. */
    T* find(const K& key) const noexcept { return size_ == 0 ? nullptr : values_->get(slotOf(key)); }

    /** @param value Not nullptr. It replaces what the key had. @return false when memory fails; nothing has changed. */
    [[nodiscard]] bool set(const K& key, T* value) noexcept {
        if ((size_ + 1) * 4 > capacity() * 3 && !rehash(capacity() == 0 ? 16 : 2 * capacity())) {
            return false;
        }
        if (__atomic_load_n(&slow_, __ATOMIC_RELAXED) && secret_ == 0) [[unlikely]] {
            secret_ = mprGetHashSecret();
            secret_ = rehash(capacity()) ? secret_ : 0; // if not, the next time
        }
        const std::size_t at = slotOf(key);
        size_ += values_->get(at) == nullptr;
        keys_.get()[at] = key;
        values_->set(at, value);
        return true;
    }
    template <detail::UpcastTo<T> U>
    [[nodiscard]] bool set(const K& key, U* value) noexcept {
        return set(key, detail::upcast<T>(value));
    }
    template <detail::ReferenceTo<T> R>
    [[nodiscard]] bool set(const K& key, const R& value) noexcept {
        return set(key, detail::upcast<T>(value.get()));
    }

    /** @return whether there was such a key. */
    bool remove(const K& key) noexcept {
        if (size_ == 0) {
            return false;
        }
        std::size_t hole = slotOf(key);
        if (!values_->get(hole)) {
            return false;
        }
        // Move back what would no longer be found across the gap.
        const std::size_t mask = capacity() - 1;
        for (std::size_t i = (hole + 1) & mask; values_->get(i); i = (i + 1) & mask) {
            if (((i - home(keys_.get()[i])) & mask) >= ((i - hole) & mask)) {
                keys_.get()[hole] = keys_.get()[i];
                values_->set(hole, values_->get(i));
                hole = i;
            }
        }
        values_->set(hole, nullptr);
        --size_;
        return true;
    }

    /** Call f(key, object) for each entry. f must not change the map. */
    template <class F>
    void forEach(F&& f) const {
        for (std::size_t i = 0; i < capacity(); ++i) {
            if (T* const value = values_->get(i)) {
                f(keys_.get()[i], value);
            }
        }
    }

private:
    std::size_t capacity() const noexcept { return values_ ? values_->size() : 0; }

    /** A cast, unless it would be one to the same type, which compilers warn of where words have 64 bits. */
    template <class To, class From>
    static constexpr To narrowed(From value) noexcept {
        if constexpr (std::is_same_v<To, From>) {
            return value;
        } else {
            return static_cast<To>(value);
        }
    }

    /**
        Eight consecutive integers, which many standard libraries hash to themselves, share a row of slots: lookups of
        ids that were given out one after another find the same lines of the cache. The rows are spread by
        multiplication (D. Knuth, TAOCP vol. 3, 6.4), which those at regular distances fill evenly; with a secret they are
        spread as if at random, first by a multiplication whose high bits, which all bits have a part in, come down.
     */
    std::size_t home(const K& key) const noexcept {
        constexpr std::uint64_t row = 8; // slots; no capacity is less
        const auto hash = static_cast<std::uint64_t>(Hash()(key));
        std::uint64_t mixed = hash / row;
        if (secret_ != 0) [[unlikely]] {
            mixed = (mixed ^ secret_) * (secret_ | 1);
            mixed ^= mixed >> 32;
        }
        mixed = mixed * 0x9E3779B97F4A7C15u >> std::countl_zero(std::uint64_t{capacity()} - 1);
        return narrowed<std::size_t>(mixed / row * row + hash % row);
    }

    /** Where the key is, or where it would go. */
    std::size_t slotOf(const K& key) const noexcept {
        constexpr std::size_t longest = 128;
        const std::size_t mask = capacity() - 1, begin = home(key);
        std::size_t i = begin;
        while (values_->get(i) && !(keys_.get()[i] == key)) {
            i = (i + 1) & mask;
        }
        if (((i - begin) & mask) > longest) [[unlikely]] {
            __atomic_store_n(&slow_, true, __ATOMIC_RELAXED);
        }
        return i;
    }

    bool rehash(std::size_t wanted) noexcept {
        auto* const values = Array<T>::make(wanted);
        auto* const keys = wanted <= SIZE_MAX / sizeof(K) ? static_cast<K*>(mprAlloc(wanted * sizeof(K))) : nullptr;
        if (!values || !keys) {
            return false;
        }
        Array<T>* const oldValues = values_;
        K* const oldKeys = keys_.get();
        values_ = values;
        keys_ = keys;
        for (std::size_t i = 0; oldValues && i < oldValues->size(); ++i) {
            if (T* const value = oldValues->get(i)) {
                const std::size_t at = slotOf(oldKeys[i]);
                keys[at] = oldKeys[i];
                values->set(at, value);
            }
        }
        // No one else references them. Until a collection they would mark objects that the program frees by hand.
        if (oldValues) {
            mprFree(oldValues);
            mprFree(oldKeys);
        }
        return true;
    }

    Member<K> keys_; // of the slots whose value is not null
    Member<Array<T>> values_;
    std::size_t size_ = 0;
    std::uint64_t secret_ = 0;  // 0: none yet
    mutable bool slow_ = false; // a search was long; atomic, since several threads may read
};

} // namespace mpr

#endif /* MPR_CPP_HASH_MAP_HPP */
