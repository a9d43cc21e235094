/**
 * IPVS of this network namespace (linux/ip_vs.h), with a word as `ipvsadm`: `add` is -A -t 10.96.0.10:80 -s rr, `mark` is
 * -A -f 7 -s rr, and `clear` is -C.
 */
import koffi from 'koffi';

const [AF_INET, SOCK_RAW, IPPROTO_RAW, IPPROTO_IP] = [2, 3, 255, 0];
const [IP_VS_SO_SET_ADD, IP_VS_SO_SET_FLUSH] = [1154, 1157];

const libc = koffi.load('libc.so.6');
const socket = libc.func('int socket(int domain, int type, int protocol)');
const setsockopt = libc.func(
  'int setsockopt(int fd, int level, int name, const void *value, uint32_t length)',
);

const word = process.argv[2] ?? 'add';

/** struct ip_vs_service_user */
const service = Buffer.alloc(44);
service.writeUInt16LE(6, 0); // TCP, of a mark too
if (word === 'mark') service.writeUInt32LE(7, 12);
else {
  service.set([10, 96, 0, 10], 4);
  service.writeUInt16BE(80, 8);
}
service.write('rr', 16);
service.writeUInt32LE(0xffffffff, 40); // netmask

const option = word === 'clear' ? IP_VS_SO_SET_FLUSH : IP_VS_SO_SET_ADD;
const raw = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
if (setsockopt(raw, IPPROTO_IP, option, service, word === 'clear' ? 0 : service.length) !== 0)
  throw new Error(`IPVS does not take ${word}: errno ${koffi.errno()}`);
