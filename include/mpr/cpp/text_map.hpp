// SPDX-License-Identifier: MIT
/*
    mpr/cpp/text_map.hpp - A managed map from texts to managed objects.
 */
#ifndef MPR_CPP_TEXT_MAP_HPP
#define MPR_CPP_TEXT_MAP_HPP

#include "mpr/cpp/make.hpp"
#include "mpr/cpp/member.hpp"
#include "mpr/cpp/reference_array.hpp"
#include "mpr/hash.h"

#include <cstddef>
#include <cstring>
#include <string_view>

namespace mpr {

/**
    A managed object that maps texts to managed objects, and keeps these and copies of the texts alive:

        mpr::Root<mpr::TextMap<Session>> sessions = mpr::make<mpr::TextMap<Session>>();
        if (!sessions->set(id, session)) ... // no memory
        if (Session* found = sessions->find(id)) ...

    A key is any bytes, NUL included. Clients may choose keys: they are hashed as those of mpr/hash.h, with a key that the
    process draws at random. An entry is a block of its own; the table is open addressing with linear probing, at most
    three quarters full, and removal moves entries back (D. Knuth, TAOCP vol. 3, 6.4, algorithm R). It doubles when full, and
    is made smaller when an eighth is left: that one call takes time for every entry. It is for programs that link
    mpr::mpr, where the hash is, not mpr::core alone.

    Threads: attached ones, one at a time, or all of them reading. Yields: never.
 */
template <class T>
class TextMap {
public:
    TextMap() noexcept = default;
    TextMap(const TextMap&) = delete; // the table is one map's, which frees it when it makes another
    TextMap& operator=(const TextMap&) = delete;

    void trace(Marker& marker) { marker(entries_); }

    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }

    /** @return The object, nullptr when there is none. */
    T* find(std::string_view key) const noexcept {
        if (size_ == 0) {
            return nullptr;
        }
        const Entry* const entry = entries_->get(slotOf(key, hashOf(key)));
        return entry ? entry->value.get() : nullptr;
    }

    /** @param value Not nullptr. It replaces what the key had. @return false when memory fails; nothing has changed. */
    [[nodiscard]] bool set(std::string_view key, T* value) noexcept {
        const std::size_t hash = hashOf(key);
        if (Entry* const known = size_ > 0 ? entries_->get(slotOf(key, hash)) : nullptr) {
            known->value = value;
            return true;
        }
        Entry* const entry = makeWithRoom<Entry>(key.size() + 1, value, hash, key.size());
        if (!entry || ((size_ + 1) * 4 > capacity() * 3 && !rehash(capacity() == 0 ? least : 2 * capacity()))) {
            return false;
        }
        if (!key.empty()) {
            std::memcpy(roomBehind(entry), key.data(), key.size());
        }
        roomBehind(entry)[key.size()] = '\0';
        entries_->set(slotOf(key, hash), entry);
        ++size_;
        return true;
    }
    template <detail::UpcastTo<T> U>
    [[nodiscard]] bool set(std::string_view key, U* value) noexcept {
        return set(key, detail::upcast<T>(value));
    }
    template <detail::ReferenceTo<T> R>
    [[nodiscard]] bool set(std::string_view key, const R& value) noexcept {
        return set(key, detail::upcast<T>(value.get()));
    }

    /** @return What the key had; nullptr when there was no such key. */
    T* remove(std::string_view key) noexcept {
        if (size_ == 0) {
            return nullptr;
        }
        std::size_t hole = slotOf(key, hashOf(key));
        Entry* const found = entries_->get(hole);
        if (!found) {
            return nullptr;
        }
        // Move back what would no longer be found across the gap.
        const std::size_t mask = capacity() - 1;
        for (std::size_t i = (hole + 1) & mask; Entry* const entry = entries_->get(i); i = (i + 1) & mask) {
            if (((i - entry->hash) & mask) >= ((i - hole) & mask)) {
                entries_->set(hole, entry);
                hole = i;
            }
        }
        entries_->set(hole, nullptr);
        --size_;
        if (size_ * 8 < capacity() && capacity() > least) {
            static_cast<void>(rehash(capacity() / 2)); // if not, the next time
        }
        return found->value;
    }

    /** Call f(key, object) for each entry, in no order. key.data() ends with a NUL. f must not change the map. */
    template <class F>
    void forEach(F&& f) const {
        for (std::size_t i = 0; i < capacity(); ++i) {
            if (const Entry* const entry = entries_->get(i)) {
                f(entry->key(), entry->value.get());
            }
        }
    }

private:
    static constexpr std::size_t least = 8;

    /** The text stands behind it. */
    struct Entry {
        Member<T> value;
        std::size_t hash, length;

        void trace(Marker& marker) { marker(value); }
        std::string_view key() const noexcept { return {roomBehind(this), length}; }
    };

    std::size_t capacity() const noexcept { return entries_ ? entries_->size() : 0; }

    static std::size_t hashOf(std::string_view key) noexcept {
        return static_cast<std::size_t>(mprHashText(key.data(), key.size()));
    }

    /** Where the key is, or where it would go. */
    std::size_t slotOf(std::string_view key, std::size_t hash) const noexcept {
        const std::size_t mask = capacity() - 1;
        std::size_t i = hash & mask;
        for (const Entry* entry; (entry = entries_->get(i)) != nullptr; i = (i + 1) & mask) {
            if (entry->hash == hash && entry->key() == key) {
                break;
            }
        }
        return i;
    }

    bool rehash(std::size_t wanted) noexcept {
        Array<Entry>* const fresh = Array<Entry>::make(wanted);
        if (!fresh) {
            return false;
        }
        Array<Entry>* const old = entries_;
        for (std::size_t i = 0; i < capacity(); ++i) {
            if (Entry* const entry = old->get(i)) {
                std::size_t at = entry->hash & (wanted - 1);
                while (fresh->get(at)) {
                    at = (at + 1) & (wanted - 1);
                }
                fresh->set(at, entry);
            }
        }
        entries_ = fresh;
        if (old) {
            mprFree(old); // nobody else references it; until a collection it would keep what is removed
        }
        return true;
    }

    Member<Array<Entry>> entries_;
    std::size_t size_ = 0;
};

} // namespace mpr

#endif /* MPR_CPP_TEXT_MAP_HPP */
