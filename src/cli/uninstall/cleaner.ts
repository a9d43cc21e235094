/**
 * The DaemonSet that cleans each node when its agent has ended. It is a copy of the agent's own, so that it runs on the
 * same nodes with the same rights; its pods remove Sluice, and then wait. Pure.
 */
import type { V1Container, V1DaemonSet, V1PodSpec } from '@kubernetes/client-node';

export const CLEANER = 'sluice-cleaner';
/** How both DaemonSets are found: `app.kubernetes.io/name`. */
export const NAME_LABEL = 'app.kubernetes.io/name';

/** No node has it: a cleaner that is parked runs nowhere. */
const PARKED = 'sluice-cleaner/waits-for-the-end-of-the-agents';

/** The agent's arguments about the node's CNI folders, which the cleaner must know too. */
const KEPT_ARGUMENTS = /^--cni-(bin|conf)-dir=/;
/** A pod is Ready when its node is clean; then it waits to be deleted. */
const WAIT = 'process.once("SIGTERM", () => process.exit()); setInterval(() => {}, 1 << 30);';

export function cleanerOf(agents: V1DaemonSet): V1DaemonSet {
  const labels = { [NAME_LABEL]: CLEANER };
  const { spec } = agents.spec!.template;
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: CLEANER, namespace: agents.metadata!.namespace!, labels },
    spec: {
      selector: { matchLabels: labels },
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '100%' } },
      template: { metadata: { labels }, spec: podSpecOf(spec!) },
    },
  };
}

/** The cleaner as it is created: at the API server, but on no node yet. */
export function parked(cleaner: V1DaemonSet): V1DaemonSet {
  return selecting(cleaner, { ...nodeSelectorOf(cleaner), [PARKED]: 'true' });
}

/** The cleaner as the API server has it, changed to run on the agents' nodes. */
export function released(cleaner: V1DaemonSet): V1DaemonSet {
  const { [PARKED]: _, ...nodeSelector } = nodeSelectorOf(cleaner);
  return selecting(cleaner, nodeSelector);
}

export function isParked(cleaner: V1DaemonSet): boolean {
  return PARKED in nodeSelectorOf(cleaner);
}

function nodeSelectorOf({ spec }: V1DaemonSet): Readonly<Record<string, string>> {
  return spec!.template.spec!.nodeSelector ?? {};
}

function selecting(
  { metadata, spec, ...rest }: V1DaemonSet,
  nodeSelector: Record<string, string>,
): V1DaemonSet {
  // Replaces the object whatever its status has become: the rest is written only by a removal.
  const { resourceVersion: _, ...named } = metadata!;
  const template = { ...spec!.template, spec: { ...spec!.template.spec!, nodeSelector } };
  return { ...rest, metadata: named, spec: { ...spec!, template } };
}

/** Seconds from the order to end until the kubelet kills the agent. */
const endsWithin = ({ terminationGracePeriodSeconds = 30 }: V1PodSpec) => terminationGracePeriodSeconds + 1;

/** The cleaner sends no requests to the API server, so it outlives the agent's ServiceAccount. */
function podSpecOf(agent: V1PodSpec): V1PodSpec {
  const { serviceAccount: _, serviceAccountName: __, containers, ...rest } = agent;
  const { image, imagePullPolicy, command, securityContext, volumeMounts, args = [] } = containers[0]!;
  const program = {
    ...(image !== undefined && { image }),
    ...(imagePullPolicy !== undefined && { imagePullPolicy }),
  };
  const clean: V1Container = {
    ...program,
    name: 'clean',
    ...(command !== undefined && { command }),
    args: [
      'uninstall',
      `--after-agent=${endsWithin(agent)}`,
      ...args.filter(arg => KEPT_ARGUMENTS.test(arg)),
    ],
    ...(securityContext !== undefined && { securityContext }),
    ...(volumeMounts !== undefined && { volumeMounts }),
    terminationMessagePolicy: 'FallbackToLogsOnError', // so that whoever removes Sluice sees why it failed
  };
  const wait: V1Container = {
    ...program,
    name: 'wait',
    command: ['/usr/local/bin/node', '--eval', WAIT],
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
  };
  return {
    ...rest,
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 1,
    initContainers: [clean],
    containers: [wait],
  };
}
