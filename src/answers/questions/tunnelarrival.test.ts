/** N75: what a node sends to a pod of another node is judged by the address with which it arrives. */
import { expect, test } from 'vitest';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import { type NodeLinks, withNodeLinks } from '../../model/cluster.ts';
import { diffOf } from '../reach/diff/diffview.ts';
import { matrixViewOf } from '../reach/view.ts';
import { answer } from './answer.ts';
import { fixOf } from './explanation.ts';

const node = (n: number, annotations = '') =>
  `{ apiVersion: v1, kind: Node, metadata: { name: node${n}, annotations: { ${annotations} } }, spec: { podCIDRs: [10.244.${n}.0/24, 'fd24:${n}::/64'] }, status: { addresses: [{ type: InternalIP, address: 172.18.0.${n} }, { type: InternalIP, address: 'fd18::${n}' }] } }`;
const flannel = (n: number) =>
  node(
    n,
    `flannel.alpha.coreos.com/backend-type: vxlan, flannel.alpha.coreos.com/backend-data: '{"VNI":1}', flannel.alpha.coreos.com/public-ip: 172.18.0.${n}`,
  );
const POD =
  "{ apiVersion: v1, kind: Pod, metadata: { name: web, namespace: shop, labels: { app: web } }, spec: { nodeName: node1, containers: [{ name: c }] }, status: { podIPs: [{ ip: 10.244.1.5 }, { ip: 'fd24:1::5' }] } }";
const lettingIn = (cidr: string) =>
  `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: hook, namespace: shop }, spec: { podSelector: {}, policyTypes: [Ingress], ingress: [{ from: [{ ipBlock: { cidr: ${cidr} } }] }] } }`;

const view = (...objects: string[]) => clusterView([POD, ...objects].join('\n---\n'));
const NOTE = 'node node2 (172.18.0.2), which arrives as 10.244.2.0 over flannel.1 at pods of other nodes';

test.each([
  ['the address of the node', '172.18.0.2/32', 'allow'],
  ['that of its tunnel', '10.244.2.0/32', 'allow'],
  ['another', '172.18.0.3/32', 'deny'],
] as const)('a node with a tunnel where a block has %s', (_, cidr, verdict) => {
  const known = view(flannel(1), flannel(2), lettingIn(cidr));
  const found = answer(known, { from: 'node/node2', to: 'shop/web@4:8443' });
  expect([found.verdict, found.notes]).toEqual([verdict, [NOTE]]);
  expect(found.cases.map(({ flow, viaNode }) => [flow.from, viaNode])).toEqual([
    ['172.18.0.2', '10.244.2.0'],
  ]);
  expect(answer(known, { from: '10.244.2.0', to: 'shop/web:8443' }).verdict).toBe(verdict);
  expect(answer(known, { from: '172.18.0.2', to: 'shop/web:8443' }).notes).toEqual([
    '172.18.0.2, which arrives as 10.244.2.0 over flannel.1 at pods of other nodes',
  ]);
});

test('the fix for a node is one policy with its addresses of both families, and opens nothing else', () => {
  const closed =
    '{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: closed, namespace: shop }, spec: { podSelector: {}, policyTypes: [Ingress] } }';
  const known = view(flannel(1), flannel(2), closed);
  const fix = fixOf(answer(known, { from: 'node/node2', to: 'shop/web:8443' }), known);
  expect(fix).toMatchObject({
    flips: [],
    objects: [
      {
        metadata: { name: 'allow-node2-to-web-8443' },
        spec: {
          ingress: [{ from: [{ ipBlock: { cidr: '172.18.0.2/32' } }, { ipBlock: { cidr: 'fd18::2/128' } }] }],
        },
      },
    ],
  });
});

test('a tunnel address that two nodes claim is nobody’s to policy, and what they send has it all the same', () => {
  const twin = flannel(2).replace('name: node2', 'name: twin').replaceAll('172.18.0.2', '172.18.0.9');
  const known = view(flannel(1), flannel(2), twin, lettingIn('172.18.0.0/24'));
  const found = answer(known, { from: 'node/node2', to: 'shop/web@4:8443' });
  expect([found.verdict, found.notes]).toEqual([
    'deny',
    [`${NOTE}; policy takes 10.244.2.0 to be no node's, because node2, twin claim it`],
  ]);
  expect(answer(known, { from: 'node/node2', to: 'shop/web@6:8443' }).verdict).toBe('deny');
  const admitted = view(flannel(1), flannel(2), twin, lettingIn('10.244.2.0/32'));
  expect(answer(admitted, { from: 'node/twin', to: 'shop/web@4:8443' }).verdict).toBe('allow');
});

test('neither is it the node’s where a pod of another node reports it, and a pod of its own node has it', () => {
  const pod = (node: string) =>
    POD.replace('name: web', 'name: liar')
      .replace('app: web', 'app: liar')
      .replace('node1', node)
      .replace('10.244.1.5', '10.244.2.0')
      .replace('fd24:1::5', 'fd24:7::5');
  const ask = (...objects: string[]) => {
    const known = view(flannel(1), flannel(2), node(3), ...objects, lettingIn('172.18.0.0/24'));
    const { verdict, notes } = answer(known, { from: 'node/node2', to: 'shop/web@4:8443' });
    return [verdict, ...notes];
  };
  const claimed = `${NOTE}; policy takes 10.244.2.0 to be no node's, because node2, pod shop/liar on node3 claim it`;
  expect(ask(pod('node3'))).toEqual(['deny', claimed]);
  expect(ask(pod('node2'))).toEqual(['allow']);
});

