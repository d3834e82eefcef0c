// SPDX-License-Identifier: MIT
/*
    capability.hpp - What clang is told of locks, so that it can see who needs one and has not taken it.

    Attributes, which only a macro can name, and which other compilers do not know. In builds by clang the library is
    compiled with -Wthread-safety (CMakeLists.txt). The analysis is of one function at a time and knows a lock by the
    expression that names it; what it cannot follow says assertHeld (lock.hpp), which checked builds see to.
 */
#pragma once

#ifdef __clang__
#define MPR_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define MPR_THREAD_SAFETY(attribute)
#endif

/** A class whose objects can be held. */
#define MPR_CAPABILITY(name) MPR_THREAD_SAFETY(capability(name))
/** A class whose objects hold something from constructor to destructor. */
#define MPR_SCOPED_CAPABILITY MPR_THREAD_SAFETY(scoped_lockable)
/** A variable that only who holds the lock may use. */
#define MPR_GUARDED_BY(lock) MPR_THREAD_SAFETY(guarded_by(lock))
/** A function that only who holds the lock may call. */
#define MPR_REQUIRES(...) MPR_THREAD_SAFETY(requires_capability(__VA_ARGS__))
/** A function that takes the lock, so its caller must not hold it. */
#define MPR_EXCLUDES(...) MPR_THREAD_SAFETY(locks_excluded(__VA_ARGS__))
/** A function that takes a lock, or gives one up, of its caller. */
#define MPR_ACQUIRES(...) MPR_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define MPR_RELEASES(...) MPR_THREAD_SAFETY(release_capability(__VA_ARGS__))
#define MPR_TRIES(...) MPR_THREAD_SAFETY(try_acquire_capability(__VA_ARGS__))
/** A function that returns only if its caller holds the lock. */
#define MPR_ASSERTS(...) MPR_THREAD_SAFETY(assert_capability(__VA_ARGS__))
/** A function of which the analysis knows nothing. */
#define MPR_UNANALYSED MPR_THREAD_SAFETY(no_thread_safety_analysis)
