/** `sluice suggest -n NAMESPACE --recorded FILE`: the least policies that allow what was recorded of a namespace. */
import { decodeObject } from '../../kube/decode/decode.ts';
import type { Policy, PolicyId } from '../../model/policy.ts';
import { endNamer } from '../../recording/endname.ts';
import { connectionsIn, type FlowGroup, flowGroups } from '../../recording/groups.ts';
import { recordingJudge } from '../../recording/judge.ts';
import type { RecordedFlow, Recording } from '../../recording/recording.ts';
import { suggestPolicies } from '../../recording/suggest/suggest.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { HANG } from '../../terminal/hang.ts';
import { writeDocument, writeUnwrapped } from '../../terminal/output.ts';
import { plural } from '../../terminal/plural.ts';
import { yamlText } from '../../terminal/yamltext.ts';
import { readRecordings } from './read.ts';
import { groupLines, windowText } from './text.ts';

export interface SuggestOptions {
  readonly namespace: string;
  readonly recorded: readonly string[];
}

/** Exit code 0: all that was allowed would be; 1: something would be denied; 2: trouble. */
export async function suggestCommand({ namespace, recorded }: SuggestOptions): Promise<void> {
  const recording = await readRecordings(recorded);
  const own = recording.flows.filter(flow => isAbout(flow, namespace));
  if (own.length === 0)
    throw new CommandError(`nothing is recorded of pods in namespace ${namespace}: no policy is the least`);
  const objects = suggestPolicies(recording, namespace);
  const denied = stillDenied(recording, own, objects);
  writeDocument(comments(recording, own, denied));
  for (const object of objects) writeUnwrapped(`---\n${yamlText(object)}`);
  process.exitCode = denied.some(({ was }) => was === 'allow') ? 1 : 0;
}

function isAbout({ from, to }: RecordedFlow, namespace: string): boolean {
  return from.pod?.namespace === namespace || to.pod?.namespace === namespace;
}

/** Judged as a cluster would read them: a policy that is too large, for one, isolates and allows nothing. */
function stillDenied(
  recording: Recording,
  own: readonly RecordedFlow[],
  objects: readonly object[],
): FlowGroup[] {
  const decoded = objects.map(object => decodeObject(object).event?.value as Policy);
  const policies = new Map<PolicyId, Policy>(decoded.map(policy => [policy.id, policy]));
  const judge = recordingJudge(recording, { policies });
  const judged = own.map(flow => ({ flow, verdict: judge(flow) }));
  return flowGroups(
    judged.filter(({ verdict }) => verdict.verdict === 'deny'),
    endNamer(recording),
  );
}

function comments(
  recording: Recording,
  own: readonly RecordedFlow[],
  denied: readonly FlowGroup[],
): string[] {
  const was = (verdict: 'allow' | 'deny') => denied.filter(group => group.was === verdict);
  const count = own.reduce((sum, { egress, ingress }) => sum + Math.max(egress, ingress), 0);
  const lines = [
    `The least policies for ${plural(count, 'connection')} recorded ${windowText(recording)}: what did not happen then is denied.`,
    ...part(
      'They deny what was allowed as far as was recorded (ICMP, which no NetworkPolicy allows without all ports; or the node of the other end was not recorded):',
      was('allow'),
    ),
    ...part('They deny what was denied then, too:', was('deny')),
    ...withoutDns(own),
  ];
  // A comment has no second line to hang over.
  return lines.map(line => `# ${line.replaceAll(HANG, '')}`);
}

function part(title: string, groups: readonly FlowGroup[]): string[] {
  if (groups.length === 0) return [];
  return [`${title} ${plural(connectionsIn(groups), 'connection')}`, ...groupLines(groups, '  ', false)];
}

/** A look at DNS is over in a moment: a recording of what is open has none. */
function withoutDns(own: readonly RecordedFlow[]): string[] {
  const asks = own.some(({ from, port }) => from.pod !== undefined && port === 53);
  const opens = own.some(({ from }) => from.pod !== undefined);
  return opens && !asks ? ['No question to DNS (port 53) is recorded: if these pods ask, allow it.'] : [];
}
