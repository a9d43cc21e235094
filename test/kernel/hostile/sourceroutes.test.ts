/**
 * Where packets go that say by whom they want to be led. A node that follows them leads what a pod may send to it past
 * every policy of the pod that they name, so that a check fails there; none does as the kernel starts.
 */
import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { type Address, addressBytes, type Family } from '../../../src/model/address.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { arrives } from './attack.ts';
import { EXTENSION, protocolOf, transportOf, withOptions, withTransport } from './craft.ts';
import { enforcedGround } from './enforced.ts';
import { ADDRESSES, type Host, NETWORKS } from './ground.ts';

interface SourceRoute {
  readonly family: Family;
  /** Of the kernel; a check names it. */
  readonly setting: string;
  /** The same packet, by its destination on to another. */
  by(plain: Uint8Array, to: Address): Uint8Array;
}

const option =
  (kind: number): SourceRoute['by'] =>
  (plain, to) =>
    withOptions(plain, [kind, 7, 4, ...addressBytes(to)]);

/** RFC 8754 has all segments, the last first; RFC 6554 those that are left. */
const header =
  (type: number, fixed: readonly number[], ...more: Address[]): SourceRoute['by'] =>
  (plain, to) => {
    const segments = [to, ...more].flatMap(each => [...addressBytes(each)]);
    const bytes = [protocolOf(plain), segments.length / 8, type, 1, ...fixed, ...segments];
    return withTransport(plain, Buffer.concat([Buffer.from(bytes), transportOf(plain)]), EXTENSION.routing);
  };

const IP4 = { family: 'ip', setting: 'ipv4/conf/*/accept_source_route' } as const;
const ROUTES: readonly (readonly [string, SourceRoute])[] = [
  ['a loose route', { ...IP4, by: option(131) }],
  ['a strict route', { ...IP4, by: option(137) }],
  [
    'segments',
    {
      family: 'ip6',
      setting: 'ipv6/conf/*/seg6_enabled',
      by: header(4, [1, 0, 0, 0], ADDRESSES.node.ip6),
    },
  ],
  [
    'a route of lossy networks',
    { family: 'ip6', setting: 'ipv6/conf/*/rpl_seg_enabled', by: header(3, [0, 0, 0, 0]) },
  ],
];

describe.each(NETWORKS)('%s', network => {
  const ground = enforcedGround({ network });

  const sets = (host: Host, device: string, setting: string, value: number) =>
    inNamespace(ground.path(host), () => {
      for (const name of ['all', device])
        writeFileSync(`/proc/sys/net/${setting.replace('*', name)}`, `${value}`);
    });

  /** By its node, with which the sender has an open connection. */
  const reachesVictim = async ({ family, by }: SourceRoute) => {
    const plain = packet({ from: ADDRESSES.loose[family], to: ADDRESSES.node[family], protocol: 'ICMP' });
    await arrives(ground, { from: 'loose', to: 'node', packets: [plain] });
    const packets = [by(plain, ADDRESSES.victim[family])];
    const heard = { heard: transportOf(plain), protocol: protocolOf(plain) };
    return arrives(ground, { from: 'loose', to: 'victim', packets, ...heard });
  };

  const seen = (): readonly string[] =>
    JSON.parse(
      ground.exec('node', process.execPath, ['--input-type=module', '--eval', READ], ''),
    ) as string[];

  test.each(ROUTES)('%s leads nowhere, and is a finding where the node follows it', async (_, route) => {
    sets('victim', 'eth0', route.setting, 1);
    expect(await reachesVictim(route)).toBe(false);
    expect(seen()).toEqual([]);
    const link = ground.port('loose');
    sets('node', link, route.setting, 1);
    try {
      expect(await reachesVictim(route), 'what the check is about').toBe(true);
      expect(seen()).toEqual([`net.${route.setting.replaceAll('/', '.')}`]);
    } finally {
      sets('node', link, route.setting, 0);
    }
  });
});

const READ = `import { readSourceRoutes } from ${JSON.stringify(new URL('../../../src/kernel/host/read.ts', import.meta.url).href)};
console.log(JSON.stringify(await readSourceRoutes()));`;
