/* SPDX-License-Identifier: MIT */
/*
    lists - A work queue in a managed list: added, sorted by priority, worked off from the end.

        cc main.c -lmpr -luv -lpthread
 */
#include <mpr.h>
#include <stdio.h>
#include <string.h>

typedef struct Job {
    char *name; /* Managed */
    int priority;
} Job;

static void manageJob(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(((Job *) ptr)->name);
    }
}

static Job *createJob(cchar *name, int priority) {
    Job *job;

    if ((job = mprAllocObj(Job, manageJob)) != 0) {
        job->name = (char *) mprMemdup(name, strlen(name) + 1);
        job->priority = priority;
    }
    return job;
}

/* Items are given by address: jobs are pointers, so p1 and p2 are pointers to those. */
static int byPriority(cvoid *p1, cvoid *p2, void *ctx) {
    const Job *one = *(const Job *const *) p1, *other = *(const Job *const *) p2;

    (void) ctx;
    return one->priority - other->priority;
}

int main(int argc, char **argv) {
    MprList *words, *jobs;
    Job *job;
    char *word;
    int next, done;

    if (mprCreate(argc, argv, 0) == 0) {
        return 1;
    }
    /* Nothing here yields before the list is a root. */
    if ((jobs = mprCreateList(-1, 0)) == 0 || (words = mprCreateListFromWords("sweep, polish, empty, paint")) == 0) {
        return 1;
    }
    mprAddRoot(jobs); /* Retains the list, its jobs and their names */

    for (ITERATE_ITEMS(words, word, next)) {
        if (mprAddItem(jobs, createJob(word, (int) strlen(word) % 5)) < 0) {
            return 1;
        }
    }
    mprSortList(jobs, byPriority, 0); /* Stable: "sweep" stays before "empty" and "paint" */

    for (ITERATE_ITEMS(jobs, job, next)) {
        printf("%s (%d)%s", job->name, job->priority, next < mprGetListLength(jobs) ? ", " : "\n");
    }
    for (done = 0; (job = (Job *) mprPopItem(jobs)) != 0; done++) {
        printf("doing %s\n", job->name); /* Popped, it is safe until this thread yields */
        mprYield(0);
    }
    mprRemoveRoot(jobs);
    return mprDestroy() && done == 4 ? 0 : 1;
}
