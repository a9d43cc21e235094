/** Gives IPVS of this network namespace a virtual service, as `ipvsadm -A -t 10.96.0.10:80 -s rr` does (linux/ip_vs.h). */
import koffi from 'koffi';

const [AF_INET, SOCK_RAW, IPPROTO_RAW, IPPROTO_IP, IP_VS_SO_SET_ADD] = [2, 3, 255, 0, 1154];

const libc = koffi.load('libc.so.6');
const socket = libc.func('int socket(int domain, int type, int protocol)');
const setsockopt = libc.func(
  'int setsockopt(int fd, int level, int name, const void *value, uint32_t length)',
);

/** struct ip_vs_service_user */
const service = Buffer.alloc(44);
service.writeUInt16LE(6, 0); // TCP
service.set([10, 96, 0, 10], 4);
service.writeUInt16BE(80, 8);
service.write('rr', 16);
service.writeUInt32LE(0xffffffff, 40); // netmask

if (
  setsockopt(
    socket(AF_INET, SOCK_RAW, IPPROTO_RAW),
    IPPROTO_IP,
    IP_VS_SO_SET_ADD,
    service,
    service.length,
  ) !== 0
)
  throw new Error(`IPVS takes no virtual service: errno ${koffi.errno()}`);
