/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stepper SYMBOLS FILE PROGRAM: runs a program of OCaml, executes one instruction at a time between
 * its two marks (int3), and writes into FILE where it was after each, with its calls that have not
 * returned. It prints the process at the first mark, and waits for a line. SYMBOLS are those of nm
 * -n; the program is not relocated. Its minor heap is small, so that it collects.
 *
 *	TIME FUNCTION CURRENT STACK[:PARENT,...][=FUNCTION,...]...
 *
 * The stacks, the thread's first one as 0, have the functions to which the calls return, the
 * innermost first; the one that the processor is on is the first. CURRENT is the runtime's idea of
 * its stack; parents are all that a stack has had.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STACKS	      64
#define CALLS	      1024
#define SYMBOLS	      65536
#define STATE_CURRENT 0x28 /* in a domain's state, its stack of OCaml */
#define STATE_C_STACK 0x40 /* and where the C begins that it calls */
#define INFO_HANDLER  0x10 /* in that, its handler, */
#define PARENT	      0x18 /* which has the parent */

struct stack {
	uint64_t low, high;
	uint64_t parents; /* bits */
	size_t calls;
	struct {
		uint64_t at, to;
	} call[CALLS]; /* the outermost first */
};

struct symbol {
	uint64_t address;
	char name[80];
};

static struct symbol symbol[SYMBOLS];
static size_t symbols;
static struct stack stack[STACKS];
static size_t stacks;
static pid_t pid;
static int memory;
static uint64_t state;

static uint64_t word(uint64_t at)
{
	uint64_t ret = 0;
	return pread(memory, &ret, sizeof(ret), (off_t)at) == sizeof(ret) ? ret : 0;
}

