import { expect, test } from 'vitest';
import { parseNames } from './read.ts';

const TEXT = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:  137040    1538    0    0    0     0          0         0   137040    1538    0    0    0     0       0          0
eth0.7@x:123 4 0 0 0 0 0 0 5 6 0 0 0 0 0 0
`;

test('parseNames() reads a name from each line but the titles, however its numbers are set', () => {
  expect(parseNames(TEXT)).toEqual(['lo', 'eth0.7@x']);
  expect(parseNames('')).toEqual([]);
});
