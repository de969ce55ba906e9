/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What runtime/ocaml/probes finds in executables assembled here: a runtime's functions with the
 * beginnings that a compiler might give them, and those that one must not be misled by.
 */
#include "session/language.h"
#include "tests/unit/assembled.h"

static const struct ocaml_site *site_of(enum ocaml_function function)
{
	static const struct ocaml_site none;
	for (unsigned i = 0; i < r.sites; i++)
		if (r.site[i].function == function)
			return &r.site[i];
	return &none;
}

/* One function under test, as caml_ev_counter: its arguments are in %rdi and %rsi. */
static void check_site(const char *name, const char *body, bool emulated, bool in_ax)
{
	char text[2048];
	snprintf(text, sizeof(text), "%s%s%s%s%s%s", TEXT, PLAIN,
		 ".globl caml_ev_counter\ncaml_ev_counter:\n", body, "ret\n", FLAG);
	if (!ok(!read_program(text, STATIC), "%s: it is read", name))
		return;
	const struct ocaml_site *s = site_of(OCAML_COUNTER);
	ok(s->offset && s->offset == offset_of("here"), "%s", name);
	ok(s->emulated == emulated, "%s: %s", name,
	   emulated ? "the kernel emulates it" : "the kernel steps over it");
	ok(s->flag_in_ax == in_ax, "%s: the flag is %sin %%rax", name, in_ax ? "" : "not ");
}

static void test_sites(void)
{
	check_site("a push at the entry", "here: push %rbx\nmov %edi, %eax\n", true, false);
	check_site("a jump behind the test of the flag",
		   TESTS_FLAG "here: je 1f\nmov $1, %edi\n1:\n", true, true);
	check_site("%rax written between the load and the jump",
		   TESTS_FLAG "mov $1, %eax\nhere: je 1f\n1:\n", true, false);
	check_site("a load of another word",
		   "mov other(%rip), %rax\nhere: push %rbx\n.data\nother: .quad 0\n.text\n", true,
		   false);
	check_site("the flag in another register",
		   "mov runtime_events_enabled(%rip), %rcx\nhere: push %rbx\n", true, false);
	check_site("nothing to emulate at all", "here: mov %rdi, %rax\nadd %rsi, %rax\n", false,
		   false);
	check_site("the first argument is overwritten before the push",
		   "here: mov %rsi, %rdx\nmov $0, %edi\npush %rbx\n", false, false);
	check_site("the second one is", "here: mov %rdi, %rdx\nlea 8(%rsi), %rsi\npush %rbx\n",
		   false, false);
	check_site("another register is", "mov %rsi, %rdx\nhere: push %rbx\n", true, false);
	check_site("a push of the argument itself", "here: push %rdi\nmov $1, %edi\n", true, false);
	check_site("what is behind a return is not reached",
		   "here: mov %rdi, %rax\nret\npush %rbx\n", false, false);
	check_site("an instruction that is not known ends the walk",
		   "here: mov %rdi, %rax\nvzeroupper\npush %rbx\n", false, false);
	/* 32 instructions are looked at: the 32nd is, the 33rd is not. */
	check_site("the last instruction that is looked at",
		   ".rept 31\nmov %rdi, %rax\n.endr\nhere: push %rbx\n", true, false);
	check_site("one too many", "here:\n.rept 32\nmov %rdi, %rax\n.endr\npush %rbx\n", false,
		   false);
}

static void test_functions(void)
{
	const char *all = TEXT PLAIN FUNCTION("caml_ev_lifecycle", "push %rbx\n")
		FUNCTION("caml_ev_alloc_flush", "mov $0, %edi\nhere_flush: push %rbx\n")
			FUNCTION("caml_runtime_events_user_write",
				 "here_user: mov %rdi, %rax\nmov $0, %edx\npush %rbx\n") FLAG;
	ok(!read_program(all, STATIC), "a runtime with some of the functions");
	is(r.sites, 5, "has a site for each that it has");
	ok(site_of(OCAML_BEGIN)->flag_in_ax && site_of(OCAML_BEGIN)->emulated &&
		   !site_of(OCAML_END)->flag_in_ax,
	   "each has its own flags");
	is(site_of(OCAML_END)->offset, offset_of("caml_ev_end"), "and its own place");
	is(site_of(OCAML_ALLOC_FLUSH)->offset, offset_of("here_flush"),
	   "a function without arguments may overwrite their registers");
	is(site_of(OCAML_USER_WRITE)->offset, offset_of("here_user"),
	   "one with three may not overwrite the third");
	is(r.flag, address_of("runtime_events_enabled"), "the flag is where its symbol is");
	ok(r.version.language == &language_ocaml.traits && r.version.minor == 1,
	   "the release is told by the functions");
}

/* The flag of a runtime that does not export it. */
static void test_flag(void)
{
#define HIDDEN ".data\n.balign 8\nflag:\n.quad 0\n.globl is_flag\nis_flag = flag\n"
	ok(!read_program(TEXT FUNCTION("caml_ev_begin", "mov flag(%rip), %rax\nhere: je 1f\n1:\n")
				 FUNCTION("caml_ev_end", "nop\n") HIDDEN,
			 STATIC),
	   "the flag has no symbol");
	is(r.flag, address_of("is_flag"), "the word that begin loads first is it");
	ok(site_of(OCAML_BEGIN)->flag_in_ax, "and is in %%rax there");
	ok(!read_program(
		   TEXT FUNCTION("caml_ev_begin", "push %rbx\ncmpl $0, flag(%rip)\nje 1f\n1:\n")
			   FUNCTION("caml_ev_end", "nop\n") HIDDEN,
		   STATIC),
	   "it is compared in place");
	is(r.flag, address_of("is_flag"), "the word that is compared is it");
	is(read_program(TEXT FUNCTION("caml_ev_begin", "add $1, %rax\nnop\n")
				FUNCTION("caml_ev_end", "nop\n"),
			STATIC),
	   -ENOTSUP, "a begin that looks at no word is not understood");
	is(read_program(TEXT FUNCTION("caml_ev_begin", "nop\n") FLAG, STATIC), -ENOENT,
	   "a program without caml_ev_end is no OCaml 5");
}

