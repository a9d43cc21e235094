/**
 * kni.KNI: the requests of a runtime about the network of the node and of pods. docs/kni.md documents every extradata
 * key.
 */

import { status, type UntypedServiceImplementation } from '@grpc/grpc-js';
import type { StatusKeeper } from '../../agent/status.ts';
import { subjectSelects } from '../../compiler/classes.ts';
import { sleep } from '../../lib/async/sleep.ts';
import { FAMILY_NAME, familyOf } from '../../model/address.ts';
import { isSelectable, namespaceOf, type PodKey } from '../../model/cluster.ts';
import { comparePolicies, policyLabel } from '../../model/policy.ts';
import { type Check, whyNotReady } from '../health/check.ts';
import { attachCalls, INTERFACE, interfacesOf } from './kniattach.ts';
import { CallRefusal, unary } from './unary.ts';
import type { AgentView } from './view.ts';

const NETWORK_NAME = 'pods';
const REPAIR = { patienceMs: 5000, pollMs: 20 };

interface PodRequest {
  readonly name: string;
  readonly namespace: string;
}

export function kniService(view: AgentView): UntypedServiceImplementation {
  return {
    QueryNodeNetworks: unary(() => queryNodeNetworks(view)),
    QueryPodNetwork: unary((request: PodRequest) => queryPodNetwork(view, request)),
    SetupNodeNetwork: unary(() => setupNodeNetwork(view)),
    ...attachFamily(view),
  };
}

function attachFamily({ podNetwork }: AgentView) {
  const network = podNetwork?.network;
  if (network === undefined)
    return {
      CreateNetwork: notHere('creates no network namespaces'),
      DeleteNetwork: notHere('deletes no network namespaces'),
      AttachInterface: notHere('attaches no interfaces'),
      DetachInterface: notHere('detaches no interfaces'),
    };
  const { attach, detach, create, remove } = attachCalls(network);
  return {
    CreateNetwork: unary(create),
    DeleteNetwork: unary(remove),
    AttachInterface: unary(attach),
    DetachInterface: unary(detach),
  };
}

async function queryNodeNetworks(view: AgentView) {
  const { ready, checks } = await view.health();
  const reason = whyNotReady(checks).map(reasonText).join('; ');
  const extradata: Record<string, string> = { node: view.status.status().node };
  if (!ready) extradata.reason = reason;
  for (const check of checks) {
    extradata[`check.${check.name}`] = check.state;
    extradata[`check.${check.name}.reason`] = check.reason;
    if (check.remedy !== '') extradata[`check.${check.name}.remedy`] = check.remedy;
  }
  return { networks: [{ name: NETWORK_NAME, ready, extradata }], extradata: {} };
}

function reasonText({ name, reason, remedy }: Check): string {
  return `${name}: ${reason}${remedy === '' ? '' : ` (${remedy})`}`;
}

async function queryPodNetwork(view: AgentView, { name, namespace }: PodRequest) {
  if (name === '' || namespace === '') {
    throw new CallRefusal(status.INVALID_ARGUMENT, 'name and namespace of the pod are both needed');
  }
  const key: PodKey = `${namespace}/${name}`;
  const found = view.status.pod(key);
  if (found === undefined) throw new CallRefusal(status.NOT_FOUND, `no pod ${key} is known on this node`);
  const { pod, sinceMs } = found;
  const extradata: Record<string, string> = {
    policies: policiesOf(view.status, key).join(','),
    programmed: String(sinceMs !== undefined),
  };
  if (sinceMs !== undefined) extradata.programmedSince = new Date(sinceMs).toISOString();
  if (pod.hostNetwork) extradata.hostNetwork = 'true';
  const families = pod.addresses.map(address => FAMILY_NAME[familyOf(address)]).join(',');
  const ipconfig = { ip: pod.addresses, mac: '', extradata: { families } };
  // Where another plugin attaches, the API has addresses and no names: the first interface is called so by convention.
  const reported = pod.addresses.length === 0 ? {} : { [INTERFACE]: ipconfig };
  const attached = view.podNetwork?.network && (await interfacesOf(view.podNetwork.network, key));
  return { ipconfigs: attached && Object.keys(attached).length > 0 ? attached : reported, extradata };
}

/** The policies of a pod, in order of precedence within their tiers. */
function policiesOf({ cluster }: StatusKeeper, key: PodKey): string[] {
  const pod = cluster.pods.get(key);
  if (pod === undefined || !isSelectable(pod)) return [];
  const namespace = namespaceOf(cluster, pod.namespace);
  const chosen = [...cluster.policies.values()].filter(
    policy => subjectSelects(policy, pod, namespace) !== 'no',
  );
  return chosen.sort(comparePolicies).map(policyLabel);
}

/** May be repeated: it reads the kernel back and repairs differences. */
async function setupNodeNetwork(view: AgentView) {
  await view.podNetwork?.network?.setUp();
  const askedMs = Date.now();
  view.agent.requestResync();
  while ((view.status.status().readAtMs ?? 0) < askedMs) {
    if (Date.now() - askedMs > REPAIR.patienceMs) throw new CallRefusal(status.UNAVAILABLE, whyNot(view));
    await sleep(REPAIR.pollMs);
  }
  return {};
}

function whyNot({ status: keeper }: AgentView): string {
  const { synced, lastError } = keeper.status();
  if (!synced) return 'the sources have not synced yet; the rules in force stay as they are';
  return `the kernel could not be repaired in ${REPAIR.patienceMs / 1000} s: ${lastError ?? 'it is busy'}`;
}

function notHere(what: string) {
  return unary(() => {
    throw new CallRefusal(
      status.UNIMPLEMENTED,
      `Sluice ${what} here: it enforces policy on the pods that a network plugin attaches (--pod-network=attach makes it attach them)`,
    );
  });
}
