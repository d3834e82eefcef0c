// SPDX-License-Identifier: MIT
/*
    test/cpp/no_exceptions.cpp - Uses all of the C++ API once, without exceptions and run-time type information.

    Compiled twice: with the other tests, as a test case; and once more by itself with -fno-exceptions -fno-rtti, where
    to compile is the test (Catch2 is left out there).
 */
#include "mpr.hpp"
#include "test/support/every_yield.hpp"

#include <cstddef>
#if __has_include(<memory_resource>)
#include <memory_resource>
#endif
#include <span>
#include <vector>

namespace no_exceptions {

#if !defined(__cpp_exceptions)
static_assert(!mpr::detail::withExceptions);
#endif

struct Item {
    Item() noexcept = default;
    explicit Item(int initial) : value(initial) {} // may yield, for all that is known
    ~Item() { destroyed++; }
    void trace(mpr::Marker& marker) { marker(next, items, name, kept); }

    static inline int destroyed = 0;
    int value = 0;
    mpr::Member<Item> next;
    mpr::Member<mpr::Member<Item>> items;
    mpr::Member<char> name;
#if __has_include(<memory_resource>)
    std::pmr::vector<mpr::Member<Item>> kept{mpr::heldResource()};
#else
    std::vector<mpr::Member<Item>, mpr::HeldAllocator<mpr::Member<Item>>> kept;
#endif
};

/* @return The number of things that went wrong. */
inline int exercise() {
    int wrong = 0;
    Item::destroyed = 0;
    mpr::Runtime runtime;
    if (!runtime) {
        return 1;
    }
    {
        mpr::AttachedThread already("main");
        wrong += static_cast<bool>(already);

        mpr::Root<Item> root = mpr::make<Item>(1);
        root->next = mpr::make<Item>(2);
        root->items = mpr::makeArray<mpr::Member<Item>>(2).data();
        root->items[1] = mpr::make<Item>(3);
        root->name = mpr::clone("name");
        root->kept.push_back(mpr::make<Item>(4));
        const int numbers[] = {1, 2, 3};
        mpr::Held<int> copied = mpr::copy(std::span(numbers)).data();
        std::vector<Item*, mpr::HeldAllocator<Item*>> plain(3, root.get());

        wrong += mpr::makeArray<Item>(3).size() != 3;
        wrong += mpr::makeArray<Item>(static_cast<std::size_t>(-1)).data() != nullptr;
        mpr::yield();
        { mpr::BlockingRegion blocking; }
        mpr::collect();
        wrong += mpr::needYield() != test::everyYield() && !test::everyAlloc();
        wrong += Item::destroyed != 3;
        wrong += root->next->value != 2 || root->items[1]->value != 3 || root->name[0] != 'n';
        wrong += root->kept[0]->value != 4 || copied[2] != 3 || plain[2] != root;
#if __has_include(<memory_resource>)
        wrong += mpr::heldResource()->is_equal(*std::pmr::new_delete_resource());
#endif
    }
    wrong += !runtime.destroy();
    wrong += Item::destroyed != 7;
    return wrong;
}

} // namespace no_exceptions

#if defined(__cpp_exceptions)
#include "test/catch.hpp"

TEST_CASE("cpp: everything, as it compiles without exceptions") {
    CHECK(no_exceptions::exercise() == 0);
}
#else
/* Somebody must call it, or the compiler leaves it out. */
int mprCompiledWithoutExceptions() {
    return no_exceptions::exercise();
}
#endif
