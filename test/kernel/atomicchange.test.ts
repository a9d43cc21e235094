/**
 * A packet sees the old policy or the new, never a mix. While policy flips between two states, of which one lets
 * the flow A pass and not B, and the other B and not A, packets of A and B are sent in turn, over both families.
 * Each packet, by having arrived or not, says which state it was judged by. In the order of sending, what they
 * say may change no more often than there were flips: a moment in which both pass or neither does would show as
 * two packets side by side that contradict each other again and again.
 */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Lab } from '../../bench/lab/lab.ts';
import { Agent } from '../../src/agent/agent.ts';
import { Incremental } from '../../src/compiler/live/incremental.ts';
import { type Cidr, parseCidr } from '../../src/model/address.ts';
import type { ClusterEvent } from '../../src/model/cluster.ts';
import type { Peer, Policy } from '../../src/model/policy.ts';
import type { LabelSelector, Labels, PodSelector } from '../../src/model/selector.ts';
import { hasted } from '../support/agent/hasted.ts';
import { type ProbedFlow, Prober, type Trail } from '../support/packets/prober.ts';
import { buildSite, HOSTS, NODE, openIn, podEvent, siteEvents } from '../support/packets/site.ts';
import { until } from '../support/until.ts';

const FLIPS = 60;
const HASTE = 100;

let lab: Lab;
let prober: Prober | undefined;

beforeAll(async () => {
  lab = await buildSite('flip');
});

afterEach(() => prober?.kill());

afterAll(() => lab?.remove());

const PORT = 2222;
const labelled = (labels: Labels): LabelSelector => ({
  requirements: Object.entries(labels).map(([key, value]) => ({ key, operator: 'In', values: [value] })),
});
const pods = (selector: LabelSelector): PodSelector => ({
  namespaces: { kind: 'name', name: 'probe' },
  pods: selector,
});

interface Opening {
  readonly subject?: LabelSelector;
  readonly peers?: 'any' | readonly Peer[];
  readonly port?: number;
  /** Further ports, as first and last. */
  readonly ranges?: readonly (readonly [number, number])[];
}

/** t is open to that, and to nothing else. */
function opens(
  name: string,
  { subject = labelled({ name: 't' }), peers = 'any', port = PORT, ranges = [] }: Opening,
): ClusterEvent {
  const ports = [[port, port] as const, ...ranges].map(
    ([first, last]) => ({ kind: 'range', protocol: 'UDP', first, last }) as const,
  );
  const value: Policy = {
    id: `NetworkPolicy probe/${name}`,
    kind: 'NetworkPolicy',
    name: `probe/${name}`,
    tier: 'networkpolicy',
    order: 0,
    subject: pods(subject),
    ingress: [{ path: 'ingress[0]', action: 'accept', peers, ports }],
  };
  return { type: 'policy', key: value.id, value };
}

const fromPods = (labels: Labels): Peer => ({ kind: 'pods', selector: pods(labelled(labels)) });

const network = (cidr: Cidr): Peer => ({ kind: 'network', cidr, except: [] });

/** More than fit into rules: an interval set, which is replaced whole. */
const fromNetworks = (...addresses: readonly string[]): Peer[] => [
  ...addresses.map(one => network(parseCidr(`${one}/${one.includes(':') ? 128 : 32}`)!)),
  ...Array.from({ length: 200 }, (_, n) => network(parseCidr(`192.0.${n}.0/31`)!)),
  ...Array.from({ length: 200 }, (_, n) => network(parseCidr(`fd01::${n.toString(16)}:0/127`)!)),
];

/** So many that they are looked up in an interval map. */
const MANY_RANGES = Array.from({ length: 20 }, (_, n) => [3000 + 100 * n, 3080 + 100 * n] as const);

/** So many that the policy has a chain of its own. */
const MANY_PORTS = Array.from({ length: 300 }, (_, n) => [10_000 + 2 * n, 10_000 + 2 * n] as const);

const allBut = (key: string, value: string): Peer => ({
  kind: 'pods',
  selector: pods({ requirements: [{ key, operator: 'NotIn', values: [value] }] }),
});

interface Flip {
  /** What makes each of the two states out of the other. */
  readonly states: readonly [readonly ClusterEvent[], readonly ClusterEvent[]];
  /** For each family a flow that only the first state lets pass, and one that only the second does. */
  readonly flows: readonly ProbedFlow[];
}

const bothFamilies = (a: keyof typeof HOSTS, aPort: number, b: keyof typeof HOSTS, bPort: number) =>
  ([0, 1] as const).flatMap(family => [
    { from: HOSTS[a][family], to: HOSTS.t[family], port: aPort },
    { from: HOSTS[b][family], to: HOSTS.t[family], port: bPort },
  ]);

const gone = (name: string): ClusterEvent => ({ type: 'policy', key: `NetworkPolicy probe/${name}` });

