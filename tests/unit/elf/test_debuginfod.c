/* SPDX-License-Identifier: BSD-2-Clause */
/* Debug files from servers and from the cache. Whatever the outcome of a request, descriptors that
 * are not debuginfod.c's stay open, as does the one that it returned. */
#include "base/clock.h"
#include "elf/debuginfod.h"
#include "tests/tap.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ID_BYTES    20
#define PATIENCE_NS 600000000000u /* on a busy machine, too */

static const uint8_t own_id[ID_BYTES] = {0xab, 0xcd, 1, 2, 3}, other_id[ID_BYTES] = {9};

/* A file that has nothing but a build id. */
struct file {
	Elf64_Ehdr head;
	Elf64_Shdr section[2];
	Elf64_Nhdr note;
	char name[4];
	uint8_t id[ID_BYTES];
};

static struct file file_of(const uint8_t *id)
{
	struct file f = {
		.head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			 .e_type = ET_DYN,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_shoff = offsetof(struct file, section),
			 .e_ehsize = sizeof(Elf64_Ehdr),
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = 2},
		.section[1] = {.sh_type = SHT_NOTE,
			       .sh_offset = offsetof(struct file, note),
			       .sh_size = sizeof(Elf64_Nhdr) + 4 + ID_BYTES,
			       .sh_addralign = 4},
		.note = {4, ID_BYTES, NT_GNU_BUILD_ID},
		.name = "GNU",
	};
#ifdef __aarch64__
	f.head.e_machine = EM_AARCH64;
#endif
	memcpy(f.id, id, ID_BYTES);
	return f;
}

/* ---- a server; the folder of the request says what it answers ---- */

static struct {
	pid_t pid;
	unsigned port;
	/* How often it was asked for each, and the last path. */
	struct asked {
		unsigned absent, own, other, silent;
		char path[128];
	} * asked;
} server;

static void send_file(int to, const uint8_t *id)
{
	struct file f = file_of(id);
	dprintf(to, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
		sizeof(f));
	if (write(to, &f, sizeof(f)) != sizeof(f))
		_exit(1);
}

