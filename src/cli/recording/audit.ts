/** `sluice audit [POLICY…]`: the connections that audited policies would have denied or allowed. */

import { versioned } from '../../answers/schema.ts';
import { plural } from '../../lib/text/plural.ts';
import { auditedNote } from '../../model/audited.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { PolicyId } from '../../model/policy.ts';
import { isCalled } from '../../model/policyname.ts';
import { type AuditResult, auditOf } from '../../observe/recording/audits.ts';
import { connectionsIn, type FlowGroup } from '../../observe/recording/groups.ts';
import { MergedRecording } from '../../observe/recording/merge.ts';
import type { Recording } from '../../observe/recording/recording.ts';
import pc from '../../terminal/colours.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { isData, writeData } from '../../terminal/data.ts';
import { type OutputOptions, writeLines } from '../../terminal/output.ts';
import { socketOf, type WhereOptions } from '../everynode/command.ts';
import { noteStates, notesOf, readState } from '../sources/readstate.ts';
import type { SourceOptions, State } from '../sources/state.ts';
import { collectFromAgent } from './collect.ts';
import { lacksNothing, readRecordings, recordedAbout, recordingAbout } from './read.ts';
import { groupLines, openText, recordingObject, windowText } from './text.ts';

export type AuditOptions = OutputOptions &
  WhereOptions &
  SourceOptions & {
    readonly recorded?: readonly string[];
    /** How long to observe connections if there is no recording, in seconds. */
    readonly for: number;
    readonly unknownPods?: UnknownPods;
  };

/** Exit code 0: nothing would be denied; 1: something would; 2: error or undecided, also if a part of the recording is missing. */
export async function auditCommand(names: readonly string[], options: AuditOptions): Promise<void> {
  const state = withoutAuditedNote(await readState(options));
  noteStates(state);
  const ids = idsOf(names, state, state.scope.defaultNamespace);
  const about = options.recorded === undefined ? recordingAbout : recordedAbout;
  const recording = about(state.scope, await connectionsFor(options));
  const audit = (policies: readonly PolicyId[]) =>
    auditOf(recording, state.cluster, policies, options.unknownPods);
  const results = [...ids.map(id => audit([id])), ...(ids.length > 1 ? [audit(ids)] : [])];
  const notes = notesOf(state);
  if (isData(options.output))
    await writeData(
      options.output,
      results.map(result => versioned('Audit', { recording: recordingObject(recording), ...result, notes })),
    );
  else writeLines(results.flatMap(result => auditLines(result, recording, options.output === 'wide')));
  const denies = results.some(({ wouldDeny }) => wouldDeny.length > 0);
  process.exitCode = state.hidesPolicies ? 2 : denies ? 1 : lacksNothing(recording) ? 0 : 2;
}

/** Other commands say that they leave audited policies out, and this one is about them. */
function withoutAuditedNote(state: State): State {
  const audited = auditedNote(state.cluster);
  return { ...state, notes: state.notes.filter(note => !audited.includes(note)) };
}

/** Of recordings, of the agent of this node, or of all agents of a cluster. */
async function connectionsFor(options: AuditOptions): Promise<Recording> {
  const { recorded, for: seconds } = options;
  if (recorded !== undefined) return readRecordings(recorded);
  const merged = new MergedRecording();
  const end = seconds > 0 ? AbortSignal.timeout(seconds * 1_000) : undefined;
  const socket = await socketOf(options);
  if (socket === undefined) await (await import('./cluster.ts')).recordCluster(merged, end, options);
  else await collectFromAgent(socket, { ...(end && { end }), take: part => merged.add(part) });
  if (!merged.isBegun) throw new CommandError('no agent reported its connections: nothing is audited');
  return merged.recording();
}

/** The named policies, else all audited ones. Throws CommandError if one is not audited, or if that is not known. */
function idsOf(
  names: readonly string[],
  { cluster: { audited, policies }, hidesPolicies }: Pick<State, 'cluster' | 'hidesPolicies'>,
  namespace: string,
): PolicyId[] {
  const known = [...(audited?.values() ?? [])];
  if (known.length === 0 && hidesPolicies)
    throw new CommandError('it is not known which policies are audited: some cannot be read, as noted above');
  if (known.length === 0 && names.length === 0)
    throw new CommandError(
      'no policy is audited: the annotation sluice.dev/enforcement: audit says which is',
    );
  if (names.length === 0) return known.map(({ id }) => id).sort();
  const ids = names.map(name => {
    const isMeant = (policy: { readonly id: PolicyId }) =>
      isCalled(policy.id, name) || isCalled(policy.id, `${namespace}/${name}`);
    const found = known.find(isMeant);
    if (found !== undefined) return found.id;
    const enforced = [...policies.values()].find(isMeant);
    if (enforced !== undefined)
      throw new CommandError(
        `${enforced.id} is enforced, not audited: sluice replay says what it does to a recording`,
      );
    throw new CommandError(
      `there is no policy ${name} that is audited (${known.map(({ id }) => id).join(', ') || 'none is'})`,
    );
  });
  return [...new Set(ids)];
}

function auditLines(
  { policies, wouldDeny, wouldAllow }: AuditResult,
  recording: Recording,
  isWide: boolean,
): string[] {
  const who = policies.length === 1 ? policies[0]! : `all ${policies.length} together`;
  return [
    pc.bold(`${who}: audited, not enforced`),
    ...part('denied', wouldDeny, recording, isWide),
    ...part('allowed', wouldAllow, recording, isWide),
    '',
  ];
}

/** `would have denied 14 connections in 24 h on n1:`. */
function part(what: string, groups: readonly FlowGroup[], recording: Recording, isWide: boolean): string[] {
  const window = windowText(recording);
  if (groups.length === 0) return [`  would have ${what} nothing more ${window}`];
  const open = groups.reduce((sum, { openBefore = 0 }) => sum + openBefore, 0);
  const count = `${plural(connectionsIn(groups), 'connection')}${openText(open)}`;
  return [`  would have ${what} ${count} ${window}:`, ...groupLines(groups, '    ', isWide)];
}
