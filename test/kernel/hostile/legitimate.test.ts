/** What the rules against hostile packets must leave alone: every one of these is somebody's ordinary day. */
import { beforeAll, describe, expect, test } from 'vitest';
import { probe } from '../../../bench/lab/probe/probe.ts';
import { address } from '../../../bench/lab/topology.ts';
import { type Address, FAMILIES } from '../../../src/model/address.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { arrives } from './attack.ts';
import { withHops, withIcmp } from './craft.ts';
import { enforcedGround } from './enforced.ts';
import { ADDRESSES, GATEWAY, type Host, NETWORKS } from './ground.ts';

const CACHE = { ip: address('169.254.20.10'), ip6: address('fd00:ca::10') };
/** Of another network than the pods': a pod sends from no free address of theirs. */
const SECOND = { ip: address('10.77.0.114'), ip6: address('fd77::114') };
const SERVICE = { ip: address('10.96.0.1'), ip6: address('fd96::1') };
const HOSTS: readonly Host[] = ['attacker', 'victim', 'friend', 'loose', 'node', 'outside'];

describe.each(NETWORKS)('%s', network => {
  const ground = enforcedGround({ network });
  const homes = new Map<Address, string>();

  beforeAll(async () => {
    for (const host of HOSTS)
      for (const at of Object.values(ADDRESSES[host])) homes.set(at, ground.path(host));
    for (const at of [...Object.values(CACHE), ...Object.values(GATEWAY)]) homes.set(at, ground.path('node'));
    for (const at of Object.values(SECOND)) homes.set(at, ground.path('loose'));
    for (const family of FAMILIES) {
      const length = family === 'ip' ? 32 : 128;
      ground.exec('node', 'ip', [
        'address',
        'add',
        `${CACHE[family]}/${length}`,
        'dev',
        'lo',
        ...(family === 'ip6' ? ['nodad'] : []),
      ]);
      ground.exec('loose', 'ip', [
        'address',
        'add',
        `${SECOND[family]}/${length}`,
        'dev',
        'eth0',
        ...(family === 'ip6' ? ['nodad'] : []),
      ]);
      const second = ['route', 'add', `${SECOND[family]}/${length}`];
      ground.exec('node', 'ip', [...second, 'dev', ground.port('loose')]);
      ground.exec('outside', 'ip', [...second, 'via', ADDRESSES.node[family]]);
    }
    ground.exec('node', 'nft', ['-f', '-'], KUBE_PROXY);
    await ground.enforce();
  });

  describe.each(FAMILIES)('%s', family => {
    const at = (host: Host) => ADDRESSES[host][family];

    test.each<[string, Address, Address]>([
      ['a pod to a pod', at('loose'), at('friend')],
      ['a pod to a pod that lets it in', at('friend'), at('victim')],
      ['a pod to its node', at('loose'), at('node')],
      ['a pod to its gateway', at('loose'), GATEWAY[family]],
      ['a pod to a cache of names on its node', at('loose'), CACHE[family]],
      ['a pod to the world', at('loose'), at('outside')],
      ['a pod by its second address', SECOND[family], at('outside')],
      ['a pod by its second address to a pod', SECOND[family], at('friend')],
      ['the node to a pod, as the kubelet probes', at('node'), at('victim')],
      ['the gateway to a pod', GATEWAY[family], at('attacker')],
      ['the world to a pod', at('outside'), at('loose')],
      ['the world to the node', at('outside'), at('node')],
    ])('%s', async (_, from, to) => {
      const flows = (['TCP', 'UDP', 'SCTP'] as const).map(protocol => ({ from, to, protocol, port: 80 }));
      const outcomes = await probe({ namespaceOf: address => homes.get(address)! }, [
        ...flows,
        { from, to, protocol: 'ICMP' },
      ]);
      expect(outcomes).toEqual(['open', 'open', 'open', 'open']);
    });

    test('through a Service to another pod and to itself, and masqueraded to the world', async () => {
      const via = { address: SERVICE[family], port: 80 };
      const flows = [
        { from: at('loose'), to: at('friend'), protocol: 'TCP', port: 80, via },
        { from: at('friend'), to: at('friend'), protocol: 'TCP', port: 80, via },
      ] as const;
      expect(await probe({ namespaceOf: address => homes.get(address)! }, flows)).toEqual(['open', 'open']);
    });
  });

  test('a pod asks for an address by DHCP, and the node hears it', async () => {
    const packets = [
      packet({
        from: address('0.0.0.0'),
        to: address('255.255.255.255'),
        protocol: 'UDP',
        port: 67,
        sourcePort: 68,
      }),
    ];
    expect(await arrives(ground, { from: 'loose', to: 'node', packets, mac: 'ff:ff:ff:ff:ff:ff' })).toBe(
      true,
    );
  });

  test('a pod reports its groups to its link', async () => {
    const plain = packet({ from: ground.linkLocal('loose'), to: address('ff02::1'), protocol: 58 });
    const packets = [withHops(withIcmp(plain, [143, 0, 0, 0, 0, 0, 0, 0]), 1)];
    expect(await arrives(ground, { from: 'loose', to: 'node', packets, mac: '33:33:00:00:00:01' })).toBe(
      true,
    );
  });

  test('neighbours on the node’s own link speak by link-local addresses', async () => {
    const ends = { from: ground.linkLocal('outside', 'wire'), to: ground.linkLocal('node') };
    const packets = [packet({ ...ends, protocol: 'TCP', port: 179 })];
    expect(await arrives(ground, { from: 'outside', to: 'node', packets })).toBe(true);
  });

  test('a sender from outside may have a source that the node would reach another way', async () => {
    ground.exec('node', 'ip', ['route', 'add', 'unreachable', '198.51.100.0/24']);
    const packets = [
      packet({ from: address('198.51.100.7'), to: ADDRESSES.friend.ip, protocol: 'UDP', port: 53 }),
    ];
    expect(await arrives(ground, { from: 'outside', to: 'friend', packets })).toBe(true);
  });
});

const KUBE_PROXY = `
table ip proxy {
  chain pre { type nat hook prerouting priority dstnat; ip daddr ${SERVICE.ip} tcp dport 80 dnat to ${ADDRESSES.friend.ip}:80; }
  chain post { type nat hook postrouting priority srcnat; ip saddr ${ADDRESSES.friend.ip} ip daddr ${ADDRESSES.friend.ip} masquerade; ip saddr 10.9.0.0/24 ip daddr != 10.9.0.0/24 masquerade; }
}
table ip6 proxy {
  chain pre { type nat hook prerouting priority dstnat; ip6 daddr ${SERVICE.ip6} tcp dport 80 dnat to [${ADDRESSES.friend.ip6}]:80; }
  chain post { type nat hook postrouting priority srcnat; ip6 saddr ${ADDRESSES.friend.ip6} ip6 daddr ${ADDRESSES.friend.ip6} masquerade; ip6 saddr fd09::/64 ip6 daddr != fd09::/64 masquerade; }
}
`;
