/* SPDX-License-Identifier: BSD-2-Clause */
/* Into which programs a library may be loaded, by their files, which are made here. */
#include <ebtrace/loadable.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"

#define STRINGS_AT    0x1000
#define STRINGS_BYTES 4096
#define STRINGS_LIMIT (64u << 20)
#define LOADED_AT     0x400000
#define LINKER_AT     512
#define DYNAMIC_AT    1024
#define MAX_HEADERS   256

/* A program that may be loaded; tests change one thing of it. */
static struct image {
	ElfW(Ehdr) head;
	ElfW(Phdr) linker, dynamic, load;
	char path[EBT_LOADABLE_LINKER_BYTES + 1];
	ElfW(Dyn) entry[4];
	char strings[STRINGS_BYTES];
} image;
static ElfW(Ehdr) own_head;
static char own_linker[EBT_LOADABLE_LINKER_BYTES], found[EBT_LOADABLE_LINKER_BYTES];

/* The program that runs here is one that may be loaded, but where it is sanitized. */
static void read_own(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || pread(fd, &own_head, sizeof(own_head), 0) != sizeof(own_head))
		abort();
	ebt_loadable_check(fd, own_linker);
	close(fd);
}

static void make_image(void)
{
	image.head = own_head;
	image.head.e_phoff = sizeof(image.head);
	image.head.e_phnum = 3;
	image.linker = (ElfW(Phdr)){.p_type = PT_INTERP, .p_offset = LINKER_AT};
	image.linker.p_filesz = strlen(own_linker) + 1;
	image.dynamic = (ElfW(Phdr)){.p_type = PT_DYNAMIC, .p_offset = DYNAMIC_AT};
	image.dynamic.p_filesz = sizeof(image.entry);
	image.load = (ElfW(Phdr)){.p_type = PT_LOAD, .p_offset = STRINGS_AT, .p_vaddr = LOADED_AT};
	image.load.p_filesz = STRINGS_LIMIT + 2;
	memset(image.path, 0, sizeof(image.path));
	strcpy(image.path, own_linker);
	image.entry[0] = (ElfW(Dyn)){.d_tag = DT_NEEDED};
	image.entry[1] = (ElfW(Dyn)){.d_tag = DT_STRTAB, .d_un.d_ptr = LOADED_AT};
	image.entry[2] = (ElfW(Dyn)){.d_tag = DT_STRSZ, .d_un.d_val = STRINGS_BYTES};
	image.entry[3] = (ElfW(Dyn)){.d_tag = DT_NULL};
	memset(image.strings, 'x', sizeof(image.strings));
}

static void put(int fd, const void *from, size_t n, off_t at)
{
	if (pwrite(fd, from, n, at) != (ssize_t)n)
		abort();
}

static void write_image(int fd)
{
	put(fd, &image.head, sizeof(image.head), 0);
	put(fd, &image.linker, 3 * sizeof(image.linker), sizeof(image.head));
	put(fd, image.path, sizeof(image.path), LINKER_AT);
	put(fd, image.entry, sizeof(image.entry), DYNAMIC_AT);
	put(fd, image.strings, sizeof(image.strings), STRINGS_AT);
}

static enum ebt_loadable check_image(void)
{
	int fd = memfd_create("program", MFD_CLOEXEC);
	if (fd < 0)
		abort();
	write_image(fd);
	enum ebt_loadable is = ebt_loadable_check(fd, found);
	close(fd);
	return is;
}

/* What the image is, which is then made anew. */
static void image_is(enum ebt_loadable want, const char *sentence)
{
	enum ebt_loadable got = check_image();
	ok(got == want, "%s", sentence) || (diag("got %d, expected %d", got, want), 0);
	make_image();
}

