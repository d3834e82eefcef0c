/* SPDX-License-Identifier: MIT */
/*
    host - A program that grants the runtime its pages: tasks may have 64 MiB in all, the process a little more.

        cc main.c -lmpr -luv -lpthread

    Rooms: task
 */
#define _DEFAULT_SOURCE
#include <mpr.h>
#include <mpr/host.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>

static atomic_size_t granted; /* What was granted and has not come back: of each page the last word counts */
static size_t budget = 64 * 1024 * 1024;

static void *reservePages(void *data, size_t size, size_t alignment, int level) {
    char *pages = mmap(NULL, size + alignment, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    size_t front = pages == MAP_FAILED ? 0 : (size_t) (-(uintptr_t) pages & (alignment - 1));

    (void) data, (void) level;
    if (pages == MAP_FAILED) {
        return NULL;
    }
    if (front > 0) {
        munmap(pages, front);
    }
    munmap(pages + front + size, alignment - front);
    return pages + front;
}

static int commitPages(void *data, void *pages, size_t size, int level) {
    size_t most = budget + (level == MPR_CRITICAL_TASK ? 0 : budget / 8);

    (void) data;
    if (atomic_fetch_add(&granted, size) + size > most || mprotect(pages, size, PROT_READ | PROT_WRITE) != 0) {
        atomic_fetch_sub(&granted, size);
        return MPR_ERR_MEMORY;
    }
    return 0;
}

/* Which of the pages were committed the system knows: those that can be written. */
static void takeBack(void *pages, size_t size) {
    FILE *maps = fopen("/proc/self/maps", "re");
    uintptr_t begin = (uintptr_t) pages, end = begin + size;
    unsigned long from, to;
    char line[512], writes;

    while (maps && fgets(line, sizeof(line), maps)) {
        if (sscanf(line, "%lx-%lx r%c", &from, &to, &writes) == 3 && writes == 'w' && from < end && to > begin) {
            atomic_fetch_sub(&granted, (to < end ? to : end) - (from > begin ? from : begin));
        }
    }
    if (maps) {
        fclose(maps);
    }
}

static void decommitPages(void *data, void *pages, size_t size) {
    (void) data;
    takeBack(pages, size);
    madvise(pages, size, MADV_DONTNEED);
    mprotect(pages, size, PROT_READ);
}

static void releasePages(void *data, void *pages, size_t size) {
    (void) data;
    takeBack(pages, size);
    munmap(pages, size);
}

static int protectPages(void *data, void *pages, size_t size, int mode) {
    (void) data;
    return mprotect(pages, size, mode) == 0 ? 0 : MPR_ERR_MEMORY; /* MPR_MAP_READ is PROT_READ, and so on */
}

static int queryPages(void *data, const void *address, MprPages *pages) {
    (void) data, (void) address, (void) pages;
    return MPR_ERR_CANT_FIND; /* This host keeps no record of each page */
}

static void hear(int cause, int policy, size_t size, size_t total) {
    (void) policy;
    printf("%s: %zu bytes asked for, %zu committed\n", cause == MPR_MEM_HOST ? "the host refuses" : "short", size,
           total);
}

int main(int argc, char **argv) {
    MprHost host = {.size = sizeof(host),
                    .reserve = reservePages,
                    .commit = commitPages,
                    .decommit = decommitPages,
                    .release = releasePages,
                    .protect = protectPages,
                    .query = queryPages};
    MprHostStats stats;
    int blocks = 0;

    if (mprSetHost(&host) != 0 || !mprCreate(argc, argv, 0)) {
        return 1;
    }
    mprSetMemNotifier(hear);
    while (mprAllocMem(1024 * 1024, MPR_ALLOC_HOLD)) {
        blocks++;
    }
    printf("%d blocks of a megabyte\n", blocks);
    if (!mprDestroy() || mprReadHostStats(&stats) != 0) {
        return 1;
    }
    printf("%llu commits, %llu refused, %zu bytes left\n", stats.requests[MPR_PAGES_COMMIT], stats.refused[0],
           (size_t) granted);
    return blocks > 30 && blocks < 64 && stats.reserved == 0 && granted == 0 ? 0 : 1;
}
