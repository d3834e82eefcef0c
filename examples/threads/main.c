/* SPDX-License-Identifier: MIT */
/*
    Threads: two producers and a consumer share a list; a lock makes one step of several calls, a condition tells of work.

    Rooms: task
 */
#include <mpr.h>

#include <stdio.h>

typedef struct Shop {
    MprList *orders; /* Managed, as the condition */
    MprCond *work;
    int open; /* Producers at work; under the list's lock */
    int served;
} Shop;

static void manageShop(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(((Shop *) ptr)->orders);
        mprMark(((Shop *) ptr)->work);
    }
}

/* The thread's data is the shop, which is marked as long as the thread exists. */
static void produce(void *data, MprThread *tp) {
    Shop *shop = (Shop *) data;
    int i;

    (void) tp;
    for (i = 1; i <= 5; i++) {
        mprAddItem(shop->orders, sfmt("order %d of %s", i, mprGetCurrentThreadName())); /* Locks by itself */
        mprSignalCond(shop->work);
        mprSleep(1); /* Yields: collections pass */
    }
    lock(shop->orders);
    shop->open--;
    unlock(shop->orders);
    mprSignalCond(shop->work);
}

int main(int argc, char **argv) {
    Shop *shop;
    char *order;
    int open;

    if (!mprCreate(argc, argv, 0) || (shop = mprAllocObj(Shop, manageShop)) == 0) {
        return 1;
    }
    mprAddRoot(shop);
    shop->orders = mprCreateList(0, 0);
    shop->work = mprCreateCond();
    shop->open = 2;
    if (!shop->orders || !shop->work) {
        return 1;
    }
    if (mprStartThread(mprCreateThread("anna", produce, shop, 0)) < 0 ||
        mprStartThread(mprCreateThread("ben", produce, shop, 0)) < 0) {
        return 1;
    }
    do {
        mprWaitForCond(shop->work, 1000);
        /* Whether more may come, and what is there, in one step. */
        lock(shop->orders);
        open = shop->open;
        while ((order = (char *) mprGetFirstItem(shop->orders)) != 0) {
            mprRemoveItemAtPos(shop->orders, 0);
            printf("%s\n", order); /* Removed, and safe until this thread yields */
            shop->served++;
        }
        unlock(shop->orders);
    } while (open > 0);
    printf("%d served\n", shop->served);
    open = shop->served == 10 ? 0 : 1;
    mprRemoveRoot(shop);
    return mprDestroy() ? open : 1;
}
