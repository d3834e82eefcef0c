/* SPDX-License-Identifier: MIT */
/*
    stepper.h - Counts the instructions that one call executes, exactly.

    The call runs with the trap flag set, so that the processor stops after each instruction and the handler of SIGTRAP
    counts it. The count is that of the callee's instructions, its `ret` included: `call` and the instructions that
    clear the flag are calibrated away. A system call counts as its one instruction, what the C library does around it
    counts in full. Each round of a repeated string instruction counts as one.

    A call that takes more than `cap` instructions runs on at full speed from there: stepping costs microseconds each.

    Only x86-64 Linux; elsewhere STEPPER_WORKS is 0. The counters are shared: one thread at a time steps.
    The process should run with LD_BIND_NOW set (bindNow), else the first call of a library function counts its binding.
 */
#ifndef STEPPER_H
#define STEPPER_H

#include "bench.h"

#include <signal.h>
#include <ucontext.h>

#if defined(__x86_64__) && defined(__linux__)
#define STEPPER_WORKS 1
#else
#define STEPPER_WORKS 0
#endif

#if STEPPER_WORKS

extern "C" {
uint64_t stepperCall(void *function, uint64_t a, uint64_t b, uint64_t c);
void stepperNothing(void);
}

/* The flag traps first after the instruction that follows popfq: the call itself. The stack stays aligned. */
asm(R"(
    .text
    .p2align 4
    .globl stepperCall
    .type stepperCall, @function
stepperCall:
    subq $8, %rsp
    movq %rdi, %rax
    movq %rsi, %rdi
    movq %rdx, %rsi
    movq %rcx, %rdx
    pushfq
    orq $0x100, (%rsp)
    popfq
    callq *%rax
    pushfq
    andq $~0x100, (%rsp)
    popfq
    addq $8, %rsp
    ret
    .size stepperCall, .-stepperCall

    .p2align 4
    .globl stepperNothing
    .type stepperNothing, @function
stepperNothing:
    ret
    .size stepperNothing, .-stepperNothing
)");

namespace bench {

struct Stepper {
    static const size_t TRACE = 65536;
    inline static volatile uint64_t count;
    inline static uint64_t overhead, cap = 20000;
    inline static uint64_t *trace; /* Where each instruction of the last call stood */

    static void handle(int, siginfo_t *, void *context) {
        uint64_t n = count;
        greg_t *registers = ((ucontext_t *) context)->uc_mcontext.gregs;
        trace[n % TRACE] = (uint64_t) registers[REG_RIP];
        count = n + 1;
        if (n >= cap) {
            registers[REG_EFL] &= ~0x100;
        }
    }

    static void start() {
        trace = sideTable<uint64_t>(TRACE);
        struct sigaction action = {};
        action.sa_sigaction = handle;
        action.sa_flags = SA_SIGINFO | SA_RESTART;
        sigemptyset(&action.sa_mask);
        if (sigaction(SIGTRAP, &action, nullptr) != 0) {
            fail("no handler for SIGTRAP");
        }
        count = 0;
        stepperCall((void *) stepperNothing, 0, 0, 0);
        overhead = count - 1; /* Its ret is an instruction of the callee */
    }

    /** Call function(a, b, c). @return What it returned; `steps` is the number of instructions it took, cap at most. */
    static uint64_t call(void *function, uint64_t a, uint64_t b, uint64_t c, uint64_t *steps) {
        count = 0;
        uint64_t result = stepperCall(function, a, b, c);
        *steps = count > cap ? cap : count - overhead;
        return result;
    }
};

/** Start the program anew with all library functions bound, unless it was started so. */
inline void bindNow(char **argv) {
    if (!getenv("LD_BIND_NOW")) {
        setenv("LD_BIND_NOW", "1", 1);
        execv("/proc/self/exe", argv);
        fail("cannot start anew with LD_BIND_NOW");
    }
}

} // namespace bench

#endif
#endif /* STEPPER_H */
