/**
 * What a pod wraps does not come out of an overlay, whichever address of a node it is sent to (N72). The sender's node and
 * the receiver's each keep it from there, so that each is tried without the other.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { address } from '../../../bench/lab/topology.ts';
import { type Address, FAMILIES, type Family } from '../../../src/model/address.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { evaluator } from '../../../src/semantics/evaluate.ts';
import { transportOf, withTransport } from './craft.ts';
import {
  ENDS,
  type End,
  endOf,
  frameOf,
  innerDatagram,
  OverlayGround,
  type PodName,
  tunnelMac,
  vxlan,
} from './overlayground.ts';

let ground: OverlayGround;

beforeAll(async () => {
  ground = await OverlayGround.build();
});

afterAll(() => ground?.remove());

interface Try {
  readonly node: 1 | 2;
  readonly end: End;
  readonly outer: Family;
  readonly inner: Family;
}

const nodes = [1, 2] as const;
const TRIES: readonly Try[] = nodes.flatMap(node =>
  ENDS.flatMap(end => FAMILIES.flatMap(outer => FAMILIES.map(inner => ({ node, end, outer, inner })))),
);

/** The isolated pod of the node. */
const victimOf = (node: 1 | 2): PodName => (node === 1 ? 'near' : 'far');

/** A tunnel takes what is for its own hardware address: of that family on which it listens. */
function wrapped({ node, outer, inner }: Try): Uint8Array {
  return vxlan(frameOf(innerDatagram(victimOf(node), inner), tunnelMac(node, outer)));
}

function arrives(each: Try): Promise<boolean> {
  const inner = innerDatagram(victimOf(each.node), each.inner);
  const to = endOf(each.node, each.end)[each.outer];
  return ground.hears(victimOf(each.node), inner, () => ground.sendUdp(to, 8472, wrapped(each)));
}

/** From a port of a tunnel to that of the overlay, without a checksum, as tunnels send it. */
function datagram(from: Address, to: Address, content: Uint8Array): Uint8Array {
  const plain = packet({ from, to, protocol: 'UDP', port: PORT });
  const transport = Buffer.concat([transportOf(plain).subarray(0, 8), content]);
  transport.writeUInt16BE(transport.length, 4);
  transport.writeUInt16BE(0, 6);
  return withTransport(plain, transport);
}

async function heard(tries: readonly Try[]): Promise<string[]> {
  const found: string[] = [];
  for (const each of tries) if (await arrives(each)) found.push(nameOf(each));
  return found;
}

const nameOf = ({ node, end, outer, inner }: Try) => `n${node} ${end} ${outer} ${inner}`;

test('without rules all of it is heard', async () => {
  await ground.enforce([]);
  expect(await heard(TRIES)).toEqual(TRIES.map(nameOf));
});

test('with the rules of both nodes nothing is heard', async () => {
  await ground.enforce(['n1', 'n2']);
  expect(await heard(TRIES)).toEqual([]);
});

test('the rules of the sender’s node are enough', async () => {
  await ground.enforce(['n1']);
  expect(await heard(TRIES)).toEqual([]);
});

test('the rules of the receiver’s node are enough', async () => {
  await ground.enforce(['n2']);
  expect(await heard(TRIES.filter(({ node }) => node === 2))).toEqual([]);
});

const [SERVICE, PORT] = [{ ip: address('10.96.7.7'), ip6: address('fd96::77') }, 8472];

/** Its endpoint is what a tenant wrote: EndpointSlices name any address but loopback and the link's. */
const serviceTo = (target: Record<Family, Address>, service = SERVICE, port = 80) =>
  FAMILIES.map(family => {
    const to = family === 'ip' ? `${target.ip}:${PORT}` : `[${target.ip6}]:${PORT}`;
    return `table ${family} proxy {
      chain services { type nat hook prerouting priority dstnat; ${family} daddr ${service[family]} udp dport ${port} dnat to ${to}; }
    }`;
  }).join('\n');

test('nor by a Service whose endpoints are the end of a tunnel', async () => {
  const far = (family: Family): Try => ({ node: 2, end: 'status', outer: family, inner: family });
  for (const end of ENDS) {
    ground.nft('n1', serviceTo(endOf(2, end)));
    for (const [nodes, isHeard] of [
      [[], true],
      [['n1'], false],
      [['n2'], false],
    ] as const) {
      await ground.enforce(nodes);
      for (const family of FAMILIES) {
        const inner = innerDatagram('far', family);
        const act = () => ground.sendUdp(SERVICE[family], 80, wrapped(far(family)));
        expect(await ground.hears('far', inner, act), `${end} ${family} ${nodes}`).toBe(isHeard);
      }
    }
    for (const family of FAMILIES) ground.exec('n1', 'nft', 'delete', 'table', family, 'proxy');
  }
});

const MASQUERADE = FAMILIES.map(
  family => `table ${family} hide {
    chain out { type nat hook postrouting priority srcnat; oifname "eth0" udp dport != ${PORT} masquerade; ct status dnat masquerade; }
  }`,
).join('\n');

