// SPDX-License-Identifier: MIT
/*
    weak.cpp - The memory of weak.hpp, and how an execution takes a step.
 */
#include "test/model/weak.hpp"

namespace model {

namespace {
/** Not cryptographic: a million states among 2^64 values. */
void mix(std::uint64_t& hash, std::uint64_t value) {
    hash = (hash + value + 1) * 0x9FB21C651E98DF25u; // a zero counts, too
    hash ^= hash >> 29;
}

const char* nameOf(const Operation& o) {
    switch (o.kind) {
    case Operation::load: return "loads";
    case Operation::store: return "stores";
    case Operation::update: return "updates";
    case Operation::fence: return "fence";
    case Operation::finishLoad: return "loads late";
    case Operation::sleep: return "sleeps on";
    case Operation::wake: return "wakes";
    }
    return "";
}
} // namespace

// ---- Threads -------------------------------------------------------------------------------------------------------

Later Thread::loadLater(Place p) {
    pending_.push_back({p.index, now_.at[p.index], false, 0});
    return {static_cast<unsigned>(pending_.size() - 1)};
}

bool Thread::hasPending(unsigned place) const {
    return std::any_of(pending_.begin(), pending_.end(),
                       [&](const Pending& pending) { return !pending.done && pending.place == place; });
}

bool Thread::hasPending() const {
    return std::any_of(pending_.begin(), pending_.end(), [](const Pending& pending) { return !pending.done; });
}

Value Thread::read(Data d) {
    World::DataState& data = world_.data_[d.index];
    if (data.written > now_.clock[data.writer] && data.writer != index_) {
        world_.check(false, "data race: a read and a write are not ordered");
    }
    data.readAt[index_] = now_.clock[index_];
    mix(history_, data.value);
    return data.value;
}

void Thread::write(Data d, Value v) {
    World::DataState& data = world_.data_[d.index];
    bool ordered = data.writer == index_ || data.written <= now_.clock[data.writer];
    for (unsigned i = 0; i < mostThreads; ++i) {
        ordered = ordered && (i == index_ || data.readAt[i] <= now_.clock[i]);
    }
    world_.check(ordered, "data race: a write and another access are not ordered");
    data.value = v;
    data.writer = index_;
    data.written = now_.clock[index_];
}

void Thread::keep(Value v) {
    mix(kept_, v);
}

void Thread::forget(std::uint64_t here, Value what) {
    history_ = here;
    mix(history_, what);
}

void Thread::check(bool right, const char* what) {
    world_.check(right, what);
}

// ---- Places --------------------------------------------------------------------------------------------------------

Place World::place(const char* name, Value initial) {
    places_.push_back({name, {Message{initial, false, {}}}, 0});
    check(places_.size() <= mostPlaces, "too many places");
    return {static_cast<unsigned>(places_.size() - 1)};
}

Data World::data(const char* name, Value initial) {
    data_.push_back({name, initial, 0, 0, {}});
    return {static_cast<unsigned>(data_.size() - 1)};
}

void World::begin() {
    check(threads_.size() <= mostThreads, "too many threads");
    for (Thread& t : threads_) {
        resume(t, 0);
    }
}

void World::resume(Thread& t, Value result) {
    t.result_ = result;
    mix(t.history_, result);
    t.leaf_.resume();
    if (t.body_.handle().done()) {
        t.ended_ = true;
        // Of no use to anybody: states that differ in them are one.
        t.now_ = t.acquired_ = t.released_ = {};
        t.history_ = t.kept_;
    }
}

bool World::ended() const {
    return std::all_of(threads_.begin(), threads_.end(), [](const Thread& t) { return t.ended_; });
}

std::string World::sleepers() const {
    std::string names;
    for (const Thread& t : threads_) {
        names += t.ended_ ? "" : std::string(" ") + t.name_;
    }
    return names;
}

// ---- Choices -------------------------------------------------------------------------------------------------------

/** The first message that an operation may read, or behind which it may store. */
unsigned World::oldest(const Thread& t, const Operation& o) const {
    const unsigned seen = t.now_.at[o.place];
    return o.order == Order::seqCst ? std::max(seen, places_[o.place].strong) : seen;
}

bool World::mayRead(const Operation& o, unsigned message) const {
    if (!o.rule) {
        return true;
    }
    const PlaceState& p = places_[o.place];
    const bool stores = o.rule(p.messages[message].value, o.a, o.b).stores;
    if (o.kind == Operation::load || !stores) {
        return stores || !o.waits;
    }
    return mayPut(p, message + 1);
}

unsigned World::choicesOf(const Thread& t) const {
    const Operation& o = t.operation_;
    if (t.ended_ || t.asleep_) {
        return 0;
    }
    const bool performsAll = o.kind == Operation::fence || o.kind == Operation::wake || o.kind == Operation::sleep ||
                             ((o.kind == Operation::store || o.kind == Operation::update) && releases(o.order));
    const bool touches = o.kind == Operation::load || o.kind == Operation::store || o.kind == Operation::update;
    if ((performsAll && t.hasPending()) || (touches && t.hasPending(o.place))) {
        return 0; // before what must come behind a load, that load is performed
    }
    const PlaceState& p = places_[o.place];
    const auto messages = static_cast<unsigned>(p.messages.size());
    unsigned count = 0;
    switch (o.kind) {
    case Operation::load:
    case Operation::update:
        for (unsigned i = oldest(t, o); i < messages; ++i) {
            count += mayRead(o, i);
        }
        return count;
    case Operation::store:
        for (unsigned at = oldest(t, o) + 1; at <= messages; ++at) {
            count += mayPut(p, at);
        }
        return count;
    case Operation::finishLoad: return t.pending_[o.a].done ? 1 : 0;
    case Operation::wake:
        count = static_cast<unsigned>(std::count_if(threads_.begin(), threads_.end(), [&](const Thread& other) {
            return other.asleep_ && other.operation_.place == o.place;
        }));
        return o.a == 1 && count > 1 ? count : 1;
    default: return 1;
    }
}

unsigned World::choices() {
    unsigned count = 0;
    for (const Thread& t : threads_) {
        count += choicesOf(t);
        for (const Thread::Pending& pending : t.pending_) {
            count += pending.done ? 0 : static_cast<unsigned>(places_[pending.place].messages.size()) - pending.oldest;
        }
    }
    return count;
}

void World::take(unsigned choice) {
    for (Thread& t : threads_) {
        const unsigned own = choicesOf(t);
        if (choice < own) {
            return perform(t, choice);
        }
        choice -= own;
        for (Thread::Pending& pending : t.pending_) {
            const auto messages = static_cast<unsigned>(places_[pending.place].messages.size());
            const unsigned ways = pending.done ? 0 : messages - pending.oldest;
            if (choice < ways) {
                const unsigned message = pending.oldest + choice;
                see(t, pending.place, message, Order::relaxed);
                pending = {pending.place, 0, true, places_[pending.place].messages[message].value};
                return;
            }
            choice -= ways;
        }
    }
}

/** The message that the choice-th way to perform an operation reads, or the index that it stores at. */
unsigned World::nth(const Thread& t, const Operation& o, unsigned choice) const {
    const bool stores = o.kind == Operation::store;
    for (unsigned i = oldest(t, o) + stores;; ++i) {
        const bool may = stores ? mayPut(places_[o.place], i) : mayRead(o, i);
        if (may && choice-- == 0) {
            return i;
        }
    }
}

// ---- Steps ---------------------------------------------------------------------------------------------------------

void World::perform(Thread& t, unsigned choice) {
    const Operation o = t.operation_;
    PlaceState& p = places_[o.place];
    Value result = 0;
    unsigned message = 0;
    switch (o.kind) {
    case Operation::load:
        message = nth(t, o, choice);
        result = p.messages[message].value;
        see(t, o.place, message, o.order);
        break;
    case Operation::store:
        message = nth(t, o, choice);
        result = o.a;
        put(t, o.place, message, o.a, o.order, nullptr);
        break;
    case Operation::update: {
        message = nth(t, o, choice);
        result = p.messages[message].value;
        const Change change = o.rule(result, o.a, o.b);
        see(t, o.place, message, change.stores ? o.order : o.failure);
        if (change.stores) {
            const View handedOn = p.messages[message].view;
            put(t, o.place, message + 1, change.value, o.order, &handedOn);
        }
        break;
    }
    case Operation::fence: fence(t, o.order); break;
    case Operation::finishLoad: result = t.pending_[o.a].value; break;
    case Operation::sleep:
        see(t, o.place, static_cast<unsigned>(p.messages.size() - 1), Order::relaxed); // the system looks
        t.asleep_ = p.messages.back().value == o.a;
        break;
    case Operation::wake: wake(t, choice); break;
    }
    steps_.push_back({&t, o, result, message, static_cast<unsigned>(p.messages.size())});
    if (!t.asleep_) {
        resume(t, result);
    }
}

void World::see(Thread& t, unsigned place, unsigned message, Order o) {
    t.now_.at[place] = static_cast<std::uint8_t>(std::max<unsigned>(t.now_.at[place], message));
    const View& view = places_[place].messages[message].view;
    t.acquired_.join(view);
    if (acquires(o)) {
        t.now_.join(view);
    }
}

/** @param handsOn What an update has read, or nullptr. */
void World::put(Thread& t, unsigned place, unsigned at, Value v, Order o, const View* handsOn) {
    PlaceState& p = places_[place];
    shift(place, at);
    if (p.strong >= at) {
        ++p.strong;
    }
    Message message{v, handsOn != nullptr, {}};
    t.now_.at[place] = static_cast<std::uint8_t>(at);
    message.view = releases(o) ? t.now_ : t.released_;
    message.view.at[place] = static_cast<std::uint8_t>(at);
    if (handsOn) {
        message.view.join(*handsOn);
    }
    p.messages.insert(p.messages.begin() + at, message);
    if (o == Order::seqCst) {
        p.strong = at;
    }
    if (releases(o)) {
        ++t.now_.clock[t.index_]; // what comes from here on is not released by this message
    }
}

/** A message comes to stand at an index: what knows of those from there on knows them by the next. */
void World::shift(unsigned place, unsigned from) {
    const auto shiftIn = [=](View& view) {
        view.at[place] = static_cast<std::uint8_t>(view.at[place] + (view.at[place] >= from));
    };
    for (Thread& t : threads_) {
        shiftIn(t.now_);
        shiftIn(t.acquired_);
        shiftIn(t.released_);
        for (Thread::Pending& pending : t.pending_) {
            pending.oldest += pending.place == place && pending.oldest >= from;
        }
    }
    for (PlaceState& p : places_) {
        for (Message& message : p.messages) {
            shiftIn(message.view);
        }
    }
    shiftIn(strongView_);
}

void World::fence(Thread& t, Order o) {
    if (acquires(o)) {
        t.now_.join(t.acquired_);
    }
    if (o == Order::seqCst) {
        t.now_.join(strongView_);
        strongView_ = t.now_;
    }
    if (releases(o)) {
        t.released_ = t.now_;
        ++t.now_.clock[t.index_];
    }
}

/** Who sleeps has its turn again, in which it goes on. */
void World::wake(Thread& waker, unsigned choice) {
    const Operation& o = waker.operation_;
    for (Thread& t : threads_) {
        if (t.asleep_ && t.operation_.place == o.place && (o.a == 0 || choice-- == 0)) {
            t.asleep_ = false;
            resume(t, 0);
        }
    }
}

// ---- States --------------------------------------------------------------------------------------------------------

/** The oldest message of a place that a thread may still read. */
unsigned World::firstOf(unsigned place) const {
    auto first = static_cast<unsigned>(places_[place].messages.size() - 1);
    for (const Thread& t : threads_) {
        first = t.ended_ ? first : std::min<unsigned>(first, t.now_.at[place]);
        for (const Thread::Pending& pending : t.pending_) {
            first = !pending.done && pending.place == place ? std::min(first, pending.oldest) : first;
        }
    }
    return first;
}

std::uint64_t World::hash() const {
    std::array<std::uint8_t, mostPlaces> first{};
    for (unsigned place = 0; place < places_.size(); ++place) {
        first[place] = static_cast<std::uint8_t>(firstOf(place));
    }
    std::uint64_t hash = 0;
    const auto mixView = [&](const View& view) {
        for (unsigned place = 0; place < places_.size(); ++place) {
            mix(hash, std::max(view.at[place], first[place]) - first[place]);
        }
        for (unsigned i = 0; i < threads_.size(); ++i) {
            mix(hash, view.clock[i]);
        }
    };
    for (const Thread& t : threads_) {
        mix(hash, t.history_);
        mix(hash, t.asleep_ + 2u * t.ended_);
        mixView(t.now_);
        mixView(t.acquired_);
        mixView(t.released_);
        for (const Thread::Pending& pending : t.pending_) {
            mix(hash, pending.done + 2u * pending.place);
            mix(hash, pending.done ? pending.value : pending.oldest - first[pending.place]);
        }
    }
    for (unsigned place = 0; place < places_.size(); ++place) {
        const PlaceState& p = places_[place];
        mix(hash, p.messages.size() - first[place]);
        mix(hash, std::max<unsigned>(p.strong, first[place]) - first[place]);
        for (unsigned i = first[place]; i < p.messages.size(); ++i) {
            mix(hash, p.messages[i].value * 2u + (i > first[place] && p.messages[i].attached));
            mixView(p.messages[i].view);
        }
    }
    for (const DataState& data : data_) {
        mix(hash, data.value);
        mix(hash, data.writer * 256u + data.written);
        for (unsigned i = 0; i < threads_.size(); ++i) {
            mix(hash, data.readAt[i]);
        }
    }
    mixView(strongView_);
    return hash;
}

std::string World::trace() const {
    std::string text;
    for (const Step& step : steps_) {
        const Operation& o = step.operation;
        text += std::string(step.thread->name_) + " " + nameOf(o) + " ";
        text += o.kind == Operation::fence || o.kind == Operation::finishLoad ? "" : places_[o.place].name;
        text += " " + std::to_string(step.value);
        if (o.kind == Operation::load || o.kind == Operation::update || o.kind == Operation::store) {
            text += " (" + std::to_string(step.message + 1) + " of " + std::to_string(step.of) + ")";
        }
        text += "\n";
    }
    return text;
}

} // namespace model
