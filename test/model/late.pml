/* SPDX-License-Identifier: MIT */
/*
    late.pml - Threads that give up waiting for a late one (mpr/gc/late.hpp), and threads that stop the others without a collection
    (Others::stop), in Promela, step for step. What rendezvous.pml checks is one step here: to open the gate and wake
    who sleeps before it, say. Left out are requests that come while a collection runs, and its sweep.

    Checked: no thread runs in a pause or beside one that has stopped the others, and none is counted twice (assertions); a
    requested collection happens once the late ones yield, running on ends where nobody is late, and nobody waits for ever (no
    invalid end state). So that these are seen, a step that changes nothing is none here: a thread that runs on and is not late
    does not yield, and a wait ends by the clock only if that has threads run on. The collector's thread does not wake by the
    clock at all. When it is time for the next wait (Grace) is left to chance.

    PLAN says what the threads do besides, a sum of
        1  the second is lazy: it does not yield before the first runs again, unless threads have to wait for it
        2  the first yields stickily, until there is no collection
        4  the second may end at any time
        8  memory is used up while threads run on
       16  both stop the others
       32  there are three threads, so that two that are late wait for each other: too much to be explored as a whole
    `spin -DPLAN=... -run -safety late.pml` explores every interleaving of the others. Each -DBROKEN_... plants a mistake,
    which is found with the plan that test/model/run names.
*/
#ifndef PLAN
#define PLAN 0
#endif
#if PLAN & 32
#define THREADS 3
#else
#define THREADS 2
#endif
/* Times that threads give up before a pause: from there on they have patience enough. */
#if PLAN & 35
#define MOST 2
#else
#define MOST 1
#endif

mtype = { idle, requested, marks };
mtype = { stops, runsOn, spent };

byte running = THREADS; /* rendezvous word: the count ... */
bool closed = false;    /* ... and bit 0 */
bool inside[THREADS] = true; /* who is counted */
bool state[THREADS] = true;  /* Mutator::state is running */
bool late[THREADS];
bool listed[THREADS] = true;
bool list = false;    /* the list's lock */
bool rang;            /* whether bell_ has changed since the collector's thread looked */
bool duty = true;     /* the lock; the collector's thread has it first */
#if PLAN & 16
mtype phase = idle;
bool wanted = false; /* threads should yield */
bool asked = false;
#else
mtype phase = requested;
bool wanted = true;
bool asked = true;
#endif
mtype course = stops;
byte givenUp = 0;
byte parked = 0;
bool waits[THREADS]; /* is one of the parked */

inline cas(from, to) { atomic { if :: course == from -> course = to :: else -> skip fi } }
inline leave() { atomic { assert(inside[_pid]); inside[_pid] = false; running--; last = running == 0 } }
inline lock() { atomic { !list -> list = true } }

#define mayGiveUp (phase == requested && course == stops && !duty && givenUp < MOST)

/* Late::isAnyLate; the list is locked */
inline isAnyLate() {
    any = false;
    i = 0;
    do
    :: i < THREADS && !any -> any = listed[i] && late[i] && state[i]; i++
    :: else -> break
    od
}

/* Late::giveUpOnLate; the guard is checked by who calls it */
inline giveUpOnLate() {
    lock();
    any = false;
    i = 0;
    do
    :: i < THREADS ->
       runs = listed[i] && state[i];
       late[i] = runs;
       any = any || runs;
       i++
    :: else -> break
    od;
    list = false;
    if
    :: any ->
       cas(stops, runsOn);
       atomic {
          if
          :: closed && running == 0 -> any = false
#ifdef BROKEN_GATE
          :: else -> givenUp++
#else
          :: else -> closed = false; givenUp++
#endif
          fi
       };
       if
       :: any ->
#ifndef BROKEN_NOTE
          lock();
          isAnyLate();
          list = false;
          if
          :: !any -> cas(runsOn, stops)
          :: else -> skip
          fi
#endif
       :: else -> course = stops
       fi
    :: else -> skip
    fi
}

/* Late::runOn */
inline runOn() {
    if
#ifdef BROKEN_OFF_DUTY
    :: phase == requested && course == stops -> giveUpOnLate()
#else
    :: atomic { mayGiveUp -> duty = true }; giveUpOnLate(); duty = false
#endif
    :: else -> skip
    fi
}

inline enter() {
    do
    :: atomic { !closed -> assert(!inside[_pid] && phase != marks); inside[_pid] = true; running++ }; break
    :: closed && mayGiveUp -> runOn()
    od;
    state[_pid] = true
}

/* Late::cameLast; the list is locked */
inline cameLast() {
    late[_pid] = false;
    isAnyLate();
    if
#ifdef BROKEN_LAST
    :: any -> cas(runsOn, stops)
#else
    :: !any -> cas(runsOn, stops)
#endif
    :: else -> skip
    fi
}

/* Late::gather */
inline gather() {
    lock();
    cameLast();
    list = false;
    if
    :: !any -> stays = true
    :: else ->
       do
       :: course != runsOn || phase != requested || running == 0 -> stays = true; break
       :: givenUp < MOST -> givenUp++;
          late[_pid] = true;
          stays = false;
          break
       od
    fi
}