static void answer(int to)
{
	char text[4096];
	size_t got = 0;
	ssize_t n;
	while (got < sizeof(text) - 1 &&
	       (n = recv(to, text + got, sizeof(text) - 1 - got, 0)) > 0) {
		got += (size_t)n;
		text[got] = '\0';
		if (strstr(text, "\r\n\r\n"))
			break;
	}
	text[got] = '\0';
	sscanf(text, "GET %127s", server.asked->path);
	if (strstr(text, "/silent/")) {
		server.asked->silent++;
		return; /* without closing it */
	}
	if (strstr(text, "/own/")) {
		server.asked->own++;
		send_file(to, own_id);
	} else if (strstr(text, "/other/")) {
		server.asked->other++;
		send_file(to, other_id);
	} else {
		server.asked->absent++;
		dprintf(to, "HTTP/1.1 404 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
	}
	close(to);
}

static void start_server(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
	socklen_t bytes = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	server.asked = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (server.asked == MAP_FAILED || bind(fd, (struct sockaddr *)&at, bytes) ||
	    listen(fd, 8) || getsockname(fd, (struct sockaddr *)&at, &bytes) ||
	    (server.pid = fork()) < 0)
		abort();
	for (int to; !server.pid && (to = accept(fd, NULL, NULL)) >= 0;)
		answer(to);
	if (!server.pid)
		_exit(0);
	server.port = ntohs(at.sin_port);
	close(fd);
}

/* ---- requests ---- */

static unsigned asking, shown; /* messages that a server is asked; those that users see */
static char not_kept[256];

static void count_line(void *ctx, enum log_level level, const char *fmt, va_list ap)
{
	(void)ctx;
	if (!strncmp(fmt, "they cannot be kept", 19))
		vsnprintf(not_kept, sizeof(not_kept), fmt, ap);
	asking += !strncmp(fmt, "asking", 6);
	shown += level <= LOG_NORMAL;
}

static const struct messages counter = {.line = count_line};

/* Servers by the folders of the requests; "dead": where none is. */
static struct debuginfod *new_of(const char *first, const char *second)
{
	const char *const name[] = {first, second};
	char urls[256] = "";
	size_t at = 0;
	for (int i = 0; i < 2 && name[i]; i++)
		if (!strcmp(name[i], "dead"))
			at += (size_t)sprintf(urls + at, "http://127.0.0.1:1 ");
		else
			at += (size_t)sprintf(urls + at, "http://127.0.0.1:%u/%s/ ", server.port,
					      name[i]);
	setenv("DEBUGINFOD_URLS", urls, 1);
	struct debuginfod *d = debuginfod_new(&counter, PATIENCE_NS);
	if (!d)
		abort();
	asking = shown = 0;
	memset(server.asked, 0, sizeof(*server.asked));
	return d;
}

static void ask(struct debuginfod *d)
{
	debuginfod_ask(d, &(struct debuginfod_module){"/a/module", own_id, ID_BYTES});
}

static int result(struct debuginfod *d)
{
	return debuginfod_receive(d, now_ns() + PATIENCE_NS);
}

static int get(struct debuginfod *d)
{
	ask(d);
	return result(d);
}

static bool is_own(int fd)
{
	struct file got, want = file_of(own_id);
	return pread(fd, &got, sizeof(got), 0) == sizeof(got) && !memcmp(&got, &want, sizeof(got));
}

static struct stat stdin_was;

static bool has_stdin(void)
{
	struct stat st;
	return !fstat(0, &st) && st.st_dev == stdin_was.st_dev && st.st_ino == stdin_was.st_ino;
}

/* The process that asks; 0: none. There are that and the server only. */
static pid_t find_worker(void)
{
	char path[64], text[64] = "";
	int pid = 0;
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	FILE *f = fopen(path, "re");
	if (f && fgets(text, sizeof(text), f)) {
		char *end = text;
		while ((pid = (int)strtol(end, &end, 10)) == server.pid)
			;
	}
	if (f)
		fclose(f);
	return pid;
}

static void test_no_server(void)
{
	unsetenv("DEBUGINFOD_URLS");
	ok(!debuginfod_new(&counter, PATIENCE_NS), "without the variable there is nothing to ask");
	setenv("DEBUGINFOD_URLS", "", 1);
	ok(!debuginfod_new(&counter, PATIENCE_NS), "nor is there if it is empty");
	setenv("DEBUGINFOD_URLS", " // ", 1);
	ok(!debuginfod_new(&counter, PATIENCE_NS), "or names no server");
	ok(has_stdin(), "descriptor 0 is open without a server");
}

static void test_found(void)
{
	struct debuginfod *d = new_of("absent", "own");
	int fd = get(d);
	ok(is_own(fd), "the second server has the file");
	ok(has_stdin(), "descriptor 0 is open when a file has come");
	ok(server.asked->absent == 1 && server.asked->own == 1 && asking == 2 && !shown,
	   "each server was asked once, and nothing is said of it");
	is_str(server.asked->path,
	       "/own/buildid/abcd010203000000000000000000000000000000/debuginfo",
	       "for the build id");
	ok(pwrite(fd, "x", 1, 0) < 0 && errno == EPERM && ftruncate(fd, 0) < 0 &&
		   ftruncate(fd, 1 << 20) < 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) < 0 &&
		   is_own(fd),
	   "the file does not change any more");
	pid_t worker = find_worker();
	int second = get(d);
	ok(is_own(second) && second != fd && is_own(fd),
	   "the next one has a descriptor of its own");
	ok(server.asked->absent == 2 && server.asked->own == 2,
	   "a server that did not have a file is asked for the next one");
	ok(worker && find_worker() == worker, "by the same process");
	debuginfod_free(d);
	ok(is_own(fd) && is_own(second), "both are the caller's");
	ok(has_stdin() && !find_worker(), "that process ends with the requests");
	close(fd);
	close(second);
}

static void test_absent(void)
{
	struct debuginfod *d = new_of("other", "absent");
	is(get(d), -ENOENT, "a file of another build id is none");
	ok(has_stdin(), "descriptor 0 is open when no server has a file");
	ok(server.asked->other == 1 && server.asked->absent == 1, "the next server was asked");
	is(get(d), -ENOENT, "nor is it the next time");
	is(server.asked->other, 2, "when its server is asked again");
	is(result(d), -ENOENT, "without a request there is no file");
	debuginfod_free(d);
	ok(has_stdin(), "descriptor 0 is open behind requests without a file");
	debuginfod_free(NULL);
}

