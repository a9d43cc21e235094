/**
 * A copy of the tree, with a vitest that stays (vitest.ts): to start one takes longer than most tests. A test that gives no
 * answer ends that vitest, and the next test has a new one.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Place } from './places.ts';

export interface Question {
  /** The test file. */
  readonly test: string;
  /** Files that were written since the last question. */
  readonly changed: readonly string[];
}

/** Neither where all of the file has passed. */
export interface Answer {
  /** The name of the first test that failed. */
  readonly failed?: string;
  /** Why no test has failed, although not all of them passed. */
  readonly broken?: string;
}

const ROOT = join(import.meta.dirname, '../..');
const COPIED = [
  'src',
  'web',
  'scripts',
  'bench',
  'test',
  'examples',
  'docs/schema',
  'package.json',
  'tsconfig.json',
  'vitest.config.ts',
];
const LONGEST_MS = 600_000;

/** A copy of what tests read, for the faults of this tree. */
export function copyTree(folder: string): Tree {
  for (const path of COPIED) cpSync(join(ROOT, path), join(folder, path), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return new Tree(folder);
}

export class Tree {
  readonly #folder: string;
  readonly #bound: () => AbortSignal;
  readonly #changed = new Set<string>();
  #vitest: ChildProcess | undefined;

  /** `bound` says of each run when it has to be over. */
  constructor(folder: string, bound = () => AbortSignal.timeout(LONGEST_MS)) {
    this.#folder = folder;
    this.#bound = bound;
  }

  /** The name of the test that notices. */
  async plant({ file, faulty, test }: Place): Promise<string | undefined> {
    const path = join(this.#folder, file);
    const healthy = readFileSync(path, 'utf8');
    this.#write(path, faulty);
    try {
      return await this.firstFailure(test);
    } finally {
      this.#write(path, healthy);
    }
  }

  /** The name of the first test that fails, if any does. Rejects where none has failed and not all have passed. */
  async firstFailure(test: string): Promise<string | undefined> {
    this.#vitest ??= startVitest(this.#folder);
    const answer = await answerOf(this.#vitest, { test, changed: [...this.#changed] }, this.#bound());
    this.#changed.clear();
    if (answer === undefined) {
      this.end();
      throw new Error(`${test}: no answer within ${LONGEST_MS / 1000} s, or vitest has ended`);
    }
    if (answer.broken !== undefined) throw new Error(`no test ran: ${answer.broken}`);
    return answer.failed;
  }

  /** With all that it has started, which may be what hangs. */
  end(): void {
    if (this.#vitest?.pid !== undefined) process.kill(-this.#vitest.pid, 'SIGKILL');
    this.#vitest = undefined;
  }

  #write(path: string, text: string): void {
    writeFileSync(path, text);
    this.#changed.add(path);
  }
}

/** The leader of a group of processes. */
function startVitest(cwd: string): ChildProcess {
  const { SLUICE_LONG: _, SLUICE_SEED: __, ...env } = process.env;
  return spawn(process.execPath, [join(import.meta.dirname, 'vitest.ts')], {
    cwd,
    env: { ...env, SLUICE_SHRINK: '0' },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    detached: true,
  });
}

/** Undefined where it ended, or where the time was over. */
function answerOf(vitest: ChildProcess, question: Question, over: AbortSignal): Promise<Answer | undefined> {
  return new Promise(resolve => {
    const say = (answer?: Answer) => {
      vitest.removeAllListeners();
      resolve(answer);
    };
    over.addEventListener('abort', () => say());
    vitest.once('message', said => say(said as Answer)).once('exit', () => say());
    vitest.send(question);
  });
}
