/*
 * The CNI plugin: hands what the runtime says to the agent of this node, prints what the agent answers, and ends with
 * its exit code. It judges nothing but what to say where no agent answers. One static file: copy it anywhere.
 *
 * The wire (src/api/rpc/cnisocket.ts is its other end), big-endian, one exchange for each connection:
 *
 *     asked      "cni1", u32 length, then CNI_COMMAND, CNI_CONTAINERID, CNI_NETNS, CNI_IFNAME and CNI_ARGS, each
 *                with a zero byte behind it, and standard input
 *     answered   "cni1", u32 length, then one byte, the exit code, and standard output
 *
 * All of it within DEADLINE_MS, and neither way longer than LARGEST.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define SOCKET "/run/sluice/sluice-cni.sock"
#define SPOKEN "1.1.0"
#ifndef DEADLINE_MS
#define DEADLINE_MS 30000 /* a runtime's patience is some minutes; the agent answers within seconds */
#endif

enum { LARGEST = 1 << 20, HEADER = 8 };
enum { IO_FAILURE = 5, UNREADABLE = 6, INVALID_CONFIG = 7, BAD_ENVIRONMENT = 4, TRY_AGAIN_LATER = 11, NOT_AVAILABLE = 50 };

struct bytes {
	char *at;
	size_t length, room;
};

static const char MAGIC[4] = {'c', 'n', 'i', '1'};
static const char *command;
static char version[16] = SPOKEN;
static int64_t deadline;

static int64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The exit code after the result was printed. An ADD whose result could not be printed has failed. */
static int printed(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	fprintf(stderr, "sluice-cni: the result cannot be printed: %s\n", strerror(errno));
	return 1;
}

/* CNI's error result. Characters that are not plain ASCII are shown as '?', so that the result is valid JSON. */
__attribute__((noreturn, format(printf, 2, 3))) static void fail(int code, const char *format, ...)
{
	char text[512];
	va_list values;
	va_start(values, format);
	vsnprintf(text, sizeof text, format, values);
	va_end(values);
	printf("{\"cniVersion\":\"%s\",\"code\":%d,\"msg\":\"", version, code);
	for (const char *at = text; *at != 0; at++) {
		if (*at == '"' || *at == '\\')
			putchar('\\');
		putchar(*at >= ' ' && *at <= '~' ? *at : '?');
	}
	puts("\"}");
	exit(1);
}

/*
 * Opens standard files that are closed at the start: otherwise the socket would get one of their numbers, and printed
 * text would go to the agent. They are read-only, so printing fails as before.
 */
static void hold_standard_files(void)
{
	int file;
	do {
		file = open("/dev/null", O_RDONLY);
		if (file < 0)
			fail(IO_FAILURE, "/dev/null cannot be opened: %s", strerror(errno));
	} while (file <= STDERR_FILENO);
	close(file);
}

/* The agent does not answer. DEL succeeds all the same: the agent removes the attachment when it is back. */
__attribute__((noreturn)) static void nobody(const char *socket, const char *reason)
{
	if (strcmp(command, "DEL") == 0)
		exit(0);
	fail(strcmp(command, "STATUS") == 0 ? NOT_AVAILABLE : TRY_AGAIN_LATER, "no Sluice agent answers on %s: %s", socket,
	     reason);
}

/* Waits until the file is ready. Returns NULL, or why it will not be. */
static const char *ready(int file, short events)
{
	struct pollfd one = {.fd = file, .events = events};
	int64_t left = deadline - now_ms();
	int found = left > 0 ? poll(&one, 1, (int)left) : 0;
	return found > 0 ? NULL : found == 0 ? "it takes too long" : strerror(errno);
}

static void reserve(struct bytes *bytes, size_t more)
{
	if (bytes->room - bytes->length >= more)
		return;
	bytes->room = (bytes->length + more) * 2;
	bytes->at = realloc(bytes->at, bytes->room);
	if (bytes->at == NULL)
		fail(IO_FAILURE, "no memory for %zu bytes", bytes->room);
}

static void append(struct bytes *bytes, const void *from, size_t length)
{
	reserve(bytes, length);
	memcpy(bytes->at + bytes->length, from, length);
	bytes->length += length;
}

/* Reads until the other side closes the connection. Returns NULL, or what is wrong. */
static const char *read_all(int file, struct bytes *into)
{
	for (;;) {
		const char *problem = ready(file, POLLIN);
		if (problem != NULL)
			return problem;
		reserve(into, 16384);
		ssize_t length = read(file, into->at + into->length, 16384);
		if (length == 0)
			return NULL;
		if (length < 0 && errno != EINTR && errno != EAGAIN)
			return strerror(errno);
		into->length += length > 0 ? (size_t)length : 0;
		if (into->length > LARGEST)
			return "it has more than 1 MiB";
	}
}