static void test_dead(void)
{
	struct debuginfod *d = new_of("dead", "own");
	int fd = get(d);
	ok(is_own(fd) && asking == 2 && shown == 1, "behind a server that is not there comes the "
						    "next, and the user sees why");
	close(fd);
	fd = get(d);
	ok(is_own(fd) && asking == 3 && shown == 1, "it is not asked again");
	close(fd);
	debuginfod_free(d);
	ok(has_stdin(), "descriptor 0 is open behind a server that is not there");
	d = new_of("dead", "dead");
	ok(get(d) == -ENOENT && asking == 2 && shown == 1,
	   "of two that are not there one is reported");
	ok(get(d) == -ENOENT && asking == 2, "and none is asked again");
	debuginfod_free(d);
	ok(has_stdin(), "descriptor 0 is open without any server");
}

/* Until the server has the request. */
static pid_t wait_for_request(void)
{
	for (int i = 0; i < 6000 && !*(volatile unsigned *)&server.asked->silent; i++)
		usleep(10000);
	return find_worker();
}

static void test_killed(void)
{
	struct debuginfod *d = new_of("silent", "own");
	ask(d);
	is(debuginfod_receive(d, 0), -EAGAIN, "there is no answer yet");
	is(debuginfod_receive(d, now_ns() + 1000000), -EAGAIN, "nor a little later");
	ok(has_stdin(), "descriptor 0 is open while a request waits");
	pid_t worker = wait_for_request();
	kill_child(worker ? worker : -1, SIGKILL);
	int fd = result(d);
	ok(is_own(fd) && shown == 1, "where the process that asks has ended, another one asks the "
				     "next server");
	ok(has_stdin() && find_worker() && find_worker() != worker,
	   "descriptor 0 is open when that process was killed");
	close(fd);
	fd = get(d);
	ok(is_own(fd) && server.asked->silent == 1, "what ended it is not asked again");
	close(fd);
	debuginfod_free(d);
}

static void test_stopped(void)
{
	struct debuginfod *d = new_of("silent", "own");
	ask(d);
	wait_for_request();
	debuginfod_stop(d);
	ok(has_stdin() && !find_worker(), "descriptor 0 is open when a request was cancelled, and "
					  "the process is gone");
	is(result(d), -ENOENT, "which has no file then");
	is(get(d), -ENOENT, "nor has a later one");
	ok(asking == 1 && !server.asked->own && !find_worker(), "as none is asked");
	debuginfod_free(d);
	ok(has_stdin(), "descriptor 0 is open behind cancelled requests");
	d = new_of("silent", NULL);
	ask(d);
	wait_for_request();
	debuginfod_free(d);
	ok(has_stdin() && !find_worker(), "descriptor 0 is open when a request was not waited for");
}

/* ---- the cache ---- */

static void path_of(char *ret, const char *folder, const char *below)
{
	snprintf(ret, PATH_MAX, "%s%s", folder, below);
}

#define OWN_FOLDER "/abcd010203000000000000000000000000000000"

static void put_cached(const char *folder, const uint8_t *id)
{
	char path[PATH_MAX];
	struct file f = file_of(id);
	path_of(path, folder, OWN_FOLDER);
	mkdir(path, 0700);
	path_of(path, folder, OWN_FOLDER "/debuginfo");
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (write(fd, &f, sizeof(f)) != sizeof(f))
		abort();
	close(fd);
}

static void remove_cached(const char *folder)
{
	char path[PATH_MAX];
	path_of(path, folder, OWN_FOLDER "/debuginfo");
	unlink(path);
	path_of(path, folder, OWN_FOLDER);
	rmdir(path);
}

static void test_no_folder(const char *dir)
{
	char path[PATH_MAX];
	path_of(path, dir, "/none/below");
	setenv("DEBUGINFOD_CACHE_PATH", path, 1);
	struct debuginfod *d = new_of("own", NULL);
	int fd = get(d);
	ok(is_own(fd), "where the folder cannot be made the file comes all the same");
	is_str(not_kept, "they cannot be kept in DEBUGINFOD_CACHE_PATH: No such file or directory",
	       "with the reason");
	close(fd);
	debuginfod_free(d);
	unsetenv("DEBUGINFOD_CACHE_PATH");
}

