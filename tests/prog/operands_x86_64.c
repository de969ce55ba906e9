// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program with a marker (provider `operands`) for each form of an argument. Each pass prints the
 * marker's name and the values that it must have, "-" for one that cannot be read. Commands are
 * single letters on stdin:
 *   f  passes each of them once
 *   t  a span of this thread around one of another thread, then both nested
 *   k  three spans by argument, begun here and ended by another thread, in another order
 *   l  spans that an error leaves: of a function, of one that calls itself, by an argument
 *   n  three spans that one call in a loop begins and another ends, twice
 *   b  begins such a span, which x ends
 *   c  a child passes those of registers, and ends
 *   d  a child passes them when the signal USR1 comes, and ends
 *   e  calls exec of the same program
 *   m  passes `often` 1000 times
 *   s  prints the semaphore
 *   q  ends
 * Each answers with a line "done".
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOTE(name, args)                                                                           \
	"990: nop\n"                                                                               \
	".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n"                                    \
	".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n"                \
	"993: .8byte 990b, 0, semaphore\n.asciz \"operands\"\n.asciz \"" name "\"\n.asciz \"" args \
	"\"\n994: .balign 4\n.popsection\n"

volatile uint16_t semaphore __attribute__((section(".probes"))) = 0;
/* In the notes by name. */
volatile uint64_t operand_global = 4711;
volatile int32_t operand_pair[2] = {-7, -8};

__attribute__((noinline)) static void registers(void)
{
	__asm__ volatile(NOTE("unsigned", "8@%%rax 4@%%ebx 2@%%cx 1@%%dl")
			 :
			 : "a"(0x1122334455667ull), "b"(0xaaaafffffff0ull), "c"(0x7fff8001ull),
			   "d"(0x1280ull));
	puts("unsigned 301417386825319 4294967280 32769 128");
	__asm__ volatile(NOTE("signed", "-8@%%rax -4@%%ebx -2@%%cx -1@%%dl")
			 :
			 : "a"(-9ll), "b"(0xaaaafffffff0ull), "c"(0x7fff8001ull), "d"(0x1280ull));
	puts("signed -9 -16 -32767 -128");
	__asm__ volatile(NOTE("second", "1@%%ah -1@%%bh") : : "a"(0xf203ull), "b"(0xf203ull));
	puts("second 242 -14");
	__asm__ volatile(NOTE("constants", "8@$5 -4@$-5 1@$255") : :);
	puts("constants 5 -5 255");
}

static void memory(void)
{
	static volatile uint64_t words[4] = {11, 12, 13, 0xfffffffefffffffdull};
	__asm__ volatile(NOTE("memory", "8@8(%%rsi) -4@-8(%%rsi) 2@(%%rsi) -4@16(%%rsi)")
			 :
			 : "S"(&words[1])
			 : "memory");
	puts("memory 13 11 12 -3");
	__asm__ volatile(NOTE("index", "8@(%%rsi,%%rdi,8) 1@6(%%rsi,%%rdi) 4@-8(%%rsi,%%rdi,4)")
			 :
			 : "S"(words), "D"(2ull)
			 : "memory");
	puts("index 13 12 11");
	__asm__ volatile(NOTE("symbol", "8@operand_global(%%rip) -4@4+operand_pair(%%rip) "
					"-4@operand_pair(%%rip)")
			 :
			 :
			 : "memory");
	puts("symbol 4711 -8 -7");
	__asm__ volatile(NOTE("nowhere", "8@(%%rdx) 4@$3") : : "d"(8ull));
	puts("nowhere - 3");
}

static void many(void)
{
	__asm__ volatile(NOTE("twelve", "8@$0 8@$1 8@$2 8@$3 8@$4 8@$5 8@$6 8@$7 8@$8 8@$9 8@$10 "
					"8@%%rax")
			 :
			 : "a"(11ull));
	puts("twelve 0 1 2 3 4 5 6 7 8 9 10 11");
	__asm__ volatile(NOTE("none", "") : :);
	puts("none");
	/* No tracer reads these. */
	__asm__ volatile(NOTE("float", "8@%%rax 8f@%%xmm0") : : "a"(1ull));
	__asm__ volatile(NOTE("half", "4f@8(%%rsi)") : : "S"(&semaphore));
	__asm__ volatile(NOTE("unknown", "8@no_such_symbol(%%rip)") : :);
}