static const char *write_all(int file, const struct bytes *from)
{
	for (size_t done = 0; done < from->length;) {
		const char *problem = ready(file, POLLOUT);
		if (problem != NULL)
			return problem;
		ssize_t length = send(file, from->at + done, from->length - done, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (length < 0 && errno != EINTR && errno != EAGAIN)
			return strerror(errno);
		done += length > 0 ? (size_t)length : 0;
	}
	return NULL;
}

static const char *skip_space(const char *at, const char *end)
{
	while (at < end && strchr(" \t\r\n", *at) != NULL && *at != 0)
		at++;
	return at;
}

/* Skips a string from its first quote to after its last; returns NULL if it does not end. */
static const char *skip_string(const char *at, const char *end)
{
	for (at++; at < end && *at != '"'; at++)
		if (*at == '\\')
			at++;
	return at < end ? at + 1 : NULL;
}

/* A string that is plain but for \/, without its quotes. Whether it could be copied. */
static int copy_string(const char *at, const char *end, char *into, size_t room)
{
	size_t length = 0;
	for (at++; at < end - 1; at++) {
		if (*at == '\\' && *++at != '/')
			return 0;
		if (length + 1 >= room || *at == 0)
			return 0;
		into[length++] = *at;
	}
	into[length] = 0;
	return 1;
}

/* The results of config_string(). */
enum { ABSENT, FOUND, UNUSABLE, NO_OBJECT };

/*
 * Finds the text of a top-level key of the configuration. It checks no more than that needs: the agent reads all of it,
 * and reports what is wrong.
 */
static int config_string(const struct bytes *config, const char *key, char *into, size_t room)
{
	const char *at = skip_space(config->at, config->at + config->length), *end = config->at + config->length;
	int found = ABSENT;
	if (at == end || *at != '{')
		return NO_OBJECT;
	for (int depth = 0; at < end; at++) {
		if (*at == '{' || *at == '[')
			depth++;
		if ((*at == '}' || *at == ']') && --depth <= 0)
			return found;
		if (*at != '"')
			continue;
		const char *behind = skip_string(at, end);
		if (behind == NULL)
			return NO_OBJECT;
		const char *colon = skip_space(behind, end);
		int is_key = depth == 1 && colon < end && *colon == ':';
		if (is_key && (size_t)(behind - at) == strlen(key) + 2 && memcmp(at + 1, key, strlen(key)) == 0) {
			const char *value = skip_space(colon + 1, end);
			behind = value < end && *value == '"' ? skip_string(value, end) : NULL;
			if (behind == NULL || !copy_string(value, behind, into, room))
				return UNUSABLE;
			found = FOUND;
		}
		at = behind - 1;
	}
	return NO_OBJECT;
}

static int dial(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int64_t left = deadline - now_ms();
	struct timeval patience = {.tv_sec = left / 1000, .tv_usec = left % 1000 * 1000 + 1};
	int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	memcpy(address.sun_path, path, strlen(path));
	if (file < 0 || setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) < 0 ||
	    connect(file, (struct sockaddr *)&address, sizeof address) < 0)
		nobody(path, errno == EAGAIN ? "it takes too long" : strerror(errno));
	return file;
}

static void put_length(struct bytes *message)
{
	uint32_t length = (uint32_t)(message->length - HEADER);
	for (int byte = 0; byte < 4; byte++)
		message->at[4 + byte] = (char)(length >> (24 - 8 * byte));
}

static size_t length_of(const struct bytes *answer)
{
	size_t length = 0;
	for (int byte = 4; byte < HEADER; byte++)
		length = length << 8 | (unsigned char)answer->at[byte];
	return length;
}

static void request(struct bytes *message, const struct bytes *config)
{
	static const char *const NAMES[] = {"CNI_COMMAND", "CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_ARGS"};
	append(message, MAGIC, sizeof MAGIC);
	append(message, "\0\0\0\0", 4);
	for (size_t at = 0; at < sizeof NAMES / sizeof *NAMES; at++) {
		const char *value = getenv(NAMES[at]);
		append(message, value != NULL ? value : "", (value != NULL ? strlen(value) : 0) + 1);
	}
	append(message, config->at, config->length);
	put_length(message);
}

static int ask(const char *path, const struct bytes *config)
{
	struct bytes message = {0}, answer = {0};
	request(&message, config);
	int file = dial(path);
	const char *problem = write_all(file, &message);
	if (problem == NULL)
		problem = read_all(file, &answer);
	if (problem != NULL)
		nobody(path, problem);
	if (answer.length == 0)
		nobody(path, "it closed the connection");
	if (answer.length <= HEADER || memcmp(answer.at, MAGIC, sizeof MAGIC) != 0 ||
	    length_of(&answer) != answer.length - HEADER)
		nobody(path, "what answers there does not speak as the agent does");
	fwrite(answer.at + HEADER + 1, 1, answer.length - HEADER - 1, stdout);
	return printed(answer.at[HEADER] != 0);
}

int main(void)
{
	char path[sizeof((struct sockaddr_un *)0)->sun_path] = SOCKET;
	struct bytes config = {0};
	hold_standard_files();
	deadline = now_ms() + DEADLINE_MS;
	alarm(DEADLINE_MS / 1000 + 2); /* for one who does not read what we print */
	command = getenv("CNI_COMMAND");
	if (command == NULL || *command == 0)
		fail(BAD_ENVIRONMENT, "CNI_COMMAND is not set: a container runtime runs this, with the configuration as input");
	const char *problem = read_all(STDIN_FILENO, &config);
	if (problem != NULL)
		fail(UNREADABLE, "the configuration cannot be read from standard input: %s", problem);
	int found = config_string(&config, "cniVersion", version, sizeof version);
	if (found == UNUSABLE || strspn(version, "0123456789.") != strlen(version))
		strcpy(version, SPOKEN);
	if (strcmp(command, "VERSION") == 0) {
		printf("{\"cniVersion\":\"%s\",\"supportedVersions\":[\"1.0.0\",\"1.1.0\"]}\n", version);
		return printed(0);
	}
	if (found == NO_OBJECT)
		fail(UNREADABLE, "the configuration on standard input is no JSON object");
	if (config_string(&config, "socket", path, sizeof path) == UNUSABLE)
		fail(INVALID_CONFIG, "\"socket\" is no path of a socket: a string of at most 107 bytes, without backslashes");
	return ask(path, &config);
}
