/** Runs a composite action of GitHub's as its runner does: expressions, conditions, outputs, and `shell: bash`. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

interface Step {
  readonly name?: string;
  readonly id?: string;
  readonly uses?: string;
  readonly if?: string;
  readonly shell?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly run?: string;
}

interface Action {
  readonly inputs: Readonly<Record<string, { readonly default?: string; readonly required?: boolean }>>;
  readonly outputs: Readonly<Record<string, { readonly value: string }>>;
  readonly runs: { readonly using: string; readonly steps: readonly Step[] };
}

interface Ran {
  readonly step: string;
  readonly code: number;
  readonly output: string;
}

export interface CompositeRun {
  /** In order, until one fails. */
  readonly ran: readonly Ran[];
  readonly outputs: Readonly<Record<string, string>>;
  readonly summary: string;
}

export interface Runner {
  readonly inputs: Readonly<Record<string, string>>;
  /** `github.…` of expressions, by its whole path. */
  readonly github: Readonly<Record<string, string>>;
  readonly actionPath: string;
  /** An empty folder for what the runner keeps. */
  readonly temp: string;
  readonly workspace: string;
  readonly path: string;
}

export const readAction = (file: string): Action => parse(readFileSync(file, 'utf8'));

/** All steps that are scripts but those that are named in `without`. */
export function runComposite(action: Action, runner: Runner, without: readonly string[]): CompositeRun {
  const context = contextOf(action, runner);
  const files = { output: join(runner.temp, 'output'), summary: join(runner.temp, 'summary') };
  const ran: Ran[] = [];
  writeFileSync(files.summary, '');
  for (const step of action.runs.steps) {
    if (step.run === undefined || without.includes(step.name ?? '')) continue;
    if (step.if !== undefined && !isTrue(step.if, context)) continue;
    writeFileSync(files.output, '');
    const { code, output } = runStep(step, runner, context, files);
    ran.push({ step: step.name ?? '', code, output });
    for (const [, name, value] of readFileSync(files.output, 'utf8').matchAll(/^(\w+)=(.*)$/gm))
      context.set(`steps.${step.id}.outputs.${name}`, value!);
    if (code !== 0) break;
  }
  const outputs = Object.entries(action.outputs).map(([name, { value }]) => [name, filled(value, context)]);
  return { ran, outputs: Object.fromEntries(outputs), summary: readFileSync(files.summary, 'utf8') };
}

/** Defaults of inputs are expressions too. */
function contextOf({ inputs }: Action, runner: Runner): Map<string, string> {
  const context = new Map(Object.entries(runner.github).map(([key, value]) => [`github.${key}`, value]));
  context.set('github.action_path', runner.actionPath);
  for (const [name, { default: value = '', required = false }] of Object.entries(inputs)) {
    if (required && runner.inputs[name] === undefined) throw new Error(`the action needs ${name}`);
    context.set(`inputs.${name}`, runner.inputs[name] ?? filled(value, context));
  }
  return context;
}

/** A missing value is replaced by an empty text. */
function filled(text: string, context: ReadonlyMap<string, string>): string {
  return text.replaceAll(/\$\{\{ ([\w.]+) \}\}/g, (_, path) => context.get(path) ?? '');
}

/** `a != '' && b == 'true' && c`. */
function isTrue(condition: string, context: ReadonlyMap<string, string>): boolean {
  return condition.split(' && ').every(part => {
    const [, path, operator, value] = /^([\w.]+)(?: (==|!=) '([^']*)')?$/.exec(part) ?? [];
    if (path === undefined) throw new Error(`${part}: no condition that this runner knows`);
    const found = context.get(path) ?? '';
    if (operator === undefined) return found !== '';
    return (found === value) === (operator === '==');
  });
}

function runStep(
  { shell, env = {}, run = '' }: Step,
  runner: Runner,
  context: ReadonlyMap<string, string>,
  files: { readonly output: string; readonly summary: string },
): { code: number; output: string } {
  if (shell !== 'bash') throw new Error(`a script of a composite action needs shell: bash, not ${shell}`);
  if (run.includes('${{')) throw new Error('an expression in a script is code that an input writes');
  const script = join(runner.temp, 'step.sh');
  writeFileSync(script, run);
  const own = Object.entries(env).map(([key, value]) => [key, filled(value, context)]);
  const { status, stdout, stderr } = spawnSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', script], {
    cwd: runner.workspace,
    encoding: 'utf8',
    env: {
      PATH: runner.path,
      HOME: runner.temp,
      GITHUB_ACTION_PATH: runner.actionPath,
      GITHUB_WORKSPACE: runner.workspace,
      GITHUB_REPOSITORY: runner.github.repository ?? '',
      GITHUB_WORKFLOW: 'policies',
      GITHUB_JOB: 'compare',
      GITHUB_OUTPUT: files.output,
      GITHUB_STEP_SUMMARY: files.summary,
      RUNNER_TEMP: runner.temp,
      ...Object.fromEntries(own),
    },
  });
  return { code: status ?? -1, output: stdout + stderr };
}
