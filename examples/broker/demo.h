/* SPDX-License-Identifier: MIT */
/*
    demo.h - A client in a thread of its own that shows the broker.
 */
#pragma once

namespace broker {

/** Start it; it shuts the runtime down in the end. */
void demonstrate(int port);
/** Whether all went as it should. */
bool wasShown();

} // namespace broker
