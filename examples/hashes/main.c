/* SPDX-License-Identifier: MIT */
/*
    hashes - The words of a text counted, and the headers of a request looked up in either case.

        cc main.c -lmpr -luv -lpthread
 */
#include <mpr.h>
#include <stdio.h>

static cchar text[] = "the cat and the dog and the bird";

/* Values need not be blocks: here they are numbers, which the table is told by MPR_HASH_STATIC_VALUES. */
static int countWords(void) {
    MprHash *counts;
    MprList *words;
    MprKey *kp;
    char *word;
    int next, most;

    if ((counts = mprCreateHash(-1, MPR_HASH_STATIC_VALUES)) == 0 || (words = mprCreateListFromWords(text)) == 0) {
        return -1;
    }
    for (ITERATE_ITEMS(words, word, next)) {
        uintptr_t count = (uintptr_t) mprLookupKey(counts, word);
        if (mprAddKey(counts, word, (void *) (count + 1)) == 0) {
            return -1;
        }
    }
    most = 0;
    for (ITERATE_KEYS(counts, kp)) { /* In the order of first addition */
        int count = (int) (uintptr_t) kp->data;
        printf("%s: %d\n", kp->key, count);
        most = count > most ? count : most;
        if (count == 1) {
            mprRemoveKey(counts, kp->key); /* The current one may go */
        }
    }
    printf("more than once: %s\n", mprHashKeysToString(counts, ", "));
    return most;
}

static bool lookUpHeaders(void) {
    MprHash *headers;
    cchar *host, *length;

    if ((headers = mprCreateHash(0, MPR_HASH_CASELESS)) == 0) {
        return false;
    }
    /* Formatted values are blocks, which the table retains. */
    mprAddKeyFmt(headers, "Host", "%s:%d", "localhost", 8080);
    mprAddKeyFmt(headers, "Content-Length", "%d", 42);

    host = (cchar *) mprLookupKey(headers, "HOST");
    length = (cchar *) mprLookupKey(headers, "content-length");
    if (!host || !length || mprLookupKey(headers, "Accept")) {
        return false;
    }
    printf("%d headers: host %s, length %s\n", mprGetHashLength(headers), host, length);
    return true;
}

int main(int argc, char **argv) {
    bool good;

    if (mprCreate(argc, argv, 0) == 0) {
        return 1;
    }
    good = countWords() == 3 && lookUpHeaders();
    return mprDestroy() && good ? 0 : 1;
}
