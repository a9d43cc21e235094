/** Connections that a question is about: those of the pods that -n and -l name. */
import type { Address } from '../../model/address.ts';
import { addressOwners } from '../../model/addressowners.ts';
import type { Cluster, Pod } from '../../model/cluster.ts';
import type { CountedFlow } from '../../model/countedflows.ts';
import type { RecordedEnd, Recording } from '../../recording/recording.ts';
import { isInScope } from '../../sources/scope.ts';
import type { Scope } from '../../sources/state.ts';

/** Those with an end that is one of the pods: all of them where nobody says which. */
export function recordingAbout(scope: Scope, recording: Recording): Recording {
  if (isEverything(scope)) return recording;
  const isAsked = ({ pod }: RecordedEnd) => isOneOf(scope, pod);
  return { ...recording, flows: recording.flows.filter(({ from, to }) => isAsked(from) || isAsked(to)) };
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
