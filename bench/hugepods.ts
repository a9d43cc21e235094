/**
 * The memory of a watch while the API server has 500 pods of 1.4 MB, which any tenant may make. Server and watch are
 * processes of their own: this file is the main module of both.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import http, { type ServerResponse } from 'node:http';
import { createInterface } from 'node:readline';
import { absolute, type BenchRow } from './row.ts';

const PODS = 500;
const POD_BYTES = 1_400_000;
const BUDGET_MB = 300;

export async function benchHugePods(): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const how of ['pages', 'a stream']) {
    const server = run('server', how);
    const port = await firstLine(server);
    const watch = run('watch', port);
    const megabytes = Number(await firstLine(watch));
    for (const child of [server, watch]) child.kill();
    rows.push(absolute(`memory of a watch of 500 pods of 1.4 MB, as ${how}`, 'MB', megabytes, BUDGET_MB));
  }
  return rows;
}

function run(...args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [import.meta.filename, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
}

async function firstLine(child: ChildProcess): Promise<string> {
  const [line] = (await once(createInterface(child.stdout!), 'line')) as [string];
  return line;
}

if (import.meta.main) {
  if (process.argv[2] === 'server') serve(process.argv[3] === 'a stream');
  else await watch(Number(process.argv[3]));
}

function serve(canStream: boolean): void {
  const server = http.createServer((request, response) => {
    response.on('error', () => {});
    void answer(new URL(request.url!, 'http://server'), response, canStream);
  });
  server.listen(0, '127.0.0.1', () => console.log((server.address() as { port: number }).port));
}

async function answer(
  { pathname, searchParams }: URL,
  response: ServerResponse,
  canStream: boolean,
): Promise<void> {
  const pods = pathname === '/api/v1/pods' ? PODS : 0;
  const isStream = searchParams.has('sendInitialEvents');
  if (isStream && !canStream) response.writeHead(422).end('{}');
  else if (isStream) await stream(response, pods);
  else if (searchParams.has('watch')) response.flushHeaders();
  else await page(pathname, searchParams, response, pods);
}

async function stream(response: ServerResponse, pods: number): Promise<void> {
  for (let i = 0; i < pods; i++) await write(response, `{"type":"ADDED","object":${podText(i)}}\n`);
  const annotations = { 'k8s.io/initial-events-end': 'true' };
  const object = { metadata: { resourceVersion: '5000', annotations } };
  await write(response, `${JSON.stringify({ type: 'BOOKMARK', object })}\n`);
}

const KINDS: Readonly<Record<string, string>> = {
  pods: 'Pod',
  nodes: 'Node',
  namespaces: 'Namespace',
  networkpolicies: 'NetworkPolicy',
  customresourcedefinitions: 'CustomResourceDefinition',
};

async function page(
  path: string,
  query: URLSearchParams,
  response: ServerResponse,
  pods: number,
): Promise<void> {
  const [, root, ...rest] = path.split('/');
  const apiVersion = root === 'api' ? 'v1' : rest.slice(0, -1).join('/');
  const first = Number(query.get('continue') ?? 0);
  const end = Math.min(pods, first + Number(query.get('limit')));
  const metadata = { resourceVersion: '5000', ...(end < pods && { continue: String(end) }) };
  const head = JSON.stringify({ kind: `${KINDS[rest.at(-1)!]}List`, apiVersion, metadata });
  await write(response, `${head.slice(0, -1)},"items":[`);
  for (let i = first; i < end; i++) await write(response, `${i > first ? ',' : ''}${podText(i)}`);
  response.end(']}');
}

const FILLER = 'x'.repeat(POD_BYTES);

function podText(i: number): string {
  const metadata = {
    name: `p${i}`,
    namespace: 'a',
    resourceVersion: String(1000 + i),
    labels: { app: 'web' },
  };
  const spec = { containers: [{ name: 'c', env: [{ name: 'A', value: FILLER }] }] };
  return JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata, spec, status: { phase: 'Pending' } });
}

async function write(response: ServerResponse, text: string): Promise<void> {
  if (response.write(text)) return;
  const either = new AbortController();
  const { signal } = either;
  await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]).finally(() =>
    either.abort(),
  );
}

/** Prints the most memory that it had, in MB. */
async function watch(port: number): Promise<void> {
  const { keepMemorySmall } = await import('../src/kernel/host/memory.ts');
  const { watchCluster } = await import('../src/inputs/kube/watch/source.ts');
  keepMemorySmall();
  let pods = 0;
  const listener = {
    onEvents: (events: readonly unknown[]) => {
      pods += events.length;
    },
    onProblems: () => {},
    onSource: () => {},
  };
  const { ready } = watchCluster(async () => ({ server: `http://127.0.0.1:${port}`, headers: {} }), listener);
  await ready;
  if (pods !== PODS) throw new Error(`${pods} pods came, not ${PODS}`);
  console.log(Math.round(process.resourceUsage().maxRSS / 1024));
}
