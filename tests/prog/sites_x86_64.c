// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program with SITES markers in a row. It fires on command and tells what a tracer has made of
 * its text and its semaphore. Commands are single letters on stdin:
 *   f  passes all sites once, answers "fired"
 *   s  prints the semaphore, and how many sites are breakpoints and how many are nops
 *   q  ends
 */
#include <stdint.h>
#include <stdio.h>

#define SITES	 500
#define STR_(x)	 #x
#define STR(x)	 STR_(x)
#define NO_RING	 0xffff
#define NO_POS	 UINT64_MAX
#define BREAK	 0xcc
#define NOP	 0x90
#define PHASE_ID 11

volatile uint16_t semaphore __attribute__((section(".probes"))) = 0;
extern const volatile unsigned char first_site[];

__attribute__((noinline)) static void fire(void)
{
	register uint64_t r8 __asm__("r8") = 1;
	register uint64_t r9 __asm__("r9") = NO_POS;
	__asm__ volatile(
		".globl first_site\n.hidden first_site\nfirst_site:\n"
		".rept " STR(SITES) "\n"
				    "990: nop\n"
				    ".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n"
				    ".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n"
				    "992: .balign 4\n993: .8byte 990b, 0, semaphore\n"
				    ".asciz \"ebtrace\"\n.asciz \"begin\"\n"
				    ".asciz \"4@%%edi 8@%%rsi 4@%%ecx 8@%%r8 8@%%r9\"\n"
				    "994: .balign 4\n.popsection\n"
				    ".endr\n"
		:
		: "D"((uint64_t)PHASE_ID), "S"("minor"), "c"((uint64_t)NO_RING), "r"(r8), "r"(r9)
		: "memory");
}

int main(void)
{
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	for (int c; (c = getchar()) != EOF && c != 'q';) {
		if (c == 'f') {
			fire();
			puts("fired");
		} else if (c == 's') {
			int breaks = 0, nops = 0;
			for (int i = 0; i < SITES; i++) {
				breaks += first_site[i] == BREAK;
				nops += first_site[i] == NOP;
			}
			printf("%d %d %d\n", semaphore, breaks, nops);
		}
	}
	return 0;
}
