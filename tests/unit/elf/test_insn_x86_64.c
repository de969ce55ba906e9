/* SPDX-License-Identifier: BSD-2-Clause */
#include "elf/insn_x86_64.h"

#include <ctype.h>

#include "tests/tap.h"

#define CODE(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static struct insn decode(const uint8_t *code, size_t size, const char *name)
{
	struct insn in = {0};
	ok(insn_decode(code, size, &in) && in.length == size, "%s: %zu bytes", name, size);
	for (size_t i = 0; i < size; i++) {
		struct insn part;
		if (insn_decode(code, i, &part))
			ok(0, "%s: %zu of its bytes are not enough", name, i);
	}
	return in;
}

#define DECODE(name, ...) decode(CODE(__VA_ARGS__), name)

static void test_entry_of_a_function(void)
{
	struct insn in = DECODE("endbr64", 0xf3, 0x0f, 0x1e, 0xfa);
	ok(!in.emulated && !in.writes && !in.ends, "endbr64 writes nothing and is stepped");
	in = DECODE("mov 0x7956d(%rip),%rax", 0x48, 0x8b, 0x05, 0x6d, 0x95, 0x07, 0x00);
	ok(in.rip && in.memory && in.wide && in.disp == 0x7956d && in.reg == INSN_AX,
	   "a load relative to the instruction pointer tells where from");
	is(in.writes, 1 << INSN_AX, "it writes its register");
	in = DECODE("test %rax,%rax", 0x48, 0x85, 0xc0);
	is(in.writes, 0, "test writes no register");
	in = DECODE("jne", 0x75, 0x08);
	ok(in.emulated && in.ends, "a short conditional jump is emulated");
	in = DECODE("jne, far", 0x0f, 0x85, 1, 2, 3, 4);
	ok(in.emulated && in.ends, "a long conditional jump is emulated");
	in = DECODE("push %rbp", 0x55);
	ok(in.emulated && !in.ends && !in.writes, "push is emulated");
	in = DECODE("push %r12", 0x41, 0x54);
	ok(in.emulated, "push of a high register is emulated");
	in = DECODE("data16 jne", 0x66, 0x75, 0x08);
	ok(!in.emulated, "a jump with a prefix is not");
	in = DECODE("nopl 0(%rax)", 0x0f, 0x1f, 0x80, 0, 0, 0, 0);
	ok(!in.emulated, "a long nop is not");
	in = DECODE("ret", 0xc3);
	ok(in.ends && !in.emulated, "ret ends, and is not emulated");
}

static void test_registers(void)
{
	is(DECODE("mov %rsi,0x8(%rsp)", 0x48, 0x89, 0x74, 0x24, 0x08).writes, 0,
	   "a store writes no register");
	is(DECODE("mov %edi,%edx", 0x89, 0xfa).writes, 1 << INSN_DX, "a move writes its target");
	is(DECODE("xor %edi,%edi", 0x31, 0xff).writes, 1 << INSN_DI, "xor writes its target");
	is(DECODE("mov $2,%esi", 0xbe, 2, 0, 0, 0).writes & 1 << INSN_SI, 1 << INSN_SI,
	   "a constant is moved into the register of the opcode");
	is(DECODE("sub $0x18,%rsp", 0x48, 0x83, 0xec, 0x18).writes, 1 << INSN_SP,
	   "sub writes its target");
	is(DECODE("cmpq $0,0x10(%rip)", 0x48, 0x83, 0x3d, 0x10, 0, 0, 0, 0).writes, 0,
	   "cmp writes nothing");
	is(DECODE("pop %rdi", 0x5f).writes & 1 << INSN_DI, 1 << INSN_DI, "pop writes its register");
	is(DECODE("mov %r15,%rdi", 0x4c, 0x89, 0xff).writes, 1 << INSN_DI, "REX.R is the source");
	is(DECODE("mov %rdi,%r15", 0x49, 0x89, 0xff).writes, 1 << 15, "REX.B is the target");
	struct insn in =
		DECODE("mov %fs:-0x20,%rax", 0x64, 0x48, 0x8b, 0x04, 0x25, 0xe0, 0xff, 0xff, 0xff);
	ok(in.fs && in.base == INSN_NO_BASE && in.disp == -0x20, "a thread's variable is told");
	in = DECODE("movslq 0x120(%rax),%rax", 0x48, 0x63, 0x80, 0x20, 1, 0, 0);
	ok(in.memory && in.base == INSN_AX && in.disp == 0x120, "a field of a structure is told");
	in = DECODE("mov (%rax,%rbx,8),%rcx", 0x48, 0x8b, 0x0c, 0xd8);
	is(in.base, INSN_INDEXED, "an index is told");
	in = DECODE("movabs $1,%rax", 0x48, 0xb8, 1, 0, 0, 0, 0, 0, 0, 0);
	is(in.imm, 1, "a constant of 8 bytes");
	in = DECODE("testb $1,(%rdi)", 0xf6, 0x07, 0x01);
	is(in.imm, 1, "test has a constant where not and neg have none");
	DECODE("neg %rax", 0x48, 0xf7, 0xd8);
	DECODE("movdqa 0xb9eb(%rip),%xmm1", 0x66, 0x0f, 0x6f, 0x0d, 0xeb, 0xb9, 0, 0);
}

