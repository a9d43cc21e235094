import { expect, test } from 'vitest';
import { cidrText } from '../../model/address.ts';
import { parseRoutes4, parseRoutes6 } from './read.ts';

const ROUTE = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	010200C0	0003	0	0	0	00000000	0	0	0
cni0	0001F40A	00000000	0001	0	0	0	00FFFFFF	0	0	0
veth1	0501F40A	00000000	0005	0	0	0	FFFFFFFF	0	0	0
lo	0002F40A	00000000	0201	0	0	0	00FFFFFF	0	0	0
`;
const ROUTE6 = `fd000001000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     cni0
00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo
`;

test('parseRoutes4() reads destinations, without the default route and without rejections', () => {
  expect(parseRoutes4(ROUTE).map(cidrText)).toEqual(['10.244.1.0/24', '10.244.1.5/32']);
});

test('parseRoutes6() reads destinations, without the default route', () => {
  expect(parseRoutes6(ROUTE6).map(cidrText)).toEqual(['fd00:1::/64']);
});

test('both read an empty table as no route', () => {
  expect([parseRoutes4(''), parseRoutes6('')]).toEqual([[], []]);
});
