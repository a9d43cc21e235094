import { expect, test } from 'vitest';
import { countVirtualServices } from './read.ts';

const HEAD = `IP Virtual Server version 1.2.1 (size=4096)
Prot LocalAddress:Port Scheduler Flags
  -> RemoteAddress:Port Forward Weight ActiveConn InActConn
`;

test.each([
  ['nothing', '', 0],
  ['a head alone', HEAD, 0],
  [
    'services of each kind, and their servers',
    `${HEAD}TCP  0A600001:01BB rr
  -> AC120003:192B      Masq    1      0          0
UDP  0A60000A:0035 rr
  -> 0AF40002:0035      Masq    1      0          0
  -> 0AF40003:0035      Masq    1      0          0
SCTP [fd00:0010:0096:0000:0000:0000:0000:0001]:270F wlc
FWM  00000001 rr
`,
    4,
  ],
])('countVirtualServices(): %s', (_, text, count) => {
  expect(countVirtualServices(text)).toBe(count);
});
