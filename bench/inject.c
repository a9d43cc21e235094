/*
 * Puts frames onto the receive path of network devices, and says what CPU time the kernel took for them.
 *
 * BPF_PROG_TEST_RUN with live frames runs an XDP program on each frame and hands what passes to the network
 * stack, as the device's own driver would: ip_rcv, conntrack, forward, xmit, all on this thread. The thread's
 * CPU time is all that is measured, so neither the scheduler nor the pipe to the caller counts.
 *
 * Usage: inject DEVICE FLOWS [DEVICE FLOWS ...]   in the network namespace of the devices. FLOWS is a file of
 * struct flow, a power of two of them, whose turn comes again and again. Prints "ready". Then, line by line on
 * standard input:
 *   I PACKETS   puts so many frames onto the I-th device, and prints the nanoseconds that it took.
 * A line that begins with "error" is the last one.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FRAME 60 /* The least that Ethernet sends. */
/* A source hardware address: bridges drop frames without one. The same is in packets/router.ts. */
#define SENDER 0x02, 0, 0, 0, 0, 0x01

/* The fields of a frame that differ by flow; the rest is the same for all. Network byte order. */
struct flow {
	uint32_t saddr, daddr;
	uint16_t sport, dport;
	uint16_t check; /* The checksum of the IPv4 header. */
	uint16_t unused;
};

/* The program's memory. */
struct flows {
	uint32_t next; /* Counts the frames. */
	uint32_t unused[3];
	struct flow flow[];
};

struct lane {
	int program;
	uint32_t ifindex;
	uint8_t frame[FRAME];
};

static void fail(const char *what)
{
	printf("error %s: %s\n", what, strerror(errno));
	exit(1);
}

static int bpf(int command, union bpf_attr *attr, const char *what)
{
	int result = syscall(SYS_bpf, command, attr, sizeof *attr);

	if (result < 0)
		fail(what);
	return result;
}

#define INSN(CODE, DST, SRC, OFF, IMM) \
	((struct bpf_insn){ .code = CODE, .dst_reg = DST, .src_reg = SRC, .off = OFF, .imm = IMM })
#define LOAD(SIZE, DST, SRC, OFF) INSN(BPF_LDX | BPF_MEM | SIZE, DST, SRC, OFF, 0)
#define STORE(SIZE, DST, OFF, SRC) INSN(BPF_STX | BPF_MEM | SIZE, DST, SRC, OFF, 0)
#define STORE_IMM(SIZE, DST, OFF, IMM) INSN(BPF_ST | BPF_MEM | SIZE, DST, 0, OFF, IMM)
#define COPY(SIZE, DST, TO, SRC, FROM) LOAD(SIZE, BPF_REG_0, SRC, FROM), STORE(SIZE, DST, TO, BPF_REG_0)
#define ALU(OP, DST, IMM) INSN(BPF_ALU64 | OP | BPF_K, DST, 0, 0, IMM)
#define ALU_REG(OP, DST, SRC) INSN(BPF_ALU64 | OP | BPF_X, DST, SRC, 0, 0)

/*
 * return XDP_PASS, after writing the next flow into the frame. The kernel uses its pages again as the router
 * left them, so the program also puts back what a router changes: the destination MAC and the TTL.
 */
static int load_program(int map, uint32_t flow_count, const uint8_t *mac)
{
	enum { ETH = 0, IP = 14, UDP = 34, FLOW = sizeof(struct flows) };
	int32_t mac_head;
	int16_t mac_tail;
	memcpy(&mac_head, mac, 4);
	memcpy(&mac_tail, mac + 4, 2);
	struct bpf_insn code[] = {
		LOAD(BPF_W, BPF_REG_2, BPF_REG_1, offsetof(struct xdp_md, data)),
		LOAD(BPF_W, BPF_REG_3, BPF_REG_1, offsetof(struct xdp_md, data_end)),
		ALU_REG(BPF_MOV, BPF_REG_4, BPF_REG_2),
		ALU(BPF_ADD, BPF_REG_4, FRAME),
		INSN(BPF_JMP | BPF_JGT | BPF_X, BPF_REG_4, BPF_REG_3, 0, 0), /* to the end; see below */
		INSN(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_5, BPF_PSEUDO_MAP_VALUE, 0, map),
		INSN(0, 0, 0, 0, 0),
		LOAD(BPF_W, BPF_REG_6, BPF_REG_5, offsetof(struct flows, next)),
		ALU_REG(BPF_MOV, BPF_REG_7, BPF_REG_6),
		ALU(BPF_ADD, BPF_REG_7, 1),
		STORE(BPF_W, BPF_REG_5, offsetof(struct flows, next), BPF_REG_7),
		ALU(BPF_AND, BPF_REG_6, flow_count - 1),
		ALU(BPF_MUL, BPF_REG_6, sizeof(struct flow)),
		ALU_REG(BPF_ADD, BPF_REG_5, BPF_REG_6),
		STORE_IMM(BPF_W, BPF_REG_2, ETH, mac_head),
		STORE_IMM(BPF_H, BPF_REG_2, ETH + 4, mac_tail),
		STORE_IMM(BPF_B, BPF_REG_2, IP + 8, 64),
		COPY(BPF_H, BPF_REG_2, IP + 10, BPF_REG_5, FLOW + offsetof(struct flow, check)),
		COPY(BPF_W, BPF_REG_2, IP + 12, BPF_REG_5, FLOW + offsetof(struct flow, saddr)),
		COPY(BPF_W, BPF_REG_2, IP + 16, BPF_REG_5, FLOW + offsetof(struct flow, daddr)),
		COPY(BPF_H, BPF_REG_2, UDP, BPF_REG_5, FLOW + offsetof(struct flow, sport)),
		COPY(BPF_H, BPF_REG_2, UDP + 2, BPF_REG_5, FLOW + offsetof(struct flow, dport)),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, XDP_PASS),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, XDP_ABORTED),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	enum { COUNT = sizeof code / sizeof *code, TOO_SHORT = 4 };
	code[TOO_SHORT].off = COUNT - 2 - (TOO_SHORT + 1); /* The last two instructions. */
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_XDP,
		.insn_cnt = COUNT,
		.insns = (uintptr_t)code,
		.license = (uintptr_t) "Apache-2.0",
	};
	return bpf(BPF_PROG_LOAD, &attr, "load the XDP program");
}

