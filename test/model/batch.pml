/* SPDX-License-Identifier: MIT */
/*
    batch.pml - Batches (mpr/heap/batch.hpp, mpr/gc/batch.hpp) in Promela: a thread that publishes and takes back at its
    yields, another one that takes what it finds, and a collection that comes when both have yielded.

    There are two blocks, x and y, made by the first thread, which has x refer to y. It stores x into an old object o, holds y,
    or does neither. The second thread loads o, moves the reference from x to its own object p, and may clear o. Then
    each yields. The first takes back what is not published, and the memory is used again at once.

    Checked: no block that can be reached from o, p, a hold or a root is free (assertions).
    `spin -run -safety batch.pml` explores every interleaving. Each -DBROKEN_... plants a mistake.
*/
#define X 1
#define Y 2

byte o, p;          /* what the old objects refer to; 0: nothing */
byte refers;        /* what x refers to */
bool published[3];
bool held;          /* y is */
bool freed[3];
bool private = true; /* the batch that x and y were made in goes on: it is not kept */
bool old[3];         /* found alive by a collection */

bool rooted;         /* y is, by a plain store to a linked root reference, which publishes nothing */

bool wanted;     /* a collection, which comes when both threads have stopped or ended */
bool stopped[2];

inline publish(b) {
    if
    :: b != 0 && private && !published[b] ->
        published[b] = true;
#ifndef BROKEN_CLOSURE
        if
        :: b == X && refers != 0 -> published[refers] = true
        :: else -> skip
        fi
#endif
    :: else -> skip
    fi
}

/* What is reachable is there. */
inline look() {
    atomic {
        assert(o == 0 || !freed[o]);
        assert(p == 0 || !freed[p]);
        assert(!(o == X) || refers == 0 || !freed[refers]);
        assert(!(p == X) || refers == 0 || !freed[refers]);
        assert(!held || !freed[Y]);
        assert(!rooted || !freed[Y])
    }
}

/* A yield that discards nothing: it ends the batch of the first thread, and waits for a collection if one is wanted. */
inline yield() {
    if
    :: _pid == 0 ->
#ifndef BROKEN_KEPT
        private = false
#else
        skip
#endif
    :: else -> skip
    fi;
    if
    :: wanted -> stopped[_pid] = true;
        atomic { !wanted -> stopped[_pid] = false }
    :: else -> skip
    fi
}

active proctype First() {
    bool stores, holds;
    select(stores : 0 .. 1);
    select(holds : 0 .. 1);
    refers = Y; /* a plain store into a private block */
    if
    :: holds ->
#ifndef BROKEN_HOLD
        publish(Y);
#endif
        held = true
    :: else -> skip
    fi
    if
    :: stores ->
#ifndef BROKEN_ORDER
        publish(X);
        o = X
#else
        o = X;
        publish(X)
#endif
    :: else -> skip
    fi
    /* Without a yield in between the promise is that what is rooted was published. */
    if
    :: rooted = true;
        yield();
        look()
    :: skip
    fi;
    /* A yield that discards. */
    if
    :: private ->
        atomic {
            freed[X] = freed[X] || !published[X];
            freed[Y] = freed[Y] || !published[Y]
        }
    :: else -> skip
    fi
    look();
    stopped[0] = true
}

active proctype Second() {
    byte x;
    x = o; /* with acquire: all that was written to x before */
    if
    :: x == X -> /* the reference moves, and x is dropped */
        p = refers;
        refers = 0;
        o = 0
    :: else -> skip
    fi
    yield();
    look();
    stopped[1] = true
}

active proctype Collector() {
    if
    :: wanted = true;
        atomic {
            stopped[0] && stopped[1] ->
            old[X] = o == X || p == X;
            old[Y] = o == Y || p == Y || held || rooted || (old[X] && refers == Y);
            freed[X] = freed[X] || !old[X];
            freed[Y] = freed[Y] || !old[Y];
            wanted = false
        }
    :: skip
    fi
}