static void test_taken_name(const char *dir)
{
	char path[PATH_MAX];
	setenv("DEBUGINFOD_CACHE_PATH", dir, 1);
	path_of(path, dir, OWN_FOLDER);
	mkdir(path, 0700);
	path_of(path, dir, OWN_FOLDER "/debuginfo");
	mkdir(path, 0700);
	struct debuginfod *d = new_of("own", NULL);
	int fd = get(d);
	ok(is_own(fd) && strstr(not_kept, "Is a directory"),
	   "where its name is a folder's the file comes all the same");
	close(fd);
	debuginfod_free(d);
	unsetenv("DEBUGINFOD_CACHE_PATH");
	rmdir(path);
	path_of(path, dir, OWN_FOLDER);
	is(rmdir(path), 0, "and no part of it is left");
}

static void test_named_cache(const char *dir)
{
	char path[PATH_MAX];
	setenv("DEBUGINFOD_CACHE_PATH", dir, 1);
	struct debuginfod *d = new_of("own", NULL);
	close(get(d));
	path_of(path, dir, OWN_FOLDER "/debuginfo");
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ok(is_own(fd), "a file that has come is added to the folder that is named");
	close(fd);
	fd = get(d);
	ok(is_own(fd) && server.asked->own == 1, "where the next request finds it");
	close(fd);
	is(result(d), -ENOENT, "once");
	debuginfod_stop(d);
	fd = get(d);
	ok(is_own(fd), "also after the requests were cancelled");
	ok(has_stdin(), "descriptor 0 is open when a file is in the cache");
	remove_cached(dir);
	is(get(d), -ENOENT, "what was in the cache is not the file of the next request");
	ok(is_own(fd), "but its descriptor is the caller's");
	close(fd);
	debuginfod_free(d);
	put_cached(dir, other_id);
	d = new_of("own", NULL);
	fd = get(d);
	ok(is_own(fd) && server.asked->own == 1, "a cached file of another build id is none");
	close(fd);
	put_cached(dir, own_id);
	ask(d);
	debuginfod_free(d);
	ok(has_stdin(), "a cached file that nobody receives is closed");
	unsetenv("DEBUGINFOD_CACHE_PATH");
	remove_cached(dir);
}

static void test_usual_cache(const char *dir)
{
	char path[PATH_MAX], home[PATH_MAX];
	path_of(path, dir, "/debuginfod_client");
	path_of(home, dir, "/none");
	mkdir(path, 0700);
	put_cached(path, own_id);
	setenv("XDG_CACHE_HOME", dir, 1);
	setenv("HOME", home, 1);
	struct debuginfod *d = new_of("absent", NULL);
	int fd = get(d);
	ok(is_own(fd) && !server.asked->absent, "the user's usual cache is searched");
	close(fd);
	setenv("DEBUGINFOD_CACHE_PATH", home, 1);
	is(get(d), -ENOENT, "where no other is named");
	unsetenv("DEBUGINFOD_CACHE_PATH");
	remove_cached(path);
	debuginfod_free(d);
	d = new_of("own", NULL);
	close(get(d));
	fd = get(d);
	ok(is_own(fd) && server.asked->own == 2, "no file is added to it");
	close(fd);
	debuginfod_free(d);
	unsetenv("XDG_CACHE_HOME");
	rmdir(path);
	ok(has_stdin(), "descriptor 0 is open behind requests with a cache");
}

int main(void)
{
	static const char *const unset[] = {
		"DEBUGINFOD_CACHE_PATH",
		"XDG_CACHE_HOME",
		"http_proxy",
		"https_proxy",
		"HTTP_PROXY",
		"HTTPS_PROXY",
		"ALL_PROXY",
		"all_proxy",
	};
	char dir[] = "/tmp/ebt-debuginfod-XXXXXX";
	void *curl = dlopen("libcurl.so.4", RTLD_LAZY | RTLD_LOCAL);
	if (!curl)
		return skip_all("libcurl.so.4 cannot be loaded");
	for (size_t i = 0; i < sizeof(unset) / sizeof(*unset); i++)
		unsetenv(unset[i]);
	if (!mkdtemp(dir) || fstat(0, &stdin_was))
		abort();
	setenv("HOME", dir, 1);
	start_server();
	test_no_server();
	test_found();
	test_absent();
	test_dead();
	test_killed();
	test_stopped();
	test_no_folder(dir);
	test_taken_name(dir);
	test_named_cache(dir);
	test_usual_cache(dir);
	kill_child(server.pid, SIGKILL);
	waitpid(server.pid, NULL, 0);
	munmap(server.asked, 4096);
	rmdir(dir);
	return tap_done();
}
