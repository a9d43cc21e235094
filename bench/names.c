// What `npm run bench -- names` needs beside an agent, each a process in a network namespace:
//   names resolver              answers nN.t.example with 10.98.(N / 256).(N % 256) and fd00:98::N
//   names web                   takes connections to port 80
//   names visit RESOLVER SOURCE SOURCE6 FIRST COUNT
//                               asks for COUNT names, one after another, and connects to each at once
//   names flood RESOLVER FIRST COUNT RATE SOURCE...
//                               asks for COUNT names, one at a time from each source; RATE 0: as fast as it goes
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { A = 1, AAAA = 28, MOST_SOURCES = 256, PATIENCE_MS = 700, ANSWER_MS = 5000 };

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static void die(const char *what) {
  perror(what);
  exit(1);
}

// The question for nN.t.example; answers its length.
static int question(unsigned char *to, unsigned n, int type) {
  static const unsigned char tail[] = "\1t\7example";
  unsigned char *at = to + 12;
  memset(to, 0, 12);
  to[0] = n >> 8, to[1] = n, to[2] = 1, to[5] = 1;
  *at = snprintf((char *)at + 1, 12, "n%u", n);
  at += *at + 1;
  memcpy(at, tail, sizeof tail);
  at += sizeof tail;
  *at++ = 0, *at++ = type, *at++ = 0, *at++ = 1;
  return at - to;
}

// Makes the question an answer; answers its length, 0 for what is none of ours.
static int reply(unsigned char *message, int length) {
  unsigned char *end = message + 12;
  if (length < 17 || message[13] != 'n') return 0;
  unsigned n = atoi((char *)message + 14);
  while (end < message + length && *end) end += *end + 1;
  end += 5;
  if (end > message + length) return 0;
  int type = end[-3];
  message[2] = 0x81, message[3] = 0x80, message[7] = 1;
  memset(message + 8, 0, 4);
  const unsigned char record[] = {0xc0, 12, 0, type, 0, 1, 0, 0, 14, 16, 0, type == A ? 4 : 16};
  memcpy(end, record, sizeof record);
  end += sizeof record;
  if (type == A) {
    *end++ = 10, *end++ = 98;
  } else {
    static const unsigned char net[14] = {0xfd, 0, 0, 0x98};
    memcpy(end, net, sizeof net);
    end += sizeof net;
  }
  *end++ = n >> 8, *end++ = n;
  return end - message;
}

static void ready(void) {
  puts("ready");
  fflush(stdout);
}

