import { expect, it } from 'vitest';
import { parseAddress } from '../../model/address.ts';
import { readResolvers, resolversIn } from './watcher.ts';

it('reads the nameserver lines that name an address of a pod network', () => {
  const text = [
    '# nameserver 192.0.2.1',
    'search shop.svc.cluster.local',
    'nameserver 10.96.0.10',
    '  nameserver\tfd00:96::A ',
    'nameserver 127.0.0.53',
    'nameserver ::1',
    'nameserver fe80::1%eth0',
    'nameserver',
    'nameservers 192.0.2.2',
  ].join('\n');
  expect(resolversIn(text)).toEqual(['10.96.0.10', 'fd00:96::a']);
});

it('without the file has those that were named, each once', () => {
  const named = [parseAddress('10.96.0.10')!, parseAddress('10.96.0.10')!];
  expect(readResolvers(named, '/nowhere/resolv.conf')).toEqual(['10.96.0.10']);
});
