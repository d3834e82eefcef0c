/* SPDX-License-Identifier: MIT */
/*
    hello_c - A managed list in C.

    Makes the runtime, a list of 1000 nodes that a root retains, drops every other node, collects, and counts.

        cc main.c -lmpr -lpthread
 */
#include <mpr.h>
#include <stdio.h>

typedef struct Node {
    struct Node *next; /* Managed */
    char *name;        /* Managed */
    int number;
} Node;

typedef struct List {
    Node *first; /* Managed */
} List;

static int freed; /* Counted by manageNode on the collector's thread; read after a complete collection */

/* Managers say what a block references, and release what it owns outside the heap. */
static void manageNode(void *ptr, int flags) {
    Node *node = (Node *) ptr;

    if (flags & MPR_MANAGE_MARK) {
        mprMark(node->next);
        mprMark(node->name);
    } else if (flags & MPR_MANAGE_FREE) {
        freed++;
    }
}

static void manageList(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(((List *) ptr)->first);
    }
}

/* Nothing here yields, so the new blocks need no root until they are in the list. */
static bool addNode(List *list, int number) {
    Node *node;
    char name[32];
    int length;

    if ((node = mprAllocObj(Node, manageNode)) == 0) {
        return false;
    }
    length = snprintf(name, sizeof(name), "node %d", number);
    if ((node->name = (char *) mprMemdup(name, (size_t) length + 1)) == 0) {
        return false;
    }
    node->number = number;
    node->next = list->first;
    list->first = node;
    return true;
}

int main(int argc, char **argv) {
    List *list;
    Node *node;
    int i, kept;

    if (mprCreate(argc, argv, 0) == 0) {
        return 1;
    }
    if ((list = mprAllocObj(List, manageList)) == 0) {
        return 1;
    }
    mprAddRoot(list); /* Retains the list and all that it references */

    for (i = 0; i < 1000; i++) {
        if (!addNode(list, i)) {
            return 1;
        }
        mprYield(0); /* The collector may work here; cheap when it has no need to */
    }
    for (node = list->first; node && node->next; node = node->next) {
        node->next = node->next->next; /* Nobody references the node between any more. That is all */
    }
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE); /* Seldom needed: collections come by themselves */

    kept = 0;
    for (node = list->first; node; node = node->next) {
        kept++;
    }
    printf("1000 nodes made, %d collected, %d kept, the first is \"%s\"\n", freed, kept, list->first->name);
    i = freed;

    mprRemoveRoot(list);
    mprDestroy(); /* Frees the rest, with a manager call each */
    return (i == 500 && kept == 500 && freed == 1000) ? 0 : 1;
}
