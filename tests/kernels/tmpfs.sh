# SPDX-License-Identifier: BSD-2-Clause
# Sourced in the guest of a live test: what is traced must lie on a file system of the guest; tests
# have their files on a disk; and where they have a size to choose it is small and a time is long, as
# an emulated processor is slow.
mkdir -p /tmp/build/tests/unit/usdt-probes
cp -a "$O"/ebtrace "$O"/lib*.so* "$O"/lib*.a /tmp/build
for dir in prog attack; do
	mkdir "/tmp/build/tests/$dir"
	find "$O/tests/$dir" -maxdepth 1 -type f -perm -u+x -exec cp {} "/tmp/build/tests/$dir" \;
done
cp "$O/tests/unit/usdt-probes/test_page_trace" /tmp/build/tests/unit/usdt-probes
export O=/tmp/build RUNS=1 MARKERS=2 FUNCTIONS=2 EVENTS=100000 CHILDREN=8 SLOWNESS=10
root=${EBTRACE_OCAML_ROOT:-/var/cache/ebtrace/trixie}
mkdir -p "$root/tmp" && mount -t tmpfs -o mode=1777 tmp "$root/tmp"
mkdir /tmp/disk && mount /dev/vda /tmp/disk && chmod 1777 /tmp/disk
export TMPDIR=/tmp/disk
mkdir "$root$TMPDIR" # for compilers in the root
