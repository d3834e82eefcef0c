// SPDX-License-Identifier: MIT
/*
    test/cpp/held_memory.cpp - mpr::heldResource and mpr::HeldAllocator: standard containers in the runtime's memory.
 */
#include "test/cpp/setting.hpp"

#include <cstdint>
#include <limits>
#include <list>
#include <map>
#include <memory_resource>
#include <new>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

using test::Counted;
using test::Node;
using test::Setting;

namespace {

struct alignas(64) Wide {
    char bytes[64];
};

template <class T>
using Vector = std::vector<T, mpr::HeldAllocator<T>>;

static_assert(std::is_empty_v<mpr::HeldAllocator<int>>);
static_assert(std::allocator_traits<mpr::HeldAllocator<int>>::is_always_equal::value);
static_assert(
    std::is_same_v<std::allocator_traits<mpr::HeldAllocator<int>>::rebind_alloc<Node>, mpr::HeldAllocator<Node>>);
static_assert(std::is_nothrow_move_assignable_v<Vector<int>>);
static_assert(sizeof(Vector<int>) == sizeof(std::vector<int>));

bool alignedTo(const void* ptr, size_t alignment) {
    return reinterpret_cast<uintptr_t>(ptr) % alignment == 0;
}

uint64 live() {
    MprMemStats stats;
    mprReadMemStats(&stats);
    return stats.bytesLive;
}

TEST_CASE("cpp held memory: one resource, equal to itself") {
    Setting setting;
    CHECK(mpr::heldResource() == mpr::heldResource());
    CHECK(mpr::heldResource()->is_equal(*mpr::heldResource()));
    CHECK(!mpr::heldResource()->is_equal(*std::pmr::new_delete_resource()));
    CHECK(mpr::HeldAllocator<int>() == mpr::HeldAllocator<Node>());
}

TEST_CASE("cpp held memory: pmr containers survive collections") {
    Setting setting;
    {
        std::pmr::vector<int> numbers(mpr::heldResource());
        std::pmr::string text("a string that is too long to be stored in place", mpr::heldResource());
        std::pmr::unordered_map<std::pmr::string, std::pmr::vector<int>> map(mpr::heldResource());
        for (int i = 0; i < 1000; i++) {
            numbers.push_back(i);
            map[std::pmr::string("key number ") + std::to_string(i).c_str()].assign(3, i);
        }
        CHECK(mprIsValid(numbers.data()));
        for (int i = 0; i < 3; i++) {
            mpr::collect();
            test::soil();
        }
        int wrong = 0;
        for (int i = 0; i < 1000; i++) {
            wrong += numbers[static_cast<size_t>(i)] != i;
            wrong +=
                map.at(std::pmr::string("key number ") + std::to_string(i).c_str()) != std::pmr::vector<int>{i, i, i};
        }
        CHECK(wrong == 0);
        CHECK(map.begin()->second.get_allocator().resource() == mpr::heldResource());
        CHECK(text == "a string that is too long to be stored in place");
        std::pmr::vector<int> moved(std::move(numbers), mpr::heldResource());
        CHECK(moved[999] == 999);
        CHECK(numbers.empty());
    }
}

TEST_CASE("cpp held memory: containers give their memory back") {
    Setting setting;
    mpr::collect();
    const uint64 before = live();
    {
        std::pmr::vector<char> bytes(1 << 20, 'x', mpr::heldResource());
        mpr::collect();
        CHECK(live() >= before + (1 << 20));
        CHECK(bytes[1 << 19] == 'x');
    }
    {
        Vector<Wide> wide(1 << 14);
        mpr::collect();
        CHECK(live() >= before + (1 << 20));
    }
    mpr::collect();
    CHECK(live() < before + (1 << 18));
}

TEST_CASE("cpp held memory: every alignment is honoured and freed") {
    Setting setting;
    std::pmr::memory_resource* resource = mpr::heldResource();
    std::vector<std::pair<void*, size_t>> blocks;
    for (size_t alignment = 1; alignment <= 65536; alignment *= 2) {
        for (size_t size : {size_t{0}, size_t{1}, size_t{40}, size_t{5000}}) {
            void* ptr = resource->allocate(size, alignment);
            CHECK(alignedTo(ptr, alignment));
            std::memset(ptr, static_cast<int>(blocks.size()), size);
            blocks.emplace_back(ptr, size);
        }
    }
    mpr::collect();
    int wrong = 0;
    size_t index = 0;
    for (size_t alignment = 1; alignment <= 65536; alignment *= 2) {
        for (int i = 0; i < 4; i++, index++) {
            auto [ptr, size] = blocks[index];
            for (size_t at = 0; at < size; at++) {
                wrong += static_cast<unsigned char*>(ptr)[at] != static_cast<unsigned char>(index);
            }
            resource->deallocate(ptr, size, alignment);
        }
    }
    CHECK(wrong == 0);

    Vector<Wide> wide(3);
    CHECK(alignedTo(wide.data(), 64));
    std::pmr::vector<Wide> other(5, resource);
    CHECK(alignedTo(other.data(), 64));
}

struct Index : Counted {
    void trace(mpr::Marker& marker) { marker(list, byName, plain); }
    std::pmr::vector<mpr::Member<Node>> list{mpr::heldResource()};
    std::pmr::unordered_map<std::pmr::string, mpr::Member<Node>> byName{mpr::heldResource()};
    Vector<mpr::Member<Node>> plain;
};

TEST_CASE("cpp held memory: members in containers of a managed object") {
    Setting setting;
    {
        mpr::Root<Index> index = mpr::make<Index>();
        for (int i = 0; i < 500; i++) {
            index->list.push_back(mpr::make<Node>(i));
            index->byName.emplace(("a rather long name number " + std::to_string(i)).c_str(), mpr::make<Node>(i));
            index->plain.push_back(mpr::make<Node>(i));
            mpr::yield();
        }
        mpr::collect();
        CHECK(Counted::destroyed == 0);
        index->list.resize(100);
        index->byName.erase("a rather long name number 7");
        mpr::collect();
        CHECK(Counted::destroyed == 401);
        CHECK(index->list[99]->value == 99);
        CHECK(index->byName.at("a rather long name number 8")->value == 8);
        CHECK(index->plain[499]->value == 499);
    }
    mpr::collect();
    CHECK(Counted::destroyed == 1501);
}

TEST_CASE("cpp held memory: the allocator serves other containers") {
    Setting setting;
    {
        std::map<int, std::string, std::less<>, mpr::HeldAllocator<std::pair<const int, std::string>>> map;
        std::list<int, mpr::HeldAllocator<int>> list;
        std::basic_string<char, std::char_traits<char>, mpr::HeldAllocator<char>> text(1000, 'y');
        for (int i = 0; i < 100; i++) {
            map[i] = std::to_string(i);
            list.push_back(i);
        }
        mpr::collect();
        test::soil();
        CHECK(map.at(42) == "42");
        CHECK(list.back() == 99);
        CHECK(text[999] == 'y');
        CHECK(mprIsValid(text.data()));
        list.clear();
        auto other = std::move(map);
        CHECK(other.size() == 100);
    }
}

TEST_CASE("cpp held memory: failure throws bad_alloc") {
    Setting setting;
    const size_t huge = static_cast<size_t>(std::numeric_limits<std::ptrdiff_t>::max()) - 8;
    CHECK_THROWS_AS(mpr::heldResource()->allocate(huge, 8), std::bad_alloc);
    CHECK_THROWS_AS(mpr::heldResource()->allocate(huge, 4096), std::bad_alloc);
    CHECK_THROWS_AS(mpr::heldResource()->allocate(std::numeric_limits<size_t>::max(), 64), std::bad_alloc);
    CHECK_THROWS_AS(mpr::HeldAllocator<long>().allocate(std::numeric_limits<size_t>::max() / sizeof(long) + 2),
                    std::bad_alloc);
    mprSetMemLimits(0, 4 << 20, -1);
    CHECK_THROWS_AS(Vector<char>(8 << 20), std::bad_alloc);
    mprResetMemError();
}

} // namespace
