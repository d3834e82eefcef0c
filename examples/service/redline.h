/* SPDX-License-Identifier: MIT */
/*
    redline.h - What the service does when memory runs short: it gives up cached pages, not requests.

    The runtime calls both functions in the middle of an allocation, on the loop thread (the only one that allocates):
      notifier  told first. Counts the crossing and asks for a collection without waiting for it.
      pruner    then. Drops pages: half of them at the redline, all at the hard limit.
    From then on, until memory has fallen under the redline again, the cache stays as small as the pruner left it.
    Neither yields. What they drop is freed by the collection that was asked for, at the loop's next yield, so the
    allocation that crossed the redline succeeds as before. One that fails at the hard limit is answered 503.
 */
#pragma once

#include "board.h"
#include "content.h"

namespace service {

class Redline {
public:
    /** @return false when the runtime takes no more pruners. The cache must stay a part of a root meanwhile. */
    bool watch(Content& content, Board& board);
    void unwatch();
    /** Lift the cache's limit again if memory allows. Called now and then, outside any allocation. */
    void tick();

private:
    Content* content_ = nullptr;
};

} // namespace service
