/** Alerts and dashboard, by a real Prometheus that scrapes the agent's metrics over TLS with their token. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { parse, stringify } from 'yaml';
import { StatusKeeper } from '../../src/agent/status.ts';
import { NO_NAMES } from '../../src/api/health/namescheck.ts';
import { NO_GATE } from '../../src/api/health/startchecks.ts';
import type { HttpServer } from '../../src/api/rpc/listener.ts';
import { makeMetrics } from '../../src/api/rpc/metrics.ts';
import { serveScrape } from '../../src/api/rpc/scrape.ts';
import type { AgentView } from '../../src/api/rpc/view.ts';
import { WAIT_BUCKETS_US } from '../../src/daemon/dns/messages.ts';
import type { Host } from '../../src/kernel/host/facts.ts';
import { testView } from '../support/agent/view.ts';
import { makeCertificate } from '../support/tls/certificate.ts';

const FILES = join(import.meta.dirname, '../../charts/sluice/files');
const BIN = process.env.PROMETHEUS_BIN ?? '';
const TOKEN = 'a token that nobody guesses';
const folder = mkdtempSync(join(tmpdir(), 'sluice-prometheus-'));
const at = (file: string) => join(folder, file);

let agent: HttpServer;
let prometheus: ChildProcess;
let port: number;

beforeAll(async () => {
  makeCertificate(at('tls.crt'), at('tls.key'));
  writeFileSync(at('token'), TOKEN);
  agent = await serveScrape({
    address: '127.0.0.1:0',
    tlsDir: folder,
    tokenFile: at('token'),
    metrics: metricsOf(notReady()),
    log: { error: (_, message) => console.error(message) },
  });
  port = await freePort();
  writeFileSync(at('prometheus.yaml'), stringify(configuration(agent.port)));
  const words = [
    '--config.file',
    at('prometheus.yaml'),
    '--storage.tsdb.path',
    at('data'),
    '--log.level=error',
  ];
  const listen = `--web.listen-address=127.0.0.1:${port}`;
  prometheus = spawn(join(BIN, 'prometheus'), [...words, listen], { stdio: ['ignore', 'ignore', 'inherit'] });
  await vi.waitFor(async () => expect(await ask('/-/ready')).toContain('Ready'), {
    timeout: 60_000,
    interval: 200,
  });
}, 90_000);

afterAll(async () => {
  const ended = once(prometheus, 'exit');
  prometheus.kill();
  await ended;
  await agent.close();
  rmSync(folder, { recursive: true });
});

/** An agent that has not read its cluster yet, with one check that fails. */
function notReady(): AgentView {
  const keeper = new StatusKeeper('n1');
  keeper.onProblems([
    { severity: 'warning', object: 'NetworkPolicy shop/x', message: 'is odd', effect: 'it is enforced' },
  ]);
  const view = testView({
    identity: { networkNamespace: 'net:[1]', cutsConnections: true },
    status: keeper,
    gate: { status: () => NO_GATE, counts: { inTime: 1, late: 0, withoutAddress: 0 }, takeWaits: () => [] },
    dns: {
      status: () => NO_NAMES,
      latest: async () => undefined,
      totals: () => ({ restarts: 0, waitBucketsUs: WAIT_BUCKETS_US }),
    },
    readHost: async () => ({}) as Host,
  });
  const check = { name: 'ip-forward', state: 'fail', reason: 'x', remedy: 'y' } as const;
  return { ...view, health: async () => ({ ready: false, checks: [check] }) };
}

function metricsOf(view: AgentView) {
  return makeMetrics(view);
}

/** As docs/monitoring.md has it for a Prometheus without the operator. */
function configuration(agentPort: number): object {
  const tls = { ca_file: at('tls.crt'), server_name: 'kubernetes' };
  return {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [join(FILES, 'alerts.yaml')],
    scrape_configs: [
      {
        job_name: 'sluice',
        scheme: 'https',
        tls_config: tls,
        authorization: { credentials_file: at('token') },
        static_configs: [{ targets: [`127.0.0.1:${agentPort}`], labels: { node: 'n1' } }],
      },
    ],
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise(resolve => server.close(resolve));
  return port;
}

const ask = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).text();

async function query(
  text: string,
): Promise<readonly { readonly metric: object; readonly value: [number, string] }[]> {
  const answer = JSON.parse(await ask(`/api/v1/query?query=${encodeURIComponent(text)}`));
  expect(answer, text).toMatchObject({ status: 'success' });
  return answer.data.result;
}

test('it scrapes the agent with certificate and token', async () => {
  await expect
    .poll(() => query('up{job="sluice"}'), { timeout: 30_000 })
    .toMatchObject([{ value: [expect.anything(), '1'] }]);
  expect(await query('sluice_ready')).toMatchObject([
    { metric: { node: 'n1' }, value: [expect.anything(), '0'] },
  ]);
});

test('it evaluates every alert, and those of an agent that is not ready are pending', async () => {
  interface Rule {
    readonly name: string;
    readonly health: string;
    readonly state: string;
  }
  const rules = async () => JSON.parse(await ask('/api/v1/rules')).data.groups[0].rules as Rule[];
  await expect
    .poll(async () => (await rules()).map(({ health }) => health), { timeout: 30_000 })
    .not.toContain('unknown');
  const evaluated = await rules();
  expect(evaluated.filter(({ health }) => health !== 'ok')).toEqual([]);
  await expect
    .poll(async () => (await rules()).filter(({ state }) => state !== 'inactive').map(({ name }) => name), {
      timeout: 30_000,
    })
    .toEqual(['SluiceNotReady', 'SluiceCheckFails']);
});

test('every metric that an alert or the dashboard asks for is one that the agent has', async () => {
  const dashboard = JSON.parse(readFileSync(join(FILES, 'dashboard.json'), 'utf8')) as Dashboard;
  const expressions = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  const alerts = parse(readFileSync(join(FILES, 'alerts.yaml'), 'utf8')) as Alerts;
  const asked = [...expressions, ...alerts.groups[0].rules.map(({ expr }) => expr)];
  const names = new Set(asked.flatMap(text => text.match(/\b(sluice|process)_[a-z_]+/g) ?? []));
  const has: string[] = JSON.parse(await ask('/api/v1/label/__name__/values')).data;
  expect([...names].filter(name => !has.includes(name))).toEqual([]);
  expect(names.size).toBeGreaterThan(12);
  for (const text of expressions) await query(text.replaceAll('$node', '.*'));
});

interface Dashboard {
  readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[];
}

interface Alerts {
  readonly groups: readonly [{ readonly rules: readonly { readonly expr: string }[] }];
}

test('each alert sounds where it has to, and nowhere else (promtool)', () => {
  copyFileSync(join(FILES, 'alerts.yaml'), at('alerts.yaml'));
  copyFileSync(join(import.meta.dirname, 'alerts.test.yaml'), at('alerts.test.yaml'));
  const { status, stdout, stderr } = spawnSync(
    join(BIN, 'promtool'),
    ['test', 'rules', at('alerts.test.yaml')],
    {
      encoding: 'utf8',
    },
  );
  expect(status, stdout + stderr).toBe(0);
  const tested = new Set(readFileSync(at('alerts.test.yaml'), 'utf8').match(/(?<=alertname: )\w+/g));
  const alerts = readFileSync(at('alerts.yaml'), 'utf8').match(/(?<=alert: )\w+/g);
  expect(alerts!.filter(name => !tested.has(name))).toEqual([]);
});