static void test_machines(void)
{
	make_image();
	image_is(EBT_LOADABLE, "a program of this machine, with this linker, is loaded into");
	ok(!strcmp(found, own_linker) && *found, "its linker is named");
	image.head.e_ident[EI_MAG3] = 'G';
	image_is(EBT_LOADABLE_NO_PROGRAM, "what is no ELF file is no program");
	ok(!*found, "and has no linker");
	image.head.e_ident[EI_CLASS] = ELFCLASS32;
	image_is(EBT_LOADABLE_OTHER_MACHINE, "one of 32 bits is of another machine");
	image.head.e_machine = EM_S390;
	image_is(EBT_LOADABLE_OTHER_MACHINE, "so is one of another processor");
	image.head.e_ident[EI_DATA] = ELFDATA2LSB + ELFDATA2MSB - image.head.e_ident[EI_DATA];
	image_is(EBT_LOADABLE_OTHER_MACHINE, "and one of another byte order");
	image.head.e_phentsize++;
	image_is(EBT_LOADABLE_NO_PROGRAM, "headers of another size are not read");
	image.head.e_phnum = MAX_HEADERS;
	image_is(EBT_LOADABLE, "256 headers are read");
	image.head.e_phnum = MAX_HEADERS + 1;
	image_is(EBT_LOADABLE_NO_PROGRAM, "more than 256 are not");
}

static void test_linkers(void)
{
	char link[] = "/tmp/ebt-linker-XXXXXX";
	image.linker.p_type = PT_NOTE;
	image_is(EBT_LOADABLE_STATIC, "a program without a linker is static");
	strcpy(image.path, "/bin/true");
	image.linker.p_filesz = sizeof("/bin/true");
	image_is(EBT_LOADABLE_OTHER_LINKER, "another file is another linker");
	ok(!strcmp(found, "/bin/true"), "it is named, too");
	memset(image.path, 'a', sizeof(image.path));
	image.linker.p_filesz = EBT_LOADABLE_LINKER_BYTES - 1;
	image_is(EBT_LOADABLE_OTHER_LINKER, "one that does not exist is another");
	ok(strlen(found) == EBT_LOADABLE_LINKER_BYTES - 1, "a name may have 255 bytes");
	memset(image.path, 'a', sizeof(image.path));
	image.linker.p_filesz = EBT_LOADABLE_LINKER_BYTES;
	image_is(EBT_LOADABLE_OTHER_LINKER, "a longer one is another linker's");
	ok(!*found, "and is not named");
	if (!mkdtemp(link) || rmdir(link) || symlink(own_linker, link))
		abort();
	strcpy(image.path, link);
	image.linker.p_filesz = sizeof(link);
	image_is(EBT_LOADABLE, "another name of this linker is this linker");
	unlink(link);
}

/* Wherever a name is, across the pieces that are read, too. */
static unsigned count_missed(const char *name)
{
	size_t n = strlen(name);
	unsigned missed = 0;
	for (size_t at = 0; at + n <= STRINGS_BYTES; at++) {
		memcpy(image.strings + at, name, n);
		missed += check_image() != EBT_LOADABLE_SANITIZED;
		memset(image.strings, 'x', sizeof(image.strings));
	}
	return missed;
}

static void test_sanitized(void)
{
	static const char *const names[] = {"libtsan.so",  "liblsan.so",  "libhwasan.so",
					    "__asan_init", "__tsan_init", "__msan_init"};
	ok(count_missed("libasan.so") == 0, "libasan.so is found wherever it is");
	ok(count_missed("__hwasan_init") == 0, "so is __hwasan_init");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		strcpy(image.strings, names[i]);
		ok(check_image() == EBT_LOADABLE_SANITIZED, "%s is of a sanitizer", names[i]);
		make_image();
	}
	strcpy(image.strings + 100, "libasan.so");
	image.entry[2].d_un.d_val = 109;
	image_is(EBT_LOADABLE, "behind the strings' end it is none of them");
	strcpy(image.strings + 100, "libasan.so");
	image.entry[1].d_tag = DT_NULL;
	image_is(EBT_LOADABLE, "nothing is read behind the end of the dynamic section");
	strcpy(image.strings, "libasan.so");
	image.entry[1].d_un.d_ptr--;
	image_is(EBT_LOADABLE, "strings that are not loaded are not read");
	strcpy(image.strings, "libasan.so");
	image.entry[2].d_un.d_val = STRINGS_LIMIT;
	image_is(EBT_LOADABLE_SANITIZED, "64 MiB of strings are read");
	strcpy(image.strings, "libasan.so");
	image.entry[2].d_un.d_val = STRINGS_LIMIT + 1;
	image_is(EBT_LOADABLE, "more are not");
	strcpy(image.strings, "libasan.so");
	image.dynamic.p_filesz = sizeof(image.entry[0]);
	image_is(EBT_LOADABLE, "entries behind the dynamic section are none");
}

