/** Whatever a pod sends that policy denies has a name: odd, short and forged heads neither stop the naming nor mislead it. */
import { setTimeout } from 'node:timers/promises';
import { beforeAll, expect, test, vi } from 'vitest';
import { inNamespace } from '../../../bench/lab/netns.ts';
import type { DenialsFacts } from '../../../src/api/health/agentchecks.ts';
import type { AgentClient } from '../../../src/api/rpc/client.ts';
import type { Family } from '../../../src/model/address.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import type { Denial } from '../../../src/observe/denials/denial.ts';
import { AgentSite, siteObjects, sitePolicy } from '../../support/packets/agentsite.ts';
import { ALLOWED_PORT, HOSTS } from '../../support/packets/site.ts';
import { RawSocket } from '../raw-socket.ts';
import { EXTENSION, truncated, withExtensions, withTransport } from './craft.ts';

const site = new AgentSite('heads');

beforeAll(() => {
  const ports = [{ protocol: 'UDP', port: ALLOWED_PORT }];
  site.write(...siteObjects(), sitePolicy('firm', { ingress: [{ from: [{ podSelector: {} }], ports }] }));
});

const LAST = 4_242;
const PROTOCOLS = ['TCP', 'UDP', 'SCTP', 'ICMP'] as const;

/** From `probe/x` to `probe/t`. */
function* heads(family: Family): Generator<Uint8Array> {
  const at = family === 'ip' ? 0 : 1;
  const [from, to] = [HOSTS.x[at], HOSTS.t[at]];
  for (let protocol = 0; protocol < 256; protocol++) yield packet({ from, to, protocol });
  for (const protocol of PROTOCOLS) {
    const whole = packet({ from, to, protocol, ...(protocol !== 'ICMP' && { port: 0, sourcePort: 0 }) });
    yield whole;
    for (let bytes = 0; bytes < 20; bytes++) yield truncated(whole, bytes);
    for (const flags of [0, 1, 4, 0x12, 0x3f, 0xff])
      if (protocol === 'TCP') yield packet({ from, to, protocol, port: 7, tcpFlags: flags });
  }
  for (let type = 0; type < 256; type++) {
    const error = packet({ from, to, protocol: 'ICMP', icmpType: type });
    yield error;
    const about = packet({ from: to, to: HOSTS.y[at], protocol: 'TCP', port: 80 });
    yield withTransport(error, Buffer.concat([Buffer.from([type, 1, 0, 0, 0, 0, 0, 0]), about]));
  }
  if (family === 'ip') return;
  const kinds = Object.values(EXTENSION).filter(kind => kind !== EXTENSION.hopByHop);
  for (const kind of kinds) {
    const whole = packet({ from, to, protocol: 'TCP', port: 9 });
    for (const count of [1, 2, 8, 9, 14, 40]) yield withExtensions(whole, Array(count).fill(kind));
    for (let bytes = 0; bytes < 16; bytes++) yield truncated(withExtensions(whole, [kind]), bytes);
  }
}

/** IPv4 with as many options as there may be. */
function withOptions(bytes: Uint8Array): Uint8Array {
  const options = new Uint8Array(40).fill(1);
  const all = Buffer.concat([bytes.subarray(0, 20), options, bytes.subarray(20)]);
  all[0] = 0x4f;
  all.writeUInt16BE(all.length, 2);
  return all;
}

async function follow(client: AgentClient, denials: Denial[]): Promise<void> {
  for await (const { denial } of client.drops(true)) if (denial !== undefined) denials.push(denial);
}

test.each(['ip', 'ip6'] as const)(
  'over %s',
  async family => {
    const running = await site.agent('--denials', '10000', '--log-denials', 'none');
    const client = await site.client();
    const denials: Denial[] = [];
    void follow(client, denials).catch(() => undefined);
    const at = family === 'ip' ? 0 : 1;
    const [from, to] = [HOSTS.x[at], HOSTS.t[at]];
    const sender = inNamespace(site.lab.namespaceOf(from), () => new RawSocket(family));
    site.closeAfter(() => sender.close());
    let sent = 0;
    const send = (bytes: Uint8Array) => {
      try {
        sender.send(bytes, to);
        sent++;
      } catch {
        // The kernel of the pod does not send it.
      }
    };
    for (const bytes of heads(family)) {
      send(bytes);
      if (family === 'ip') send(withOptions(bytes));
      if (sent % 50 === 0) await setTimeout(20);
    }
    send(packet({ from, to, protocol: 'TCP', port: LAST }));
    await expect.poll(() => denials.some(({ port }) => port === LAST), { timeout: 60_000 }).toBe(true);
    expect(sent).toBeGreaterThan(800);
    // The kernel's counters are read now and then.
    await vi.waitFor(
      async () => {
        let facts: DenialsFacts | undefined;
        for await (const message of client.drops(false)) facts ??= message.facts;
        expect(facts).toMatchObject({ lost: 0, read: facts!.handed, denied: facts!.handed });
      },
      { timeout: 30_000, interval: 200 },
    );
    expect(running.output).not.toContain('was not named');
    // The kernels of the pods ask for routers by themselves.
    const ours = denials.filter(each => each.from.address === from && each.to.address === to);
    expect([...new Set(ours.map(textOf))].sort()).toEqual(EXPECTED[family]);
  },
  180_000,
);

const FIRM = 'probe/x policy NetworkPolicy probe/firm';
const EXPECTED = {
  ip: ['probe/x link ', FIRM],
  ip6: ['probe/x link ', FIRM, 'probe/x unexplained '],
} as const;

/** Of what nobody can explain the reason is that its headers are too long; all else is of the policy, or of the link. */
function textOf({ from, cause: { kind, policy, reason } }: Denial): string {
  if (kind === 'unexplained' && !reason.includes('its protocol and port are not known')) return reason;
  return `${from.pod} ${kind} ${policy ?? ''}`;
}
