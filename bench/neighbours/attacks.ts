/** The attacks of a hostile tenant with the API: valid policies of its own namespace, each as costly as possible. */
import { BUDGET } from '../../src/model/budget.ts';
import type { KubeObject } from '../fakeapiserver.ts';
import type { TrackedConnection } from '../trackedconnection.ts';
import {
  allButOne,
  CLASSES,
  egress,
  excepts,
  ingress,
  LOCAL,
  manyClasses,
  manyValues,
  meaningAll,
  morePolicies,
  namedPortsOfNetworks,
  namespaceRules,
  networkRules,
  ofRole,
  RELABELS,
  range,
  rules,
  SMALL,
  selecting,
  selectingAnew,
  selectingTeams,
  small,
} from './attackpolicies.ts';
import {
  annotatedPods,
  changingNodes,
  podsOfOneAddress,
  relabelledHere,
  relabelledNamespaces,
  relabelledPods,
  relabelledTenant,
} from './besides.ts';
import { connectionsOfAllKinds, oneWayPackets, WORLD } from './crowd.ts';

export interface Attack {
  readonly name: string;
  /** Description of the attack, for a row of the table. */
  readonly what: string;
  /** The policy as it is after the n-th edit. */
  readonly policy: (edit: number) => KubeObject;
  /** Further objects that are written with the n-th edit, by the tenant or by another one. */
  readonly besides?: (edit: number) => readonly KubeObject[];
  /** Connections that the tenant's own pods have. */
  readonly open?: readonly TrackedConnection[];
  /** Whether they are opened anew before each of the neighbour's changes, under the first edit, and denied by the next. */
  readonly isDenied?: true;
  /** Pods that it starts one after the other, again and again. */
  readonly starts?: number;
}

const EDITS = 'edits ten times a second';

const { entries, rules: mostRules, selectors, ranges } = BUDGET.namespaced;

/** The most that the budget of a NetworkPolicy allows. */
const MOST = { selectors, rules: Math.min(mostRules, Math.floor(entries / 3)), ranges };

