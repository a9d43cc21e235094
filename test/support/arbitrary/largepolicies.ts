/** A small cluster, and packets that meet the first, the middle and the last of all that a large policy repeats. */
import { decodeObject } from '../../../src/inputs/kube/decode/decode.ts';
import {
  type Address,
  addressFromInt,
  cidrRange,
  familyOf,
  parseAddress,
} from '../../../src/model/address.ts';
import { ClusterState } from '../../../src/model/cluster.ts';
import type { Flow } from '../../../src/model/flow.ts';
import type { Policy, PortMatch, Protocol } from '../../../src/model/policy.ts';

export const NODE = 'n1';
const PODS = 12;

/** Pods of both families with the labels `app=a0` and on, one of them on this node, and every object given. */
export function clusterWith(objects: readonly object[]): ClusterState {
  const cluster = new ClusterState();
  for (const object of [node('n1', 1), node('n2', 2), namespace('shop'), ...pods(), ...objects]) {
    const { event } = decodeObject(object);
    cluster.apply(event!);
  }
  return cluster;
}

function pods(): object[] {
  return Array.from({ length: PODS }, (_, i) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `p${i}`, namespace: 'shop', labels: { app: `a${i}` } },
    spec: {
      nodeName: i === 0 ? 'n1' : 'n2',
      containers: [
        {
          name: 'c',
          ports: [
            { name: 'web', containerPort: 8080 },
            { name: `n${i}`, containerPort: 99 },
          ],
        },
      ],
    },
    status: { podIPs: [{ ip: `10.200.0.${i + 1}` }, { ip: `fd00:2::${i + 1}` }] },
  }));
}

function node(name: string, host: number): object {
  const addresses = [{ type: 'InternalIP', address: `172.18.0.${host}` }];
  return { apiVersion: 'v1', kind: 'Node', metadata: { name }, status: { addresses } };
}

function namespace(name: string): object {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: {} } };
}

/** Flows from or to the pod of this node, in the directions of the policy. */
export function flowsAt(policy: Policy): Flow[] {
  const own = { ip: address('10.200.0.1'), ip6: address('fd00:2::1') };
  const peers = [...new Set([...EVERYBODY, ...telling(policy, addressesOf)])];
  const ports = [...new Set(['TCP 80', 'UDP 53', 'TCP 8080', 'TCP 99', ...telling(policy, portsOf)])];
  return peers.flatMap(peer =>
    ports.map((text): Flow => {
      const [protocol, port] = text.split(' ') as [Protocol, string];
      const ends = policy.egress
        ? { from: own[familyOf(peer)], to: peer }
        : { from: peer, to: own[familyOf(peer)] };
      return { ...ends, protocol, port: Number(port) };
    }),
  );
}

const EVERYBODY = [
  ...Array.from({ length: PODS - 1 }, (_, i) => [`10.200.0.${i + 2}`, `fd00:2::${i + 2}`]).flat(),
  '192.0.2.1',
  '10.0.0.1',
].map(address);

/** A sample of the repeated parts of a policy: first, middle and last. */
function telling<T>(policy: Policy, of: (rule: NonNullable<Policy['ingress']>[number]) => readonly T[]): T[] {
  const rules = policy.ingress ?? policy.egress ?? [];
  return ends(rules).flatMap(rule => ends(of(rule)));
}

function ends<T>(values: readonly T[]): T[] {
  const { length } = values;
  return [0, 1, length >> 1, length - 1].filter(at => at < length && at >= 0).map(at => values[at]!);
}

function addressesOf({
  peers,
}: {
  readonly peers: 'any' | Policy['ingress'] | readonly unknown[];
}): Address[] {
  if (peers === 'any') return [];
  return ends(peers as readonly { kind: string }[]).flatMap(peer => {
    if (!('cidr' in peer)) return [];
    const { cidr, except } = peer as unknown as {
      cidr: Parameters<typeof cidrRange>[0];
      except: (typeof cidr)[];
    };
    return [cidr, ...ends(except)].flatMap(network => {
      const { family, first, last } = cidrRange(network);
      return [first, last, first - 1n, last + 1n].map(value => addressFromInt(family, value));
    });
  });
}

function portsOf({ ports }: { readonly ports: 'any' | readonly PortMatch[] }): string[] {
  if (ports === 'any') return [];
  return ends(ports).flatMap(port => {
    if (port.kind !== 'range') return [];
    const around = [port.first - 1, port.first, port.last, port.last + 1];
    return around.filter(at => at > 0 && at < 65_536).map(at => `${port.protocol} ${at}`);
  });
}

function address(text: string): Address {
  return parseAddress(text)!;
}
