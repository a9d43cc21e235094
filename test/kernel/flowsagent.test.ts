/** `sluice flows` of a live agent: each new connection once, denied ones among them, and what is lost is counted. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { forgetConnections } from '../../bench/lab/conntrack.ts';
import { inNamespace } from '../../bench/lab/netns.ts';
import { probe } from '../../bench/lab/probe/probe.ts';
import type { AgentClient } from '../../src/api/rpc/client.ts';
import { NewConnections } from '../../src/kernel/netlink/conntrack/newconnections.ts';
import type { Denial } from '../../src/observe/denials/denial.ts';
import type { SeenFlow } from '../../src/observe/flows/seenflow.ts';
import { AgentSite, siteObjects, sitePolicy } from '../support/packets/agentsite.ts';
import { ALLOWED_PORT, DENIED_PORT, HOSTS, NODE } from '../support/packets/site.ts';
import { sendOnce } from '../support/pods/startingpods.ts';
import { until } from '../support/until.ts';

const site = new AgentSite('flows');

beforeAll(() => {
  const ports = [{ port: ALLOWED_PORT }, { protocol: 'UDP', port: ALLOWED_PORT }];
  site.write(
    ...siteObjects(name => ({ 'job-name': `all-${name}` })),
    sitePolicy('firm', { ingress: [{ from: [{ podSelector: {} }], ports }] }),
  );
});

async function connected(): Promise<AgentClient> {
  await site.agent('--denials', '1000');
  return site.client();
}

interface Seen {
  readonly flows: SeenFlow[];
  readonly denials: Denial[];
  lost: number;
  end(): Promise<void>;
}

/** What comes from now on: the kernel tells before this is answered. */
async function following(client: AgentClient): Promise<Seen> {
  const ended = new AbortController();
  const messages = client.flows(ended.signal);
  const first = await messages.next();
  expect(first.value?.facts).toMatchObject({ isOpen: true });
  expect(first.value?.facts?.error).toBeUndefined();
  const seen: Seen = { flows: [], denials: [], lost: 0, end: async () => ended.abort() };
  const reading = (async () => {
    for await (const { flows, denials, lost, skipped } of messages) {
      seen.flows.push(...flows);
      seen.denials.push(...denials);
      seen.lost += lost + skipped;
    }
  })();
  seen.end = async () => {
    await toldAll(seen);
    ended.abort();
    await reading;
  };
  return seen;
}

/** Behind what the tests send. */
let behind = 40_000;
const isBehind = ({ port }: SeenFlow | Denial) => port !== undefined && port >= 40_000;

/** Until what is sent last is told, so that all before it has been; it is not among what was seen. */
async function toldAll(seen: Seen): Promise<void> {
  const port = behind++;
  const isThis = (one: SeenFlow | Denial) => one.port === port;
  sendOnce(site.lab, HOSTS.y[0], HOSTS.t[0], port, 'denied');
  await until('what was sent last', () => {
    // Sent again where the kernel had no room.
    if (!seen.flows.some(isThis)) sendOnce(site.lab, HOSTS.t[0], HOSTS.x[0], port, 'allowed');
    return seen.flows.some(isThis) && seen.denials.some(isThis);
  });
  for (const list of [seen.flows, seen.denials]) {
    const own = list.filter(one => !isBehind(one));
    list.splice(0, list.length, ...(own as never[]));
  }
}

test('each new connection is told of once with its names, and a denied one as a denial', async () => {
  const client = await connected();
  const seen = await following(client);
  const flows = ([0, 1] as const).flatMap(family =>
    (['TCP', 'UDP'] as const).flatMap(protocol =>
      [ALLOWED_PORT, DENIED_PORT].map(port => ({
        from: HOSTS.x[family],
        to: HOSTS.t[family],
        protocol,
        port,
      })),
    ),
  );
  forgetConnections(site.lab.nodeNamespace(NODE));
  await probe(site.lab, flows, { quietMs: 200 });
  await seen.end();
  const text = ({ from, to, protocol, port }: SeenFlow | Denial) =>
    `${from.address} ${to.address} ${protocol} ${port}`;
  const expected = (wanted: number) =>
    flows
      .filter(({ port }) => port === wanted)
      .map(({ from, to, protocol, port }) => `${from} ${to} ${protocol} ${port}`)
      .sort();
  expect(seen.flows.map(text).sort()).toEqual(expected(ALLOWED_PORT));
  expect(
    seen.denials
      .filter(({ cause }) => cause.kind === 'policy')
      .map(text)
      .sort(),
  ).toEqual(expected(DENIED_PORT));
  for (const { from, to, directions } of seen.flows) {
    expect(from).toMatchObject({ pod: 'probe/x', workload: 'Job probe/all-x' });
    expect(to).toMatchObject({ pod: 'probe/t', labels: { name: 't' } });
    expect(directions).toEqual(['egress', 'ingress']);
  }
  expect(seen.lost).toBe(0);
});