export const ATTACKS = [
  { name: 'edits', what: `${EDITS} of 500 rules`, policy: edit => ingress(rules(500, edit)) },
  {
    name: 'excepts',
    what: `${EDITS} of 4,000 excepts`,
    policy: edit => egress([{ to: [excepts(4000, edit)] }]),
  },
  { name: 'rules', what: `${EDITS} of 4,000 rules`, policy: edit => egress(networkRules(4000, edit)) },
  {
    name: 'unreached',
    what: `${EDITS} of 1.1 MB that reach no pod of the node`,
    policy: edit => ingress(rules(8600, edit), { app: 'nowhere' }),
  },
  {
    name: 'not-in',
    what: `${EDITS} of 300 NotIn peers over 3,000 pods`,
    policy: edit => ingress([{ from: Array.from({ length: 300 }, (_, i) => allButOne(i, edit)) }]),
  },
  {
    name: 'ranges',
    what: `${EDITS} of 16,000 port ranges`,
    policy: edit => ingress([{ ports: Array.from({ length: 16_000 }, (_, i) => range(i, edit)) }]),
  },
  {
    name: 'one-way',
    what: `20,000 one-way packets and ${EDITS} of 24 KB`,
    open: oneWayPackets(20_000),
    policy: edit => egress(networkRules(220, edit)),
  },
  {
    name: 'denied',
    what: `100,000 connections of all kinds, all of them denied, and ${EDITS}`,
    open: connectionsOfAllKinds(100_000),
    isDenied: true,
    policy: edit => egress(edit === 0 ? [{}] : networkRules(220, edit)),
  },
  {
    name: 'kept',
    what: `100,000 connections of all kinds, all of them allowed, and ${EDITS}`,
    open: connectionsOfAllKinds(100_000),
    policy: edit => egress([{ to: [{ ipBlock: { cidr: WORLD } }] }, ...networkRules(220, edit)]),
  },
  // The most of each that a NetworkPolicy may hold: what is beyond its budget is not compiled.
  {
    name: 'most-selectors',
    what: `${EDITS} of ${MOST.selectors} rules with a selector each`,
    policy: edit => ingress(rules(MOST.selectors, edit)),
  },
  {
    name: 'most-rules',
    what: `${EDITS} of ${MOST.rules} rules`,
    policy: edit => egress(networkRules(MOST.rules, edit)),
  },
  {
    name: 'most-not-in',
    what: `${EDITS} of ${MOST.selectors} NotIn peers over 3,000 pods`,
    policy: edit => ingress([{ from: Array.from({ length: MOST.selectors }, (_, i) => allButOne(i, edit)) }]),
  },
  {
    name: 'most-ranges',
    what: `${EDITS} of ${MOST.ranges} port ranges`,
    policy: edit => ingress([{ ports: Array.from({ length: MOST.ranges }, (_, i) => range(i, edit)) }]),
  },
  // Attacks that change the objects that a policy selects, not the policy.
  {
    name: 'relabels',
    what: `2,000 pods a second are relabelled beside ${RELABELS.policies * RELABELS.selectors} selectors that mention the label`,
    policy: edit => selecting('hostile', edit),
    besides: edit => [morePolicies()[edit % (RELABELS.policies - 1)]!, ...relabelledPods(edit)],
  },
  {
    name: 'one-address',
    what: '2,000 pods a second report one address, until 3,000 do',
    policy: edit => ingress(rules(100, edit)),
    besides: podsOfOneAddress,
  },
  {
    name: 'values',
    what: `${EDITS} of a selector of 4,900 values over 3,000 pods`,
    policy: edit => ingress([{ from: [{ podSelector: { matchExpressions: [manyValues(edit)] } }] }]),
  },
  {
    name: 'named-ports',
    what: `${EDITS} of 2,300 named ports of 2,300 networks`,
    policy: edit => egress([namedPortsOfNetworks(2300, edit)]),
  },
  {
    name: 'namespaces',
    what: `500 namespaces are relabelled a second beside ${MOST.selectors} selectors of namespaces`,
    policy: edit => ingress(namespaceRules(MOST.selectors, edit)),
    besides: relabelledNamespaces,
  },
  {
    name: 'small-and-many',
    what: `${EDITS} of the selectors of nobody in one of ${SMALL.policies} small policies that have ports in common, over 3,000 pods`,
    policy: edit => selectingAnew('hostile', `nobody-${edit}`),
    besides: edit => (edit < SMALL.policies ? [selectingAnew(`hostile-${edit}`, 'any')] : []),
  },
  {
    name: 'members',
    what: `${EDITS} of one of ${RELABELS.policies} policies of ${RELABELS.selectors} selectors of which each means all 3,000 pods`,
    policy: edit => meaningAll('hostile', edit),
    besides: edit => (edit < RELABELS.policies ? [meaningAll(`hostile-${edit}`, 0)] : []),
  },
  {
    name: 'tenant-namespace',
    what: `${EDITS} of the labels of a namespace of 3,000 pods beside ${RELABELS.policies * RELABELS.selectors} selectors that mention them`,
    policy: edit => selectingTeams('hostile', edit),
    besides: edit => [
      ...(edit < RELABELS.policies ? [selectingTeams(`hostile-${edit}`, 0)] : []),
      ...relabelledTenant(edit),
    ],
  },
  {
    name: 'classes',
    what: `${EDITS} of one of ${CLASSES.policies} small policies that all pods of the node are selected by, beside one for each of them`,
    policy: edit => small('hostile', edit),
    besides: edit => (edit < CLASSES.edits ? manyClasses(edit) : []),
  },
  {
    name: 'local-labels',
    what: `one pod of the node is relabelled ten times a second, each time into ${LOCAL.policies} policies of ${LOCAL.selectors} selectors over 3,000 pods`,
    policy: edit => ingress(rules(1, edit)),
    besides: edit => [...(edit < 2 * LOCAL.policies ? [ofRole(edit)] : []), ...relabelledHere(edit)],
  },
  {
    name: 'nodes',
    what: '500 Nodes a second are relabelled and change addresses',
    policy: edit => ingress(rules(100, edit)),
    besides: changingNodes,
  },
  {
    name: 'annotations',
    what: '10 pods a second are written with annotations of 250 KB',
    policy: edit => ingress(rules(1, edit)),
    besides: annotatedPods,
  },
  {
    name: 'starts',
    what: '110 pods that start one after the other, again and again',
    starts: 110,
    policy: edit => ingress(rules(1, edit)),
  },
] as const satisfies readonly Attack[];

/** The part that measures what the policies of all attacks cost a packet. */
export const PACKETS = 'costs';
/** The parts that can be measured alone. */
export const PARTS: readonly string[] = [...ATTACKS.map(({ name }) => name), PACKETS];
