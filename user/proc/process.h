/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads facts of a process from /proc: its state, name, namespaces, children, environment.
 */
#ifndef PROC_PROCESS_H
#define PROC_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum process_state {
	PROCESS_OPEN,	/* its maps can be read */
	PROCESS_GONE,	/* no such process */
	PROCESS_ZOMBIE, /* ended, not yet waited for */
	PROCESS_KERNEL, /* a kernel thread */
	PROCESS_DENIED, /* of another user */
	PROCESS_UNREAD, /* reading failed: see `error` */
};

struct process_status {
	pid_t pid;
	enum process_state state;
	int error; /* of PROCESS_UNREAD, as -errno: we have no descriptor or memory left */
	uid_t uid;
	uint64_t start_time; /* field 22 of /proc/PID/stat */
	char comm[32];
};

/* The first n bytes of /proc/PID/NAME, fewer if it is shorter. Bytes read, or -errno. */
ssize_t process_read(pid_t pid, const char *name, void *ret, size_t n);
/* The first cap - 1 bytes as a string. Its length; or -errno, and it is empty. */
ssize_t process_read_text(pid_t pid, const char *name, char *ret, size_t cap);

/* A process as /proc/PID/stat has it, in the kernel's ticks. */
struct process_stat {
	char comm[32];
	char state; /* 'Z': a zombie */
	pid_t parent;
	uint64_t flags; /* PF_... of include/linux/sched.h */
	uint64_t user_ticks, system_ticks, start_ticks;
	uint64_t waited_ticks; /* CPU time of children that it has waited for, and of theirs */
	uint32_t threads;
	uint64_t vm_bytes; /* of its address space */
	bool is_thread;	   /* and no process: not the first thread of one */
};

/* Also of a zombie. 0 or -errno; -ESRCH: no such process. */
int process_read_stat(pid_t pid, struct process_stat *ret);

/* A descriptor by which the size of a process's address space can be read often, for less than
 * process_read_stat() costs; or -errno. It stays that of this process. */
int process_open_size(pid_t pid);
/* The size, as process_read_stat() has it. 0 or -errno; -ESRCH: the process has ended. */
int process_read_size(int fd, uint64_t *ret_bytes);

#define PROCESS_BIRTHS_AWAITED 64
/* The numbers that processes and threads of our pid namespace get. Fields are private. */
struct process_births {
	int fd; /* < 0: none can be known */
	bool known;
	uint32_t last; /* the number that was given last, at the last call */
	/* A fork may lose its CPU between its number and its child: these belong to none yet. */
	struct {
		uint32_t number;
		uint64_t since_ns;
	} awaited[PROCESS_BIRTHS_AWAITED];
	unsigned count;
};
/* Never fails. process_births_done() closes its descriptor. */
void process_births_init(struct process_births *b);
void process_births_done(struct process_births *b);
/*
 * Calls fn for each number that was given since the last call, in order. Numbers that a program
 * chose for its children are left out. A number may be that of a thread, or of a process that is
 * gone. fn returns 1; 0 if nothing has the number, then calls within 0.5 s ask for it again; or a
 * negative number, which is returned at once. Returns 0; or 1: the numbers are not known, or they
 * are more than `most`, and the next call asks for the newest of them.
 */
int process_births_each(struct process_births *b, uint32_t most, int (*fn)(pid_t number, void *ctx),
			void *ctx);

/* Reads the status of a pid. Never fails: unknown fields are zero, and `state` is the reason. */
void process_read_status(pid_t pid, struct process_status *ret);

/* True if all threads of the process have ended, also while its parent has not waited for it. By
 * pid, and by an open pidfd. */
bool process_has_ended(pid_t pid);
bool process_pidfd_has_ended(int pidfd);
/* False: it has ended, or is about to: what it had mapped is gone already. */
bool process_has_mappings(pid_t pid);

/* Its pid in its own pid namespace; `pid` if that cannot be read. */
pid_t process_inner_pid(pid_t pid);

/* The thread of the process that has this number in the process's own pid namespace; 0: none has,
 * or it cannot be read. */
pid_t process_outer_thread(pid_t pid, pid_t inner);

/* Whether it has its main thread alone; false: others, too, or it cannot be read. */
bool process_has_one_thread(pid_t pid);

/* The process that it is a child of; 0: none, or it cannot be read. */
pid_t process_parent(pid_t pid);

/* As many processes and threads as there may be at a time; 16,384 at least. */
uint32_t process_limit(void);

/* Calls fn for each process that there is, by pid, until it returns non-zero, which is then
 * returned. -EMFILE, -ENFILE or -ENOMEM if none could be listed. */
int process_each(int (*fn)(pid_t pid, void *ctx), void *ctx);

/* Calls fn for each process that executes the file, until it returns non-zero, which is then
 * returned. Skips processes that we may not inspect. -EMFILE, -ENFILE or -ENOMEM if none could be
 * listed. */
int process_executing(uint64_t dev, uint64_t inode, int (*fn)(pid_t pid, void *ctx), void *ctx);

/* Calls fn for each child, of any thread, until it returns non-zero, which is then returned.
 * -EMFILE, -ENFILE or -ENOMEM if some could not be listed. threads: of the process; 0: not
 * known. */
int process_children(pid_t pid, uint32_t threads, int (*fn)(pid_t child, void *ctx), void *ctx);

/* True if a thread of the process runs under a seccomp filter, which may kill it for system calls
 * that the program itself does not make. */
bool process_is_filtered(pid_t pid);

/* The inode of the machine's own pid namespace (PROC_PID_INIT_INO in include/linux/proc_ns.h). */
#define PROCESS_INITIAL_PIDNS 0xeffffffcu
/* That of the caller's; 0: not known. */
uint64_t process_own_pidns(void);

#endif
