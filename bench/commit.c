/*
 * The floor of a commit: sends ready-made nf_tables batches and waits for the answers, and does nothing else.
 * Usage: commit FILE...   Each file is one batch. Then, line by line on standard input:
 *   N I [J ...]   sends batches I, J, ... in turn, N times over, and prints the median of the time that I took, in ns.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct batch { char *bytes; size_t length; uint32_t last; };

static int fd;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static struct batch load(const char *path)
{
	struct batch batch = { malloc(64 << 20), 0, 0 };
	FILE *file = fopen(path, "rb");

	if (!file || !batch.bytes)
		die(path);
	batch.length = fread(batch.bytes, 1, 64 << 20, file);
	fclose(file);
	for (size_t at = 0; at < batch.length;) {
		struct nlmsghdr *message = (struct nlmsghdr *)(batch.bytes + at);

		batch.last = message->nlmsg_seq;
		at += NLMSG_ALIGN(message->nlmsg_len);
	}
	return batch;
}

/* All answers are queued when send() returns; the acknowledgement of BATCH_END is the last. */
static void commit(const struct batch *batch)
{
	static char answer[65536];

	if (send(fd, batch->bytes, batch->length, 0) < 0)
		die("send");
	for (;;) {
		const struct nlmsghdr *message = (const struct nlmsghdr *)answer;

		if (recv(fd, answer, sizeof(answer), MSG_DONTWAIT) < 0)
			die("recv");
		if (message->nlmsg_type != NLMSG_ERROR)
			continue;
		errno = -((const struct nlmsgerr *)NLMSG_DATA(message))->error;
		if (errno)
			die("commit");
		if (message->nlmsg_seq == batch->last)
			return;
	}
}

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t median_of(int rounds, const struct batch *batches, const int *turns, int count)
{
	int64_t *times = calloc(rounds, sizeof(*times)), middle;

	for (int round = 0; round < rounds; round++) {
		int64_t start = now();

		commit(&batches[turns[0]]);
		times[round] = now() - start;
		for (int turn = 1; turn < count; turn++)
			commit(&batches[turns[turn]]);
	}
	qsort(times, rounds, sizeof(*times), ascending);
	middle = times[rounds / 2];
	free(times);
	return middle;
}

int main(int argc, char **argv)
{
	struct batch batches[16];
	int size = 256 << 20, on = 1;
	char line[256];

	fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) < 0)
		die("socket");
	setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on));
	for (int i = 1; i < argc && i <= 16; i++)
		batches[i - 1] = load(argv[i]);
	while (fgets(line, sizeof(line), stdin)) {
		int turns[16], count = 0, rounds;
		char *word = strtok(line, " \n");

		if (!word)
			continue;
		rounds = atoi(word);
		while ((word = strtok(NULL, " \n")) && count < 16)
			turns[count++] = atoi(word);
		printf("%lld\n", (long long)median_of(rounds, batches, turns, count));
		fflush(stdout);
	}
	return 0;
}
