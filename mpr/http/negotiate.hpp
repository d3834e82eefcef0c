// SPDX-License-Identifier: MIT
/*
    negotiate.hpp - What of what a client accepts it is sent: content codings by quality value; and which media are
    worth compressing. RFC 9110 (2022), 12.4.2 and 12.5.3.
 */
#pragma once

#include <string_view>

namespace mpr::http {

enum class Coding { identity, gzip, deflate };

/**
    The coding of a response.
    @param accepted What Accept-Encoding says; data() nullptr: it is not there.
    @return That of the greatest quality; of equals gzip, then deflate, which is zlib's format (RFC 1950) and which some
    read as another, then identity. Identity also when nothing is accepted: a client can do more with that than with
    406.
 */
Coding chooseCoding(std::string_view accepted);

/** The name in Content-Encoding; nullptr of identity. */
const char* nameOf(Coding coding);

/** Whether bodies of a media type get much shorter. Those of types that are not known to are not compressed; nor are
    event streams, which would wait in the compressor. @param type As Content-Type says; its parameters do not count. */
bool isCompressible(std::string_view type);

} // namespace mpr::http
