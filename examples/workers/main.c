/* SPDX-License-Identifier: MIT */
/*
    Workers: threads for work that computes or waits. A dispatcher of one's own collects the results in order.

    Rooms: task
 */
#include <mpr.h>

#include <stdio.h>

typedef struct Job {
    int from, to;
    int primes;
    MprDispatcher *results; /* Managed */
} Job;

static int finished; /* Only the results' dispatcher writes it, which runs one event at a time */
static int primes;
static MprCond *done;

static void manageJob(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(((Job *) ptr)->results);
    }
}

static void collect(void *data, MprEvent *event) {
    Job *job = (Job *) data;

    (void) event;
    primes += job->primes;
    if (++finished == 8) {
        mprSignalCond(done);
    }
}

/* Runs on a worker. The job is retained until this returns. */
static void count(void *data, MprWorker *worker) {
    Job *job = (Job *) data;
    int n, d;

    (void) worker;
    for (n = job->from; n < job->to; n++) {
        for (d = 2; d * d <= n && n % d != 0; d++) {}
        job->primes += n > 1 && d * d > n;
        mprYield(0); /* Long computations yield now and then */
    }
    mprCreateEvent(job->results, "collect", 0, collect, job, 0);
}

int main(int argc, char **argv) {
    MprDispatcher *results;
    Job *job;
    int i, result;

    if (!mprCreate(argc, argv, 0) || mprStart() < 0) {
        return 1;
    }
    results = mprCreateDispatcher("results", 0);
    done = mprCreateCond();
    if (!results || !done) {
        return 1;
    }
    mprAddRoot(results);
    mprAddRoot(done);
    mprSetMaxWorkers(4);
    for (i = 0; i < 8; i++) {
        job = mprAllocObj(Job, manageJob);
        if (!job) {
            return 1;
        }
        job->from = i * 5000;
        job->to = job->from + 5000;
        job->results = results;
        mprHold(job); /* mprSleep yields */
        while ((result = mprStartWorker(count, job)) == MPR_ERR_BUSY) {
            mprSleep(1);
        }
        mprRelease(job);
        if (result < 0) { /* Neither thread nor memory, as the log says: do without a worker */
            count(job, 0);
        }
    }
    if (mprWaitForCond(done, 60000) < 0) {
        fprintf(stderr,
                "workers: given up: no worker has collected the results; the log says whether there was a thread\n");
        return 1;
    }
    printf("%d primes below 40000\n", primes);
    mprRemoveRoot(results);
    mprRemoveRoot(done);
    return mprDestroy() && primes == 4203 ? 0 : 1;
}
