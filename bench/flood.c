/*
 * Sends UDP packets to ports in turn, so that each of them is an attempt of its own, at a given rate or as fast as it
 * can: sixty-four at a time, with an IPv4 header of our own, from one address or from many in turn. Several processes
 * send, each from a port of its own, so that they get their share of a busy machine.
 *
 * Usage: flood FROM SOURCES TO PER_SECOND SECONDS   in the network namespace of the sender. FROM is the first of the
 * addresses, PER_SECOND 0 as many as it can. Prints how many packets were sent, and in how many milliseconds.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SENDERS = 4, BATCH = 64, FIRST_PORT = 5000, PORTS = 50000, SOURCE_PORT = 40000 };

struct packet {
	struct iphdr ip;
	struct udphdr udp;
	uint8_t payload;
} __attribute__((packed));

static struct packet packets[BATCH];
static struct mmsghdr messages[BATCH];
static struct iovec parts[BATCH];

static void fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

static uint32_t address(const char *text)
{
	struct in_addr parsed;

	if (inet_pton(AF_INET, text, &parsed) != 1) {
		errno = EINVAL;
		fail(text);
	}
	return ntohl(parsed.s_addr);
}

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/* The kernel writes the rest of the IPv4 header, its checksum too; UDP may go without one. */
static void prepare(struct sockaddr_in *to, uint16_t source_port)
{
	for (int i = 0; i < BATCH; i++) {
		packets[i] = (struct packet){
			.ip = { .version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_UDP, .daddr = to->sin_addr.s_addr },
			.udp = { .source = htons(source_port), .len = htons(sizeof(struct udphdr) + 1) },
			.payload = 'x',
		};
		parts[i] = (struct iovec){ &packets[i], sizeof packets[i] };
		messages[i].msg_hdr = (struct msghdr){
			.msg_name = to, .msg_namelen = sizeof *to, .msg_iov = &parts[i], .msg_iovlen = 1
		};
	}
}

static int send_some(int fd, uint32_t from, uint32_t sources, uint64_t sent, int count)
{
	for (int i = 0; i < count; i++) {
		packets[i].ip.saddr = htonl(from + (sent + i) % sources);
		packets[i].udp.dest = htons(FIRST_PORT + (sent + i) / sources % PORTS);
	}
	int done = sendmmsg(fd, messages, count, 0);

	if (done < 0 && errno != ENOBUFS && errno != EAGAIN)
		fail("sendmmsg");
	return done < 0 ? 0 : done;
}

static uint64_t send_all(uint32_t from, uint32_t sources, double rate, double seconds)
{
	int fd = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
	double begun = seconds_now(), passed = 0;
	uint64_t sent = 0;

	if (fd < 0)
		fail("socket");
	for (; passed < seconds; passed = seconds_now() - begun) {
		double due = rate > 0 ? passed * rate - sent : BATCH;

		if (due < 1)
			nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
		else
			sent += send_some(fd, from, sources, sent, due < BATCH ? due : BATCH);
	}
	return sent;
}

int main(int argc, char **argv)
{
	if (argc != 6) {
		fprintf(stderr, "usage: flood FROM SOURCES TO PER_SECOND SECONDS\n");
		return 2;
	}
	uint32_t from = address(argv[1]), sources = strtoul(argv[2], NULL, 10);
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(address(argv[3])) };
	double rate = strtod(argv[4], NULL), seconds = strtod(argv[5], NULL), begun = seconds_now();
	uint64_t sent, all = 0;
	int ends[2];

	if (pipe(ends) < 0)
		fail("pipe");
	for (int i = 0; i < SENDERS; i++) {
		pid_t child = fork();

		if (child < 0)
			fail("fork");
		if (child > 0)
			continue;
		setsid(); /* Whose share of the CPU is that of a session. */
		prepare(&to, SOURCE_PORT + i);
		sent = send_all(from, sources, rate / SENDERS, seconds);
		return write(ends[1], &sent, sizeof sent) == sizeof sent ? 0 : 1;
	}
	close(ends[1]);
	for (int i = 0; i < SENDERS; i++, all += sent)
		if (read(ends[0], &sent, sizeof sent) != sizeof sent)
			fail("a sender has failed");
	printf("%llu %.0f\n", (unsigned long long)all, (seconds_now() - begun) * 1000);
	return 0;
}
