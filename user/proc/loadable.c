/* SPDX-License-Identifier: BSD-2-Clause */
#include <ebtrace/loadable.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SCRIPTS_MAX   4	  /* the interpreter of a script may be a script */
#define SCRIPT_BYTES  256 /* of the first line that the kernel reads */
#define HEADERS_MAX   256
#define DYNAMIC_MAX   512
#define CHUNK_BYTES   1024
#define STRINGS_MAX   (64u << 20)
#define OVERLAP_BYTES 32 /* longer than each of the names below */

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#else
#error "which e_machine is ours?"
#endif

/* Dynamic strings of files linked with a sanitizer that has an allocator of its own. */
static const char *const sanitizers[] = {
	"libasan.so",  "libtsan.so",  "liblsan.so",  "libhwasan.so",
	"__asan_init", "__tsan_init", "__msan_init", "__hwasan_init",
};

static bool read_at(int fd, void *to, size_t bytes, uint64_t offset)
{
	ssize_t n;
	if (offset > INT64_MAX)
		return false;
	while ((n = pread(fd, to, bytes, (off_t)offset)) < 0 && errno == EINTR)
		continue;
	return n == (ssize_t)bytes;
}

static int open_regular(int dir, const char *path)
{
	struct stat st;
	int fd = openat(dir, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}

/* The interpreter that a script names. False: it is none. */
static bool read_script(int fd, char ret[SCRIPT_BYTES])
{
	char line[SCRIPT_BYTES];
	ssize_t n = pread(fd, line, sizeof(line) - 1, 0);
	if (n < 3 || line[0] != '#' || line[1] != '!')
		return false;
	line[n] = 0;
	const char *name = line + 2 + strspn(line + 2, " \t");
	size_t bytes = strcspn(name, " \t\n");
	memcpy(ret, name, bytes);
	ret[bytes] = 0;
	return bytes > 0;
}

int ebt_loadable_open(int dir, const char *path)
{
	char script[SCRIPT_BYTES];
	int fd = open_regular(dir, path);
	for (unsigned i = 0; i < SCRIPTS_MAX && fd >= 0 && read_script(fd, script); i++) {
		close(fd);
		fd = open_regular(AT_FDCWD, script);
	}
	return fd;
}

static bool read_header(int fd, const ElfW(Ehdr) * e, unsigned i, ElfW(Phdr) * ret)
{
	return read_at(fd, ret, sizeof(*ret), e->e_phoff + i * sizeof(*ret));
}

static bool find_header(int fd, const ElfW(Ehdr) * e, uint32_t type, ElfW(Phdr) * ret)
{
	for (unsigned i = 0; i < e->e_phnum; i++)
		if (!read_header(fd, e, i, ret))
			return false;
		else if (ret->p_type == type)
			return true;
	return false;
}

/* Where an address of the program is in its file; UINT64_MAX: nowhere. */
static uint64_t offset_of(int fd, const ElfW(Ehdr) * e, uint64_t address)
{
	ElfW(Phdr) h;
	for (unsigned i = 0; i < e->e_phnum && read_header(fd, e, i, &h); i++)
		if (h.p_type == PT_LOAD && address - h.p_vaddr < h.p_filesz)
			return address - h.p_vaddr + h.p_offset;
	return UINT64_MAX;
}

static bool has_name(const char *p, size_t bytes)
{
	for (size_t i = 0; i < sizeof(sanitizers) / sizeof(*sanitizers); i++)
		if (memmem(p, bytes, sanitizers[i], strlen(sanitizers[i])))
			return true;
	return false;
}

/* True if a range of the file has one of the names. */
static bool search_names(int fd, uint64_t at, uint64_t bytes)
{
	char chunk[CHUNK_BYTES];
	if (bytes > STRINGS_MAX || at > INT64_MAX - STRINGS_MAX)
		return false;
	for (uint64_t end = at + bytes; at < end; at += CHUNK_BYTES - OVERLAP_BYTES) {
		size_t want = end - at < CHUNK_BYTES ? (size_t)(end - at) : CHUNK_BYTES;
		ssize_t n = pread(fd, chunk, want, (off_t)at);
		if (n <= 0)
			return false;
		if (has_name(chunk, (size_t)n))
			return true;
	}
	return false;
}

static bool is_sanitized(int fd, const ElfW(Ehdr) * e)
{
	ElfW(Phdr) h;
	uint64_t strings = UINT64_MAX, bytes = 0;
	if (!find_header(fd, e, PT_DYNAMIC, &h))
		return false;
	for (unsigned i = 0; i < DYNAMIC_MAX && i < h.p_filesz / sizeof(ElfW(Dyn)); i++) {
		ElfW(Dyn) d;
		if (!read_at(fd, &d, sizeof(d), h.p_offset + i * sizeof(d)) || d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_STRTAB)
			strings = offset_of(fd, e, d.d_un.d_ptr);
		else if (d.d_tag == DT_STRSZ)
			bytes = d.d_un.d_val;
	}
	return strings != UINT64_MAX && search_names(fd, strings, bytes);
}

/* The path of the file's dynamic linker. */
static enum ebt_loadable read_linker(int fd, const ElfW(Ehdr) * e, char *ret)
{
	ElfW(Phdr) h;
	*ret = 0;
	if (!find_header(fd, e, PT_INTERP, &h))
		return EBT_LOADABLE_STATIC;
	if (h.p_filesz >= EBT_LOADABLE_LINKER_BYTES || !read_at(fd, ret, h.p_filesz, h.p_offset))
		return EBT_LOADABLE_OTHER_LINKER;
	ret[h.p_filesz] = 0;
	return EBT_LOADABLE;
}

static bool read_elf(int fd, ElfW(Ehdr) * ret)
{
	return read_at(fd, ret, sizeof(*ret), 0) && !memcmp(ret->e_ident, ELFMAG, SELFMAG);
}

static bool is_readable(const ElfW(Ehdr) * e)
{
	return e->e_phentsize == sizeof(ElfW(Phdr)) && e->e_phnum <= HEADERS_MAX;
}

/* A library of ours is made for our own C library: the linker of the program that asks. */
static bool is_our_linker(const char *path)
{
	static bool known;
	static dev_t dev;
	static ino_t ino;
	char ours[EBT_LOADABLE_LINKER_BYTES];
	ElfW(Ehdr) e;
	struct stat st;
	if (!__atomic_load_n(&known, __ATOMIC_ACQUIRE)) {
		int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
		bool good = fd >= 0 && read_elf(fd, &e) && is_readable(&e) &&
			    !read_linker(fd, &e, ours) && !stat(ours, &st);
		if (fd >= 0)
			close(fd);
		if (!good)
			return true;
		dev = st.st_dev;
		ino = st.st_ino;
		__atomic_store_n(&known, true, __ATOMIC_RELEASE);
	}
	return !*path || (!stat(path, &st) && st.st_dev == dev && st.st_ino == ino);
}

void ebt_loadable_prepare(void)
{
	is_our_linker("");
}

/* The dynamic linker ignores the environment of such a program. */
static enum ebt_loadable gains_privilege(int fd)
{
	struct stat st;
	if (fstat(fd, &st))
		return EBT_LOADABLE;
	if (st.st_mode & S_ISUID && st.st_uid != geteuid())
		return EBT_LOADABLE_SET_USER_ID;
	if (st.st_mode & S_ISGID && st.st_mode & S_IXGRP && st.st_gid != getegid())
		return EBT_LOADABLE_SET_GROUP_ID;
	if (geteuid() && fgetxattr(fd, "security.capability", NULL, 0) > 0)
		return EBT_LOADABLE_CAPABLE;
	return EBT_LOADABLE;
}

enum ebt_loadable ebt_loadable_check(int fd, char ret_linker[EBT_LOADABLE_LINKER_BYTES])
{
	ElfW(Ehdr) e;
	*ret_linker = 0;
	if (!read_elf(fd, &e))
		return EBT_LOADABLE_NO_PROGRAM;
	if (e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_machine != OUR_MACHINE ||
	    e.e_ident[EI_DATA] !=
		    (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB))
		return EBT_LOADABLE_OTHER_MACHINE;
	if (!is_readable(&e))
		return EBT_LOADABLE_NO_PROGRAM;
	enum ebt_loadable is = read_linker(fd, &e, ret_linker);
	if (!is && !is_our_linker(ret_linker))
		is = EBT_LOADABLE_OTHER_LINKER;
	if (!is)
		is = gains_privilege(fd);
	return !is && is_sanitized(fd, &e) ? EBT_LOADABLE_SANITIZED : is;
}
