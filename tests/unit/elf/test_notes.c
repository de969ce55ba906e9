// SPDX-License-Identifier: BSD-2-Clause
/* The markers of tests/prog/markers_x86_64.c as elf/notes reads them, against readelf, bad
 * files, and the arguments of other programs' markers. */
#include "elf/notes.h"
#include "elf/usdt_args.h"
#include "tests/tap.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/ebt-notes-XXXXXX";

static long run_number(const char *cmd)
{
	long n = -1;
	FILE *f = popen(cmd, "r");
	if (f && fscanf(f, "%ld", &n) != 1)
		n = -1;
	if (f)
		pclose(f);
	return n;
}

static void check_built(const char *name, const char *flags)
{
	char cmd[512], path[128];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	snprintf(cmd, sizeof(cmd), "cc -O2 -Iinclude %s tests/prog/markers_x86_64.c -o %s", flags,
		 path);
	int fd = system(cmd) ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	struct notes n = {0};
	int err = notes_read(fd, "ebtrace", &n);
	ok(!err && n.sites == 3 && !n.skipped, "%s: three markers are read", name);
	snprintf(cmd, sizeof(cmd), "readelf -n %s | grep -c 'Provider: ebtrace'", path);
	is(n.sites, run_number(cmd), "as many as readelf counts");
	int nops = 0, same = 0;
	for (uint32_t i = 0; i < n.sites; i++) {
		unsigned char byte = 0;
		uint16_t semaphore = 1;
		nops += pread(fd, &byte, 1, (off_t)n.site[i].offset) == 1 && byte == 0x90;
		same += pread(fd, &semaphore, 2, (off_t)n.site[i].semaphore) == 2 && !semaphore &&
			n.site[i].semaphore == n.site[0].semaphore && n.site[i].semaphore;
	}
	is(nops, 3, "at each offset in the file stands the nop");
	is(same, 3, "each has the semaphore, which is 0 in the file");
	ok(n.sites == 3 && !strcmp(n.site[0].name, "begin") &&
		   !strcmp(n.site[0].args, "4@%edi 8@%rsi 4@%ecx 8@%r8 8@%r9"),
	   "name and arguments are the first note's");
	notes_done(&n);
	is(notes_read(fd, "other", &n), 0, "a provider that is not there is no error");
	is(n.sites, 0, "and has no markers");
	notes_done(&n);
	close(fd);
}

/* Overwrites each byte of the tables with each of some values: nothing may go out of bounds. */
static void check_hostile(const char *path)
{
	static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat st;
	Elf64_Ehdr eh;
	if (fd < 0 || fstat(fd, &st) || pread(fd, &eh, sizeof(eh), 0) != sizeof(eh)) {
		ok(0, "the file to damage opens");
		return;
	}
	long bad = 0, outside = 0, tries = 0;
	off_t at = 0;
	while (at < st.st_size) {
		unsigned char was;
		if (pread(fd, &was, 1, at) != 1)
			break;
		for (size_t v = 0; v < sizeof(values); v++) {
			struct notes n = {0};
			if (pwrite(fd, &values[v], 1, at) != 1)
				break;
			tries++;
			int err = notes_read(fd, NULL, &n);
			bad += err != 0;
			for (uint32_t i = 0; !err && i < n.sites; i++)
				outside += !n.site[i].name || n.site[i].offset > INT64_MAX;
			notes_done(&n);
		}
		if (pwrite(fd, &was, 1, at) != 1)
			break;
		/* The ELF header, the program headers, then the section headers. */
		at++;
		if (at == 1024)
			at = (off_t)eh.e_shoff;
	}
	ok(tries > 5000 && bad > 0, "damaged tables are refused, never followed");
	is(outside, 0, "what is read from a damaged file is whole");
	struct notes n = {0};
	ok(!ftruncate(fd, st.st_size / 2) && notes_read(fd, NULL, &n) == -EBADMSG,
	   "a file without its end is damaged");
	ok(!ftruncate(fd, 10) && notes_read(fd, NULL, &n) == -ENOEXEC,
	   "a file of ten bytes is no program");
	close(fd);
}

/* Adds to every `base` in the notes, and to the addresses beside it: they are as they were before
 * the file was moved, while .stapsdt.base stands where it stands now. */
static bool shift_notes(int fd, uint64_t by)
{
	Elf64_Ehdr eh;
	if (pread(fd, &eh, sizeof(eh), 0) != sizeof(eh))
		return false;
	uint64_t words[3];
	bool done = false;
	for (unsigned i = 0; i < eh.e_shnum; i++) {
		Elf64_Shdr sh;
		Elf64_Nhdr nh;
		if (pread(fd, &sh, sizeof(sh), (off_t)(eh.e_shoff + i * sizeof(sh))) != sizeof(sh))
			return false;
		for (uint64_t at = 0; sh.sh_type == SHT_NOTE && at + sizeof(nh) < sh.sh_size;) {
			char name[8] = "";
			off_t note = (off_t)(sh.sh_offset + at);
			if (pread(fd, &nh, sizeof(nh), note) != sizeof(nh) ||
			    pread(fd, name, sizeof(name), note + (off_t)sizeof(nh)) < 1)
				return false;
			off_t desc = note + (off_t)sizeof(nh) + ((nh.n_namesz + 3) & ~3u);
			at += sizeof(nh) + ((nh.n_namesz + 3) & ~3u) + ((nh.n_descsz + 3) & ~3u);
			if (memcmp(name, "stapsdt", 8))
				continue;
			if (pread(fd, words, sizeof(words), desc) != sizeof(words))
				return false;
			for (int w = 0; w < 3; w++)
				words[w] += by;
			done = pwrite(fd, words, sizeof(words), desc) == sizeof(words);
		}
	}
	return done;
}