test('whether a node has a tunnel on the port that its pod sends to is undecided, unless an agent saw its links', () => {
  const client = POD.replace('name: web', 'name: client').replaceAll('1.5', '1.6').replaceAll('::5', '::6');
  const ask = (nodes: string[], to: string, links?: NodeLinks) => {
    const known = view(client, ...nodes);
    const cluster = links === undefined ? known.cluster : withNodeLinks(known.cluster, 'node1', links);
    const { verdict, reason } = answer({ ...known, cluster }, { from: 'shop/client', to });
    return [verdict, ...(verdict === 'undecided' ? [reason] : [])];
  };
  const why =
    'if node node1 has a tunnel of its own on UDP 8472, it denies what its pods send there, out of the pod networks; only its agent knows';
  const links = { uplinks: [], podBridges: [] };
  expect(ask([flannel(1)], '198.51.100.1:8472/UDP')).toEqual(['undecided', why]);
  expect(ask([flannel(1)], '198.51.100.1:8473/UDP')).toEqual(['allow']);
  expect(ask([flannel(1)], '198.51.100.1:8472/TCP')).toEqual(['allow']);
  expect(ask([flannel(1)], 'shop/web@4:8472/UDP')).toEqual(['allow']);
  expect(ask([flannel(1)], '172.18.0.1:8472/UDP')).toEqual(['deny']);
  expect(ask([node(1)], '198.51.100.1:8472/UDP')).toEqual(['allow']);
  expect(ask([flannel(1)], '198.51.100.1:8472/UDP', links)).toEqual(['allow']);
  const tunnels = { ports: [8472], protocols: [] };
  expect(ask([flannel(1)], '198.51.100.1:8472/UDP', { ...links, tunnels })).toEqual(['deny']);
});

test('a matrix and a comparison have a note where that is undecided', () => {
  const open = lettingIn('10.0.0.0/8')
    .replace('[Ingress], ingress:', '[Egress], egress:')
    .replace('from: [{ ipBlock: { cidr: 10.0.0.0/8 } }]', 'ports: [{ protocol: UDP, port: 8472 }]');
  const other = open.replace('8472', '8473');
  const note = expect.stringMatching(
    /^what pods send out of the pod networks on UDP 8472 is .*, and only its agent knows \(node1\)$/,
  );
  const notes = (...objects: string[]) => matrixViewOf(view(...objects), 'allow').notes;
  expect(notes(flannel(1), flannel(2), open)).toEqual([note]);
  expect(notes(flannel(1), flannel(2))).toEqual([
    expect.stringMatching(/ on UDP 4789,.*; protocols 4,41,47 is taken /),
  ]);
  expect(notes(flannel(1), other)).toEqual([]);
  expect(notes(node(1), flannel(2), open)).toEqual([]);
  const { cluster, inventory } = view(flannel(1), open);
  const seen = withNodeLinks(cluster, 'node1', { uplinks: [], podBridges: [] });
  expect(matrixViewOf({ cluster: seen, inventory }, 'allow').notes).toEqual([]);
  const compared = (...objects: string[]) => diffOf(view(flannel(1)), view(...objects), 'allow').notes;
  expect(compared(flannel(1), other)).toEqual([expect.stringMatching(/ on UDP 4789,.* \(node1\)$/)]);
  expect(diffOf(view(flannel(1), other), view(flannel(1), open), 'allow').notes).toEqual([note]);
  expect(compared(flannel(1))).toEqual([]);
});

test('a denial names the node, and the fix has its own address', () => {
  const known = view(flannel(1), flannel(2), lettingIn('172.18.0.3/32'));
  const found = answer(known, { from: 'node/node2', to: 'shop/web@4:8443' });
  expect(found.reason).toContain('allows ingress from node node2 (10.244.2.0) on TCP 8443');
  expect(JSON.stringify(fixOf(found, known))).toContain('172.18.0.2/32');
});

test('its own pods, other families, and nodes without a tunnel see the address of the status', () => {
  const known = view(flannel(1), flannel(2), node(3), lettingIn('192.0.2.0/24'));
  const arrives = (from: string, to: string) => {
    const { cases, notes } = answer(known, { from, to });
    return [...cases.map(({ viaNode }) => viaNode), ...notes];
  };
  expect(arrives('node/node1', 'shop/web@4:8443')).toEqual([undefined]);
  expect(arrives('node/node2', 'shop/web@6:8443')).toEqual([undefined]);
  expect(arrives('node/node3', 'shop/web@4:8443')).toEqual([undefined]);
});

test('an address of a pod that another Node lists as well is named with both', () => {
  const liar = node(3).replace('172.18.0.3', '10.244.1.5');
  const ask = (from: string, ...nodes: string[]) =>
    answer(view(node(1), node(2), ...nodes), { from, to: 'shop/web@4:80' }).notes;
  const note =
    '10.244.1.5 is the address of pod shop/web, and node node3 lists it in its status: rules for the node mean it, too';
  expect(ask('203.0.113.5', liar)).toEqual([note]);
  expect(ask('203.0.113.5', node(3))).toEqual([]);
  // N43: it is not the node's for that.
  const own = node(2).replace('172.18.0.2', '10.244.1.5');
  const near = POD.replace('name: web', 'name: near')
    .replace('node1', 'node2')
    .replaceAll('1.5', '2.5')
    .replace('1::5', '2::5');
  const { verdict, notes } = answer(view(node(1), own, near, lettingIn('192.0.2.0/24')), {
    from: 'shop/web',
    to: 'shop/near@4:80',
  });
  expect([verdict, notes]).toEqual(['deny', [note.replace('node3', 'node2')]]);
});