static void test_anything(void)
{
	struct insn in;
	unsigned known = 0;
	uint64_t seed = 42;
	for (int i = 0; i < 1000000; i++) {
		uint8_t code[15];
		for (unsigned b = 0; b < sizeof(code); b++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			code[b] = (uint8_t)(seed >> 56);
		}
		size_t size = (size_t)(seed >> 32) % (sizeof(code) + 1);
		if (insn_decode(code, size, &in)) {
			known++;
			if (in.length > size || !in.length)
				ok(0, "no instruction is longer than its bytes");
		}
	}
	ok(known > 100000, "of random bytes many are instructions");
	ok(!insn_decode(CODE(0xc5, 0xf8, 0x77), &in), "AVX is not known");
	ok(!insn_decode(CODE(0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
			     0x66, 0x66, 0x66, 0x90),
			&in),
	   "nothing is longer than 15 bytes");
}

/* Every instruction of a large program, as the disassembler sees it. */
static void test_against_objdump(void)
{
	FILE *in = popen("objdump -dw /bin/bash", "r");
	char line[512];
	unsigned seen = 0, known = 0, wrong = 0;
	while (in && fgets(line, sizeof(line), in)) {
		char *p = strchr(line, '\t'), *text = p ? strchr(p + 1, '\t') : NULL;
		uint8_t code[16];
		size_t size = 0;
		for (; text && p < text && size < sizeof(code); p += 3) {
			unsigned b;
			if (!isxdigit(p[1]) || sscanf(p, " %2x", &b) != 1)
				break;
			code[size++] = (uint8_t)b;
		}
		struct insn got;
		if (!size || !text || strstr(text, "(bad)"))
			continue;
		seen++;
		if (!insn_decode(code, size, &got))
			continue;
		known++;
		bool jumps = text[1] == 'j' || !strncmp(text + 1, "call", 4) ||
			     !strncmp(text + 1, "ret", 3) || !strncmp(text + 1, "ud2", 3);
		bool traps = !strncmp(text + 1, "int3", 4) || !strncmp(text + 1, "bnd", 3) ||
			     !strncmp(text + 1, "notrack", 7) || !strncmp(text + 1, "repz ret", 8);
		if (got.length != size || (got.ends != jumps && !traps)) {
			wrong++;
			diag("%s", line);
		}
	}
	if (in)
		pclose(in);
	diag("%u instructions, %u known", seen, known);
	ok(seen > 50000 && known > seen / 10 * 9,
	   "nine of ten instructions of a program are known");
	is(wrong, 0, "and have the length, and the way on, that a disassembler finds");
}

int main(void)
{
	test_entry_of_a_function();
	test_registers();
	test_anything();
	test_against_objdump();
	return tap_done();
}
