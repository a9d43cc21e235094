/** `sluice suggest --manifests PATH`: the policies for the connections that manifests name, without any traffic. */

import pc from 'picocolors';
import { type Guess, type GuessEnd, type Guesses, guessConnections } from '../answers/guess/guess.ts';
import { type GuessedPolicies, type GuessedPolicy, policiesFor } from '../answers/guess/policies.ts';
import { answer } from '../answers/questions/answer.ts';
import type { ClusterView } from '../answers/questions/place.ts';
import { referencesIn } from '../inputs/files/references.ts';
import type { Reference } from '../inputs/kube/decode/references.ts';
import { firstOf } from '../lib/text/firstof.ts';
import { plural } from '../lib/text/plural.ts';
import type { Policy, PolicyId } from '../model/policy.ts';
import { FlowTextError } from '../semantics/flowtext.ts';
import { PolicyIndex } from '../semantics/policyindex.ts';
import { CommandError } from '../terminal/commanderror.ts';
import { outputColumns, writeDocument, writeNote, writeUnwrapped } from '../terminal/output.ts';
import { comments } from '../terminal/wrap.ts';
import { yamlText } from '../terminal/yamltext.ts';
import { orCommandError } from './orcommanderror.ts';
import { noteStates, readState } from './sources/readstate.ts';
import {
  type Assumptions,
  clusterViewOf,
  namespacesOf,
  refuseUnknownNamespace,
  type SourceOptions,
} from './sources/state.ts';

export type GuessOptions = Pick<SourceOptions, 'manifests' | 'namespace' | 'without'> &
  Pick<Assumptions, 'apiServer'> & { readonly ingressController?: readonly string[] };

/** Exit code 0: all that was guessed is allowed; 1: other policies of the manifests deny some; 2: error or undecided. */
export async function guessCommand(options: GuessOptions): Promise<void> {
  const references: Reference[] = [];
  const onText = (text: string) => void references.push(...referencesIn(text, options.namespace));
  const state = await readState(options, { onText });
  noteStates(state);
  refuseUnknownNamespace(state.scope, namespacesOf(state), `in ${state.source}`);
  const view = clusterViewOf(state, options);
  const guessed = orCommandError(() => guessConnections(view, references, options.ingressController));
  const suggested = policiesFor(view, guessed, options.namespace);
  const { objects, notWritten, nothingFor, remarks } = suggested;
  if (objects.length === 0) throw new CommandError(nobodyText(notWritten));
  const isAbout = ({ from, to }: Guess) =>
    [from, to].some(end => typeof end !== 'string' && isIn(end, options.namespace));
  const own = guessed.guesses.filter(isAbout);
  const denied = stillDenied(view, own, objects);
  const named = own.filter(({ to }) => to !== 'dns').length;
  if (named === 0) writeNote(`${pc.yellow('warning')}: ${NOTHING}`);
  const existing = view.cluster.policies.size;
  writeDocument(
    comments(
      headTexts({ named, existing, nothingFor, notGuessed: guessed.notGuessed, notWritten, denied }),
      outputColumns(),
    ),
  );
  for (const { object, comments } of objects)
    writeUnwrapped(`---\n${yamlText(object, remarks, guessComments(comments))}`);
  process.exitCode = denied.some(({ verdict }) => verdict === 'deny') ? 1 : denied.length > 0 ? 2 : 0;
}

const NOTHING =
  'no connection was found in the manifests: these policies deny everything but looking up names; add what the workloads need before you apply them';

function nobodyText(notWritten: readonly string[]): string {
  const text = 'there is no pod and no workload in the manifests that policy could select';
  return notWritten.length === 0 ? text : `${text}: ${notWritten.slice(0, 3).join('; ')}`;
}

function isIn(end: Exclude<GuessEnd, string>, namespace: string | undefined): boolean {
  return (namespace ?? end.pod.namespace) === end.pod.namespace;
}

const MOST_REASONS = 5;

