/** Routes that lead nowhere: what is asked beside them is answered all the same. */
import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readNodeLinks } from '../../src/daemon/nodelinks.ts';
import { buildLab, type Lab } from '../../src/lab/lab.ts';
import { inNamespace } from '../../src/lab/netns.ts';
import { address } from '../../src/lab/topology.ts';
import type { Cluster, Pod } from '../../src/model/cluster.ts';
import { RtnetlinkSocket } from '../../src/netlink/route/rtnetlink-socket.ts';

const [ENDED, LIVING] = [address('10.7.0.1'), address('10.7.0.2')];
const NODE = 'n1';

let lab: Lab;
beforeAll(async () => {
  const nodes = [{ name: NODE, addresses: [address('172.18.0.11')] }];
  lab = await buildLab({ nodes, pods: [], outside: [] }, { prefix: `noway${process.pid}` });
  ip('link', 'add', 'pods0', 'type', 'bridge');
  ip('link', 'set', 'pods0', 'up');
  ip('route', 'add', LIVING, 'dev', 'pods0');
}, 60_000);
afterAll(() => lab?.remove());

function ip(...args: string[]): string {
  return inNamespace(lab.nodeNamespace(NODE), () => execFileSync('ip', args, { encoding: 'utf8' }));
}

const pod = (name: string, at: typeof ENDED) =>
  [
    `shop/${name}`,
    { key: `shop/${name}`, node: NODE, hostNetwork: false, finished: false, addresses: [at] },
  ] as const;

test.each(['blackhole', 'unreachable', 'prohibit'])(
  'a pod with a %s route, and one for everybody, take no bridge of others away',
  async kind => {
    ip('route', 'replace', kind, ENDED);
    ip('route', 'replace', kind, '192.0.2.0/24');
    const pods = new Map([pod('ended', ENDED), pod('living', LIVING)]) as unknown as ReadonlyMap<never, Pod>;
    const cluster = { namespaces: new Map(), nodes: new Map(), policies: new Map(), pods } as Cluster;
    const socket = inNamespace(lab.nodeNamespace(NODE), () => new RtnetlinkSocket());
    try {
      const { podBridges } = await readNodeLinks(socket, cluster, NODE);
      const [, index] = /^(\d+):/.exec(ip('link', 'show', 'pods0'))!;
      expect(podBridges).toEqual([Number(index)]);
    } finally {
      socket.close();
    }
  },
  60_000,
);
