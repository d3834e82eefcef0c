/*
    rendezvous.pml - The protocol of mpr/gc/rendezvous.hpp in Promela, and how collections are asked for (mpr/gc/collector.hpp),
    step for step.

    Checked: no thread runs while the collector marks (assertion), nobody sleeps for ever and no request is lost (no invalid end
    state): a thread goes on running until it sees `wanted`, and ends only when no collection is asked for, so a flag that
    stays cleared leaves the collector waiting. Two threads that ask for a collection each, at any moment.
    `spin -run -safety rendezvous.pml` explores every interleaving; -DBROKEN_OPEN, -DBROKEN_ENTER, -DBROKEN_CLEAR and
    -DBROKEN_REQUEST plant a mistake, which the same run must find.
*/
#define THREADS 2
#define REQUESTS 1 /* of each thread */

mtype = { idle, requested, marks, frees };

byte running = THREADS; /* rendezvous word: the count ... */
bool closed = false;    /* ... and bit 0 */
byte openings = 0;      /* the futex that threads sleep on; the code's never wraps in a wait's time, nor does this */
byte pauses = 0;
bool marking = false;
bool collectorSleeps = false; /* in the kernel, on the word */
mtype phase = idle;
bool wanted = false;  /* threads should yield */
bool pending = false; /* a request came while a collection ran */

inline leave() {
    /* fetch_sub, then wake if that made the word "closed, nobody runs": two steps, as in the code */
    atomic { running--; wakes = closed && running == 0 }
    if
    :: wakes -> collectorSleeps = false
    :: else -> skip
    fi
}

inline enter() {
    do
    :: seen = openings;
       if
#ifdef BROKEN_ENTER
       :: !closed -> running++; break /* test and increment are two steps */
#else
       :: atomic { !closed -> running++ }; break
#endif
       :: closed -> (openings != seen) /* futex wait: returns at once when the value has changed */
       fi
    od
}

inline request() {
    do
    :: atomic { was = phase; if :: was == idle -> phase = requested :: else -> skip fi }; /* compare and swap */
       if
       :: was == idle -> wanted = true; break
       :: was == requested -> break
       :: else ->
          pending = true;
          wanted = true;
#ifdef BROKEN_REQUEST
          break
#else
          if
          :: phase != idle -> break
          :: else -> skip /* the collection ended just now: nobody would look at it */
          fi
#endif
       fi
    od
}

/* Collector::waitOut */
inline yield() {
    leave();
    was = phase;
    if
    :: was == frees -> phase != frees
    :: was == requested -> seen = pauses; (phase != requested || pauses != seen)
    :: was == idle ->
       wanted = false;
#ifndef BROKEN_CLEAR
       if
       :: phase == requested -> wanted = true
       :: else -> skip
       fi
#endif
    :: was == marks -> skip
    fi;
    enter()
}

active [THREADS] proctype Mutator() {
    byte seen, asked = 0;
    bool wakes;
    mtype was;
    do
    :: asked < REQUESTS -> request(); asked++
    :: wanted -> assert(!marking); yield(); assert(!marking)
    :: asked == REQUESTS && phase == idle && !pending -> break
    od;
    assert(!marking);
    leave()
}

/* Threads go on, and somebody may have asked for the next collection meanwhile. */
inline open() {
#ifdef BROKEN_OPEN
    openings++; /* before the gate is open: a thread may see the new value and the closed gate, and sleep for ever */
    closed = false
#else
    closed = false;
    openings++
#endif
}

active proctype Collector() {
    byte seen;
    bool again;
    mtype was;
end:
    do
    :: phase == requested ->
       closed = true;
       wanted = true;
       do
       :: seen = running;
          if
          :: seen == 0 -> break
          :: else ->
             /* futex wait: sleeps only while the word still is what was seen */
             atomic {
                 if
                 :: running == seen -> collectorSleeps = true
                 :: else -> skip
                 fi
             };
             !collectorSleeps
          fi
       od;
       phase = marks;
       marking = true;
       marking = false;
       wanted = pending;
       pauses++;
       if
       :: phase = idle; open() /* a slice */
       :: phase = frees; open(); phase = idle
       fi;
       atomic { again = pending; pending = false };
       if
       :: again -> request()
       :: else -> skip
       fi
    od
}
