/* SPDX-License-Identifier: MIT */
/*
    strings - Read a request as a web service gets it, and format an answer.

    Every string made here is managed: nothing is freed by hand. Nothing here yields, so nothing needs a root.

        cc main.c -lmpr -lpthread
 */
#include <mpr.h>

/* Print each field of a query such as name=J%C3%B6rg&age=44. The text is taken apart in place. */
static void printQuery(char *query) {
    char *pair, *key, *value, *next;

    for (pair = stok(query, "&", &next); pair; pair = stok(NULL, "&", &next)) {
        key = stok(pair, "=", &value);
        value = mprUriDecode(value); /* NULL when there was no '=': it comes back as "" */
        if (value && snumber(value)) {
            mprPrintf("  %-6s %'Ld (a number)\n", key, (long long) stoi(value));
        } else {
            mprPrintf("  %-6s \"%s\"\n", key, value);
        }
    }
}

int main(int argc, char **argv) {
    char *line, *method, *path, *rest, *query, *body, *answer;

    if (mprCreate(argc, argv, 0) == 0) {
        return 1;
    }
    line = sclone("GET  /people/search?name=J%C3%B6rg&likes=C+%26+C%2B%2B&steps=1234567 HTTP/1.1\r\n");

    /* ssplit gives the part before a delimiter and what comes after it, neither of them ever NULL. */
    method = ssplit(strim(line, "\r\n", MPR_TRIM_END), " ", &rest);
    path = ssplit(rest, " ", &rest);
    if (!smatch(method, "GET") || !scaselessmatch(rest, "http/1.1")) {
        mprEprintf("Cannot serve %s\n", method);
        return 1;
    }
    path = stok(path, "?", &query);
    mprPrintf("%s asks for %s\n", method, path);
    if (query) {
        printQuery(query);
    }

    /* sfmt is printf into a new string; a NULL for %s is harmless. */
    body = sfmt("<p>Found in %s: %s</p>", mprEscapeHtml("<here>"), (char *) NULL);
    answer = sjoin("HTTP/1.1 200 OK\r\n", sfmt("Content-Length: %zd\r\n\r\n", slen(body)), body, NULL);
    print("%s", answer);

    if (!sends(answer, "<p>Found in &lt;here&gt;: null</p>") || !scontains(answer, "Content-Length: 34")) {
        return 1;
    }
    return mprDestroy() ? 0 : 1;
}
