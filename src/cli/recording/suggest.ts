/**
 * `sluice suggest -n NAMESPACE --recorded FILE`: the least policies that allow the recorded connections of a namespace.
 */
import { apiServerRemarks } from '../../answers/questions/apiserver.ts';
import { decodeObject } from '../../inputs/kube/decode/decode.ts';
import { plural } from '../../lib/text/plural.ts';
import type { Pod } from '../../model/cluster.ts';
import { NO_INVENTORY } from '../../model/inventory.ts';
import type { Policy, PolicyId } from '../../model/policy.ts';
import { problemText } from '../../model/problem.ts';
import { workloadByLabels } from '../../model/workloadbylabels.ts';
import { endNamer } from '../../observe/recording/endname.ts';
import { connectionsIn, flowGroups, type JudgedFlow } from '../../observe/recording/groups.ts';
import { recordingJudge } from '../../observe/recording/judge.ts';
import { countOf, type RecordedFlow, type Recording } from '../../observe/recording/recording.ts';
import { type Suggestion, suggestPolicies } from '../../observe/recording/suggest/suggest.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { HANG } from '../../terminal/hang.ts';
import { outputColumns, writeDocument, writeUnwrapped } from '../../terminal/output.ts';
import { comments } from '../../terminal/wrap.ts';
import { yamlText } from '../../terminal/yamltext.ts';
import { type GuessOptions, guessCommand } from '../guess.ts';
import { inventoryWith } from '../sources/state.ts';
import { lacksNothing, readRecordings, recordingLacks } from './read.ts';
import { groupLines, windowText } from './text.ts';

export type SuggestOptions = GuessOptions & { readonly recorded?: readonly string[] };

/** Of a recording, or of manifests. */
export function suggestCommand(options: SuggestOptions): Promise<void> {
  const { recorded, namespace = '', apiServer } = options;
  return recorded === undefined ? guessCommand(options) : suggestRecorded(namespace, recorded, apiServer);
}

/** Exit code 0: all that was allowed would be; 1: something would be denied; 2: error or undecided (a part of the recording is missing). */
async function suggestRecorded(
  namespace: string,
  recorded: readonly string[],
  apiServer: GuessOptions['apiServer'],
): Promise<void> {
  const addresses = apiServerRemarks(inventoryWith(NO_INVENTORY, apiServer));
  const recording = await readRecordings(recorded);
  const own = recording.flows.filter(flow => isAbout(flow, namespace));
  if (own.length === 0)
    throw new CommandError(`nothing is recorded of pods in namespace ${namespace}: no policy is the least`);
  const suggestion = suggestPolicies(recording, namespace);
  const { objects, remarks } = suggestion;
  const decoded = objects.map(object => decodeObject(object));
  const denied = stillDenied(
    recording,
    own,
    decoded.map(({ event }) => event?.value as Policy),
  );
  const problems = decoded.flatMap(each => each.problems.map(problemText));
  const wrong = [...problems, ...deniedLines(recording, denied, suggestion)];
  writeDocument(headComments(recording, own, wrong));
  for (const object of objects)
    writeUnwrapped(`---\n${yamlText(object, new Map([...remarks, ...addresses]))}`);
  const denies = denied.some(({ flow }) => flow.was === 'allow');
  process.exitCode = denies ? 1 : lacksNothing(recording) ? 0 : 2;
}

function isAbout({ from, to }: RecordedFlow, namespace: string): boolean {
  return from.pod?.namespace === namespace || to.pod?.namespace === namespace;
}

/**
 * The denials that remain with the suggested policies. These are decoded as a cluster would: one that is too large
 * isolates and allows nothing.
 */
function stillDenied(
  recording: Recording,
  own: readonly RecordedFlow[],
  policies: readonly Policy[],
): JudgedFlow[] {
  const byId = new Map<PolicyId, Policy>(policies.map(policy => [policy.id, policy]));
  const judge = recordingJudge(recording, { policies: byId });
  return own
    .map(flow => ({ flow, verdict: judge(flow) }))
    .filter(({ verdict }) => verdict.verdict === 'deny');
}

function headComments(
  recording: Recording,
  own: readonly RecordedFlow[],
  wrong: readonly string[],
): string[] {
  const count = own.reduce((sum, flow) => sum + countOf(flow), 0);
  const lines = [
    `The least policies for ${plural(count, 'connection')} recorded ${windowText(recording)}: what did not happen then is denied.`,
    ...recordingLacks(recording).map(lack => `What is missing of it, they may deny: ${lack}`),
    ...wrong,
    ...withoutDns(own),
    '`kubectl apply` replaces policies that have the same names, and puts them in force. Others that are audited stay so: `sluice audit` names them.',
  ];
  // A comment has no second line to hang over.
  return comments(
    lines.map(line => line.replaceAll(HANG, '')),
    outputColumns(),
  );
}

function deniedLines(
  recording: Recording,
  denied: readonly JudgedFlow[],
  { unselectable }: Suggestion,
): string[] {
  const nameOf = endNamer(recording);
  const part = (was: 'allow' | 'deny', title: string) => {
    const groups = flowGroups(
      denied.filter(({ flow }) => flow.was === was),
      nameOf,
    );
    if (groups.length === 0) return [];
    return [`${title}: ${plural(connectionsIn(groups), 'connection')}`, ...groupLines(groups, '  ', false)];
  };
  const allowed = denied.flatMap(({ flow }) => (flow.was === 'allow' ? flow : []));
  return [
    ...part('allow', `They deny what was allowed, as far as was recorded${whyText(allowed)}`),
    ...part('deny', 'They deny what was denied then, too'),
    ...unselectableLines(unselectable),
  ];
}

const MOST_NAMED = 3;

/** Such as those of a CronJob whose template has no labels: Kubernetes gives them labels of one Job alone. */
function unselectableLines(pods: readonly Pod[]): string[] {
  if (pods.length === 0) return [];
  const names = [...new Set(pods.map(pod => workloadByLabels(pod) ?? `Pod ${pod.key}`))].sort();
  const more = names.length - MOST_NAMED;
  const list = `${names.slice(0, MOST_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  return [`No selector means ${list}: give the template (or manifest) a label of its own, and record again.`];
}

/** Why the suggested policies would still deny these connections. */
function whyText(denied: readonly RecordedFlow[]): string {
  const hasNoPort = denied.some(({ port = 0 }) => port === 0);
  return hasNoPort ? ' (no NetworkPolicy allows ICMP without all ports)' : '';
}

/** A warning, because DNS lookups are short, so a recording of open connections has none. */
function withoutDns(own: readonly RecordedFlow[]): string[] {
  const asks = own.some(({ from, port }) => from.pod !== undefined && port === 53);
  const opens = own.some(({ from }) => from.pod !== undefined);
  return opens && !asks ? ['No question to DNS (port 53) is recorded: if these pods ask, allow it.'] : [];
}
