/* SPDX-License-Identifier: MIT */
/*
    load.h - What the demo's clients ask for, and how they judge the answers.

    A client knows what each answer has to be, contents included: a page is recognised by its bytes, a session by its
    number of visits. Memory freed too early would show here.
 */
#pragma once

#include "client.h"
#include "latency.h"

#include <atomic>
#include <random>
#include <vector>

namespace service {

/** Draws keys 0 to count-1 so that key k is drawn in proportion to 1/(k+1). */
class Zipf {
public:
    explicit Zipf(std::size_t count);
    std::size_t draw(std::mt19937_64& random) const;

private:
    std::vector<double> sums_;
};

/** What one client counts. Others may read the atomics meanwhile, the rest after the client's thread has ended. */
struct Tally {
    std::atomic<std::uint64_t> requests{0}; // Answered, or failed
    std::atomic<std::uint64_t> refused{0};  // Answered 503 in order
    std::atomic<std::uint64_t> errors{0};   // Anything else that was not expected
    Latency latency;
    std::string firstError;
};

class Load {
public:
    Load(int port, const Zipf& zipf, unsigned seed) : client_(port), zipf_(zipf), random_(seed), seed_(seed) {}

    /** One request, or several pipelined, of all kinds. @return Whether all went as expected. */
    bool step(Tally& tally);
    /** Store one big page under a new name; then one ordinary step. */
    bool flood(Tally& tally, std::size_t size);

private:
    struct Known { // A session
        std::string id;
        std::uint64_t visits = 0;
    };

    std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
    std::string get(std::string_view path, std::string_view fields = {}) const;
    std::string put(std::string_view name, std::size_t size);

    bool exchange(Tally& tally, std::string_view request, Reply& reply);
    bool judge(Tally& tally, const Reply& reply, bool good, std::string_view request);

    bool getPage(Tally& tally);
    bool getPages(Tally& tally);
    bool putPage(Tally& tally);
    bool newSession(Tally& tally);
    bool visit(Tally& tally);
    bool simple(Tally& tally, std::string_view path, std::string_view part);
    bool mistake(Tally& tally);

    Client client_;
    const Zipf& zipf_;
    std::mt19937_64 random_;
    unsigned seed_;
    std::vector<Known> sessions_;
    std::uint64_t flooded_ = 0;
};

} // namespace service
