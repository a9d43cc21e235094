/**
 * Renders charts with the user's own `helm`, and kustomizations with `kustomize`, or with kubectl's. All of them may be
 * a stranger's. A chart is copied without links, so that none of its files leads out of it. A kustomization may name
 * what is elsewhere, and is only built where that cannot be reached.
 */
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import type { RenderCommand } from '../../inputs/files/rendered.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { isolates, programInPath, READABLE, type RunLimits, run, withFolder } from './sandbox.ts';

export interface RenderLimits extends RunLimits {
  /** For all that is rendered. */
  readonly allSeconds: number;
  /** The most that is copied of a chart, which may have `bytes` too. */
  readonly files: number;
}

const LIMITS: RenderLimits = { seconds: 30, allSeconds: 120, bytes: 64 * 1024 * 1024, files: 4_096 };

/** More charts than these, and more kustomizations, are not rendered, and named in the notes. */
export const MOST_RENDERED = 50;

export class Renderer {
  /** Absent where there is no helm. */
  readonly chartsBy: 'helm template' | undefined;
  /** Absent where there is neither kustomize nor kubectl. */
  readonly kustomizationsBy: Exclude<RenderCommand, 'helm template'> | undefined;
  readonly #limits: RenderLimits;
  readonly #endsMs: number;

  /** Throws CommandError where there is no program that renders. */
  constructor(limits = LIMITS) {
    if (programInPath('helm')) this.chartsBy = 'helm template';
    if (programInPath('kustomize')) this.kustomizationsBy = 'kustomize build';
    else if (programInPath('kubectl')) this.kustomizationsBy = 'kubectl kustomize';
    if (!(this.chartsBy || this.kustomizationsBy))
      throw new CommandError('--render needs helm, kustomize or kubectl, and there is none in the PATH');
    this.#limits = limits;
    this.#endsMs = Date.now() + limits.allSeconds * 1000;
  }

  /** The manifests of a chart; throws an Error of one sentence where it cannot be rendered within the limits. */
  renderChart(chart: string): Promise<string> {
    const render = async (folder: string) => {
      const { files, bytes } = this.#limits;
      await copyFiles(chart, join(folder, 'chart'), { files, bytes });
      return run(folder, programInPath('helm')!, ['template', releaseName(chart), './chart'], this.#left());
    };
    return withFolder(render).catch((error: Error) => {
      throw new Error(error.message.split('\n')[0]);
    });
  }

  /** The same of a kustomization below `root`, which reads nothing outside of that, or of the git repository that it is in. */
  async renderKustomization(kustomization: string, root: string): Promise<string> {
    if (!isolates())
      throw new Error('users have no namespaces here, and without them it could read and fetch anything');
    const [name, ...words] = this.kustomizationsBy!.split(' ');
    const readable = repositoryOf(root);
    const place = join(READABLE, relative(readable, kustomization));
    const build = (folder: string) =>
      run(folder, programInPath(name!)!, [...words, place], this.#left(), readable);
    return withFolder(build).catch((error: Error) => {
      throw new Error(reasonOf(error.message.replaceAll(READABLE, relative('.', readable) || '.')));
    });
  }

  #left(): RunLimits {
    const { seconds, allSeconds, bytes } = this.#limits;
    const left = (this.#endsMs - Date.now()) / 1000;
    if (left <= 0) throw new Error(`all that is rendered takes more than ${allSeconds} seconds`);
    return { seconds: Math.min(seconds, Math.ceil(left)), bytes };
  }
}

/** The folder with `.git` that it is in, as overlays have their base beside them; else itself. */
function repositoryOf(root: string): string {
  for (let folder = resolve(root); ; folder = dirname(folder)) {
    if (existsSync(join(folder, '.git'))) return folder;
    if (folder === dirname(folder)) return resolve(root);
  }
}

/** Kustomize says at the end of long lines what it failed at, and a crashed program at their beginning. */
function reasonOf(text: string): string {
  if (!text.startsWith('Error:')) return text.split('\n')[0]!;
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length <= 2 * HALF ? line : `${line.slice(0, HALF)} … ${line.slice(-HALF)}`;
}

const HALF = 150;

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