/* Without caml_ml_domain_index the release says where the number stands in the state. */
static void test_state(void)
{
	static const struct {
		const char *name, *marks;
		uint16_t minor;
		uint32_t id_offset;
	} releases[] = {
		{"5.0", "", 0, 280},
		{"5.1", MARK("caml_runtime_events_user_write"), 1, 280},
		{"5.2", MARK("caml_runtime_events_are_active"), 2, 280},
		{"5.3", MARK("caml_ml_runtime_events_path"), 3, 288},
		{"5.4", MARK("caml_ml_gc_ramp_up"), 4, 320},
		{"5.5", MARK("caml_sys_get_stdlib_dirs"), 5, 0},
	};
	for (unsigned i = 0; i < sizeof(releases) / sizeof(*releases); i++) {
		char text[2048];
		snprintf(text, sizeof(text), "%s%s%s%s%s", TEXT, PLAIN, releases[i].marks, FLAG,
			 STATE);
		ok(!read_program(text, STATIC), "OCaml %s without caml_ml_domain_index",
		   releases[i].name);
		is(r.version.minor, releases[i].minor, "it is known by its functions");
		is(r.id_offset, releases[i].id_offset, "the number is where it is in its state");
		bool known = releases[i].id_offset;
		is(r.tls, known ? OCAML_TLS_STATIC : OCAML_TLS_NONE,
		   known ? "and the state is found" : "which of this one is not known");
		/* 16 bytes stand before it in a block of 24, rounded up to 32. */
		is(r.offset, known ? 16 - 32 : 0, "below the thread pointer");
	}
	ok(!read_program(TEXT PLAIN FLAG, STATIC) && r.tls == OCAML_TLS_NONE,
	   "without caml_state domains are not known");
	ok(!read_program(TEXT PLAIN FLAG ".globl caml_state\ncaml_state: .quad 0\n", STATIC) &&
		   r.tls == OCAML_TLS_NONE,
	   "nor with one that is not of the thread");
}

static void check_index(const char *name, const char *body, enum ocaml_tls tls, int64_t offset,
			uint32_t id_offset)
{
	char text[2048];
	snprintf(text, sizeof(text), "%s%s%s%s%s%s%s", TEXT, PLAIN,
		 ".globl caml_ml_domain_index\ncaml_ml_domain_index:\n", body, "ret\n", FLAG,
		 ".data\nslot: .quad 0\n.globl slot\n");
	ok(!read_program(text, STATIC), "%s: it is read", name);
	is(r.tls, tls, name);
	is(r.offset, offset < 0 || tls != OCAML_TLS_SLOT ? offset : (int64_t)address_of("slot"),
	   "where the state is");
	is(r.id_offset, id_offset, "where the number is in it");
}

static void test_index(void)
{
	check_index("the state at a fixed place", "mov %fs:-24, %rax\nmovslq 296(%rax), %rax\n",
		    OCAML_TLS_STATIC, -24, 296);
	check_index("at an offset that is loaded as a number",
		    "mov $-32, %rcx\nmov %fs:(%rcx), %rdx\nmov 304(%rdx), %eax\n", OCAML_TLS_STATIC,
		    -32, 304);
	check_index("at an offset out of a slot",
		    "mov slot(%rip), %rax\nmov %fs:(%rax), %rax\nmov 312(%rax), %eax\n",
		    OCAML_TLS_SLOT, 0, 312);
	check_index(
		"a word of something else is read first",
		"mov slot(%rip), %rcx\nmov 8(%rcx), %rcx\nmov %fs:-24, %rax\nmov 296(%rax), %eax\n",
		OCAML_TLS_STATIC, -24, 296);
	check_index("it returns before it reads anything",
		    "ret\nmov %fs:-24, %rax\nmov 8(%rax), %eax\n", OCAML_TLS_NONE, 0, 280);
}

/* A shared library: where caml_state is, its dynamic linker says. */
static void test_library(void)
{
#define LIBRARY TEXT ".protected runtime_events_enabled\n" PLAIN MARK("caml_ml_runtime_events_path")
	ok(!read_program(LIBRARY "mov caml_state@gottpoff(%rip), %rax\n" FLAG STATE,
			 "-shared -fPIC"),
	   "a library with a slot for the offset of its state");
	is(r.tls, OCAML_TLS_SLOT, "the slot is found");
	ok(r.offset && r.id_offset == 288, "with its address");
	ok(!read_program(LIBRARY ".byte 0x66\nlea caml_state@tlsgd(%rip), %rdi\n"
				 ".value 0x6666\nrex64\ncall __tls_get_addr@plt\n" FLAG STATE,
			 "-shared -fPIC"),
	   "one with a slot for the number of its module");
	is(r.tls, OCAML_TLS_MODULE, "the slot is found");
	is(r.in_module, 16, "and where the state is in the module's block");
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	test_sites();
	test_functions();
	test_flag();
	test_state();
	test_index();
	test_library();
	char cmd[64];
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	tap_keeps(1);
	return system(cmd) ? 1 : tap_done();
}
