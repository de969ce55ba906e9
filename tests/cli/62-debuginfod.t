#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Debug files by build id: Debian's debuginfod serves that of a stripped program. A server that is
# silent, or lies, costs names alone; without DEBUGINFOD_URLS there is no connection.
. tests/lib.sh
ebt=$(realpath "$O")/ebtrace
plain=$(realpath "${O%/asan}") # what is not sanitized
export HOME=$TMP/home
mkdir "$HOME" "$TMP/debug"
unset XDG_CACHE_HOME DEBUGINFOD_CACHE_PATH http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy
cd "$TMP" || exit 1

cat >app.c <<'END'
#include <ebtrace/probes.h>
static __attribute__((noinline)) void grow_tree(void)
{
	for (int i = 0; i < 2000; i++)
		ebt_object_alloc(100, EBT_ALLOC_MAJOR, 0);
	__asm__ volatile("");
}
int main(void)
{
	grow_tree();
	return 0;
}
END
gcc -O1 -g -fno-omit-frame-pointer -Wl,--build-id=sha1 -I"$OLDPWD/include" -o app app.c \
	-L"$plain" -lebtrace-probes -Wl,-rpath,"$plain"
objcopy --only-keep-debug app debug/app.debug
strip app
EBTRACE_MEMTRACE=app.ctf EBTRACE_MEMTRACE_RATE=0.01 ./app
id=$(readelf -n app | sed -n 's/.*Build ID: //p')

cat >serve.py <<'END'
import http.server, os, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Server(BaseHTTPRequestHandler):
    def log_message(self, *a):
        pass
    def do_GET(self):
        mode = self.path.split('/')[1]
        with open('asked', 'a') as f:
            f.write(self.path + '\n')
        if mode == 'silent':
            time.sleep(60)
        elif mode == 'slow':
            self.head(1 << 20)
            for i in range(600):
                self.wfile.write(b'x')
                self.wfile.flush()
                time.sleep(0.1)
        elif mode == 'refuses':
            self.send_error(503)
        elif mode == 'redirects':
            self.send_response(302)
            self.send_header('Location', 'file://' + os.path.abspath('debug/app.debug'))
            self.end_headers()
        elif mode == 'endless':
            self.send_response(200)
            self.end_headers()
            try:
                while True:
                    self.wfile.write(bytes(1 << 20))
            except OSError:
                pass
        elif mode == 'claims':
            self.head(1 << 40)
        else:
            with open(mode, 'rb') as f:
                data = f.read()
            self.head(len(data))
            self.wfile.write(data)
    def head(self, length):
        self.send_response(200)
        self.send_header('Content-Length', str(length))
        self.end_headers()

server = ThreadingHTTPServer(('127.0.0.1', 0), Server)
with open('port.new', 'w') as f:
    f.write(str(server.server_address[1]))
os.rename('port.new', 'port')
server.daemon_threads = True
server.serve_forever()
END
python3 serve.py 2>/dev/null &
children+=($!)
until [ -s port ]; do sleep 0.05; done
other=http://127.0.0.1:$(<port)

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
debuginfod -F -p "$port" -d "$TMP/index" "$TMP/debug" >debuginfod.log 2>&1 &
children+=($!)
for ((i = 0; i < 300; i++)); do
	python3 -c "import urllib.request; urllib.request.urlopen('http://127.0.0.1:$port/buildid/$id/debuginfo')" \
		2>/dev/null && break
	sleep 0.1
done
debian=http://127.0.0.1:$port

