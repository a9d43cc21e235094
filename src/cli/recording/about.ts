/** Connections that a question is about: those of the pods that -n and -l name. */
import type { Address } from '../../model/address.ts';
import { addressOwners } from '../../model/addressowners.ts';
import type { Cluster, Pod } from '../../model/cluster.ts';
import type { CountedFlow } from '../../model/countedflows.ts';
import type { RecordedEnd, Recording } from '../../observe/recording/recording.ts';
import pc from '../../terminal/colours.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { writeNote } from '../../terminal/output.ts';
import { isInScope } from '../sources/scope.ts';
import type { Scope } from '../sources/state.ts';

/** Those with an end that is one of the pods: all of them where nobody says which. */
export function recordingAbout(scope: Scope, recording: Recording): Recording {
  if (isEverything(scope)) return recording;
  const isAsked = ({ pod }: RecordedEnd) => isOneOf(scope, pod);
  return { ...recording, flows: recording.flows.filter(({ from, to }) => isAsked(from) || isAsked(to)) };
}

/** The same. Throws CommandError where nothing is recorded of that namespace: a name that is mistyped has nothing denied. */
export function recordedAbout(scope: Scope, recording: Recording): Recording {
  const about = recordingAbout(scope, recording);
  if (about.flows.length > 0) return about;
  const { selector, ...anyLabels } = scope;
  const { namespace } = anyLabels;
  if (namespace !== undefined && recordingAbout(anyLabels, recording).flows.length === 0)
    throw new CommandError(`nothing is recorded of pods in namespace ${namespace}`);
  if (selector !== undefined) writeNote(`${pc.yellow('note')}: nothing is recorded of pods that -l selects`);
  return about;
}

/** The same of connections of which the addresses are known, and the cluster. */
export function connectionsAbout(
  scope: Scope,
  cluster: Cluster,
  connections: readonly CountedFlow[],
): readonly CountedFlow[] {
  if (isEverything(scope)) return connections;
  const owners = addressOwners(cluster);
  const isAsked = (address: Address) => isOneOf(scope, owners.get(address));
  return connections.filter(({ flow }) => isAsked(flow.from) || isAsked(flow.to));
}

function isEverything({ namespace, selector }: Scope): boolean {
  return namespace === undefined && selector === undefined;
}

function isOneOf(scope: Scope, pod: Pod | undefined): boolean {
  return pod !== undefined && isInScope(scope, pod);
}
