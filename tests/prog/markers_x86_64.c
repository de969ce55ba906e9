// SPDX-License-Identifier: BSD-2-Clause
/*
 * Fires markers on command, with no ring and no library, so that it can be linked in any way.
 * Commands are single letters on stdin, each answered by one line:
 *   f  fires ROUNDS times: begin (as if in ring 0), counter, and custom with 100 bytes (no ring)
 *   s  prints the semaphore and the byte at the site of begin
 *   c  forks; the child waits for a SIGUSR1, fires as f does, and ends; prints the child's pid
 *   n  forks CHILDREN times, a child that ends at once; prints how many did
 *   x  executes itself again
 *   q  ends
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS	 1000
#define CHILDREN 5000

volatile uint16_t semaphore __attribute__((section(".probes"))) = 0;
extern const unsigned char site_begin[];

#define SITE(label, name, args)                                                       \
	label "990: nop\n"                                                            \
	      ".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n"                 \
	      ".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n"             \
	      "992: .balign 4\n993: .8byte 990b, _.stapsdt.base, semaphore\n"         \
	      ".asciz \"ebtrace\"\n.asciz \"" name "\"\n.asciz \"" args "\"\n"        \
	      "994: .balign 4\n.popsection\n"                                         \
	      ".ifndef _.stapsdt.base\n"                                              \
	      ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
	      ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n"                        \
	      "_.stapsdt.base: .space 1\n.size _.stapsdt.base, 1\n.popsection\n.endif\n"

#define FIRE(label, name, args, id, value, bytes, ring_seq, pos)                            \
	do {                                                                                \
		uint64_t ts_ = now(); /* before any register is set: it is a call */        \
		register uint64_t r10_ __asm__("r10") = (bytes);                            \
		register uint64_t r8_ __asm__("r8") = ts_;                                  \
		register uint64_t r9_ __asm__("r9") = (pos);                                \
		__asm__ volatile(SITE(label, name, args)                                    \
				 :                                                          \
				 : "D"((uint64_t)(id)), "S"(name), "d"((uint64_t)(value)),  \
				   "r"(r10_), "c"((uint64_t)(ring_seq)), "r"(r8_), "r"(r9_) \
				 : "memory");                                               \
	} while (0)

static uint64_t now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

__attribute__((noinline)) static void fire(void)
{
	unsigned char payload[100];
	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (unsigned char)(i + 1);
	for (uint64_t i = 0; i < ROUNDS; i++) {
		FIRE(".globl site_begin\n.hidden site_begin\nsite_begin:\n", "begin",
		     "4@%%edi 8@%%rsi 4@%%ecx 8@%%r8 8@%%r9", 11, 77, 0, i << 32, 2 * i);
		FIRE("", "counter", "4@%%edi 8@%%rsi 8@%%rdx 4@%%ecx 8@%%r8 8@%%r9", 4, i, 0,
		     0xffff, UINT64_MAX);
		FIRE("", "user_custom", "4@%%edi 8@%%rsi 8@%%rdx 8@%%r10 4@%%ecx 8@%%r8 8@%%r9", 9,
		     (uintptr_t)payload, sizeof(payload), 0xffff, UINT64_MAX);
	}
}

static int bear_children(void)
{
	int ended = 0;
	for (int i = 0; i < CHILDREN; i++) {
		pid_t child = fork();
		if (!child)
			_exit(0);
		ended += child > 0 && waitpid(child, NULL, 0) == child;
	}
	return ended;
}

static void answer(int command, char **argv)
{
	if (command == 'f') {
		fire();
		printf("fired\n");
	} else if (command == 's') {
		printf("%d %02x\n", semaphore, *(volatile const unsigned char *)site_begin);
	} else if (command == 'c') {
		sigset_t go;
		int signo;
		sigemptyset(&go);
		sigaddset(&go, SIGUSR1);
		sigprocmask(SIG_BLOCK, &go, NULL);
		pid_t child = fork();
		if (!child) {
			sigwait(&go, &signo);
			fire();
			_exit(0);
		}
		printf("%d\n", child);
	} else if (command == 'n') {
		printf("%d\n", bear_children());
	} else if (command == 'x') {
		execv("/proc/self/exe", argv);
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	(void)argc;
	setvbuf(stdin, NULL, _IONBF, 0);
	printf("ready\n");
	fflush(stdout);
	for (int c; (c = getchar()) != EOF && c != 'q';)
		answer(c, argv);
	while (wait(NULL) > 0)
		;
	return 0;
}
