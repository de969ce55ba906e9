# ebtrace. `make help` lists the targets. Built things go to $(O).
# V=1 shows commands; SAN=address,undefined instruments; O=DIR builds elsewhere.

O      ?= build
# Of the programs that the kernel runs there is one build for all others.
BPF    := $(O)/bpf
CC     := gcc
CLANG  ?= clang
# Where files are installed, by their GNU names. DESTDIR precedes all of them, for this time only.
PREFIX     ?= /usr/local
BINDIR     ?= $(PREFIX)/bin
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR    ?= $(PREFIX)/share
MANDIR     ?= $(DATADIR)/man
PRELOADDIR ?= $(LIBDIR)/ebtrace
JOBS   ?= $(shell nproc)
VERSION := 1.0

ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-7s %s\n'
endif
MAKEFLAGS += --no-print-directory
.DELETE_ON_ERROR:
.SECONDARY:

MULTIARCH := $(shell $(CC) -print-multiarch)
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wpointer-arith \
        -Wwrite-strings -Wundef -Wformat=2 -Wconversion -Wno-sign-conversion $(if $(CI),-Werror)
CFLAGS   ?= -O2 -g
# From one directory to another, neither of which needs to exist.
relative = $(shell realpath -ms --relative-to='$(1)' '$(2)')
PRELOAD_FROM_BIN := $(call relative,$(BINDIR),$(PRELOADDIR))
EBT_CFLAGS := -std=gnu11 $(CPPFLAGS) $(CFLAGS) $(WARN) -fno-common -fvisibility=hidden -fPIC \
        -Iinclude -Iuser -I. -I$(BPF) -D_GNU_SOURCE -DEBT_VERSION='"$(VERSION)"' \
        -DEBT_PRELOAD_DIR='"$(PRELOAD_FROM_BIN)"' -MMD -MP
ifneq ($(SAN),)
EBT_CFLAGS += -fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all
# gold links what is sanitized in a third of the time.
LDFLAGS += -fsanitize=$(SAN) $(if $(shell command -v ld.gold),-fuse-ld=gold)
# TSan does not model fences, and gcc says so; what they order is read by system calls here.
EBT_CFLAGS += $(if $(findstring thread,$(SAN)),-Wno-tsan)
endif
LIBS := -lbpf -ldw -lelf -lz -lzstd -liberty -lm -pthread
# Of the commands alone. As a shared library it makes the start of each command 0.3 ms longer.
CMD_LIBS := $(if $(filter /%,$(shell $(CC) -print-file-name=libncursesw.a)),-l:libncursesw.a -l:libtinfo.a,-lncursesw -ltinfo)

