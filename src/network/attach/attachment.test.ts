import { expect, test } from 'vitest';
import { MAX_ALIAS } from '../../kernel/netlink/route/rtnetlink.ts';
import type { PodKey } from '../../model/cluster.ts';
import {
  aliasOf,
  deviceName,
  isDeviceName,
  isOf,
  macs,
  ownerInAlias,
  podLabel,
  podMac,
} from './attachment.ts';

const WEB = { pod: 'shop/web-0' as PodKey, interface: 'eth0', sandbox: '6f3c'.repeat(16) };

test('deviceName() fits the kernel, and is another for every sandbox and interface', () => {
  const names = [WEB, { ...WEB, sandbox: 'x' }, { ...WEB, interface: 'net1' }].map(deviceName);
  expect(new Set(names).size).toBe(3);
  for (const name of names) expect([name.length, isDeviceName(name)]).toEqual([15, true]);
  expect(['eth0', 'sl0', 'slirp4netns0000', 'veth12345678'].some(isDeviceName)).toBe(false);
});

test('deviceName() does not confuse where the sandbox ends and the interface begins', () => {
  expect(deviceName({ sandbox: 'ab', interface: 'c' })).not.toBe(
    deviceName({ sandbox: 'a', interface: 'bc' }),
  );
});

test('both ends have addresses that are local and no multicast, each known from the other', () => {
  const { node, pod } = macs(WEB);
  expect(podMac(node)).toBe(pod);
  for (const mac of [node, pod]) expect(Number.parseInt(mac.slice(0, 2), 16) & 3).toBe(2);
});

test('ownerOf() reads what aliasOf() wrote', () => {
  expect(aliasOf(WEB)).toBe(`shop/web-0 eth0 ${WEB.sandbox}`);
  expect(ownerInAlias(aliasOf(WEB))).toEqual(WEB);
});

test('an alias never outgrows the kernel, and says which pod and interface in any case', () => {
  const long = `${'n'.repeat(63)}/${'p'.repeat(253)}` as PodKey;
  const owner = { pod: long, interface: 'fifteen-letters', sandbox: 's'.repeat(128) };
  const alias = aliasOf(owner);
  expect(alias.length).toBe(MAX_ALIAS);
  const read = ownerInAlias(alias)!;
  expect(read.pod).toBe(podLabel(long));
  expect(isOf(read, owner)).toBe(true);
  expect(isOf(read, { ...owner, sandbox: 't'.repeat(128) })).toBe(false);
  expect(podLabel(`${long.slice(0, -1)}q` as PodKey)).not.toBe(read.pod);
});

test.each([undefined, '', 'uplink', 'shop/web', 'shop/web eth0', 'a/b/c eth0 x', 'shop/web eth0 x y'])(
  'ownerOf(%j) is nobody',
  alias => expect(ownerInAlias(alias)).toBeUndefined(),
);
