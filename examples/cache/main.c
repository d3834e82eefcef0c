/* SPDX-License-Identifier: MIT */
/*
    cache - Pages that are made once and kept while there is room, hits counted, a change that only one of two may make.

        cc main.c -lmpr -luv -lpthread

    Rooms: task
 */
#include <mpr.h>
#include <stdio.h>

/* Rendering a page takes long: ask the cache first. What it returns stays until this thread yields. */
static cchar *page(MprCache *cache, cchar *path) {
    cchar *text = mprReadCache(cache, path, NULL, NULL);

    mprIncCache(cache, "hits", 1);
    if (!text) {
        text = sfmt("<h1>%s</h1>", path);
        mprWriteCache(cache, path, text, 0, 60 * 1000, 0, MPR_CACHE_SET);
    }
    return text;
}

static void forgotten(MprCache *cache, cchar *key, cchar *data, int event) {
    (void) cache, (void) event;
    printf("forgotten: %s, %d bytes\n", key, (int) slen(data));
}

int main(int argc, char **argv) {
    MprCache *cache;
    int64 version;
    int items;

    if (!mprCreate(argc, argv, 0)) {
        return 1;
    }
    /* The shared cache needs no root. At most four items, and a megabyte. */
    if ((cache = mprCreateCache(MPR_CACHE_SHARED)) == 0) {
        return 1;
    }
    mprSetCacheLimits(cache, 4, 0, 1024 * 1024, 0);
    mprSetCacheNotify(cache, forgotten);
    mprSetMemPolicy(MPR_ALLOC_POLICY_PRUNE); /* When the heap's memory runs short, so do caches */

    page(cache, "/index");
    page(cache, "/about");
    page(cache, "/index");
    page(cache, "/news");
    page(cache, "/help"); /* The fifth item: the one used least recently goes */

    /* Compare and set: a writer that has read an older version is refused. */
    mprReadCache(cache, "/index", NULL, &version);
    if (mprWriteCache(cache, "/index", "<h1>New</h1>", 0, 0, version, MPR_CACHE_SET) < 0 ||
        mprWriteCache(cache, "/index", "<h1>Late</h1>", 0, 0, version, MPR_CACHE_SET) != MPR_ERR_BAD_STATE) {
        return 1;
    }
    mprGetCacheStats(cache, &items, NULL);
    printf("%d items, %s hits, %s\n", items, mprReadCache(cache, "hits", NULL, NULL), page(cache, "/index"));
    mprDestroyCache(cache);
    return mprDestroy() ? 0 : 1;
}
