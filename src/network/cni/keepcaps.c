/*
 * Starts a program with the capabilities of this file, as a user who is not root:
 *
 *     setcap cap_net_admin,cap_net_raw+ep keepcaps
 *     keepcaps /usr/local/bin/node dist/cli/main.js agent ...
 *
 * A process that is not root loses all capabilities when it starts a program, unless the program's file has them, or
 * they are ambient (capabilities(7)). Container runtimes do not make them ambient. Node's own file must not have them:
 * Node would treat the start as one with raised privileges, and ignore NODE_OPTIONS. This file cannot give capabilities
 * that the container does not have: without them, the kernel refuses to start it.
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int failed(const char *what)
{
	fprintf(stderr, "keepcaps: %s: %s\n", what, strerror(errno));
	return 126;
}

int main(int count, char **words)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	if (count < 2) {
		fprintf(stderr, "keepcaps: say which program to start\n");
		return 126;
	}
	if (syscall(SYS_capget, &header, sets))
		return failed("capget");
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		sets[i].inheritable = sets[i].permitted;
	if (syscall(SYS_capset, &header, sets))
		return failed("capset");
	for (int cap = 0; cap <= CAP_LAST_CAP; cap++) {
		int is_permitted = sets[cap / 32].permitted >> (cap % 32) & 1;
		if (is_permitted && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0))
			return failed("prctl");
	}
	execvp(words[1], words + 1);
	return failed(words[1]);
}
