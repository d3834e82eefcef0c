// SPDX-License-Identifier: MIT
/*
    test/fault/mistakes/mistakes.cpp - The mistakes that C++ programs make most, each of them alone; see mistakes.h.
 */
#include "mistakes.h"

#include "mpr.hpp"

#include <array>
#include <cstring>

namespace {

struct Item {
    int number = 0;
    mpr::Member<Item> next;
    void trace(mpr::Marker &marker) const { marker(next); }
};

template <class Owner>
void keep(Owner *owner, void (*store)(Owner *)) {
    mpr::Root<Owner> root = owner;
    store(owner);
    collect();
}

// ---- Globals --------------------------------------------------------------------------------------------------------

Item *volatile current; // otherwise the compiler leaves out what nobody reads

void globalPointer(bool wrong) {
    current = mpr::make<Item>();
    mpr::Root<Item> root = wrong ? nullptr : current;
    collect();
}

void localStatic(bool wrong) {
    static Item *volatile cached;
    cached = mpr::make<Item>();
    mpr::Root<Item> root = wrong ? nullptr : cached;
    collect();
}

struct Registry {
    Item *volatile items[4];
    static Registry all;
};
Registry Registry::all;

void staticMember(bool wrong) {
    Registry::all.items[1] = mpr::make<Item>();
    mpr::Root<Item> root = wrong ? nullptr : Registry::all.items[1];
    collect();
}

// ---- Fields ---------------------------------------------------------------------------------------------------------

struct Shelf {
    mpr::Member<Item> first;
    Item *plain = nullptr;
    std::array<Item *, 3> rest = {};
    void trace(mpr::Marker &marker) const { marker(first); }
};

void plainMember(bool wrong) {
    wrong ? keep<Shelf>(mpr::make<Shelf>(), [](Shelf *shelf) { shelf->plain = mpr::make<Item>(); })
          : keep<Shelf>(mpr::make<Shelf>(), [](Shelf *shelf) { shelf->first = mpr::make<Item>(); });
}

void plainArray(bool wrong) {
    wrong ? keep<Shelf>(mpr::make<Shelf>(), [](Shelf *shelf) { shelf->rest[2] = mpr::make<Item>(); })
          : keep<Shelf>(mpr::make<Shelf>(), [](Shelf *shelf) { shelf->first = mpr::make<Item>(); });
}

struct Forgetful {
    mpr::Member<Item> first, second;
    void trace(mpr::Marker &marker) const { marker(first); }
};

void memberNotTraced(bool wrong) {
    wrong ? keep<Forgetful>(mpr::make<Forgetful>(), [](Forgetful *owner) { owner->second = mpr::make<Item>(); })
          : keep<Forgetful>(mpr::make<Forgetful>(), [](Forgetful *owner) { owner->first = mpr::make<Item>(); });
}

struct Untraced {
    int number = 0;
    Item *item = nullptr;
};
struct Traced {
    int number = 0;
    mpr::Member<Item> item;
    void trace(mpr::Marker &marker) const { marker(item); }
};

void noTrace(bool wrong) {
    wrong ? keep<Untraced>(mpr::make<Untraced>(), [](Untraced *owner) { owner->item = mpr::make<Item>(); })
          : keep<Traced>(mpr::make<Traced>(), [](Traced *owner) { owner->item = mpr::make<Item>(); });
}

class Hidden {
public:
    explicit Hidden(Item *item) : item_(item) {}

private:
    mpr::Member<Item> item_;
};
class Seen {
public:
    explicit Seen(Item *item) : item_(item) {}
    void trace(mpr::Marker &marker) const { marker(item_); }

private:
    mpr::Member<Item> item_;
};

void classWithoutTrace(bool wrong) {
    wrong ? keep<Hidden>(mpr::make<Hidden>(mpr::make<Item>()), [](Hidden *) {})
          : keep<Seen>(mpr::make<Seen>(mpr::make<Item>()), [](Seen *) {});
}

// ---- Stores ---------------------------------------------------------------------------------------------------------

void copiedMember(bool wrong) {
    mpr::Root<Item> owner = mpr::make<Item>();
    collect();
    Item *const next = mpr::make<Item>();
    if (wrong) {
        std::memcpy(static_cast<void *>(&owner->next), &next, sizeof(next));
    } else {
        owner->next = next;
    }
    mprGC(MPR_GC_MINOR | MPR_GC_COMPLETE);
}

} // namespace

int main(int argc, char **argv) {
    const Mistake mistakes[] = {
        {"global-pointer", "check=globals", globalPointer, {"global without a root? current (", "Item)"}},
        {"local-static-pointer", "check=globals", localStatic, {"global without a root?", "cached", "Item)"}},
        {"static-member", "check=globals", staticMember, {"root? Registry::all+0x", "Item)"}},
        {"plain-member", "check=fields", plainMember, {"Shelf) has at offset", "Item)"}},
        {"plain-array", "check=fields", plainArray, {"Shelf) has at offset", "Item)"}},
        {"member-not-traced", "check=fields", memberNotTraced, {"Forgetful) has at offset", "Item)"}},
        {"no-trace", "check=fields", noTrace, {"has no manager or trace function", "at offset", "Item)"}},
        {"class-without-trace", "", classWithoutTrace, {"Hidden>: object", "at offset"}},
        {"copied-member", "check=1", copiedMember, {"at offset", "promised the barrier", "Item"}},
    };
    return runMistakes(argc, argv, mistakes, static_cast<int>(std::size(mistakes)));
}