/* A file that prelink has moved: its sections lie elsewhere than its notes say, all by as much. */
static void check_moved(const char *path, uint64_t by, const char *how)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct notes was = {0}, now = {0};
	if (!ok(fd >= 0 && !notes_read(fd, "ebtrace", &was) && was.sites == 3 &&
			shift_notes(fd, by) && !notes_read(fd, "ebtrace", &now),
		"%s: the notes are read", how))
		return;
	int same = 0;
	for (uint32_t i = 0; i < now.sites && i < 3; i++)
		same += now.site[i].offset == was.site[i].offset &&
			now.site[i].address == was.site[i].address &&
			now.site[i].semaphore == was.site[i].semaphore;
	is(same, 3, "each marker and its semaphore are where they were");
	shift_notes(fd, -by);
	notes_done(&was);
	notes_done(&now);
	close(fd);
}

/* Without the section that shows where a file was moved to, its notes are right as they are. */
static void check_without_base(const char *path)
{
	char cmd[512], to[128];
	snprintf(to, sizeof(to), "%s/without-base", dir);
	snprintf(cmd, sizeof(cmd), "objcopy --rename-section .stapsdt.base=.other %s %s", path, to);
	int fd = system(cmd) ? -1 : open(to, O_RDONLY | O_CLOEXEC);
	struct notes n = {0};
	ok(!notes_read(fd, "ebtrace", &n) && n.sites == 3 && !n.skipped,
	   "without a base the markers are where their notes say");
	notes_done(&n);
	close(fd);
	unlink(to);
}

/* More notes than are kept. */
static void check_many(void)
{
	char cmd[1024], path[128];
	snprintf(path, sizeof(path), "%s/many", dir);
	snprintf(cmd, sizeof(cmd),
		 "printf '.text\\n1: nop\\n.section .note.stapsdt,\"\",%%%%note\\n.rept %d\\n"
		 ".balign 4\\n.4byte 8, 29, 3\\n.asciz \"stapsdt\"\\n.8byte 1b, 0, 0\\n"
		 ".asciz \"p\"\\n.asciz \"m\"\\n.asciz \"\"\\n.balign 4\\n.endr\\n' | "
		 "cc -shared -nostdlib -x assembler - -o %s 2>%s.err",
		 NOTES_MAX + 5, path, path);
	int fd = system(cmd) ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	struct notes n = {0};
	int err = notes_read(fd, NULL, &n);
	ok(!err && n.sites == NOTES_MAX && n.skipped == 5,
	   "of more notes than are kept the rest is counted") ||
		(diag("%d, %u sites, %u skipped", err, n.sites, n.skipped), 0);
	notes_done(&n);
	close(fd);
	unlink(path);
	snprintf(cmd, sizeof(cmd), "%s.err", path);
	unlink(cmd);
}

/*
 * Reads what an assembler makes of a page of code, with label 1 on its last byte and 2 behind it,
 * and of two notes, one for each value of \it: their bytes, and where the marker is. Returns the
 * descriptor of the file, which has no path any more; *ret_err is that of notes_read().
 */
static int read_two_notes(const char *values, const char *bytes, const char *at, struct notes *ret,
			  int *ret_err)
{
	char cmd[1024], path[128];
	snprintf(path, sizeof(path), "%s/two", dir);
	snprintf(cmd, sizeof(cmd),
		 "printf '.text\\n.fill 4095,1,0x90\\n1: nop\\n2:\\n"
		 ".section .note.stapsdt,\"\",%%%%note\\n.irp it,%s\\n"
		 ".balign 4\\n.4byte 8, %s, 3\\n.asciz \"stapsdt\"\\n.8byte %s, 0, 0\\n"
		 ".asciz \"p\"\\n.asciz \"m\"\\n.asciz \"\"\\n.balign 4\\n.endr\\n' | "
		 "cc -shared -nostdlib -Wl,-z,separate-code -x assembler - -o %s 2>/dev/null",
		 values, bytes, at, path);
	int fd = system(cmd) ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	*ret_err = notes_read(fd, NULL, ret);
	unlink(path);
	return fd;
}

/* One marker on the last byte of the code, one behind it. */
static void check_end_of_code(void)
{
	struct notes n = {0};
	int err, fd = read_two_notes("1b,2b", "29", "\\\\it", &n, &err);
	unsigned char last = 0;
	ok(!err && n.sites == 1 && n.skipped == 1 &&
		   pread(fd, &last, 1, (off_t)n.site[0].offset) == 1 && last == 0x90,
	   "a marker may be on the last byte of a segment, and none is behind it") ||
		(diag("%d, %u sites, %u skipped", err, n.sites, n.skipped), 0);
	notes_done(&n);
	close(fd);
}

