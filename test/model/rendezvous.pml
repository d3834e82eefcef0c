/*
    rendezvous.pml - The protocol of mpr/gc/rendezvous.hpp in Promela, step for step.

    Checked: no thread runs while the collector marks (assertion), and nobody sleeps for ever (no invalid end state), for two
    threads and three collections.
    `spin -run -safety rendezvous.pml` explores every interleaving; -DBROKEN_OPEN or -DBROKEN_ENTER plant a mistake, which
    the same run must find.
*/
#define THREADS 2
#define ROUNDS 2 /* yields of each thread */
#define COLLECTIONS 3

byte running = THREADS; /* rendezvous word: the count ... */
bool closed = false;    /* ... and bit 0 */
byte openings = 0;      /* the futex that threads sleep on; the code's never wraps in a wait's time, nor does this */
bool marking = false;
bool collectorSleeps = false; /* in the kernel, on the word */

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

active [THREADS] proctype Mutator() {
    byte seen, rounds = 0;
    bool wakes;
    do
    :: rounds < ROUNDS ->
       assert(!marking);
       leave();
       enter();
       rounds++
    :: rounds == ROUNDS -> break
    od;
    assert(!marking);
    leave()
}

active proctype Collector() {
    byte seen, collections = 0;
    do
    :: collections == COLLECTIONS -> break
    :: collections < COLLECTIONS ->
       collections++;
       closed = true;
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
       marking = true;
       marking = false;
#ifdef BROKEN_OPEN
       openings++; /* before the gate is open: a thread may see the new value and the closed gate, and sleep for ever */
       closed = false
#else
       closed = false;
       openings++
#endif
    od
}