static int resolver(void) {
  int s = socket(AF_INET6, SOCK_DGRAM, 0), size = 8 << 20;
  struct sockaddr_in6 own = {.sin6_family = AF_INET6, .sin6_port = htons(53)};
  setsockopt(s, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  if (bind(s, (void *)&own, sizeof own)) die("bind");
  ready();
  for (unsigned char message[1500];;) {
    struct sockaddr_in6 from;
    socklen_t size = sizeof from;
    int length = recvfrom(s, message, 512, 0, (void *)&from, &size);
    if (length > 0 && (length = reply(message, length)) > 0) sendto(s, message, length, 0, (void *)&from, size);
  }
}

static int web(void) {
  int s = socket(AF_INET6, SOCK_STREAM, 0);
  struct sockaddr_in6 own = {.sin6_family = AF_INET6, .sin6_port = htons(80)};
  if (bind(s, (void *)&own, sizeof own) || listen(s, 4096)) die("listen");
  ready();
  for (;;) close(accept(s, 0, 0));
}

// A socket that asks the resolver from a source address of its family.
static int asker(const char *resolver, const char *source) {
  int s = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in own = {.sin_family = AF_INET}, to = {.sin_family = AF_INET, .sin_port = htons(53)};
  inet_pton(AF_INET, source, &own.sin_addr);
  inet_pton(AF_INET, resolver, &to.sin_addr);
  if (bind(s, (void *)&own, sizeof own) || connect(s, (void *)&to, sizeof to)) die("asker");
  return s;
}

// Whether the first packet to the address was answered. No second one is sent in that time.
static int reaches(int family, const char *source, const unsigned char *address) {
  struct sockaddr_in6 own6 = {.sin6_family = AF_INET6}, to6 = {.sin6_family = AF_INET6, .sin6_port = htons(80)};
  struct sockaddr_in own = {.sin_family = AF_INET}, to = {.sin_family = AF_INET, .sin_port = htons(80)};
  int s = socket(family, SOCK_STREAM | SOCK_NONBLOCK, 0), error = 0;
  socklen_t size = sizeof error;
  if (family == AF_INET) {
    inet_pton(AF_INET, source, &own.sin_addr);
    memcpy(&to.sin_addr, address, 4);
    bind(s, (void *)&own, sizeof own);
    connect(s, (void *)&to, sizeof to);
  } else {
    inet_pton(AF_INET6, source, &own6.sin6_addr);
    memcpy(&to6.sin6_addr, address, 16);
    bind(s, (void *)&own6, sizeof own6);
    connect(s, (void *)&to6, sizeof to6);
  }
  struct pollfd p = {s, POLLOUT, 0};
  int made = poll(&p, 1, PATIENCE_MS) == 1;
  getsockopt(s, SOL_SOCKET, SO_ERROR, &error, &size);
  struct linger reset = {1, 0};
  setsockopt(s, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  close(s);
  return made && error == 0;
}

// One line: how many were answered, how many first packets were lost, and what each answer took, in us.
static int visit(char **args) {
  const char *source = args[1], *source6 = args[2];
  int s = asker(args[0], source), first = atoi(args[3]), count = atoi(args[4]), answered = 0, lost = 0;
  double *took = calloc(count, sizeof *took);
  for (int i = 0; i < count; i++) {
    unsigned char message[512];
    int type = i % 2 ? AAAA : A, size = type == A ? 4 : 16, length = question(message, first + i, type);
    double start = now_us();
    struct pollfd p = {s, POLLIN, 0};
    if (send(s, message, length, 0) < 0 || poll(&p, 1, ANSWER_MS) != 1) continue;
    length = recv(s, message, sizeof message, 0);
    took[answered++] = now_us() - start;
    if (!reaches(type == A ? AF_INET : AF_INET6, type == A ? source : source6, message + length - size)) lost++;
  }
  printf("%d %d", answered, lost);
  for (int i = 0; i < answered; i++) printf(" %.1f", took[i]);
  putchar('\n');
  return 0;
}

// One line: how many were answered, and how many us all of it took.
static int flood(char **args, int sources) {
  int first = atoi(args[1]), count = atoi(args[2]), rate = atoi(args[3]), asked = 0, answered = 0;
  struct pollfd p[MOST_SOURCES];
  double due[MOST_SOURCES], start = now_us(), last = start;
  unsigned char message[512];
  sources = sources > MOST_SOURCES ? MOST_SOURCES : sources;
  double gap = rate ? 1e6 * sources / rate : 0;
  for (int i = 0; i < sources; i++) {
    p[i] = (struct pollfd){asker(args[0], args[4 + i]), POLLIN, 0};
    due[i] = start + gap * i / sources;
  }
  char waits[MOST_SOURCES] = {0};
  while (answered < count && now_us() - last < ANSWER_MS * 1e3) {
    double now = now_us(), next = now + 1e5;
    for (int i = 0; i < sources; i++) {
      if (waits[i] || asked == count) continue;
      if (due[i] > now) {
        if (due[i] < next) next = due[i];
        continue;
      }
      send(p[i].fd, message, question(message, first + asked++, A), 0);
      waits[i] = 1, due[i] += gap;
      if (due[i] < now - 1e5) due[i] = now - 1e5;
    }
    struct timespec wait = {0, next > now ? (next - now) * 1e3 : 0};
    if (ppoll(p, sources, &wait, 0) <= 0) continue;
    for (int i = 0; i < sources; i++)
      if (p[i].revents && recv(p[i].fd, message, sizeof message, MSG_DONTWAIT) > 0)
        answered++, waits[i] = 0, last = now_us();
  }
  printf("%d %.0f\n", answered, last - start);
  return 0;
}

int main(int count, char **args) {
  const char *role = count > 1 ? args[1] : "";
  if (!strcmp(role, "resolver")) return resolver();
  if (!strcmp(role, "web")) return web();
  if (!strcmp(role, "visit") && count == 7) return visit(args + 2);
  if (!strcmp(role, "flood") && count > 6) return flood(args + 2, count - 6);
  return fprintf(stderr, "names: resolver, web, visit or flood\n"), 2;
}
