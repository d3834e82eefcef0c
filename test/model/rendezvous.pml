/* SPDX-License-Identifier: MIT */
/*
    rendezvous.pml - The protocols of mpr/gc/rendezvous.hpp and mpr/gc/duty.hpp in Promela, and how collections are asked for
    (mpr/gc/cycle.hpp), step for step.

    Checked: no thread runs while a collection marks, and only who has the duty marks (assertions); nobody sleeps for ever and no
    request is lost (no invalid end state): a thread goes on running until it sees `wanted`, and ends only when no collection
    is asked for, so a flag that stays cleared leaves the collection waiting. Two threads that ask for a collection each, at
    any moment; their requests do not wake the collector's thread, which the code's do only when it does not watch.
    Left out: portions of marking and sweeping that threads assist with, waits that end by the clock, the end of the runtime,
    and what processors reorder: weak.hpp and the shapes beside it are for that.
    `spin -run -safety rendezvous.pml` explores every interleaving; -DBROKEN_OPEN, -DBROKEN_ENTER, -DBROKEN_CLEAR,
    -DBROKEN_REQUEST, -DBROKEN_DUTY and -DBROKEN_LEFT plant a mistake, which the same run must find.
*/
#define THREADS 2
#define REQUESTS 1 /* of each thread */

mtype = { idle, requested, marks, frees };

byte running = THREADS; /* rendezvous word: the count ... */
bool closed = false;    /* ... and bit 0 */
/* Counters of the code, on which threads sleep, are a flag for each sleeper here: whether they have changed since it looked. */
bool opened[THREADS]; /* openings_ */
bool paused[THREADS]; /* pauses_ */
bool rang;            /* bell_ */
bool duty = true; /* the lock; the collector's thread has it first */
bool marking = false;
mtype phase = idle;
bool wanted = false;  /* threads should yield */
bool pending = false; /* a request came while a collection ran */

inline enter() {
    do
    :: opened[_pid] = false;
       if
#ifdef BROKEN_ENTER
       :: !closed -> running++; break /* test and increment are two steps */
#else
       :: atomic { !closed -> running++ }; break
#endif
       :: closed -> opened[_pid] /* futex wait: returns at once when the value has changed */
       fi
    od
}

inline request() {
    do
    :: atomic { was = phase; if :: was == idle -> phase = requested :: else -> skip fi }; /* compare and swap */
       if
       :: was == idle -> wanted = true; break
       :: was == requested -> wanted = true; break
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

/* Threads go on, and somebody may have asked for the next collection meanwhile. */
inline open() {
#ifdef BROKEN_OPEN
    opened[0] = true; opened[1] = true; /* before the gate is open: a thread may see the new value and the closed gate, and sleep for ever */
    closed = false
#else
    closed = false;
    opened[0] = true;
    opened[1] = true
#endif
}

/* Collection::pause: by who has the duty, when it has found the gate closed and nobody running. */
inline pause() {
    phase = marks;
    assert(!marking);
    marking = true;
    marking = false;
    wanted = pending;
    paused[0] = true;
    paused[1] = true;
    if
    :: phase = idle; open() /* a slice */
    :: phase = frees; open()
    fi
}

/* Cycle::endSweeping */
inline endReclaim() {
    wanted = pending;
    phase = idle
}

/* Cycle::beginNext; the request of a collector wakes its thread. */
inline goOn() {
    atomic { again = pending; pending = false };
    if
    :: again -> request(); rang = true
    :: else -> skip
    fi
}

/* Duty::serve */
inline serve() {
    running--;
    served = false;
    do
    :: phase != requested -> break
    :: else ->
       if
       :: atomic { !duty -> duty = true };
          calls = false;
          if
          :: phase == requested ->
             closed = true;
             wanted = true;
             if
             :: running == 0 ->
                pause();
                if
                :: phase == frees -> endReclaim(); goOn() /* a small sweep */
                :: phase == idle -> goOn()
                :: phase == frees -> skip /* left to the collector's thread */
                :: phase == requested -> skip /* by the other, just now */
                fi;
                calls = phase != idle
             :: else -> skip
             fi
          :: else -> skip
          fi;
          duty = false;
          if
#ifndef BROKEN_LEFT
          :: calls -> rang = true
#endif
          :: else -> skip
          fi;
          served = true;
          if
          :: running == 0 -> skip
          :: else -> break
          fi
       :: duty ->
          if
#ifndef BROKEN_DUTY
          :: running == 0 -> rang = true
#endif
          :: else -> skip
          fi;
          break
       fi
    od
}

/* Safepoint::waitOut */
inline yield() {
    serve();
    if
    :: served -> skip
    :: else ->
       was = phase;
       if
       :: was == frees -> phase != frees
       :: was == requested -> paused[_pid] = false; (phase != requested || paused[_pid])
       :: was == idle ->
          wanted = false;
#ifndef BROKEN_CLEAR
          if
          :: phase == requested -> wanted = true
          :: else -> skip
          fi
#endif
       :: was == marks -> skip
       fi
    fi;
    enter()
}

active [THREADS] proctype Mutator() {
    byte asked = 0;
    bool last, served, calls, again;
    mtype was;
    do
    :: asked < REQUESTS -> request(); asked++
    :: wanted -> assert(!marking); yield(); assert(!marking)
    :: asked == REQUESTS && phase == idle && !pending -> break
    od;
    assert(!marking);
    /* Safepoint::stepOut */
    atomic { running--; last = running == 0 };
    if
    :: last && phase == requested -> rang = true
    :: else -> skip
    fi
}

active proctype Collector() {
    bool again;
    mtype was;
    do
    :: rang = false;
       if
       :: phase == frees -> endReclaim(); goOn()
       :: phase == requested ->
          closed = true;
          wanted = true;
          if
          :: running == 0 ->
             pause();
             if
             :: phase == frees -> endReclaim()
             :: else -> skip
             fi;
             goOn()
          :: else ->
             duty = false;
end_waiting:
             rang;
             atomic { !duty -> duty = true }
          fi
       :: else ->
          duty = false;
end_resting:
          rang;
          atomic { !duty -> duty = true }
       fi
    od
}