/* Duty::haveAllStopped */
inline meet() {
    met = false;
    if
    :: phase != requested || (course == runsOn && running != 0) -> skip
    :: else ->
       cas(runsOn, stops);
       atomic { closed = true; wanted = true };
       met = running == 0
    fi
}

inline pause() {
    atomic { phase = marks; assert(running == 0 && closed) };
    atomic {
       assert(running == 0 && closed);
       givenUp = 0;
       course = stops;
       wanted = false;
       phase = idle;
       closed = false
    }
}

inline serve() {
    served = false;
    do
    :: phase != requested -> break
    :: else ->
       if
       :: atomic { !duty -> duty = true };
          meet();
          if
          :: met -> pause()
          :: else -> skip
          fi;
          duty = false;
          served = true;
          if
          :: running == 0 -> skip
          :: else -> break
          fi
       :: duty ->
          if
          :: running == 0 -> rang = true
          :: else -> skip
          fi;
          break
       fi
    od
}

inline yield() {
    if /* Late::passesBy */
    :: course == runsOn && !late[_pid] -> goes = false
    :: course == runsOn && late[_pid] -> goes = true
    :: course == runsOn && late[_pid] -> goes = false; /* promptly: it is late only if nobody else is */
       lock();
       late[_pid] = false;
       isAnyLate();
       late[_pid] = !any;
       list = false
    :: course != runsOn -> goes = true
    fi;
    if
    :: goes ->
       state[_pid] = false; /* Safepoint::waitOut */
       leave();
       stays = true;
       if
       :: late[_pid] -> gather()
       :: else -> skip
       fi;
       served = true;
       if
       :: stays -> serve()
       :: else -> skip
       fi;
       if
       :: served -> skip
       :: !served && phase == requested ->
          do
          :: phase != requested || course == runsOn -> break
          :: mayGiveUp -> runOn()
          od
       :: !served && phase == idle ->
          wanted = false;
          if
          :: phase == requested -> wanted = true
          :: else -> skip
          fi
       :: !served && phase == marks -> skip
       fi;
       enter()
    :: else -> skip
    fi
}

/* Others::stop, without the deadline */
inline stopOthers() {
    atomic { parked++; waits[_pid] = true };
    atomic { !duty -> duty = true };
    do
    ::
#ifndef BROKEN_STOP
       cas(runsOn, stops);
#endif
       atomic { closed = true; wanted = true };
       if
       :: running <= parked -> break
       :: running > parked -> (running <= parked || !wanted) /* polls */
       fi
    od;
    assert(phase != marks && (!inside[1 - _pid] || waits[1 - _pid]));
    assert(phase != marks && (!inside[1 - _pid] || waits[1 - _pid]));
    closed = false;
    if
    :: phase == requested -> skip
    :: else ->
       wanted = false;
#ifndef BROKEN_FLAG
       if
       :: phase == requested -> wanted = true
       :: else -> skip
       fi
#endif
    fi;
#ifdef BROKEN_PARKED
    duty = false;
#endif
    atomic { parked--; waits[_pid] = false };
    duty = false;
    rang = true
}

#define mustYield (wanted && (course != runsOn || late[_pid]))
#define mayYield (_pid == 0 || !(PLAN & 1) || inside[0] || !listed[0] || givenUp >= MOST || course == spent)

active [THREADS] proctype Mutator() {
    bool last, served, goes, stays, met, any, runs, verified, blocked;
    byte i;
    do
#if PLAN & 16
    :: _pid == 0 && !asked -> atomic { phase = requested; asked = true }; wanted = true
#endif
    :: mustYield && mayYield -> yield()
#if PLAN & 8
    :: course == runsOn -> cas(runsOn, spent)
#endif
#if PLAN & 16
    :: !verified -> verified = true; stopOthers()
#endif
#if PLAN & 2
    :: _pid == 0 && !blocked -> blocked = true; state[_pid] = false;
       leave(); /* Safepoint::stepOut */
#ifndef BROKEN_LEAVE
       if
       :: late[_pid] -> lock(); cameLast(); list = false
       :: else -> skip
       fi;
#endif
       if
       :: last && phase == requested -> rang = true
       :: else -> skip
       fi;
       phase == idle;
       enter()
#endif
#if PLAN & 4
    :: _pid == 1 -> break
#endif
    :: asked && phase == idle -> break
    od;
    lock(); /* Mutators::detach */
#ifndef BROKEN_DETACH
    if
    :: late[_pid] -> cameLast()
    :: else -> skip
    fi;
#endif
    listed[_pid] = false;
    leave();
    if
    :: last && phase == requested -> rang = true
    :: else -> skip
    fi;
    list = false
}

active proctype Collector() {
    bool met;
    do
    :: rang = false;
       if
       :: phase == requested -> meet()
       :: else -> met = false
       fi;
       if
       :: met -> pause()
       :: else ->
          duty = false;
end_resting:
          rang;
          atomic { !duty -> duty = true }
       fi
    od
}
