/** Packets that pass whatever the policies are: replies and their errors (N38, N39), and neighbour discovery (N63). */
import { expect, test } from 'vitest';
import { type Family, parseAddress } from '../model/address.ts';
import { ClusterState, type Pod } from '../model/cluster.ts';
import { EVERYTHING } from '../model/selector.ts';
import { type PacketFields, packet } from '../nft/trace/packet.ts';
import { trace } from '../nft/trace/trace.ts';
import { compile } from './compile.ts';

const address = (text: string) => parseAddress(text)!;

const POD: Pod = {
  key: 'shop/web',
  namespace: 'shop',
  name: 'web',
  labels: {},
  node: 'n1',
  addresses: [address('10.0.0.1'), address('fd00::1')],
  hostNetwork: false,
  finished: false,
  createdAt: '',
  ports: [],
};
const TO_POD = {
  ip: { from: address('10.0.0.9'), to: address('10.0.0.1') },
  ip6: { from: address('fd00::9'), to: address('fd00::1') },
};
const FROM_POD = {
  ip: { from: address('10.0.0.1'), to: address('10.0.0.9') },
  ip6: { from: address('fd00::1'), to: address('fd00::9') },
};

/** A cluster with one pod that may neither send nor receive. */
function isolated() {
  const state = new ClusterState();
  state.apply({ type: 'pod', key: POD.key, value: POD });
  const id = 'NetworkPolicy shop/closed';
  const subject = { namespaces: { kind: 'name', name: 'shop' }, pods: EVERYTHING } as const;
  const place = { kind: 'NetworkPolicy', name: 'shop/closed', tier: 'networkpolicy', order: 0 } as const;
  state.apply({ type: 'policy', key: id, value: { id, ...place, subject, ingress: [], egress: [] } });
  return compile(state, 'n1');
}

type State = 'new' | 'established' | 'related';

const verdictOf = (hook: 'forward' | 'input', family: Family, fields: PacketFields, state: State) =>
  trace(isolated(), family, hook, packet(fields), state).verdict;

const WAYS = [
  ['forward', 'ip', TO_POD.ip],
  ['forward', 'ip6', TO_POD.ip6],
  ['forward', 'ip', FROM_POD.ip],
  ['forward', 'ip6', FROM_POD.ip6],
  ['input', 'ip', FROM_POD.ip],
  ['input', 'ip6', FROM_POD.ip6],
] as const;

test.each(WAYS)('%s of %s: an isolated pod has replies and errors, and no new connection: %j', (...way) => {
  const [hook, family, ends] = way;
  for (const flow of [{ protocol: 'TCP', port: 80 }, { protocol: 'ICMP' }] as const) {
    const of = (state: State) => verdictOf(hook, family, { ...ends, ...flow }, state);
    expect([of('new'), of('established'), of('related')]).toEqual(['drop', 'accept', 'accept']);
  }
});

test.each(WAYS.filter(([, family]) => family === 'ip6'))(
  '%s of %s: an isolated pod has neighbour discovery on its link, and no other ICMPv6: %j',
  (hook, family, ends) => {
    const of = (hops: number) => (icmpType: number) =>
      verdictOf(hook, family, { ...ends, protocol: 'ICMP', icmpType, hops }, 'new');
    expect([133, 134, 135, 136, 137].map(of(255))).toEqual(Array(5).fill('accept'));
    expect([133, 134, 135, 136, 137].map(of(254))).toEqual(Array(5).fill('drop'));
    expect([128, 132, 138].map(of(255))).toEqual(Array(3).fill('drop'));
  },
);
