// SPDX-License-Identifier: MIT
/*
    test/support/fatal.hpp - What a test program says when a signal ends it: which test, at which address, by which instruction,
    and what was mapped. Of a fault that comes once in hundreds of runs, on a machine that keeps no core files, nothing else
    is left.
 */
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "test/catch.hpp"
#include "test/support/sanitizer.hpp"

namespace test {

class FatalSignals {
public:
    /* Have them told. Sanitizers have reports of their own. */
    static void listen() {
        if (sanitized) {
            return;
        }
        stack_t own{};
        own.ss_sp = stack.data();
        own.ss_size = stack.size();
        sigaltstack(&own, nullptr);
        struct sigaction action {};
        action.sa_sigaction = tell;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | int(SA_RESETHAND);
        for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) {
            sigaction(signal, &action, nullptr);
        }
    }

private:
    static void tell(int signal, siginfo_t *info, void *context) {
        // Of a signal that was sent, as by abort, there is no address.
        if (info->si_code > 0) {
            const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
            const uintptr_t instruction = instructionOf(*static_cast<ucontext_t *>(context));
            dprintf(STDERR_FILENO, "What is mapped:\n");
            readMappings();
            dprintf(STDERR_FILENO, "%s\n", mappings.data());
            dprintf(STDERR_FILENO, "Signal %d, code %d, at %#" PRIxPTR " by %#" PRIxPTR "\n", signal, info->si_code,
                    address, instruction);
            showMapping("    at ", address);
            showMapping("    by ", instruction);
        }
        Catch::getResultCapture().handleFatalErrorCondition(strsignal(signal));
        raise(signal);
    }

    static uintptr_t instructionOf(const ucontext_t &context) {
#if defined(__x86_64__)
        return static_cast<uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
#elif defined(__i386__)
        return static_cast<uintptr_t>(context.uc_mcontext.gregs[REG_EIP]);
#elif defined(__aarch64__)
        return context.uc_mcontext.pc;
#elif defined(__arm__)
        return context.uc_mcontext.arm_pc;
#elif defined(__riscv)
        return context.uc_mcontext.__gregs[REG_PC];
#else
        return 0;
#endif
    }

    /* Without the heap of the process, which may be what is damaged. */
    static void readMappings() {
        const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
        size_t length = 0;
        for (ssize_t got = 1; got > 0 && length + 1 < mappings.size(); length += got > 0 ? size_t(got) : 0) {
            got = read(file, mappings.data() + length, mappings.size() - 1 - length);
        }
        mappings[length] = 0;
        close(file);
    }

    /* Show the line of the mapping that an address lies in. */
    static void showMapping(const char *what, uintptr_t address) {
        for (const char *line = mappings.data(); line; line = strchr(line, '\n')) {
            line += *line == '\n';
            uintptr_t begin = 0, end = 0;
            if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &begin, &end) == 2 && address >= begin && address < end) {
                dprintf(STDERR_FILENO, "%s%.*s\n", what, int(strcspn(line, "\n")), line);
            }
        }
    }

    static inline std::array<char, 64 * 1024> stack;
    static inline std::array<char, 128 * 1024> mappings;
};

} // namespace test
