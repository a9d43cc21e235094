/** The virtual machine against the one that it copies. */

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openNftKernel } from '../../src/kernel/netlink/nftables/nft-kernel.ts';
import { type Address, type Family, parseAddress } from '../../src/model/address.ts';
import { formatRuleset } from '../../src/nft/format/format.ts';
import { plan } from '../../src/nft/plan/plan.ts';
import { type Chain, mapTables, type Ruleset } from '../../src/nft/ruleset.ts';
import { type PacketFields, packet } from '../../src/nft/trace/packet.ts';
import { type Trace, trace } from '../../src/nft/trace/trace.ts';
import { rulesetArbitrary } from '../support/arbitrary/rulesets.ts';
import { NOTHING } from '../support/oracle/transitions.ts';
import { runs } from '../support/seed.ts';
import { Netns } from './netns.ts';
import { RawSocket } from './raw-socket.ts';

const PACKETS_PER_RULESET = 40;

it('trace() gives every packet the verdict that the kernel gives it', async () => {
  const tally = new Tally();
  await fc.assert(
    fc.asyncProperty(
      rulesetArbitrary().map(atOutput),
      fc.array(flow, { minLength: PACKETS_PER_RULESET, maxLength: PACKETS_PER_RULESET }),
      async (ruleset, flows) => {
        const verdicts = await send(ruleset, flows);
        flows.forEach((fields, i) => {
          const traced = trace(ruleset, familyOf(fields), 'output', packet(fields), 'new');
          tally.count(traced);
          const about = () =>
            `${JSON.stringify(fields)}\n${formatRuleset(ruleset)}\n${JSON.stringify(traced.hits)}`;
          if (traced.verdict !== verdicts[i]) expect.fail(`the kernel would ${verdicts[i]}: ${about()}`);
        });
      },
    ),
    { numRuns: runs(400), endOnFailure: true },
  );
  // A generator that has gone sparse proves nothing.
  expect(tally.least()).toBeGreaterThan(runs(100));
}, 300_000);

/** How often packets met what is worth meeting. */
class Tally {
  readonly #counts = { drop: 0, jump: 0, goto: 0, return: 0, element: 0, accept: 0 };

  count({ verdict, hits }: Trace): void {
    this.#counts[verdict]++;
    for (const hit of hits) {
      if (hit.element !== undefined) this.#counts.element++;
      if (hit.verdict !== undefined && !['accept', 'drop'].includes(hit.verdict.kind))
        this.#counts[hit.verdict.kind]++;
    }
  }

  least(): number {
    return Math.min(...Object.values(this.#counts));
  }
}

/**
 * All base chains at the hook that we can send through, none at the priority of another; without those of
 * translation, which stand elsewhere.
 */
function atOutput(ruleset: Ruleset): Ruleset {
  return mapTables(ruleset, ({ sets, chains }) => {
    const movable = [...chains.values()].filter(
      ({ hook }) => hook?.type !== 'nat' && hook?.hook !== 'prerouting',
    );
    const all = movable.map((chain, i): [string, Chain] => [chain.name, withPriority(chain, i)]);
    return { sets, chains: new Map(all) };
  });
}

/** Nothing leads to the first chain of a table: it can have a hook. */
function withPriority(chain: Chain, index: number): Chain {
  if (chain.hook === undefined && index > 0) return chain;
  return { ...chain, hook: { policy: 'accept', ...chain.hook, hook: 'output', priority: index } };
}

async function send(ruleset: Ruleset, flows: readonly PacketFields[]): Promise<('accept' | 'drop')[]> {
  const netns = new Netns();
  try {
    netns.exec('sh', ['-c', ROUTES]);
    const kernel = await netns.run(() => openNftKernel());
    await kernel.commit(plan(NOTHING, ruleset));
    const sockets = netns.run(() => ({ ip: new RawSocket('ip'), ip6: new RawSocket('ip6') }));
    const verdicts = flows.map(fields => sockets[familyOf(fields)].send(packet(fields), fields.to));
    for (const closable of [kernel, sockets.ip, sockets.ip6]) closable.close();
    return verdicts;
  } finally {
    netns.close();
  }
}

/** Wherever a packet goes, it leaves by a device at whose other end nobody takes it: it asks for no neighbour. */
const ROUTES = `ip link set lo up && ip link add hole arp off type veth peer name pit && ip link set hole up && ip link set pit up &&
ip -6 address add fd99::1 dev hole nodad && ip route add default dev hole && ip -6 route add default dev hole`;

function familyOf({ from }: PacketFields): Family {
  return from.includes(':') ? 'ip6' : 'ip';
}

const ADDRESSES: Readonly<Record<Family, readonly Address[]>> = {
  ip: ['10.0.0.0', '10.0.0.1', '10.0.0.3', '10.0.0.5', '10.0.1.3', '1.0.0.5', '1.1.0.3', '1.2.0.1'].map(
    address,
  ),
  ip6: ['fd00::1', 'fd00::2', 'fd00::4', 'fd00::8', 'fd01:1::5', 'fd1:1::7', 'fd1:2::3', 'fd1:3::1'].map(
    address,
  ),
};

function address(text: string): Address {
  return parseAddress(text)!;
}

const flow: fc.Arbitrary<PacketFields> = fc
  .constantFrom<Family>('ip', 'ip', 'ip6')
  .chain(family =>
    fc.record({
      from: fc.constantFrom(...ADDRESSES[family]),
      to: fc.constantFrom(...ADDRESSES[family]),
      protocol: fc.constantFrom<PacketFields['protocol'][]>('TCP', 'TCP', 'UDP', 'SCTP', 'ICMP', 47),
      port: fc.constantFrom(1, 2, 3, 4, 5, 6, 21, 22, 65535),
    }),
  )
  // Of a protocol without ports the way back is a reply, and no longer new.
  .filter(({ protocol, from, to }) => protocol !== 47 || from < to);