# Counts the sockets of the Internet that a program or its children open, in a file that is mapped: the
# process that asks has no descriptors but its own. Notes there what that process may not do.
cat >sockets.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
static char *count;
__attribute__((constructor)) static void loaded(void)
{
	int fd = open(getenv("SOCKETS"), O_RDWR);
	count = mmap(0, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
}
int socket(int domain, int type, int protocol)
{
	int (*next)(int, int, int) = (int (*)(int, int, int))dlsym(RTLD_NEXT, "socket");
	if (domain == AF_INET || domain == AF_INET6) {
		char *none[] = {"/bin/true", 0};
		++*count;
		count[1] = open("written", O_WRONLY | O_CREAT, 0600) < 0 && errno == EPERM ? 'o' : '-';
		count[2] = syscall(SYS_open, "app", O_RDWR) < 0 && errno == EPERM ? 'w' : '-';
		count[3] = open("/etc/passwd", O_RDONLY) >= 0 ? 'r' : '-';
		count[4] = mkdir("made", 0700) < 0 && errno == EPERM ? 'm' : '-';
		count[5] = execv(none[0], none) < 0 && errno == EPERM ? 'x' : '-';
		count[6] = listen(0, 1) < 0 && errno == EPERM ? 'l' : '-';
	}
	return next(domain, type, protocol);
}
END
gcc -shared -fPIC -o sockets.so sockets.c
connections() { # COMMAND...: how many sockets of the Internet there were
	printf '0......\n' >sockets
	SOCKETS=$TMP/sockets LD_PRELOAD=$TMP/sockets.so "$@" >/dev/null 2>&1
	printf '%d' $(($(od -An -N1 -tu1 sockets) - 48))
}
hotspots() { # URLS [OPTION...]: the sites
	DEBUGINFOD_URLS=$1 timeout 100 "$ebt" mem hotspots "${@:2}" app.ctf >out 2>err
	echo $? >status
	grep -oE 'grow_tree \(.*/app.c:[0-9]+|app\+0x[0-9a-f]+ ' out | sed 's,(.*/,(,; s/0x.*/0x/' | head -1
}

is "$(hotspots "$debian")" "grow_tree (app.c:5" "a server's debug file has the functions of a stripped program, with file and line"
is "$(<err)" "" "and nothing is said of it"
is "$(hotspots "$debian/" -v)" "grow_tree (app.c:5" "so it has where its address ends with a slash"
is "$(sed "s/$port/PORT/; s/[0-9]* bytes/N bytes/" err)" \
	"ebtrace: asking 'http://127.0.0.1:PORT' for the debug information of '$TMP/app', build id $id
ebtrace: 'http://127.0.0.1:PORT' has sent N bytes" "-v says what is asked and what came"
is "$(find "$HOME" -mindepth 1)" "" "no file is written where the user has not named one"


is "$(env -u DEBUGINFOD_URLS "$ebt" mem hotspots app.ctf | grep -oE -m1 'app\+0x')" "app+0x" \
	"without DEBUGINFOD_URLS functions are offsets"
is "$(hotspots '')" "app+0x" "so they are if it is empty"
is "$(env -u DEBUGINFOD_URLS "$plain/ebtrace" mem hotspots -v app.ctf 2>&1 | grep -c asking)" 0 "and nobody is asked"
counted=$(connections env -u DEBUGINFOD_URLS "$plain/ebtrace" mem hotspots app.ctf)
counted+=" $(connections env DEBUGINFOD_URLS=' ' "$plain/ebtrace" mem hotspots app.ctf)"
counted+=" $([ "$(connections env DEBUGINFOD_URLS="$debian" "$plain/ebtrace" mem hotspots app.ctf)" -gt 0 ] && echo some)"
is "$counted" "0 0 some" "there is a connection only with a server to ask"
is "$(tail -c+2 sockets)" owrmxl "whoever asks can open files for reading alone, run no program, and accept no connection"

# The process that asks is another user's.
mkdir without
chmod 711 "$TMP"
for library in libcurl.so.4 libcurl-gnutls.so.4; do echo none >without/$library; done
is "$(LD_LIBRARY_PATH=$TMP/without hotspots "$debian" -v)" "app+0x" "without libcurl functions are offsets"
is "$(<status) $(grep -c libcurl err)" "0 1" "and a line says so" || diag "$(<err)"

# ---- the cache ----
mkdir cache
DEBUGINFOD_CACHE_PATH=$TMP/cache hotspots "$debian" >got
is "$(<got) $(cd cache && find . -type f)" "grow_tree (app.c:5 ./$id/debuginfo" \
	"DEBUGINFOD_CACHE_PATH is a folder for what was sent"
cmp -s "cache/$id/debuginfo" debug/app.debug
ok $? "with the file as it was sent"
rm -f asked
is "$(DEBUGINFOD_CACHE_PATH=$TMP/cache hotspots "$other/app") $([ -e asked ]; echo $?)" \
	"grow_tree (app.c:5 1" "from which it is taken, and no server is asked"
mkdir -p "$HOME/.cache"
cp -r cache "$HOME/.cache/debuginfod_client"
is "$(hotspots "$other/app") $([ -e asked ]; echo $?)" "grow_tree (app.c:5 1" \
	"it is taken from the folder where libdebuginfod keeps its files, too"
rm -r "$HOME/.cache"
printf 'not ELF' >wrong
cp wrong "cache/$id/debuginfo.new" && mv "cache/$id/debuginfo.new" "cache/$id/debuginfo"
is "$(DEBUGINFOD_CACHE_PATH=$TMP/cache hotspots "$debian") $(cmp "cache/$id/debuginfo" debug/app.debug && echo equal)" \
	"grow_tree (app.c:5 equal" "what is wrong in the folder is asked for again"
DEBUGINFOD_CACHE_PATH=/proc/self/none hotspots "$debian" >got
is "$(<got) $(<status) $(<err)" "grow_tree (app.c:5 0 " "a folder that cannot be made costs nothing"

# ---- servers that lie ----
gcc -g -o other.debug app.c -I"$OLDPWD/include" -L"$plain" -lebtrace-probes
python3 - <<'END'
import os, random
random.seed(1)
good = open('debug/app.debug', 'rb').read()
# The sections of a file with the right build id, all behind the headers of segments and notes spoiled.
note = good.index(b'GNU\0', 64)
for name, part in (('spoiled', 0.02), ('noise', 1)):
    data = bytearray(good)
    end = int.from_bytes(data[40:48], 'little') # the table of sections
    for i in range(note + 64, end):
        if random.random() < part:
            data[i] = random.randrange(256)
    open(name, 'wb').write(data)
open('cut', 'wb').write(good[:len(good) // 2])
open('empty', 'wb')
END
lies=0
for lie in other.debug wrong spoiled noise cut empty refuses redirects claims nothing; do
	got=$(hotspots "$other/$lie")
	[ "$(<status)" = 0 ] && grep -q '^app\|/app \[.* objects with' out && [ "$(wc -l <err)" -le 1 ] ||
		{ lies=1; diag "$lie: '$got', status $(<status)" "$(<err)"; }
done
is $lies 0 "a server that sends another file, garbage, or an error costs names alone"
is "$(hotspots "$other/other.debug" -v)" "app+0x" "another program's debug file names nothing"
is "$(grep -c 'not the debug information of that build id' err)" 1 "-v says that it was sent"
is "$(hotspots "$other/redirects" -v) $(grep -c 'answers with an error' err)" "app+0x 1" \
	"a server cannot point to a file of this machine"
is "$(hotspots "$other/endless")$(<status)" "app+0x0" "one that sends without an end is cut off"
is "$(hotspots "$other/other.debug $other/refuses $debian")" "grow_tree (app.c:5" "behind those that lie the next one is asked"

# ---- servers that do not answer ----
dead=http://127.0.0.1:1
is "$(hotspots "$dead") $(<status)" "app+0x 0" "without a server functions are offsets"
is "$(sed "s/ans.*//" err)" "ebtrace: the debuginfod server '$dead' cannot be reached: functions of files without debug information may be shown without lines, or as module+offset" \
	"and a line says so"
is "$(hotspots "http://me:secret@127.0.0.1:1") $(grep -c secret err)" "app+0x 0" "which does not have a password"
is "$(hotspots "$other/silent $debian") $(grep -c 'does not answer in time' err)" "grow_tree (app.c:5 1" \
	"behind a silent server the next one is asked, and a line says so"
is "$(hotspots "$other/slow") $(<status) $(grep -c 'does not answer in time' err) $(wc -l <err)" "app+0x 0 1 1" \
	"a server that takes too long is given up"

# The process that asks: it is asked about while the server is silent.
rm -f asked
DEBUGINFOD_URLS=$other/silent "$ebt" mem hotspots app.ctf >out 2>err &
pid=$!
until [ -s asked ]; do sleep 0.02; done
for asking in $(pgrep -P $pid); do
	[ "$(<"/proc/$asking/comm")" = ebtrace-debugin ] && break
done
is "$(awk '/^CapEff/ || /^Seccomp:/ || /^NoNewPrivs/ { print $2 }' "/proc/$asking/status" | xargs)" "0000000000000000 1 2" \
	"the process that asks has no capabilities, and a filter of system calls"
[ "$(id -u)" = 0 ] && is "$(awk '/^[UG]id|^Groups/ { $1 = ""; print }' "/proc/$asking/status" | xargs)" \
	"65534 65534 65534 65534 65534 65534 65534 65534" "and is not root"
is "$(find "/proc/$asking/fd" -type l -printf '%l\n' | grep -vE '^socket:|^/memfd:|^pipe:|^anon_inode' | wc -l)" 0 \
	"it has no files"
kill -INT $pid
timeout 8 tail --pid=$pid -f /dev/null
ok $? "a signal ends the run while a server is silent"
wait $pid
[ -d "/proc/$asking" ]; is $? 1 "and that process with it"
is "$(grep -oE -m1 'app\+0x' out)" "app+0x" "the report is written, with offsets"

# ---- whose environment ----
cat >list.c <<'END'
#include <stdlib.h>
int main(void)
{
	for (volatile int i = 0; i < 1000; i++)
		*(void *volatile *)malloc(100) = 0;
	return 0;
}
END
gcc -s -Wl,--build-id=sha1 -o list list.c
rm -f asked
"$plain/ebtrace" mem record -q --rate 1 -o list.ctf -- env DEBUGINFOD_URLS="$other/app" ./list
is "$? $([ -e asked ]; echo $?)" "0 1" "the variable of the traced program is not ebtrace's"
DEBUGINFOD_URLS="$other/refuses" "$plain/ebtrace" mem record -q --rate 1 -o list.ctf -- env -u DEBUGINFOD_URLS ./list
grep -q "buildid/$(readelf -n list | sed -n 's/.*Build ID: //p')/debuginfo" asked
ok $? "what is recorded is looked up by ebtrace's own"
rm -f asked
DEBUGINFOD_URLS="$other/app" "$plain/ebtrace" mem hotspots list.ctf >out 2>err
is "$? $([ -e asked ]; echo $?)" "0 1" "a report of it asks nobody"
"$ebt" mem --help | tr -s ' \n' ' ' | grep -q 'mem record looks names of functions up when it records, and its FILE has them'
ok $? "as mem --help says"
done_testing
