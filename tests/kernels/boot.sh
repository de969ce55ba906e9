#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# boot.sh KERNEL JOB_DIR [WORD...]: runs JOB_DIR/run.sh as root on another kernel, in an emulator,
# and returns its status. KERNEL is 6.1 or 6.12 (kernel.sh); WORDs are added to its command line.
# The guest sees the host's files (init). What it writes outside of JOB_DIR, /tmp/job there, is gone
# at its end. JOB_DIR/disk, if there is one, is its /dev/vda; its console is in JOB_DIR/console. A
# guest that panics, or has not ended after $BOOT_SECONDS (600), is a failure, 125: the console's
# last lines are on stderr. lib.sh is how tests use it.
set -u
[ $# -ge 2 ] || { echo "usage: boot.sh KERNEL JOB_DIR [WORD...]" >&2; exit 2; }
kernel=$1 job=$(cd "$2" && pwd) || exit 2
seconds=${BOOT_SECONDS:-600}
shift 2
cd "$(dirname "$0")/../.." || exit 2
made=$(tests/kernels/kernel.sh "$kernel") || exit 125
pwd >"$job/tree"
rm -f "$job/status"
disk=()
[ -e "$job/disk" ] && disk=(-drive "file=$job/disk,format=raw,if=virtio,cache=unsafe")
# The emulated clocks are one, but the kernel does not see that. An emulated CPU to which the host
# gives no time has not stalled.
# The emulator translates a program anew wherever it lies: addresses are the same in each process.
words="console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable no_timer_check random.trust_cpu=on init_on_alloc=0"
words+=" norandmaps rcupdate.rcu_cpu_stall_timeout=120 watchdog_thresh=60 $*"
# One thread for both processors: with a thread each, the emulator may run an instruction that the
# kernel has replaced on the other one since, a breakpoint of its own among them, which is a panic.
# Page tables of five levels and guards of user memory cost the emulator time at each access. Where the
# processor has fast string instructions the kernel moves and clears memory by them, and the emulator does so
# byte by byte.
# Without KVM, which is not everywhere. multidevs=remap: else directories of two file systems may
# have one inode number, and mounts land on the wrong one.
timeout "$seconds" qemu-system-x86_64 -accel tcg,thread=single -cpu max,la57=off,smap=off,smep=off,umip=off,erms=off,fsrm=off -smp 2 -m 3000 \
	-nographic -no-reboot -nic none \
	-kernel "$made/vmlinuz" -initrd "$made/initrd" -append "$words" \
	-fsdev local,id=root,path=/,security_model=none,readonly=on,multidevs=remap \
	-device virtio-9p-pci,fsdev=root,mount_tag=root \
	-fsdev local,id=job,path="$job",security_model=none,multidevs=remap \
	-device virtio-9p-pci,fsdev=job,mount_tag=job \
	"${disk[@]}" </dev/null >"$job/console" 2>"$job/qemu.err"
status=$?
[ -s "$job/status" ] && exit "$(cat "$job/status")"
if [ $status = 124 ]; then
	echo "Linux $kernel has not ended after $seconds s; its console's last lines:" >&2
else
	echo "Linux $kernel has ended without the status of its run; its console's last lines:" >&2
fi
cat "$job/qemu.err" >&2
sed 's/\r//g; s/\x1b\[[0-9;?]*[a-zA-Z]//g; s/\x1bc//g' "$job/console" | tail -n 30 >&2
exit 125
