/* SPDX-License-Identifier: BSD-2-Clause */
/* Containers and units by the names of control groups. */
#include "proc/cgroup.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/tap.h"

#define ID  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define CUT "0123456789abcdef0123456789abcdef0123456789abcdef" /* of a unit that is too long */

static void check(const char *name, const char *content, const char *wanted)
{
	struct cgroup_names names;
	char got[160];
	cgroup_parse(content, &names);
	snprintf(got, sizeof(got), "%s %s", *names.container ? names.container : "-",
		 *names.unit ? names.unit : "-");
	is_str(got, wanted, name);
}

int main(void)
{
	struct cgroup_names names;
	check("a service", "0::/system.slice/nginx.service\n", "- nginx.service");
	check("a session", "0::/user.slice/user-1000.slice/session-2.scope\n", "- session-2.scope");
	check("a group below a service is the service's", "0::/system.slice/a.service/workers/1\n",
	      "- a.service");
	check("a service of a user is inside of the one that runs the user's",
	      "0::/user.slice/user-1.slice/user@1.service/app.slice/b.service\n", "- b.service");
	check("without a unit, a slice", "0::/machine.slice\n", "- machine.slice");
	check("Docker by systemd", "0::/system.slice/docker-" ID ".scope\n",
	      "docker:0123456789ab docker-" CUT "01234567");
	check("Docker alone", "0::/docker/" ID "\n", "docker:0123456789ab -");
	check("Podman", "0::/machine.slice/libpod-" ID ".scope/container\n",
	      "podman:0123456789ab libpod-" CUT "01234567");
	check("Kubernetes", "0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-" ID ".scope\n",
	      "containerd:0123456789ab cri-containerd-" CUT);
	check("Kubernetes without systemd", "0::/kubepods/burstable/pod1/" ID "\n",
	      "container:0123456789ab -");
	check("systemd-nspawn", "0::/machine.slice/machine-web.scope\n",
	      "machine:web machine-web.scope");
	check("LXC", "0::/lxc.payload.web/system.slice/cron.service\n", "lxc:web cron.service");
	check("the older hierarchies: systemd's",
	      "4:memory:/x/y\n1:name=systemd:/system.slice/ssh.service\n0::/\n", "- ssh.service");
	check("the root", "0::/\n", "- -");
	check("an id that is none", "0::/system.slice/docker-0123.scope\n", "- docker-0123.scope");
	check("an id with more behind it", "0::/docker/" ID "-old\n", "- -");
	check("an id that is one digit longer", "0::/docker/" ID "0\n", "- -");
	check("nothing", "", "- -");
	check("lines of no form", "a\n0:\n::\n0::", "- -");
	char longer[300] = "0::/";
	memset(longer + 4, 'a', 250);
	strcpy(longer + 254, ".service\n");
	cgroup_parse(longer, &names);
	is(strlen(names.unit), CGROUP_NAME_BYTES - 1, "a name that is too long is cut");
	ok(cgroup_read(getpid(), &names), "a process that runs is read");
	ok(!cgroup_read(999999999, &names) && !*names.unit && !*names.container, "none is not");
	return tap_done();
}