/* A note that says it is longer than all that follows, behind a good one. */
static void check_cut_note(void)
{
	struct notes n = {0};
	int err, fd = read_two_notes("29,30000", "\\\\it", "1b", &n, &err);
	ok(!err && n.sites == 1 && n.skipped == 1, "a note that is cut is left out, and counted") ||
		(diag("%d, %u sites, %u skipped", err, n.sites, n.skipped), 0);
	notes_done(&n);
	close(fd);
}

/* Each note is searched in all segments, of which a file may have 256. */
static void check_segments(const char *path)
{
	static const uint16_t counts[] = {256, 257, 1280};
	for (size_t i = 0; i < 3; i++) {
		char cmd[512], to[128];
		snprintf(to, sizeof(to), "%s/segments", dir);
		snprintf(cmd, sizeof(cmd), "cp %s %s && truncate -s +200000 %s", path, to, to);
		int fd = system(cmd) ? -1 : open(to, O_RDWR | O_CLOEXEC);
		struct notes n = {0};
		if (pwrite(fd, &counts[i], 2, offsetof(Elf64_Ehdr, e_phnum)) != 2)
			abort();
		is(notes_read(fd, NULL, &n), i ? -EBADMSG : 0,
		   i ? "more are refused" : "a file of 256 segments is read");
		notes_done(&n);
		close(fd);
		unlink(to);
	}
}

/* The strings that a compiler and <sys/sdt.h> write, by what they stand for. */
static const char sdt_program[] =
	"#include <stdint.h>\n#include <sys/sdt.h>\n"
	"struct s { long a[64]; short b; char c; double d; };\n"
	"void f(struct s *s, long i, double d, int k, unsigned char c) {\n"
	"	volatile long local[4] = {0};\n"
	"	STAP_PROBE5(p, one, s->a[i], s->b, s->c, s->d, d);\n"
	"	STAP_PROBE6(p, two, i, k, c, (short)k, 7, -7L);\n"
	"	STAP_PROBE4(p, three, (uint64_t)-1, &s->a[i], local[1], local[k & 3]);\n"
	"}\nint main(void) { return 0; }\n";

/* Parses the arguments of all markers of a file: how many strings are refused, and how many of them
 * do not name a symbol. */
static void check_args(const char *path, const char *what, uint32_t sites_at_least)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct notes n = {0};
	int err = fd < 0 ? -errno : notes_read(fd, NULL, &n), odd = 0;
	for (uint32_t i = 0; !err && i < n.sites; i++) {
		struct usdt_args args;
		const char *text = n.site[i].args;
		unsigned at = 0;
		bool bad = usdt_args_parse(text, &args, &at);
		/* A symbol's address is relative to the instruction. */
		if (bad == (strstr(text, "(%rip)") != NULL))
			continue;
		odd++;
		diag("'%s' at %u", text, at);
	}
	ok(!err && n.sites >= sites_at_least && !odd, "the arguments of %s are parsed", what);
	notes_done(&n);
	close(fd);
}

static void test_args(void)
{
	static const char *const levels[] = {"-O2", "-O0"};
	char source[128], path[128], cmd[512];
	snprintf(source, sizeof(source), "%s/sdt.c", dir);
	FILE *f = fopen(source, "we");
	if (f) {
		fputs(sdt_program, f);
		fclose(f);
	}
	snprintf(path, sizeof(path), "%s/sdt", dir);
	for (int i = 0; i < 2; i++) {
		snprintf(cmd, sizeof(cmd), "cc %s %s -o %s", levels[i], source, path);
		is(system(cmd), 0, "a program with <sys/sdt.h> is compiled");
		check_args(path, "its three markers", 3);
	}
	static const char *const real[] = {
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0",
		"/usr/bin/python3",
		"/usr/lib/postgresql/15/bin/postgres",
	};
	for (size_t i = 0; i < sizeof(real) / sizeof(*real); i++)
		if (!access(real[i], R_OK))
			check_args(real[i], real[i], 3);
}

int main(void)
{
	char path[128], cmd[128];
	if (!mkdtemp(dir) || system("cc --version >/dev/null 2>&1"))
		return skip_all("needs a compiler");
	check_built("pie", "-pie -fPIE");
	check_built("fixed", "-no-pie -fno-pie");
	check_built("static", "-static");
	check_built("static-pie", "-static-pie -fPIE");
	check_built("stripped", "-pie -fPIE -s");
	check_built("shared", "-shared -fPIC");
	snprintf(path, sizeof(path), "%s/pie", dir);
	check_moved(path, 0x30000000, "notes that say higher addresses than the file has");
	check_moved(path, (uint64_t)-0x100, "notes that say lower ones");
	check_without_base(path);
	check_segments(path);
	check_many();
	check_end_of_code();
	check_cut_note();
	check_hostile(path);
	test_args();
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	if (system(cmd))
		diag("%s was not removed", dir);
	return tap_done();
}