const FLIPPING: Record<string, Flip> = {
  'two pods change places in a group of peers': {
    states: [
      [opens('p', { peers: [fromPods({ role: 'in' })] }), podEvent('x', { role: 'in' }), podEvent('y')],
      [podEvent('x'), podEvent('y', { role: 'in' })],
    ],
    flows: bothFamilies('x', PORT, 'y', PORT),
  },
  'a policy names another selector': {
    states: [
      [opens('p', { peers: [fromPods({ name: 'x' })] })],
      [opens('p', { peers: [fromPods({ name: 'y' })] })],
    ],
    flows: bothFamilies('x', PORT, 'y', PORT),
  },
  'a policy names another port': {
    states: [[opens('p', { port: 1111 })], [opens('p', { port: 2222 })]],
    flows: bothFamilies('x', 1111, 'x', 2222),
  },
  'hundreds of networks are replaced': {
    states: [
      [opens('p', { peers: fromNetworks(...HOSTS.x) })],
      [opens('p', { peers: fromNetworks(...HOSTS.y) })],
    ],
    flows: bothFamilies('x', PORT, 'y', PORT),
  },
  'many ranges of ports are replaced': {
    states: [
      [opens('p', { ranges: [[1000, 1200], ...MANY_RANGES], port: 1 })],
      [opens('p', { ranges: [[2200, 2400], ...MANY_RANGES], port: 1 })],
    ],
    flows: bothFamilies('x', 1111, 'x', PORT),
  },
  'ranges that were few become many': {
    states: [
      [opens('p', { ranges: [[1000, 1200]], port: 1, peers: [fromPods({ name: 'x' })] })],
      [opens('p', { ranges: [[2200, 2400], ...MANY_RANGES], port: 1, peers: [fromPods({ name: 'x' })] })],
    ],
    flows: bothFamilies('x', 1111, 'x', PORT),
  },
  'a large policy names another port': {
    states: [
      [opens('p', { ranges: MANY_PORTS, port: 1111 })],
      [opens('p', { ranges: MANY_PORTS, port: PORT })],
    ],
    flows: bothFamilies('x', 1111, 'x', PORT),
  },
  'a policy means all but another pod': {
    states: [[opens('p', { peers: [allBut('name', 'y')] })], [opens('p', { peers: [allBut('name', 'x')] })]],
    flows: bothFamilies('x', PORT, 'y', PORT),
  },
  'two pods change places among those who are not meant': {
    states: [
      [opens('p', { peers: [allBut('role', 'out')] }), podEvent('x'), podEvent('y', { role: 'out' })],
      [podEvent('x', { role: 'out' }), podEvent('y')],
    ],
    flows: bothFamilies('x', PORT, 'y', PORT),
  },
  'one policy goes and another comes': {
    states: [
      [gone('q'), opens('p', { peers: [fromPods({ name: 'x' })] })],
      [gone('p'), opens('q', { peers: [fromPods({ name: 'y' })] })],
    ],
    flows: bothFamilies('x', PORT, 'y', PORT),
  },
  'the pod moves from the subject of one policy to that of another': {
    states: [
      [
        opens('p', { subject: labelled({ side: 'p' }), peers: [fromPods({ name: 'x' })] }),
        opens('q', { subject: labelled({ side: 'q' }), peers: [fromPods({ name: 'y' })] }),
        podEvent('t', { side: 'p' }),
      ],
      [podEvent('t', { side: 'q' })],
    ],
    flows: bothFamilies('x', PORT, 'y', PORT),
  },
  'one rule becomes a hundred': {
    states: [
      [
        ...Array.from({ length: 100 }, (_, n) => gone(`q${n}`)),
        opens('p', { peers: [fromPods({ name: 'x' })] }),
      ],
      [
        ...Array.from({ length: 100 }, (_, n) =>
          opens(`q${n}`, { peers: [fromPods({ name: 'y', [`k${n}`]: 'v' })] }),
        ),
        opens('p', { peers: [fromPods({ name: 'y' })] }),
      ],
    ],
    flows: bothFamilies('x', PORT, 'y', PORT),
  },
};

test.each(Object.entries(FLIPPING))(
  'where %s, no packet sees a mix of old and new',
  async (_, { states, flows }) => {
    const stop = new AbortController();
    let committed = 0;
    const failures: string[] = [];
    const fail = (_: object, message: string) => void failures.push(message);
    const count = () => void committed++;
    const agent = new Agent({
      open: () => openIn(lab),
      engine: () => new Incremental(NODE),
      log: { debug: count, info: count, warn: fail, error: fail },
      timing: hasted(HASTE),
    });
    agent.apply([...siteEvents(), ...states[0]]);
    const running = agent.run(stop.signal);
    try {
      await until('a commit', () => committed === 1);
      prober = await Prober.start(lab, flows);
      for (let flip = 1; flip <= FLIPS; flip++) {
        await prober.more(20 + (flip % 7));
        agent.apply(states[flip % 2]!);
        await until('a commit', () => committed === flip + 1);
      }
      const said = statesSaid(await prober.stop());
      expect(said.flips, `of ${said.packets} packets`).toBeLessThanOrEqual(FLIPS);
      // It was not by luck: packets were there before and after nearly every flip.
      expect(said.flips).toBeGreaterThan(FLIPS / 2);
      expect(failures).toEqual([]);
    } finally {
      stop.abort();
      await running;
    }
  },
);

/** How often the state that packets were judged by changed from one packet to the next, in the order of sending. */
function statesSaid(trails: readonly Trail[]): { packets: number; flips: number } {
  const arrived = trails.map(arrivedOf);
  let [packets, flips] = [0, 0];
  let last: number | undefined;
  for (let n = 0; n < trails[0]!.sent; n++) {
    for (const [path, marks] of arrived.entries()) {
      const own = path % 2; // the flows of a family: one for the first state, one for the second
      const state = marks[n] === 1 ? own : 1 - own;
      if (last !== undefined && state !== last) flips++;
      last = state;
      packets++;
    }
  }
  return { packets, flips };
}

function arrivedOf({ sent, arrived }: Trail): Uint8Array {
  const marks = new Uint8Array(sent);
  for (const [first, last] of arrived) marks.fill(1, first, last + 1);
  return marks;
}
