/* SPDX-License-Identifier: BSD-2-Clause */
#include "elf/machine.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HEAD_BYTES (offsetof(Elf64_Ehdr, e_machine) + sizeof(Elf64_Half))

static const struct {
	uint16_t machine;
	const char *name;
} names[] = {
	{EM_386, "x86"},      {EM_X86_64, "x86-64"}, {EM_ARM, "Arm"},	  {EM_AARCH64, "AArch64"},
	{EM_RISCV, "RISC-V"}, {EM_S390, "S/390"},    {EM_PPC, "PowerPC"}, {EM_PPC64, "PowerPC 64"},
	{EM_MIPS, "MIPS"},    {EM_SPARCV9, "SPARC"},
};

static void describe(const unsigned char *ident, uint16_t machine, char *ret)
{
	char number[16];
	const char *name = NULL;
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].machine == machine)
			name = names[i].name;
	snprintf(number, sizeof(number), "machine %u", machine);
	snprintf(ret, MACHINE_NAME_BYTES, "%s, %s-endian %s",
		 ident[EI_CLASS] == ELFCLASS64	 ? "64-bit"
		 : ident[EI_CLASS] == ELFCLASS32 ? "32-bit"
						 : "of no known word size",
		 ident[EI_DATA] == ELFDATA2MSB ? "big" : "little", name ? name : number);
}

int machine_check_head(const unsigned char *head, size_t bytes, char *ret)
{
	if (bytes < HEAD_BYTES || memcmp(head, ELFMAG, SELFMAG))
		return -ENOEXEC;
	const unsigned char *m = head + offsetof(Elf64_Ehdr, e_machine);
	bool is_big = head[EI_DATA] == ELFDATA2MSB;
	uint16_t machine = (uint16_t)(is_big ? m[0] << 8 | m[1] : m[1] << 8 | m[0]);
	unsigned char our_data =
		__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	if (head[EI_CLASS] == ELFCLASS64 && head[EI_DATA] == our_data && machine == MACHINE_OURS)
		return 0;
	if (ret)
		describe(head, machine, ret);
	return -ENOTSUP;
}

int machine_check(int fd, char *ret)
{
	unsigned char head[HEAD_BYTES];
	ssize_t n = pread(fd, head, sizeof(head), 0);
	return n < 0 ? -errno : machine_check_head(head, (size_t)n, ret);
}
