/* SPDX-License-Identifier: MIT */
/*
    examples/metal - mpr in firmware: a managed heap in a static buffer, collected when the main loop yields.

    A device samples a sensor, keeps the last minute as a list, and drops what is older: by forgetting it. The firmware
    supplies the five functions of mpr/board.h; toolchains/metal/start.c does so for QEMU.
 */
#include <mpr.h>
#include <mpr/board.h>
#include <string.h>

/* All memory that mpr will ever use: 16 KiB is the least. */
static char heap[32 * 1024] __attribute__((aligned(16)));

typedef struct Sample {
    struct Sample *older; /* Managed */
    int value;
} Sample;

typedef struct Device {
    Sample *newest; /* Managed */
    int count;
} Device;

static void manageSample(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(((Sample *) ptr)->older);
    }
}

static void manageDevice(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(((Device *) ptr)->newest);
    }
}

static int readSensor(int second) {
    return second * 7 % 100;
}

/* Keep the newest 60. The rest is garbage; nobody has to walk and free it. */
static void forgetOld(Device *device) {
    Sample *last = device->newest;
    for (int i = 1; last && i < 60; i++) {
        last = last->older;
    }
    if (last) {
        last->older = NULL;
    }
}

/* Called before memory runs out, while allocations still succeed: get by with less. */
static void memoryShort(int cause, int policy, size_t size, size_t total) {
    (void) cause, (void) policy, (void) size, (void) total;
    static const char text[] = "memory is short\n";
    mprBoardWrite(text, sizeof(text) - 1);
}

int main(void) {
    if (!mprCreateInBuffer(heap, sizeof(heap), 0)) {
        return 1;
    }
    mprSetMemLimits(24 * 1024, 0, -1); /* The redline: 24 KiB in use, free memory inside included */
    mprSetMemNotifier(memoryShort);

    Device *device = mprAllocObj(Device, manageDevice);
    if (!device) {
        return 1;
    }
    mprAddRoot(device); /* Kept, with all that it references */

    for (int second = 0; second < 10000; second++) {
        Sample *sample = mprAllocObj(Sample, manageSample); /* Safe until the next yield */
        if (sample) {
            sample->value = readSensor(second);
            sample->older = device->newest;
            device->newest = sample;
            forgetOld(device);
        }
        mprYield(0); /* Collects here, and only here, when it is time */
    }

    static const char text[] = "10000 samples in 32 KiB\n";
    mprBoardWrite(text, sizeof(text) - 1);
    return device->newest && device->newest->value == readSensor(9999) && mprDestroy() ? 0 : 1;
}
