/** The zone of the tests, as a function: name `n7.t.example` has one address in each family, and others do what they say. */
import type { Answer } from 'dns-packet';

/** The address of a name by its number. */
function addressOf(number: number, type: 'A' | 'AAAA'): string {
  return type === 'A'
    ? `10.98.${(number >> 8) & 255}.${number & 255}`
    : `fd00:98::${(number & 0xffff).toString(16)}`;
}

const TARGET = 't.example';

/** How many addresses names that rotate were given. */
let rotated = 0;

/** The resolver's answers for a name; undefined if there is no such name. */
export function lookUp(question: string, type: 'A' | 'AAAA'): Answer[] | undefined {
  const [, kind, digits] = /^([a-z]+)(\d+)\./.exec(question.toLowerCase()) ?? [];
  if (kind === undefined) return undefined;
  const number = Number(digits);
  const address = (name: string, data = addressOf(number, type), ttl = 30): Answer => ({
    type,
    name,
    ttl,
    data,
  });
  switch (kind) {
    case 'n': // plain
    case 'w': // late
    case 't': // by TCP alone: the answer over UDP is truncated
      return [address(question)];
    case 'z': // no time at all
      return [address(question, addressOf(number, type), 0)];
    case 'c': // an alias into another zone
      return [
        { type: 'CNAME', name: question, ttl: 30, data: `n${number}.cdn.example.net` },
        address(`n${number}.cdn.example.net`),
      ];
    case 'e': // eight aliases, each in another zone
      return [
        ...Array.from({ length: 8 }, (_, i): Answer => {
          const zone = (n: number) => (n === 0 ? question : `n${number}.zone${n}.example.net`);
          return { type: 'CNAME', name: zone(i), ttl: 30, data: zone(i + 1) };
        }),
        address(`n${number}.zone8.example.net`),
      ];
    case 'x': // there, without an address of this family
      return [];
    case 's': // fails
      return undefined;
    case 'r': // other addresses at each answer
      return [1, 2, 3].map(() => address(question, addressOf(number + rotated++, type), 0));
    case 'm': // many addresses
      return Array.from({ length: number }, (_, i) => address(question, addressOf(40_000 + i, type)));
    case 'l': // answers that are never learnt
      return [address(question, type === 'A' ? '169.254.169.254' : 'fe80::1')];
    case 'o': // a lie: an address under a name that was not asked for
      return [address(`n${number}.${TARGET}`)];
    default:
      return undefined;
  }
}