test('what was dialled is told beside who answers, and ICMP has a type', async () => {
  const client = await connected();
  const nat = `table ip flowsnat { chain pre { type nat hook prerouting priority -100;
    ip daddr 10.96.0.80 udp dport 53 dnat to ${HOSTS.t[0]}:${ALLOWED_PORT}
  }
}
`;
  const loaded = inNamespace(site.lab.nodeNamespace(NODE), () =>
    spawnSync('nft', ['-f', '-'], { input: nat }),
  );
  expect(loaded.status, String(loaded.stderr)).toBe(0);
  site.closeAfter(() =>
    inNamespace(site.lab.nodeNamespace(NODE), () => spawnSync('nft', ['delete', 'table', 'ip', 'flowsnat'])),
  );
  const seen = await following(client);
  await sent(['10.96.0.80', 53, 1, 1]);
  await probe(site.lab, [{ from: HOSTS.t[0], to: HOSTS.x[0], protocol: 'ICMP' }], { quietMs: 100 });
  await seen.end();
  expect(seen.flows.find(({ protocol }) => protocol === 'UDP')).toMatchObject({
    from: { pod: 'probe/x' },
    to: { pod: 'probe/t' },
    port: ALLOWED_PORT,
    service: { address: '10.96.0.80', port: 53 },
  });
  expect(seen.flows.find(({ protocol }) => protocol === 'ICMP')).toMatchObject({
    icmp: { type: 8, code: 0 },
  });
});

test('who is gone is told of nothing, and the kernel tells nobody', async () => {
  const client = await connected();
  await (await following(client)).end();
  await expect.poll(listeners).toBe(0);
  const [first, second] = [await following(client), await following(client)];
  expect(listeners()).toBe(1);
  await first.end();
  expect(listeners()).toBe(1);
  await probe(site.lab, [{ from: HOSTS.y[0], to: HOSTS.t[0], protocol: 'UDP', port: ALLOWED_PORT }]);
  await second.end();
  expect(second.flows).toHaveLength(1);
  expect(first.flows).toHaveLength(0);
});

test('a flood is told of or counted as lost, one by one', async () => {
  const client = await connected();
  forgetConnections(site.lab.nodeNamespace(NODE));
  const seen = await following(client);
  const count = 20_000;
  await sent([HOSTS.t[0], ALLOWED_PORT, count, count]);
  const before = tracked();
  await seen.end();
  expect(seen.flows.length + seen.lost).toBeGreaterThanOrEqual(before);
  expect(new Set(seen.flows.map(({ number }) => number)).size).toBe(seen.flows.length);
});

test('what the kernel has no room for is counted exactly', async () => {
  forgetConnections(site.lab.nodeNamespace(NODE));
  const small = inNamespace(site.lab.nodeNamespace(NODE), () => NewConnections.open(32 << 10));
  const large = inNamespace(site.lab.nodeNamespace(NODE), () => NewConnections.open(64 << 20));
  await sent([HOSTS.t[0], ALLOWED_PORT, 2_000, 2_000]);
  const counts = [small, large].map(socket => {
    let read = 0;
    socket.read(
      () => true,
      () => read++,
    );
    const { lost } = socket;
    socket.close();
    return [read, lost] as const;
  });
  const [[read, lost], [all, none]] = counts as [[number, number], [number, number]];
  expect(none).toBe(0);
  expect(lost).toBeGreaterThan(0);
  expect(read).toBeGreaterThan(0);
  expect(read + lost).toBe(all);
});

test('of a pod that the agent does not know, nothing is seen, and that is said', async () => {
  await connected();
  const main = join(import.meta.dirname, '../../dist/cli/sluice.js');
  const asked = (pod: string) => {
    const words = [main, 'flows', '--for', '1s', '--pod', pod, '--socket', site.socket];
    return spawnSync(process.execPath, words, { encoding: 'utf8' });
  };
  const nothing = '0 new connections and 0 denied ones in 1 s; 0 lost';
  expect(asked('probe/xx')).toMatchObject({
    status: 0,
    stdout: `${nothing}, and the agent knows no pod probe/xx\n`,
    stderr: '',
  });
  expect(asked('probe/x')).toMatchObject({ status: 0, stdout: `${nothing}\n` });
});

/** Sockets of the node that are told of new connections (`/proc/net/netlink`: netfilter is 12, groups a mask). */
function listeners(): number {
  const table = inNamespace(site.lab.nodeNamespace(NODE), () =>
    spawnSync('cat', ['/proc/self/net/netlink'], { encoding: 'utf8' }),
  );
  return table.stdout.split('\n').filter(line => {
    const [, protocol, , groups] = line.split(/\s+/);
    return protocol === '12' && (Number.parseInt(groups!, 16) & 1) === 1;
  }).length;
}

function tracked(): number {
  const { stdout } = inNamespace(site.lab.nodeNamespace(NODE), () =>
    spawnSync('cat', ['/proc/sys/net/netfilter/nf_conntrack_count'], { encoding: 'utf8' }),
  );
  return Number(stdout);
}

/** From `probe/x`: one datagram each from `sockets` sockets of one address, `count` in all. */
async function sent(
  what: readonly [to: string, port: number, sockets: number, count: number],
): Promise<void> {
  const sender = inNamespace(site.lab.namespaceOf(HOSTS.x[0]), () =>
    spawn(process.execPath, ['-e', SEND, ...what.map(String)], { stdio: 'inherit' }),
  );
  await once(sender, 'exit');
}

/** A source port for each, in turns of two hundred sockets. */
const SEND = `const dgram = require('node:dgram');
const [, to, port, , count] = process.argv;
let done = 0, begun = 0;
const one = () => {
  if (begun >= count) return;
  const socket = dgram.createSocket('udp4');
  const source = 2000 + begun++;
  socket.bind(source, () => socket.send('x', Number(port), to, () => { socket.close(); done++; one(); }));
};
for (let i = 0; i < 200; i++) one();`;