test('nor by a port of another node, to which the pod has the address of its own node', async () => {
  const node2 = endOf(2, 'status');
  for (const node of ['n1', 'n2'] as const) ground.nft(node, MASQUERADE);
  for (const [node, end] of nodes.flatMap(node => ENDS.map(end => [node, end] as const))) {
    ground.nft('n2', serviceTo(endOf(node, end), node2, 30_000));
    for (const [ruled, isHeard] of [
      [[], true],
      [['n2'], false],
      [['n1', 'n2'], false],
    ] as const) {
      await ground.enforce(ruled);
      for (const family of FAMILIES) {
        const [victim, inner] = [victimOf(node), innerDatagram(victimOf(node), family)];
        const each: Try = { node, end, outer: family, inner: family };
        const act = () => ground.sendUdp(node2[family], 30_000, wrapped(each));
        expect(await ground.hears(victim, inner, act), `${nameOf(each)}, rules of ${ruled}`).toBe(isHeard);
      }
    }
    for (const family of FAMILIES) ground.exec('n2', 'nft', 'delete', 'table', family, 'proxy');
  }
  for (const node of ['n1', 'n2'] as const)
    for (const family of FAMILIES) ground.exec(node, 'nft', 'delete', 'table', family, 'hide');
});

/** What `masquerade fully-random` does with one of 64,512 connections. */
const masqueradeTo = (port: number) =>
  FAMILIES.map(family => {
    const pods = `${endOf(1, 'flannel')[family]}/${family === 'ip' ? 24 : 64}`;
    return `table ${family} hide {
      chain out { type nat hook postrouting priority srcnat; oifname "eth0" ${family} saddr ${pods} meta l4proto udp masquerade to :${port}; }
    }`;
  }).join('\n');

test('what a tunnel sends to a node reaches no pod that masquerading has given the port of that tunnel', async () => {
  let remote = 40_000;
  for (const [ruled, port, isHeard] of [
    [[], PORT, false],
    [['n1'], PORT, true],
    [['n1'], PORT + 1, true],
  ] as const) {
    ground.nft('n1', masqueradeTo(port));
    await ground.enforce(ruled);
    for (const family of FAMILIES) {
      ground.sendUdp(endOf(2, 'status')[family], ++remote, Buffer.from('hello'));
      const bytes = wrapped({ node: 1, end: 'status', outer: family, inner: family });
      const act = () => ground.sendFromOtherNode(remote, endOf(1, 'status')[family], PORT, bytes);
      const what = `${family}, port ${port}, rules of ${ruled}`;
      expect(await ground.hears('near', innerDatagram('near', family), act), what).toBe(isHeard);
    }
    for (const family of FAMILIES) ground.exec('n1', 'nft', 'delete', 'table', family, 'hide');
  }
});

test('nor into a tunnel whose port somebody chose', async () => {
  for (const node of [1, 2] as const) {
    ground.exec(
      `n${node}`,
      'ip',
      ...'link add vxlan9 address 0a:00:00:00:09:01 type vxlan id 9 dstport 9999'.split(' '),
    );
    ground.exec(`n${node}`, 'ip', 'link', 'set', 'vxlan9', 'up');
  }
  const inner = innerDatagram('far', 'ip');
  const frame = vxlan(frameOf(inner, '0a:00:00:00:09:01'), 9);
  for (const end of ENDS) {
    const hears = () => ground.hears('far', inner, () => ground.sendUdp(endOf(2, end).ip, 9999, frame));
    await ground.enforce([]);
    expect(await hears(), end).toBe(true);
    await ground.enforce(['n1']);
    expect(await hears(), `${end}, the rules of n1`).toBe(false);
    await ground.enforce(['n2']);
    expect(await hears(), `${end}, the rules of n2`).toBe(false);
  }
  for (const node of [1, 2] as const) ground.exec(`n${node}`, 'ip', 'link', 'del', 'vxlan9');
});

test('nor wrapped twice', async () => {
  await ground.enforce(['n1', 'n2']);
  const inner = innerDatagram('far', 'ip');
  const once = wrapped({ node: 2, end: 'flannel', outer: 'ip', inner: 'ip' });
  for (const end of ENDS) {
    const between = datagram(address('172.18.0.11'), endOf(2, end).ip, once);
    const twice = vxlan(frameOf(between, tunnelMac(2, 'ip')));
    for (const to of ENDS)
      expect(
        await ground.hears('far', inner, () => ground.sendUdp(endOf(2, to).ip, PORT, twice)),
        `${to}, ${end}`,
      ).toBe(false);
  }
});

test('pods that may speak to one another do so on the ports of tunnels too, and with a server outside by GRE', async () => {
  const evaluated = await ground.enforce(['n1', 'n2']);
  const evaluate = evaluator(evaluated.get('n1')!);
  const attacker = address('10.244.1.11');
  const flows = [
    [{ from: attacker, to: address('10.244.2.13'), protocol: 'UDP', port: PORT }, 'allow'],
    [{ from: attacker, to: address('203.0.113.7'), protocol: 47 }, 'allow'],
    [{ from: attacker, to: address('203.0.113.7'), protocol: 'UDP', port: PORT }, 'deny'],
    [{ from: attacker, to: endOf(2, 'cni0').ip, protocol: 'UDP', port: PORT }, 'deny'],
    [{ from: attacker, to: endOf(2, 'cni0').ip, protocol: 'UDP', port: 53 }, 'allow'],
  ] as const;
  for (const [flow, verdict] of flows) expect(evaluate(flow).verdict, JSON.stringify(flow)).toBe(verdict);
  const [open] = [address('10.244.2.13')];
  for (const port of [PORT, 4789, 4444]) {
    const plain = packet({ from: attacker, to: open, protocol: 'UDP', port });
    const act = () => ground.sendProtocol(open, 17, transportOf(plain));
    expect(await ground.hears('open', plain, act), `${port}`).toBe(true);
  }
});

test('where pods run overlays by a flag of the agent, nothing of it is denied', async () => {
  await ground.enforce(['n1', 'n2'], 'allow');
  expect(await heard(TRIES)).toEqual(TRIES.map(nameOf));
});