function guessComments(comments: ReadonlyMap<string, readonly string[]>) {
  const lines = (reasons: readonly string[]) => {
    const more = reasons.length - MOST_REASONS;
    const shown = reasons.slice(0, MOST_REASONS).map(reason => `guessed: ${reason}`);
    return more > 0 ? [...shown, `guessed: and ${more} more`] : shown;
  };
  return new Map([...comments].map(([path, reasons]) => [path, lines(reasons)]));
}

interface Denied {
  readonly verdict: 'deny' | 'undecided';
  readonly text: string;
}

/** More would take minutes, and the first ones show what is wrong. */
const MOST_JUDGED = 2_000;

/** What policies that are there already deny, or a policy that is too large. */
function stillDenied(
  view: ClusterView,
  guesses: readonly Guess[],
  written: readonly GuessedPolicy[],
): readonly Denied[] {
  const policies = new Map<PolicyId, Policy>(view.cluster.policies);
  for (const { policy } of written) policies.set(policy.id, policy);
  const cluster = { ...view.cluster, policies };
  const after = { ...view, cluster, index: new PolicyIndex(policies.values()) };
  return guesses.slice(0, MOST_JUDGED).flatMap(({ from, to, protocol, port }): Denied[] => {
    if (to === 'dns') return [];
    const target =
      to === 'api server' ? `${questionText(to)}:443` : `${questionText(to)}:${port}/${protocol}`;
    try {
      const { verdict, reason } = answer(after, { from: questionText(from), to: target });
      const text = `${questionText(from)} -> ${target}: ${reason}`;
      return verdict === 'allow' ? [] : [{ verdict, text }];
    } catch (error) {
      if (!(error instanceof FlowTextError)) throw error;
      return [{ verdict: 'undecided', text: error.message }];
    }
  });
}

function questionText(end: GuessEnd): string {
  if (end === 'api server') return 'svc/kubernetes.default';
  return typeof end === 'string' ? 'internet' : end.text;
}

const MOST_LISTED = 40;
const MOST_NAMED = 10;

interface Head extends Pick<Guesses, 'notGuessed'>, Pick<GuessedPolicies, 'nothingFor' | 'notWritten'> {
  readonly named: number;
  /** How many policies the manifests have. */
  readonly existing: number;
  readonly denied: readonly Denied[];
}

function headTexts({ named, existing, nothingFor, notGuessed, notWritten, denied }: Head): string[] {
  return [
    `Policies to begin with, for ${plural(named, 'connection')} that the manifests name: guessed, not seen. Read each before it is applied.`,
    'All else of these pods is denied, but that they look up names. A node always reaches its own pods, so probes need no rule.',
    ...(nothingFor.length === 0
      ? []
      : [
          `Nothing was found for: ${firstOf(nothingFor, MOST_NAMED)}; what they need is denied until you add it.`,
        ]),
    ...listed('Not written', notWritten),
    ...listed('Not guessed', [...notGuessed], notGuessedLines),
    ...listed(
      'Still not allowed',
      denied.map(({ text }) => text),
    ),
    '`kubectl apply` replaces policies that have the same names.',
    ...(existing === 0
      ? []
      : [
          `Policies of the manifests that stay in force beside these: ${existing}. \`sluice diff\` says what changes.`,
        ]),
  ];
}

const MOST_PLACES = 3;

/** What is named, and below it where; the path to the template of a workload is always the same. */
function notGuessedLines([what, where]: readonly [string, ReadonlySet<string>]): string[] {
  const places = [...where].map(each => each.replace(/ spec\.(?:jobTemplate\.spec\.)?template\.spec\./, ' '));
  const more = places.length - MOST_PLACES;
  return [
    what,
    ...places.slice(0, MOST_PLACES).map(each => `  ${each}`),
    ...(more > 0 ? [`  and at ${plural(more, 'more place')}`] : []),
  ];
}

function listed<T = string>(
  title: string,
  items: readonly T[],
  linesOf: (item: T) => readonly string[] = item => [String(item)],
): string[] {
  if (items.length === 0) return [];
  const more = items.length - MOST_LISTED;
  return [
    `${title}:`,
    ...items
      .slice(0, MOST_LISTED)
      .flatMap(linesOf)
      .map(line => `  ${line}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ];
}