static int make_map(const void *value, uint32_t size)
{
	uint32_t key = 0;
	union bpf_attr create = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = size, .max_entries = 1
	};
	int map = bpf(BPF_MAP_CREATE, &create, "make a BPF map");
	union bpf_attr update = { .map_fd = map, .key = (uintptr_t)&key, .value = (uintptr_t)value };

	bpf(BPF_MAP_UPDATE_ELEM, &update, "fill the BPF map");
	return map;
}

/* A power of two of flows, and the struct flows that holds them. */
static struct flows *read_flows(const char *path, uint32_t *count)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat info;

	if (fd < 0 || fstat(fd, &info) < 0)
		fail(path);
	struct flows *flows = calloc(1, sizeof *flows + info.st_size);
	if (read(fd, flows->flow, info.st_size) != info.st_size)
		fail(path);
	close(fd);
	*count = info.st_size / sizeof(struct flow);
	if (*count == 0 || (*count & (*count - 1)) != 0) {
		errno = EINVAL;
		fail(path);
	}
	return flows;
}

static void make_frame(uint8_t *frame, const uint8_t *mac)
{
	static const uint8_t after_macs[] = {
		0x08, 0x00, /* EtherType */
		0x45, 0, 0, FRAME - 14, 0, 0, 0x40, 0, 64, 17, 0, 0, /* don't fragment, TTL, UDP, checksum */
		0, 0, 0, 0, 0, 0, 0, 0, /* addresses */
		0, 0, 0, 0, 0, FRAME - 34, 0, 0, /* ports, length, no checksum */
	};
	static const uint8_t sender[] = { SENDER };

	memcpy(frame, mac, 6);
	memcpy(frame + 6, sender, 6);
	memcpy(frame + 12, after_macs, sizeof after_macs);
}

static void find_device(const char *device, uint32_t *ifindex, uint8_t *mac)
{
	struct ifreq request = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	strncpy(request.ifr_name, device, IFNAMSIZ - 1);
	if (fd < 0 || ioctl(fd, SIOCGIFHWADDR, &request) < 0)
		fail(device);
	memcpy(mac, request.ifr_hwaddr.sa_data, 6);
	close(fd);
	*ifindex = if_nametoindex(device);
}

static struct lane make_lane(const char *device, const char *flows_file)
{
	struct lane lane = { 0 };
	uint8_t mac[6];
	uint32_t count;

	find_device(device, &lane.ifindex, mac);
	struct flows *flows = read_flows(flows_file, &count);
	int map = make_map(flows, sizeof *flows + count * sizeof(struct flow));
	free(flows);
	lane.program = load_program(map, count, mac);
	make_frame(lane.frame, mac);
	return lane;
}

static int64_t thread_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void run(const struct lane *lane, uint32_t packets)
{
	struct xdp_md context = { .data_end = FRAME, .ingress_ifindex = lane->ifindex };
	union bpf_attr attr = {
		.test = {
			.prog_fd = lane->program,
			.data_in = (uintptr_t)lane->frame,
			.data_size_in = FRAME,
			.ctx_in = (uintptr_t)&context,
			.ctx_size_in = sizeof context,
			.repeat = packets,
			.flags = BPF_F_TEST_XDP_LIVE_FRAMES,
		},
	};

	int64_t start = thread_ns();
	bpf(BPF_PROG_TEST_RUN, &attr, "inject frames");
	printf("%lld\n", (long long)(thread_ns() - start));
}

/* On one CPU, so that the caches that a run finds are those that the last one left. */
static void stay_on_one_cpu(void)
{
	cpu_set_t all, one;

	if (sched_getaffinity(0, sizeof all, &all) < 0)
		return;
	for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof one, &one);
		return;
	}
}

int main(int argc, char **argv)
{
	int lane_count = (argc - 1) / 2, index;
	struct lane lanes[lane_count + 1];
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	char line[64];
	uint32_t packets;

	setrlimit(RLIMIT_MEMLOCK, &unlimited); /* Kernels before 5.11 count BPF maps against it. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	stay_on_one_cpu();
	for (int i = 0; i < lane_count; i++)
		lanes[i] = make_lane(argv[1 + 2 * i], argv[2 + 2 * i]);
	puts("ready");
	while (fgets(line, sizeof line, stdin)) {
		if (sscanf(line, "%d %u", &index, &packets) != 2 || index < 0 || index >= lane_count) {
			errno = EINVAL;
			fail("command");
		}
		run(&lanes[index], packets);
	}
	return 0;
}
