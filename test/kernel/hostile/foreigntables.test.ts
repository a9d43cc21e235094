/** Tables and routes of others, whatever they do with a packet before it comes by our rules, open nothing. */
import { afterEach, describe, expect, test } from 'vitest';
import { FAMILIES, type Family } from '../../../src/model/address.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { arrives } from './attack.ts';
import { hiddenInPieces, lengthened, protocolOf, transportOf } from './craft.ts';
import { enforcedGround } from './enforced.ts';
import { ADDRESSES, NETWORKS } from './ground.ts';

const SERVICE: Record<Family, string> = { ip: '10.96.0.80', ip6: 'fd96::80' };

/** A chain of somebody else's, with a rule for each family. */
const chain = (hook: string, priority: number, rule: (family: Family) => string, type = 'filter') =>
  `table inet others { chain c { type ${type} hook ${hook} priority ${priority}; ${FAMILIES.map(rule).join('; ')};\n}\n}`;
const to = (family: Family) => `${family} daddr ${ADDRESSES.victim[family]}`;

/** What becomes of a packet to the victim before our rules are asked. */
const OTHERS: readonly (readonly [string, string])[] = [
  ['nothing tracked', chain('prerouting', -300, () => 'notrack')],
  [
    'accepted and marked before',
    chain('prerouting', -500, family => `${to(family)} meta mark set 0x1 accept`),
  ],
  ['put into a zone', chain('prerouting', -300, family => `${to(family)} ct zone set 7`)],
  ['taken for the node’s', chain('prerouting', -500, family => `${to(family)} meta pkttype set host accept`)],
];

const MAIL = 25;

/** What a rule by port denies is open where the rule does not see the port. */
const NO_MAIL = {
  apiVersion: 'policy.networking.k8s.io/v1alpha2',
  kind: 'ClusterNetworkPolicy',
  metadata: { name: 'no-mail' },
  spec: {
    tier: 'Admin',
    priority: 1,
    subject: { pods: { namespaceSelector: {}, podSelector: { matchLabels: { app: 'loose' } } } },
    egress: [
      {
        action: 'Deny',
        to: [{ networks: ['::/0'] }],
        protocols: [{ udp: { destinationPort: { number: MAIL } } }],
      },
    ],
  },
};

describe.each(NETWORKS)('%s', network => {
  const ground = enforcedGround({ network });
  afterEach(() => void ground.exec('node', 'nft', ['table inet others; delete table inet others']));

  const reaches = (family: Family, from: 'attacker' | 'loose' | 'friend') => {
    const ends = { from: ADDRESSES[from][family], to: ADDRESSES.victim[family] };
    const packets = [packet({ ...ends, protocol: 'UDP', port: 80 })];
    return arrives(ground, { from, to: 'victim', packets });
  };

  test.each(OTHERS)('%s', async (_, table) => {
    ground.exec('node', 'nft', ['-f', '-'], table);
    for (const family of FAMILIES) {
      expect(await reaches(family, 'attacker')).toBe(false);
      expect(await reaches(family, 'loose')).toBe(false);
      expect(await reaches(family, 'friend')).toBe(true);
    }
  });

  test('not tracked from before its pieces are put together', async () => {
    await ground.enforce(NO_MAIL);
    let identification = 0;
    const leaves = (port: number, inPieces = true) => {
      const ends = { from: ADDRESSES.loose.ip6, to: ADDRESSES.outside.ip6 };
      const whole = lengthened(packet({ ...ends, protocol: 'UDP', port }));
      const packets = inPieces ? hiddenInPieces(whole, identification++) : [whole];
      const heard = { heard: transportOf(whole), protocol: protocolOf(whole) };
      return arrives(ground, { from: 'loose', to: 'outside', packets, ...heard });
    };
    expect(await leaves(MAIL)).toBe(false);
    // What pieces hide passes no port of a bridge (podports.ts).
    expect(await leaves(MAIL + 1), 'put together').toBe(network === 'ptp');
    ground.exec(
      'node',
      'nft',
      ['-f', '-'],
      chain('prerouting', -500, () => 'notrack'),
    );
    expect(await leaves(MAIL, false)).toBe(false);
    expect(await leaves(MAIL + 1, false), 'whole').toBe(true);
    expect(await leaves(MAIL), 'in pieces').toBe(false);
  });

  test('sent on from an address of nobody’s', async () => {
    const rule = (family: Family) =>
      `${family} daddr ${SERVICE[family]} dnat ${family} to ${ADDRESSES.victim[family]}`;
    ground.exec('node', 'nft', ['-f', '-'], chain('prerouting', -100, rule, 'nat'));
    for (const family of FAMILIES) {
      const ends = { from: ADDRESSES.loose[family], to: SERVICE[family] as never };
      const sent = packet({ ...ends, protocol: 'UDP', port: 80 });
      const heard = transportOf(packet({ ...ends, to: ADDRESSES.victim[family], protocol: 'UDP', port: 80 }));
      expect(await arrives(ground, { from: 'loose', to: 'victim', packets: [sent], heard })).toBe(false);
    }
  });
});
