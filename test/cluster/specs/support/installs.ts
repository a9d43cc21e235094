/** The ways to install Sluice on this cluster and to take it off again, as its users have them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { ask } from './api.ts';
import { cni, command, kubectl, nodes, type Output, state, until, within } from './cluster.ts';
import { agents } from './site.ts';

const ROOT = join(import.meta.dirname, '../../../..');
const MAIN = join(ROOT, 'src/cli/main.ts');
const KUBECONFIG = join(state, 'pki/admin.conf');
export const CHART = join(ROOT, 'charts/sluice');
const ONE_FILE = join(ROOT, 'daemonset/install.yaml');
export const MANIFESTS = join(ROOT, cni === 'sluice' ? 'daemonset/overlays/pod-network' : 'daemonset');

/** helm, built by test/chart/build.sh. Never throws for an exit code. */
export function helm(...words: string[]): Promise<Output> {
  return command(helmProgram(), ...words, ...OF_HELM);
}

/** For whoever ends it before its time. */
export const spawnHelm = (...words: string[]): ChildProcess =>
  spawn(helmProgram(), [...words, ...OF_HELM], { stdio: 'ignore' });

const OF_HELM = ['--kubeconfig', KUBECONFIG, '--namespace', 'sluice'];

function helmProgram(): string {
  const program = process.env.CLUSTER_HELM;
  if (program === undefined || !existsSync(program))
    throw new Error('no CLUSTER_HELM: run this by scripts/e2e');
  return program;
}

/** With the chart's own seccomp profile on the nodes: what it does not allow, the agent does not get. */
export async function installByHelm(...more: string[]): Promise<void> {
  const profile = readFileSync(join(CHART, 'files/seccomp.json'), 'utf8');
  for (const node of nodes) {
    const write =
      'mkdir -p /var/lib/kubelet/seccomp && printf %s "$1" > /var/lib/kubelet/seccomp/sluice.json';
    await within(node, 'sh', '-c', write, 'sh', profile);
  }
  const values = ['image.pullPolicy=Never', 'seccompProfile=sluice.json', ...more];
  if (cni === 'sluice') values.push('podNetwork.mode=attach');
  await expectSuccess(helm('install', 'sluice', CHART, '--create-namespace', '--set', values.join(',')));
  await untilAgentsAreReady();
}

export const uninstallByHelm = (): Promise<Output> => helm('uninstall', 'sluice');

export const installByKustomize = (): Promise<void> => installBy('-k', MANIFESTS);
export const installByOneFile = (): Promise<void> => installBy('-f', ONE_FILE);

async function installBy(...words: string[]): Promise<void> {
  await until('an earlier namespace is gone', async () => {
    const answer = await kubectl(
      'get',
      'namespace',
      'sluice',
      '-o',
      'jsonpath={.status.phase}',
      '--ignore-not-found',
    );
    return answer === 'Terminating' ? undefined : true;
  });
  await kubectl('apply', ...words);
  await untilAgentsAreReady();
}

const CLEAN = `${nodes.length} nodes clean: ${nodes.join(', ')}`;

/** It has ended well, and said of all nodes that they are clean, in one line of its log. */
export function expectUninstalledByHelm({ code, stderr }: Output): void {
  expect(stderr.trim().split('\n')).toEqual([expect.stringContaining(CLEAN)]);
  expect(code).toBe(0);
}

export function expectClean({ code, stdout, stderr }: Output): void {
  expect(`${stdout}${stderr}`).toMatch(new RegExp(`^${CLEAN}\n`));
  expect(code).toBe(0);
}

const UNINSTALL = [MAIN, 'uninstall', '--all-nodes', '--kubeconfig', KUBECONFIG];
export const uninstallFromAllNodes = (...words: string[]): Promise<Output> =>
  command(process.execPath, ...UNINSTALL, ...words);
export const spawnUninstall = (): ChildProcess => spawn(process.execPath, UNINSTALL, { stdio: 'ignore' });

/** Of a removal that gives up: with more patience, where a busy machine has not come to what is expected of it. */
export async function removalSaying(expected: RegExp, patience = [8, 30, 60]): Promise<Output> {
  const [seconds, ...more] = patience;
  const output = await uninstallFromAllNodes(`--timeout=${seconds}`);
  return expected.test(output.stdout) || more.length === 0 ? output : removalSaying(expected, more);
}

/** What `kubectl apply -k` made and `uninstall` leaves to whoever made it. */
export const deleteManifests = (): Promise<string> =>
  kubectl('delete', '-k', MANIFESTS, '--ignore-not-found');

async function untilAgentsAreReady(): Promise<void> {
  await until('agents are there', async () => ((await agents()).size === nodes.length ? true : undefined));
  await kubectl('-n', 'sluice', 'rollout', 'status', 'daemonset/sluice', '--timeout=120s');
}

export async function untilAgentsHaveEnded(): Promise<void> {
  await until('the agents have ended', async () => ((await agents()).size === 0 ? true : undefined));
}

/** Whatever of Sluice a node still has: rules, host ports among them; interfaces; routes; files of CNI. */
export async function leftOn(node: string): Promise<readonly string[]> {
  const script = `nft list tables | grep -i sluice
    ip -o link show | grep -oE ': sl[0-9a-f]{13}'
    ip route show table all proto 115; ip -6 route show table all proto 115
    find /opt/cni/bin /etc/cni/net.d -name '*sluice*'
    true`;
  return (await within(node, 'sh', '-c', script)).split('\n').filter(line => line !== '');
}

/** Objects of Sluice at the API server, of whatever kind and namespace. */
export async function leftAtServer(): Promise<readonly string[]> {
  const label = 'labelSelector=app.kubernetes.io/name%20in%20(sluice,sluice-cleaner,sluice-removal)';
  const lists = [
    ...['pods', 'serviceaccounts'].map(kind => `/api/v1/${kind}`),
    ...['daemonsets', 'controllerrevisions'].map(kind => `/apis/apps/v1/${kind}`),
    '/apis/batch/v1/jobs',
    ...['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'].map(
      kind => `/apis/rbac.authorization.k8s.io/v1/${kind}`,
    ),
    ...['validatingadmissionpolicies', 'validatingadmissionpolicybindings'].map(
      kind => `/apis/admissionregistration.k8s.io/v1/${kind}`,
    ),
  ];
  const found = await Promise.all(lists.map(path => ask('GET', `${path}?${label}`)));
  return found.flatMap(({ kind, items }) =>
    items.map(
      ({ metadata }: { metadata: { name: string } }) => `${kind.replace(/List$/, '')} ${metadata.name}`,
    ),
  );
}

async function expectSuccess(output: Promise<Output>): Promise<void> {
  const { code, stdout, stderr } = await output;
  if (code !== 0) throw new Error(`helm: exit code ${code}: ${stderr}${stdout}`);
}