__attribute__((noinline)) static void text(const char *s)
{
	__asm__ volatile(NOTE("text", "8@%%rdi -4@%%esi") : : "D"(s), "S"(42) : "memory");
}

static void texts(void)
{
	char longer[400];
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	text("select \"a\\b\"\n\tfrom t -- \x1b[31m\xff");
	text(longer);
	text(NULL);
	text((const char *)8);
}

__attribute__((noinline)) static void outer(int begins)
{
	if (begins)
		__asm__ volatile(NOTE("outer_begin", "4@$1") : :);
	else
		__asm__ volatile(NOTE("outer_end", "4@$2") : :);
}

__attribute__((noinline)) static void key(int begins, uint64_t k)
{
	if (begins)
		__asm__ volatile(NOTE("key_begin", "4@$1 8@%%rax") : : "a"(k));
	else
		__asm__ volatile(NOTE("key_end", "8@%%rbx") : : "b"(k));
}

static jmp_buf handler;

__attribute__((noinline)) static void query(int fails, uint64_t k)
{
	__asm__ volatile(NOTE("query_begin", "8@%%rax") : : "a"(k));
	if (fails)
		longjmp(handler, 1);
	__asm__ volatile(NOTE("query_end", "8@%%rax") : : "a"(k));
}

/* catches: the error of the innermost call, which is that of the fourth level. */
__attribute__((noinline)) static void deep(int level, int fails, int catches)
{
	__asm__ volatile(NOTE("deep_begin", "4@%%eax") : : "a"(level));
	if (level == 4 && fails)
		longjmp(handler, 1);
	if (level < 4 && (!catches || !setjmp(handler)))
		deep(level + 1, fails, 0);
	__asm__ volatile(NOTE("deep_end", "4@%%eax") : : "a"(level));
}

static void leave(void)
{
	static volatile int i;
	for (i = 0; i < 6; i++)
		if (!setjmp(handler))
			query(i % 2 == 0, 7);
	if (!setjmp(handler))
		deep(1, 1, 0);
	deep(1, 1, 1);
	deep(2, 0, 0);
}

static void nest(void)
{
	static volatile int i;
	for (i = 0; i < 3; i++)
		outer(1);
	for (i = 0; i < 3; i++)
		outer(0);
}

static void *other_span(void *arg)
{
	(void)arg;
	outer(1);
	outer(1);
	outer(0);
	outer(0);
	return NULL;
}

static void *other_keys(void *arg)
{
	(void)arg;
	key(0, 200);
	key(0, 100);
	key(0, 300);
	key(0, 400); /* which has not begun */
	return NULL;
}

static void in_thread(void *(*fn)(void *))
{
	pthread_t t;
	if (!pthread_create(&t, NULL, fn, NULL))
		pthread_join(t, NULL);
}

/* waits: it passes them when it gets a signal; its parent does not wait for its end. */
static void child(int waits)
{
	sigset_t usr1;
	int signal;
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	pid_t pid = fork();
	if (!pid) {
		if (waits)
			sigwait(&usr1, &signal);
		registers();
		fflush(stdout);
		_exit(0);
	}
	if (pid > 0 && !waits)
		waitpid(pid, NULL, 0);
	else
		printf("child %d\n", pid);
}

static void obey(int c, char **argv)
{
	if (c == 'f') {
		registers();
		memory();
		many();
		texts();
	} else if (c == 't') {
		outer(1);
		in_thread(other_span);
		outer(0);
	} else if (c == 'k') {
		key(1, 100);
		key(1, 200);
		key(1, 300);
		in_thread(other_keys);
	} else if (c == 'l') {
		leave();
	} else if (c == 'b' || c == 'x') {
		outer(c == 'b');
	} else if (c == 'n') {
		nest();
		nest();
	} else if (c == 'c') {
		child(0);
	} else if (c == 'd') {
		child(1);
	} else if (c == 'e') {
		execv("/proc/self/exe", argv);
	} else if (c == 'm') {
		for (int i = 0; i < 1000; i++)
			__asm__ volatile(NOTE("often", "4@%%eax") : : "a"(i));
	} else if (c == 's') {
		printf("%d\n", semaphore);
	}
}

int main(int argc, char **argv)
{
	(void)argc;
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	for (int c; (c = getchar()) != EOF && c != 'q';)
		if (c != '\n') {
			obey(c, argv);
			puts("done");
		}
	return 0;
}
