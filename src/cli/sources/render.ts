/**
 * Renders charts with the user's own `helm`. A chart may be a stranger's: its files are copied without links, so that
 * none of them leads out of it, and helm runs on the copy in a folder that is removed, in namespaces without a network
 * and without other processes where the kernel lets users have such. Its time and what it prints have limits.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { CommandError } from '../../terminal/commanderror.ts';

export interface RenderLimits {
  readonly seconds: number;
  /** The most that is printed, and the most that is copied. */
  readonly bytes: number;
  readonly files: number;
}

const LIMITS: RenderLimits = { seconds: 30, bytes: 64 * 1024 * 1024, files: 4_096 };

/** More charts than these are not rendered, and stay in the notes. */
export const MOST_CHARTS = 50;

/** Throws CommandError where there is no helm. */
export function requireHelm(): void {
  const { error } = spawnSync('helm', ['version', '--short'], { stdio: 'ignore', timeout: 10_000 });
  if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT')
    throw new CommandError('--render needs helm, and there is none in the PATH');
}

/** The manifests of a chart; throws an Error of one sentence where it cannot be rendered within the limits. */
export async function renderChart(chart: string, limits: RenderLimits = LIMITS): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-render-'));
  try {
    const copy = join(folder, 'chart');
    await copyFiles(chart, copy, { files: limits.files, bytes: limits.bytes });
    return await helmTemplate(folder, releaseName(chart), limits);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Left {
  files: number;
  bytes: number;
}

/** Plain files and folders; links, pipes and devices are left out. */
async function copyFiles(from: string, to: string, left: Left): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    if (NOT_OF_CHART.has(entry.name)) continue;
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isFile()) left.bytes -= (await stat(source)).size;
    if (--left.files < 0 || left.bytes < 0) throw new Error('it has more files than are copied');
    if (entry.isDirectory()) await copyFiles(source, target, left);
    else if (entry.isFile()) await copyFile(source, target);
  }
}

const NOT_OF_CHART: ReadonlySet<string> = new Set(['.git', 'node_modules']);

function releaseName(chart: string): string {
  const name = basename(resolve(chart))
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 53);
  return name.replaceAll(/^-+|-+$/g, '') || 'release';
}

async function helmTemplate(folder: string, release: string, limits: RenderLimits): Promise<string> {
  const helm = ['helm', 'template', release, './chart'];
  const [program, ...words] = isolates() ? [...ISOLATED, ...helm] : helm;
  const home = Object.fromEntries(HOMES.map(name => [name, folder]));
  const child = spawn(program!, words, {
    cwd: folder,
    env: { PATH: process.env.PATH, KUBECONFIG: '/dev/null', ...home },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  return printed(child, limits);
}

const ISOLATED = [
  'unshare',
  '--user',
  '--map-root-user',
  '--net',
  '--pid',
  '--fork',
  '--kill-child=KILL',
  '--',
];
const HOMES = ['HOME', 'TMPDIR', 'HELM_CACHE_HOME', 'HELM_CONFIG_HOME', 'HELM_DATA_HOME', 'HELM_PLUGINS'];

/** Whether users may have namespaces of their own here. */
function isolates(): boolean {
  const [program, ...words] = [...ISOLATED, 'true'];
  return spawnSync(program!, words, { stdio: 'ignore', timeout: 5_000 }).status === 0;
}

/** What it prints. With its process group all that it started is killed at a limit, and when it ends. */
function printed(child: ChildProcess, { seconds, bytes }: RenderLimits): Promise<string> {
  const out: Buffer[] = [];
  let count = 0;
  let errors = '';
  let timer: NodeJS.Timeout | undefined;
  const text = new Promise<string>((done, failed) => {
    const fail = (why: string) => failed(new Error(why));
    timer = setTimeout(() => fail(`it takes more than ${seconds} seconds`), seconds * 1000);
    child.stdout!.on('data', (chunk: Buffer) => {
      count += chunk.length;
      if (count > bytes) fail(`it prints more than ${bytes / 1024 / 1024} MiB`);
      else out.push(chunk);
    });
    child.stderr!.on('data', (chunk: Buffer) => {
      if (errors.length < MOST_ERRORS) errors += chunk.toString('utf8');
    });
    child.on('error', error => fail(error.message));
    child.on('close', code => {
      if (code === 0) done(Buffer.concat(out).toString('utf8'));
      else fail(errors.trim().split('\n')[0] || `helm ended with exit code ${code}`);
    });
  });
  return text.finally(() => {
    clearTimeout(timer);
    killGroup(child);
  });
}

const MOST_ERRORS = 4_096;

function killGroup({ pid, stdout, stderr }: ChildProcess): void {
  stdout!.destroy();
  stderr!.destroy();
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended, and all of its group.
  }
}
