/* SPDX-License-Identifier: BSD-2-Clause */
#include "vdso.h"

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#if defined(__aarch64__)
#define GETTIME "__kernel_clock_gettime"
#else
#define GETTIME "__vdso_clock_gettime"
#endif

ebt_gettime_fn *ebt_vdso_gettime(void)
{
	uintptr_t base = getauxval(AT_SYSINFO_EHDR);
	if (!base)
		return NULL;
	/* One segment that holds the whole file, section headers too, at the addresses it is linked
	 * for or moved by one number. */
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)base;
	const Elf64_Phdr *segment = (const Elf64_Phdr *)(base + elf->e_phoff);
	const Elf64_Shdr *section = (const Elf64_Shdr *)(base + elf->e_shoff);
	for (size_t i = 0; i < elf->e_shnum; i++) {
		if (section[i].sh_type != SHT_DYNSYM)
			continue;
		const Elf64_Sym *sym = (const Elf64_Sym *)(base + section[i].sh_offset);
		const char *names = (const char *)(base + section[section[i].sh_link].sh_offset);
		for (size_t n = section[i].sh_size / sizeof(*sym); n; n--, sym++) {
			if (sym->st_shndx != SHN_UNDEF && !strcmp(names + sym->st_name, GETTIME))
				return (ebt_gettime_fn *)(base + sym->st_value -
							  segment[0].p_vaddr);
		}
	}
	return NULL;
}