/* A program's file of this owner and mode. */
static enum ebt_loadable check_owned(uid_t user, gid_t group, mode_t mode)
{
	char name[] = "/tmp/ebt-loadable-XXXXXX";
	int fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0 || unlink(name) || fchown(fd, user, group))
		abort();
	write_image(fd);
	if (fchmod(fd, mode))
		abort();
	enum ebt_loadable is = ebt_loadable_check(fd, found);
	close(fd);
	return is;
}

static void test_privilege(void)
{
	uid_t own = geteuid();
	ok(check_owned(own, getegid(), S_ISUID | S_ISGID | 0755) == EBT_LOADABLE,
	   "nothing is gained by running as oneself");
	if (own) {
		diag("not root, who alone may give a file to others: four tests less");
		return;
	}
	ok(check_owned(1, 0, S_ISUID | 0755) == EBT_LOADABLE_SET_USER_ID, "set-user-ID");
	ok(check_owned(1, 1, 0755) == EBT_LOADABLE, "another owner alone is none");
	ok(check_owned(0, 1, S_ISGID | 0755) == EBT_LOADABLE_SET_GROUP_ID, "set-group-ID");
	ok(check_owned(0, 1, S_ISGID | 0745) == EBT_LOADABLE,
	   "without the group's execution it is none");
}

static void make_script(const char *name, const char *line)
{
	FILE *f = fopen(name, "we");
	if (!f || fputs(line, f) < 0 || fclose(f))
		abort();
}

/* The first two bytes of what is opened. */
static const char *opened(const char *path)
{
	static char begin[3];
	int fd = ebt_loadable_open(AT_FDCWD, path);
	if (fd < 0)
		return strerror(-fd);
	if (pread(fd, begin, 2, 0) != 2)
		abort();
	close(fd);
	return begin;
}

static void test_scripts(void)
{
	char dir[] = "/tmp/ebt-scripts-XXXXXX", line[64], name[2] = "1";
	if (!mkdtemp(dir) || chdir(dir))
		abort();
	make_script("0", "ELF");
	for (; *name <= '5'; (*name)++) {
		snprintf(line, sizeof(line), "#! \t%s/%c -x\n", dir, *name - 1);
		make_script(name, line);
	}
	ok(!strcmp(opened("0"), "EL"), "a program is opened");
	ok(!strcmp(opened("1"), "EL"), "for a script its interpreter is");
	ok(!strcmp(opened("4"), "EL"), "also where four scripts name one another");
	ok(!strcmp(opened("5"), "#!"), "no fifth is followed");
	make_script("6", "#! \n");
	ok(!strcmp(opened("6"), "#!"), "a script that names nothing is what it is");
	make_script("7", "#!/nowhere\n");
	ok(!strcmp(opened("7"), strerror(ENOENT)), "an interpreter may be missing");
	if (mkfifo("8", 0600))
		abort();
	ok(!strcmp(opened("8"), strerror(EINVAL)), "a FIFO is not waited for");
	ok(!strcmp(opened("."), strerror(EINVAL)), "a directory is no program");
	for (*name = '0'; *name <= '8'; (*name)++)
		unlink(name);
	if (chdir("/") || rmdir(dir))
		abort();
}

int main(void)
{
	read_own();
	make_image();
	test_machines();
	test_linkers();
	test_sanitized();
	test_privilege();
	test_scripts();
	return tap_done();
}