static const char *function(uint64_t address)
{
	size_t low = 0, high = symbols;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (symbol[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? symbol[low - 1].name : "?";
}

static uint64_t address(const char *name)
{
	for (size_t i = 0; i < symbols; i++)
		if (!strcmp(symbol[i].name, name))
			return symbol[i].address;
	exit(2);
}

static void read_symbols(const char *path)
{
	FILE *f = fopen(path, "re");
	char kind;
	if (!f)
		exit(2);
	while (symbols < SYMBOLS && fscanf(f, "%" SCNx64 " %c %79s", &symbol[symbols].address,
					   &kind, symbol[symbols].name) == 3)
		symbols += strchr("tTwWi", kind) != NULL;
	fclose(f);
}

static size_t stack_with(uint64_t low, uint64_t high)
{
	for (size_t i = 1; i < stacks; i++)
		if (stack[i].low == low && stack[i].high == high)
			return i;
	for (size_t i = 1; i < stacks; i++)
		if (low < stack[i].high && high > stack[i].low)
			stack[i].low = stack[i].high = 0; /* it was freed */
	if (stacks == STACKS)
		exit(3);
	stack[stacks] = (struct stack){.low = low, .high = high};
	return stacks++;
}

/* A stack that was moved has the calls of the old one. */
static void move_calls(const struct stack *from, struct stack *to)
{
	for (size_t i = 0; i < from->calls; i++) {
		to->call[i].at = to->high - (from->high - from->call[i].at);
		to->call[i].to = from->call[i].to;
	}
	to->calls = from->calls;
	to->parents = from->parents;
}

/* The stack that the runtime has as its own, after all that are its parents. */
static size_t current_stack(bool is_in_c)
{
	static size_t last;
	size_t ret = 0;
	uint64_t at = word(state + STATE_CURRENT);
	for (size_t i = 0, below = 0; at && i < 8; i++) {
		uint64_t handler = word(at + INFO_HANDLER);
		size_t n = stack_with(at, handler);
		if (!i && is_in_c && n != last && last)
			move_calls(&stack[last], &stack[n]);
		if (i)
			stack[below].parents |= (uint64_t)1 << n;
		else
			ret = n;
		below = n;
		at = word(handler + PARENT);
	}
	last = ret;
	return ret;
}

static size_t find_stack(uint64_t sp)
{
	for (size_t i = 0; i < stacks; i++)
		if (sp > stack[i].low && sp <= stack[i].high)
			return i;
	return STACKS;
}

static void write_stack(FILE *out, const struct stack *s)
{
	fprintf(out, " %zu", (size_t)(s - stack));
	for (size_t i = 0, n = 0; i < stacks; i++)
		if (s->parents >> i & 1)
			fprintf(out, "%c%zu", n++ ? ',' : ':', i);
	for (size_t i = s->calls; i--;)
		fprintf(out, "%c%s", i + 1 == s->calls ? '=' : ',', function(s->call[i].to - 1));
}

static void drop_calls(struct stack *s, uint64_t sp)
{
	while (s->calls && s->call[s->calls - 1].at < sp)
		s->calls--;
}

/* The collector itself is C, of many instructions: it runs up to its return, to an instruction that
 * is replaced meanwhile. */
static bool run_over(const struct user_regs_struct *at_entry)
{
	int status;
	uint64_t to = word(at_entry->rsp), code = word(to);
	struct user_regs_struct r;
	if (ptrace(PTRACE_POKETEXT, pid, to, (code & ~(uint64_t)0xff) | 0xcc) ||
	    ptrace(PTRACE_CONT, pid, NULL, NULL) || waitpid(pid, &status, 0) != pid ||
	    !WIFSTOPPED(status) || ptrace(PTRACE_POKETEXT, pid, to, code) ||
	    ptrace(PTRACE_GETREGS, pid, NULL, &r) || r.rip != to + 1)
		return false;
	r.rip = to;
	return !ptrace(PTRACE_SETREGS, pid, NULL, &r);
}

/* The previous instruction was a call if its stack has the address behind it. */
static void follow(FILE *out, const struct user_regs_struct *r,
		   const struct user_regs_struct *before)
{
	struct timespec t;
	size_t current = current_stack(find_stack(r->rsp) == 0), on = find_stack(r->rsp);
	if (on == STACKS)
		exit(4);
	struct stack *s = &stack[on];
	uint64_t to = word(r->rsp);
	drop_calls(s, r->rsp);
	if (on)
		drop_calls(&stack[0], word(state + STATE_C_STACK));
	if (r->rsp == before->rsp - 8 && to - before->rip - 1 < 8 && r->rip != to) {
		if (s->calls == CALLS)
			exit(5);
		s->call[s->calls].at = r->rsp;
		s->call[s->calls++].to = to;
	}
	clock_gettime(CLOCK_MONOTONIC, &t);
	fprintf(out, "%" PRIu64 " %s %zu", (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec,
		function(r->rip), current);
	write_stack(out, s);
	for (size_t i = 0; i < stacks; i++)
		if (i != on && stack[i].high)
			write_stack(out, &stack[i]);
	fputc('\n', out);
}

/* Runs it up to the first mark. The calls that it has made before are not known. */
static bool begin(const char *path, char **argv)
{
	int status;
	char name[64];
	pid = fork();
	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(126);
		execv(path, argv);
		_exit(127);
	}
	snprintf(name, sizeof(name), "/proc/%d/mem", pid);
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_CONT, pid, NULL, NULL) || waitpid(pid, &status, 0) != pid ||
	    !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
		return false;
	memory = open(name, O_RDONLY | O_CLOEXEC);
	return memory >= 0;
}

static void find_first_stack(uint64_t sp)
{
	stack[0] = (struct stack){.low = sp - (1u << 20), .high = sp + (1u << 16)};
	stacks = 1;
}

int main(int argc, char **argv)
{
	struct user_regs_struct now, before;
	int status;
	long steps = 0;
	uint64_t collector;
	if (argc != 4 || setenv("OCAMLRUNPARAM", "s=1k", 1))
		return 2;
	read_symbols(argv[1]);
	collector = address("caml_garbage_collection");
	FILE *out = fopen(argv[2], "we");
	if (!out || !begin(argv[3], argv + 3) || ptrace(PTRACE_GETREGS, pid, NULL, &before))
		return 1;
	state = before.r14;
	find_first_stack(before.rsp);
	printf("%d\n", pid);
	fflush(stdout);
	getchar();
	for (;; before = now, steps++) {
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) || waitpid(pid, &status, 0) != pid ||
		    !WIFSTOPPED(status) || ptrace(PTRACE_GETREGS, pid, NULL, &now))
			return 1;
		if ((word(now.rip - 1) & 0xff) == 0xcc && now.rip == before.rip + 1)
			break;
		follow(out, &now, &before);
		if (now.rip != collector || now.rip == before.rip)
			continue;
		if (!run_over(&now) || ptrace(PTRACE_GETREGS, pid, NULL, &now))
			return 1;
		follow(out, &now, &now);
	}
	printf("%ld steps\n", steps);
	return ptrace(PTRACE_CONT, pid, NULL, NULL) || waitpid(pid, &status, 0) != pid ||
	       !WIFEXITED(status) || fclose(out);
}