# Of files that are named for a processor, those of the one that we build for.
PROCESSOR := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
of_others = $(filter-out %_$(PROCESSOR).c,$(filter %_x86_64.c %_aarch64.c,$(1)))
native    = $(filter-out $(call of_others,$(1)),$(1))
# The sources in folders and in those below them.
in_folder = $(sort $(shell find $(1) -name '$(or $(2),*).c'))
in_user = $(call native,$(call in_folder,$(addprefix user/,$(1))))
# All but the commands; some of these where not all is built.
FOLDERS   ?= $(filter-out cmd,$(notdir $(wildcard user/*)))
USER_SRC  := $(call in_user,$(FOLDERS))
CMD_SRC   := $(call in_user,cmd)
# What is linked into a library that programs link, and into one that is preloaded; then each one's own.
SHARED_SRC  := $(wildcard usdt-probes/shared/*.c)
PROBE_SRC   := $(wildcard usdt-probes/*.c) $(SHARED_SRC)
PRELOAD_SRC := $(call native,$(wildcard usdt-probes/preload/*.c)) $(SHARED_SRC)
BPF_SRC   := $(wildcard bpf/*.bpf.c)
UNIT_SRC  := $(call native,$(call in_folder,tests/unit,test_*))
PROG_SRC  := $(call native,$(wildcard tests/prog/*.c))
# Hostile programs, and makers of hostile files.
ATTACK_SRC := $(wildcard tests/attack/*.c)
BENCH_SRC := $(call native,$(wildcard tests/bench/bench_*.c))
FUZZ_SRC  := $(wildcard tests/fuzz/fuzz_*.c)
obj = $(patsubst %.c,$(O)/%.o,$(1))

UNIT  := $(patsubst %.c,$(O)/%,$(UNIT_SRC))
PROGS := $(patsubst %.c,$(O)/%,$(PROG_SRC))
ATTACKS := $(patsubst %.c,$(O)/%,$(ATTACK_SRC))
BENCH := $(patsubst %.c,$(O)/%,$(BENCH_SRC))
FUZZ  := $(patsubst %.c,$(O)/%,$(FUZZ_SRC))
ALL   := $(O)/ebtrace $(O)/libebtrace.a $(O)/libebtrace.so $(O)/libebtrace-probes.a $(O)/libebtrace-probes.so \
         $(O)/libebtrace-preload.so
COMPLETIONS := $(addprefix $(O)/completions/,ebtrace.bash _ebtrace ebtrace.fish)

all: $(ALL) $(COMPLETIONS) ## build the program and the libraries (default)

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t15

-include $(shell find $(O) -name '*.d' 2>/dev/null)

$(O)/%.o: %.c
	$(say) CC $<
	@mkdir -p $(@D)
	$(Q)$(CC) $(EBT_CFLAGS) -c $< -o $@

# A file that depends on variables of make: written anew, but replaced only if it differs.
FORCE:
replace = @if cmp -s $@.tmp $@; then rm $@.tmp; else mv $@.tmp $@; fi
$(O)/preload-dir: FORCE
	@mkdir -p $(@D)
	@echo '$(PRELOAD_FROM_BIN)' >$@.tmp
	$(replace)
$(O)/user/engine/record/record.o: $(O)/preload-dir

# Their scripts and styles are inside them.
$(O)/user/report/flame_svg.o: user/report/flame.js user/report/flame.css
$(O)/user/report/pages/html.o: user/report/pages/pages.js user/report/pages/pages.css
$(O)/user/report/mem/timeline_svg.o: user/report/mem/timeline.js user/report/mem/timeline.css

$(foreach s,bash zsh fish,$(eval $(O)/user/cmd/completion_$s.o: user/cmd/completion.$s))

# The probe library runs in other people's programs: static TLS, nothing but libc.
$(O)/usdt-probes/%.o: EBT_CFLAGS += -ftls-model=initial-exec
# Stacks from inside a probe are walked by frame pointers, by BPF and by bpftrace.
$(O)/usdt-probes/%.o $(O)/tests/prog/%.o: EBT_CFLAGS += -fno-omit-frame-pointer
# gcc needs half as much time again to optimize tests themselves, and to describe their variables for a debugger.
# A sanitized build has flags that cost less.
$(O)/tests/unit/%.o: EBT_CFLAGS += $(if $(SAN),,-O1 -g1)
# A BPF program compiled for user space, with helpers of the test's own.
$(O)/tests/unit/bpf/%.o: EBT_CFLAGS += -Ivmlinux
$(call obj,$(wildcard user/source/bpf/*.c)): | $(BPF)/ebtrace.skel.h

# BTF has the names of the sources, which shall not depend on where they are built.
BPF_CFLAGS := -O2 -g -ffile-prefix-map=$(CURDIR)=. -target bpf -mcpu=v3 -Wall -Wextra \
              -Iinclude -Ivmlinux -I/usr/include/$(MULTIARCH)
$(BPF)/%.bpf.o: bpf/%.bpf.c
	$(say) BPF $<
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -D__TARGET_ARCH_x86 -MMD -MP -MF $(@:.o=.d) -c $< -o $@
$(BPF)/ebtrace.o: $(patsubst bpf/%.bpf.c,$(BPF)/%.bpf.o,$(BPF_SRC))
	$(say) BPFLINK $@
	$(Q)bpftool gen object $@ $^
$(BPF)/ebtrace.skel.h: $(BPF)/ebtrace.o
	$(say) SKEL $@
	$(Q)bpftool gen skeleton $< name ebtrace_bpf >$@.tmp && mv $@.tmp $@

$(O)/libuser.a: $(call obj,$(USER_SRC))
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^
# The formats that both sides write.
MEMTRACE_WRITER := $(O)/usdt-probes/codec/memtrace/write.o
PROBE_WRITERS := $(MEMTRACE_WRITER) $(O)/usdt-probes/codec/pagetrace/write.o
$(PROBE_WRITERS): $(O)/usdt-probes/%.o: user/%.c
	$(say) CC $<
	@mkdir -p $(@D)
	$(Q)$(CC) $(EBT_CFLAGS) -c $< -o $@
# One object, so that a program that uses any part of it gets its constructor. The writers are its own:
# a program may use libebtrace's besides.
OBJCOPY := $(shell $(CC) -print-prog-name=objcopy)
$(O)/libebtrace-probes.o: $(call obj,$(PROBE_SRC)) $(PROBE_WRITERS)
	$(say) LD $@
	$(Q)$(CC) -r -nostdlib $^ -o $@
	$(Q)$(OBJCOPY) -w --localize-symbol='ebt_memtrace_*' --localize-symbol='ebt_pagetrace_*' $@
$(O)/libebtrace-probes.a: $(O)/libebtrace-probes.o
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^
$(O)/libebtrace-probes.so: $(O)/libebtrace-probes.o
	$(say) LD $@
	$(Q)$(CC) -shared -Wl,-soname,libebtrace-probes.so.1 $(LDFLAGS) $^ -o $@ -pthread
	$(Q)ln -sf libebtrace-probes.so $(O)/libebtrace-probes.so.1
# The compiler must not change calls of malloc(); the unwinder must be no other library that the
# program gets.
$(O)/usdt-probes/preload/%.o: EBT_CFLAGS += $(addprefix -fno-builtin-,malloc calloc realloc free)
LOADABLE := $(O)/usdt-probes/loadable.o
$(LOADABLE): user/proc/loadable.c
	$(say) CC $<
	@mkdir -p $(@D)
	$(Q)$(CC) $(EBT_CFLAGS) -c $< -o $@
$(O)/libebtrace-preload.so: $(call obj,$(PRELOAD_SRC)) $(MEMTRACE_WRITER) $(LOADABLE)
	$(say) LD $@
	$(Q)$(CC) -shared -static-libgcc -Wl,-soname,libebtrace-preload.so -Wl,-Bsymbolic-functions -Wl,-z,initfirst \
		-Wl,--version-script=usdt-probes/preload/exports.map $(LDFLAGS) $^ -o $@
# Of the tracer, what is exported and what that needs; the names of the rest are its own.
$(O)/libebtrace.o: $(O)/libuser.a
	$(say) LD $@
	$(Q)readelf -sW $< | awk '$$5 == "GLOBAL" && $$6 == "DEFAULT" && $$7 != "UND" && $$8 ~ /^ebt_/ \
		{ print "-Wl,-u," $$8 }' >$@.exports
	$(Q)$(CC) -r -nostdlib @$@.exports $< -o $@
	$(Q)$(OBJCOPY) -w --keep-global-symbol='ebt_*' $@
$(O)/libebtrace.a: $(O)/libebtrace.o
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^
$(O)/libebtrace.so: $(O)/libebtrace.o
	$(say) LD $@
	$(Q)$(CC) -shared -Wl,-soname,libebtrace.so.1 $(LDFLAGS) $^ -pthread -o $@
	$(Q)ln -sf libebtrace.so $(O)/libebtrace.so.1

# Tests start the sanitized program thousands of times: with nothing to relocate it starts in half the time.
$(O)/ebtrace: LDFLAGS += $(and $(findstring gcc,$(CC)),$(findstring address,$(SAN)),-no-pie -static-libasan -static-libubsan)
$(O)/ebtrace: $(call obj,$(CMD_SRC)) $(O)/libuser.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) $^ $(CMD_LIBS) $(LIBS) -o $@

completions: $(COMPLETIONS) ## write the completions of bash, zsh and fish to $(O)/completions
$(O)/completions/ebtrace.bash: of := bash
$(O)/completions/_ebtrace: of := zsh
$(O)/completions/ebtrace.fish: of := fish
$(COMPLETIONS): $(O)/ebtrace
	$(say) GEN $@
	@mkdir -p $(@D)
	$(Q)$< completion $(of) >$@

$(O)/tests/unit/%: $(O)/tests/unit/%.o $(O)/libuser.a $(O)/libebtrace-probes.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) $^ $(LIBS) -pthread -ldl -o $@
# Parts of the library that is preloaded; all of it would interpose the test's own calls.
$(addprefix $(O)/tests/unit/usdt-probes/,test_preload test_section test_backtrace): $(call obj,$(SHARED_SRC)) $(MEMTRACE_WRITER)
preload_parts = $(call obj,$(addprefix usdt-probes/preload/,$(1)))
$(O)/tests/unit/usdt-probes/test_preload: $(call preload_parts,mappings.c objects.c filters.c trace_file.c)
$(O)/tests/unit/usdt-probes/test_section: $(call preload_parts,section.c)
$(O)/tests/unit/usdt-probes/test_backtrace: $(call preload_parts,backtrace.c backtrace_$(PROCESSOR).c)
# Their allocations fail when they want them to.
$(addprefix $(O)/tests/unit/,format/test_no_memory engine/live/test_live_no_memory): LDFLAGS += -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
# minigc is a program of several files; the library must come behind all of them.
$(O)/tests/prog/minigc: $(call obj,$(wildcard tests/prog/heap/*.c))
$(O)/tests/prog/%: $(O)/tests/prog/%.o $(O)/libebtrace-probes.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) $(filter %.o,$^) $(filter %.a,$^) -pthread -ldl -o $@
# Its debug information is its own.
$(O)/tests/attack/slow_symbols.o: EBT_CFLAGS += -g0 -fno-omit-frame-pointer -fno-optimize-sibling-calls
$(O)/tests/attack/%: $(O)/tests/attack/%.o $(O)/libuser.a $(O)/libebtrace-probes.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) $^ $(LIBS) -pthread -ldl -o $@
$(O)/tests/bench/%: $(O)/tests/bench/%.o $(O)/libuser.a $(O)/libebtrace-probes.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) $^ $(LIBS) -pthread -ldl -o $@
$(O)/tests/fuzz/%: $(O)/tests/fuzz/%.o $(O)/libuser.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) $^ $(LIBS) -o $@

clean: ## remove what was built
	$(Q)rm -rf $(O)

.PHONY: all help completions man pictures clean deps demo check test nightly bench fuzz lint install uninstall deb golden tests unit-tests
# The program with one kind more in the list: only what is made of the list's kinds is another.
KINDS_OBJ := $(O)/kinds/user/session/kinds.o $(O)/kinds/user/codec/capture/block.o
$(O)/kinds/%.o: EBT_CFLAGS := -Itests/kinds $(EBT_CFLAGS)
$(O)/kinds/%.o: %.c
	$(say) CC $<
	@mkdir -p $(@D)
	$(Q)$(CC) $(EBT_CFLAGS) -c $< -o $@
$(O)/kinds/ebtrace: $(call obj,$(CMD_SRC))
$(O)/kinds/write_kinds: $(O)/tests/kinds/write_kinds.o
$(O)/kinds/ebtrace $(O)/kinds/write_kinds: $(KINDS_OBJ) $(O)/libuser.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) $(filter %.o,$^) $(filter %.a,$^) $(CMD_LIBS) $(LIBS) -o $@

# The program with one language more in the table.
$(O)/languages/ebtrace: $(call obj,$(CMD_SRC)) $(O)/tests/languages/languages.o
$(O)/languages/write_moth: $(O)/tests/languages/write_moth.o
# The program with calls that fail, one in each run.
COMMA := ,
FAILING := malloc calloc realloc open openat opendir fdopendir fopen fstat fstatat read pread write pwrite mmap memfd_create ftruncate renameat
$(O)/failing/ebtrace: LDFLAGS += $(patsubst %,-Wl$(COMMA)--wrap=%,main free $(FAILING))
$(O)/failing/ebtrace: $(call obj,$(CMD_SRC)) $(O)/tests/failing/fail.o
# The program for many runs.
$(O)/freeze/ebtrace: LDFLAGS += -Wl,--wrap=main
$(O)/freeze/ebtrace: $(call obj,$(CMD_SRC)) $(O)/tests/freeze/serve.o
$(O)/freeze/write_random: $(O)/tests/freeze/write_random.o
$(O)/languages/ebtrace $(O)/languages/write_moth $(O)/freeze/write_random $(O)/failing/ebtrace $(O)/freeze/ebtrace: $(O)/libuser.a
	$(say) LD $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) $(filter %.o,$^) $(filter %.a,$^) $(CMD_LIBS) $(LIBS) -o $@
MADE_UP := $(addprefix $(O)/,failing/ebtrace freeze/ebtrace freeze/write_random kinds/ebtrace kinds/write_kinds languages/ebtrace languages/write_moth)
made-up: $(MADE_UP)

tests: all man $(UNIT) $(PROGS) $(ATTACKS) $(MADE_UP) ## build the test programs

PACKAGES := gcc g++ procps mount clang llvm libclang-rt-14-dev make libbpf-dev bpftool libelf-dev libdw-dev zlib1g-dev libzstd-dev \
            libiberty-dev libncurses-dev tmux systemtap-sdt-dev bpftrace jq gojq xz-utils binutils perl debootstrap scdoc \
            libcap2-bin util-linux libc6-dev musl-tools clang-format protobuf-compiler \
            gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user chromium fonts-dejavu-core libxml2-utils libcairo2-dev \
            debuginfod libcurl4-openssl-dev python3 sqlite3 bash-completion zsh fish debhelper lintian \
            qemu-system-x86 busybox-static cpio kmod e2fsprogs man-db postgresql-15 linux-perf

# At this runlevel a package with a server does not start it.
deps: export RUNLEVEL := 1
deps: ## install the Debian 12 packages that are missing (as root)
	@missing=; for p in $(PACKAGES); do \
		dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q '^install ok installed' || missing="$$missing $$p"; \
	done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" != 0 ]; then echo "missing packages; install them as root: apt-get install$$missing"; exit 1; fi; \
	echo "installing$$missing"; \
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null

# A target that needs packages first installs them, then starts make anew: what make read when it
# started was read without them.
demo: deps ## trace a real program live and show its timeline
	@$(MAKE) -j$(JOBS) all $(O)/tests/prog/minigc
	@O=$(O) tests/demo.sh

# gcc spends most of its time on optimizing what ASan and UBSan insert. -Og and line numbers need two
# thirds of the time of -O1, and the tests run as fast. At -Og gcc warns of variables that longjmp() may
# clobber; at -O2 it finds none. A variable that is read before it is written has a value that fits nothing.
# Tests of races link what reads rings, and what packs captures.
ASAN := address,undefined
# What readers of rings need of a session.
PHASE_NAMES := session/canonical_phases.c session/kinds.c session/language*.c session/phases.c
SANITIZED := $(O)/asan/ebtrace unit-tests
sanitized: $(BPF)/ebtrace.skel.h
	+@$(MAKE) O=$(O)/asan BPF=$(BPF) SAN=$(ASAN) CFLAGS='-Og -g1 -Wno-clobbered -ftrivial-auto-var-init=pattern' $(SANITIZED)
	@ln -sf ../libebtrace-preload.so $(O)/asan # programs that are not sanitized load it
race:
	+@$(MAKE) O=$(O)/tsan SAN=thread CFLAGS='-O1 -g1 -Wno-maybe-uninitialized' FOLDERS='base codec/ring codec/capture format/ebt/packer.c $(PHASE_NAMES) proc source/ring' \
		$(addprefix $(O)/tsan/tests/unit/,source/ring/test_ring_race format/ebt/test_ebt_packer)
# All builds at once, so that none ends on one CPU. Of lint, what is no test.
check-programs: tests formatted cross-syntax sanitized race fuzzers cross-tests
check: deps ## run every test
	@$(MAKE) -j$(JOBS) check-programs
	@O=$(O) CI=$(CI) FUZZ_SECONDS=$(FUZZ_SECONDS) tests/run.sh

test: ## run the unit and command-line tests alone
	@$(MAKE) -j$(JOBS) tests
	@O=$(O) CI=$(CI) tests/run.sh daily

# For hours. KERNELS=6.1 and TESTS="tests/live/37-blame.t ..." choose.
nightly: PACKAGES += npm # gets speedscope
nightly: deps ## run the live tests on other kernels, and what takes too long for check
	@$(MAKE) -j$(JOBS) tests sanitized
	@O=$(O) CI=$(CI) KERNELS='$(KERNELS)' TESTS='$(TESTS)' tests/nightly.sh

unit-tests: $(UNIT) $(PROGS) $(ATTACKS) $(O)/libebtrace-probes.so $(MADE_UP) ## build the unit tests and their programs

# Another processor. `lint` compiles everything for it; what needs no library but libc is built and
# run in an emulator. Headers of other libraries are this machine's, which are the same. What is
# linked demangles C++ names, but no test of these has one.
CROSS := aarch64-linux-gnu
CROSS_CC := $(filter ccache,$(CC)) $(CROSS)-gcc
CROSS_LDFLAGS := -static -Wl,--defsym=rust_demangle_callback=0 -Wl,--defsym=cplus_demangle_v3_callback=0
CROSS_HEADERS := -I$(BPF) -Ivmlinux -idirafter /usr/include -idirafter /usr/include/$(MULTIARCH)
CROSS_SRC := $(PROBE_SRC) $(wildcard usdt-probes/preload/*.c) $(call in_folder,user) $(filter-out %_x86_64.c,\
             $(call in_folder,tests/unit,test_*) $(wildcard $(addprefix tests/,\
             prog/*.c prog/heap/*.c attack/*.c bench/bench_*.c kinds/*.c languages/*.c fuzz/*.c)))
# What has tests there, and what these link. Left out are tests that need a library which there is none
# of for that processor, an emulator that does more than ours, or too long in one.
CROSS_FOLDERS := base elf proc codec session stream runtime report format source/ring source/file
CROSS_LEFT_OUT := bpf/test_bpf_c_stack bpf/test_bpf_counts bpf/test_bpf_counts_bounds base/test_canvas base/test_demangle base/test_file elf/test_debuginfod elf/test_elf elf/test_insn_x86_64 elf/test_notes \
                  elf/test_sym% codec/capture/% codec/memtrace/test_memtrace_fixtures codec/ring/test_ring_fixtures \
                  codec/test_fuzz_seeds session/test_kinds session/test_phases runtime/ocaml/% runtime/test_inspect% runtime/test_runtimes \
                  source/ring/test_ring_race source/ring/test_ring_rest source/file/test_capture% source/file/test_mem% \
                  report/test_frame_tree report/test_pprof report/test_reports_loss report/mem/model/test_mem_wrappers \
                  report/stat/test_replay format/ebt/% format/test_growth format/test_hostile_events format/test_no_memory format/test_timelines
CROSS_UNIT = $(filter-out $(CROSS_LEFT_OUT:%=tests/unit/%.c),$(call in_folder,\
             $(addprefix tests/unit/,$(filter-out proc,$(CROSS_FOLDERS)) bpf),test_*)) \
             $(wildcard tests/unit/usdt-probes/test_ring_writer.c tests/unit/usdt-probes/test_probes_clock_model.c)
cross-tests:
	+@$(MAKE) O=$(O)/$(CROSS) CC='$(CROSS_CC)' CFLAGS='-O2 $(CROSS_HEADERS)' LDFLAGS='$(CROSS_LDFLAGS)' \
		LIBS='-lm -pthread' FOLDERS='$(CROSS_FOLDERS)' cross-programs
cross-programs: $(patsubst %.c,$(O)/%,$(CROSS_UNIT))
# Of a check, what it builds for that processor besides is compiled once.
check-programs: CROSS_BUILT = $(CROSS_UNIT) $(call in_folder,$(addprefix user/,$(CROSS_FOLDERS)))
cross-syntax: | $(BPF)/ebtrace.skel.h
	@printf '%s\n' $(filter-out $(CROSS_BUILT),$(CROSS_SRC)) | xargs -P $(JOBS) -n 8 $(CROSS_CC) \
		$(filter-out -MMD -MP,$(EBT_CFLAGS)) $(CROSS_HEADERS) -fsyntax-only
	@printf '%s\n' $(BPF_SRC) | xargs -n 1 $(CLANG) $(BPF_CFLAGS) -D__TARGET_ARCH_arm64 -fsyntax-only

FUZZ_SECONDS ?= 10
# What they call, and what that needs.
FUZZED = $(call in_user,base elf proc codec session stream/fibers.c stream/fiber_texts.c runtime/ocaml source/ring source/file/memtrace_*.c)
FUZZ_CC = $(CLANG) -std=gnu11 -gline-tables-only -O1 -fsanitize=$(ASAN) -fno-sanitize-recover=all -Iinclude -Iuser -I. \
          -D_GNU_SOURCE -DEBT_VERSION='"$(VERSION)"' -MMD -MP
$(O)/fuzz/obj/%.o: %.c
	$(say) FUZZCC $<
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer-no-link -c $< -o $@
$(O)/fuzz/libuser.a: $(patsubst %.c,$(O)/fuzz/obj/%.o,$(FUZZED))
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^
$(O)/fuzz/fuzz_%: $(O)/fuzz/obj/tests/fuzz/fuzz_%.o $(O)/fuzz/libuser.a
	$(say) FUZZ $@
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer $^ $(LIBS) -o $@
FUZZERS = $(patsubst tests/fuzz/%.c,$(O)/fuzz/%,$(FUZZ_SRC))
fuzzers: $(FUZZERS)
fuzz: fuzzers ## run each fuzz target for $(FUZZ_SECONDS) s from its seeds
	@FUZZ_SECONDS=$(FUZZ_SECONDS) prove --comments -j $(JOBS) -e tests/fuzz/run.sh $(FUZZERS)

bench: PACKAGES += heaptrack # a peer
bench: deps ## measure, beside the peers: a table, and $(O)/bench.json
	@$(MAKE) tests $(BENCH)
	@O=$(O) tests/bench/run.sh

golden: tests ## rewrite the expected outputs under tests/golden; read the diff
	@O=$(O) GOLDEN=rewrite prove tests/cli

LINT_SRC = $(shell git ls-files '*.c' '*.h' | grep -v '^vmlinux/')
lint: formatted cross-syntax ## formatting, layers, sizes, another processor
	@O=$(O) prove -q tests/cli/00-layers.t
formatted:
	@clang-format --dry-run -Werror $(LINT_SRC)

# The pages of the manual: a file of docs/man each, into which what the tables of the program have is
# filled.
PAGES := $(patsubst docs/man/%.scd,$(O)/man/%,$(wildcard docs/man/*.scd))
page_section = $(subst .,,$(suffix $(1)))
$(O)/packaging/man_page: $(O)/packaging/man_page.o $(filter-out %/main.o,$(call obj,$(CMD_SRC))) $(O)/libuser.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) $^ $(CMD_LIBS) $(LIBS) -o $@
$(PAGES): $(O)/man/%: docs/man/%.scd $(O)/packaging/man_page
	$(say) MAN $@
	@mkdir -p $(@D)
	$(Q)$(O)/packaging/man_page <$< >$@.scd
	$(Q)scdoc <$@.scd >$@
man: $(PAGES) ## write the pages of the manual to $(O)/man

# Pictures of the documents. The layers are drawn from the includes; perl allocates in another order each
# time. A test compares the others with the code.
pictures: all ## draw the pictures in docs/ anew
	$(say) PICTURE docs/layers.svg
	$(Q)docs/layers.pl >docs/layers.svg
	$(say) PICTURE docs/flame.svg
	$(Q)$(O)/ebtrace mem record -q --rate 1e-3 -o $(O)/words.ctf -- perl -ne '$$count{lc $$_}++ for /\w+/g; \
		push @lines, [split] if /license/i' /usr/share/common-licenses/*
	$(Q)$(O)/ebtrace mem flame -o docs/flame.svg $(O)/words.ctf
	$(say) PICTURE docs/pages.png
	$(Q)xz -dc tests/data/pagetrace/gcbig-p2-go122.pt.xz | $(O)/ebtrace pages -f png - >docs/pages.png

# Templates of what other build systems read.
EXPORTS := $(addprefix $(O)/,libebtrace.pc libebtrace-probes.pc \
                             ebtrace-config.cmake ebtrace-config-version.cmake)
CMAKEDIR := $(LIBDIR)/cmake/ebtrace
in_prefix = $(patsubst $(PREFIX)/%,$${prefix}/%,$(1))
$(EXPORTS): $(O)/%: packaging/%.in FORCE
	@mkdir -p $(@D)
	@sed -e 's|@VERSION@|$(VERSION)|; s|@PREFIX@|$(PREFIX)|' \
		-e 's|@LIBDIR@|$(call in_prefix,$(LIBDIR))|; s|@INCLUDEDIR@|$(call in_prefix,$(INCLUDEDIR))|' \
		-e 's|@LIB_FROM_HERE@|$(call relative,$(CMAKEDIR),$(LIBDIR))|' \
		-e 's|@INCLUDE_FROM_HERE@|$(call relative,$(CMAKEDIR),$(INCLUDEDIR))|' $< >$@.tmp
	$(replace)

# Each installed file, as SOURCE>DESTINATION, and each symbolic link, as TARGET>LINK.
ZSHDIR := $(DATADIR)/zsh/$(if $(filter /usr,$(PREFIX)),vendor-completions,site-functions)
INSTALLED_PROGRAM := $(O)/ebtrace>$(BINDIR)/ebtrace
INSTALLED_FILES := \
	$(O)/libebtrace.so>$(LIBDIR)/libebtrace.so.1 \
	$(O)/libebtrace-probes.so>$(LIBDIR)/libebtrace-probes.so.1 \
	$(O)/libebtrace-preload.so>$(PRELOADDIR)/libebtrace-preload.so \
	$(foreach l,libebtrace.a libebtrace-probes.a,$(O)/$(l)>$(LIBDIR)/$(l)) \
	$(foreach h,$(wildcard $(addprefix include/ebtrace/,*.h *.def)),$(h)>$(INCLUDEDIR)/$(h:include/%=%)) \
	$(foreach f,$(filter %.pc,$(EXPORTS)),$(f)>$(LIBDIR)/pkgconfig/$(notdir $(f))) \
	$(foreach f,$(filter %.cmake,$(EXPORTS)),$(f)>$(CMAKEDIR)/$(notdir $(f))) \
	$(foreach p,$(PAGES),$(p)>$(MANDIR)/man$(call page_section,$(p))/$(notdir $(p))) \
	$(O)/completions/ebtrace.bash>$(DATADIR)/bash-completion/completions/ebtrace \
	$(O)/completions/_ebtrace>$(ZSHDIR)/_ebtrace \
	$(O)/completions/ebtrace.fish>$(DATADIR)/fish/vendor_completions.d/ebtrace.fish
INSTALLED_LINKS := $(foreach l,libebtrace.so libebtrace-probes.so,$(l).1>$(LIBDIR)/$(l))
# Those alone that nothing else is installed into.
INSTALLED_DIRS := $(sort $(filter %/ebtrace,$(PRELOADDIR) $(INCLUDEDIR)/ebtrace $(CMAKEDIR)))
to_destdir = $(subst >, $(DESTDIR),$(1))
destination = $(lastword $(call to_destdir,$(1)))
define newline


endef
install: all completions $(PAGES) $(EXPORTS) ## install under $(DESTDIR)$(PREFIX)
	$(foreach f,$(INSTALLED_PROGRAM),install -D -m 755 $(call to_destdir,$(f))$(newline)	)
	$(foreach f,$(INSTALLED_FILES),install -D -m 644 $(call to_destdir,$(f))$(newline)	)
	$(foreach l,$(INSTALLED_LINKS),ln -sf $(call to_destdir,$(l))$(newline)	)
uninstall: ## remove what install has made
	rm -f $(foreach f,$(INSTALLED_PROGRAM) $(INSTALLED_FILES) $(INSTALLED_LINKS), \
		$(call destination,$(f)))
	@for d in $(INSTALLED_DIRS); do \
		[ ! -d "$(DESTDIR)$$d" ] || rmdir --ignore-fail-on-non-empty "$(DESTDIR)$$d"; \
	done

deb: deps ## build Debian packages into $(O)/deb, and check them
	@packaging/deb.sh $(O)/deb
	@lintian --allow-root --fail-on error,warning $(O)/deb/*.changes

.PHONY: cross-tests cross-programs cross-syntax formatted made-up sanitized race fuzzers check-programs FORCE
