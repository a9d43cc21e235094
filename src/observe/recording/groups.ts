/** Judged flows as people read them: those of the same workloads to the same port, that are decided alike, are one line. */
import type { FlowProtocol } from '../../model/flow.ts';
import type { PolicyId } from '../../model/policy.ts';
import type { DirectionVerdict, FlowVerdict } from '../../semantics/evaluate.ts';
import { countOf, openBefore, type RecordedEnd, type RecordedFlow } from './recording.ts';

export interface JudgedFlow {
  readonly flow: RecordedFlow;
  readonly verdict: FlowVerdict;
}

export interface FlowGroup {
  readonly from: string;
  readonly to: string;
  readonly protocol: FlowProtocol;
  readonly port?: number;
  readonly connections: number;
  /** How many of them were open before the recording began; absent where none was. */
  readonly openBefore?: number;
  /** The verdict when they were recorded, and the verdict now. */
  readonly was: 'allow' | 'deny';
  readonly verdict: 'allow' | 'deny';
  /**
   * The node of the other end allowed them, and the node of the end that denies them now was not recorded, so its
   * verdict then is unknown.
   */
  readonly unseen?: true;
  /** The policy that decides, if one does. */
  readonly policy?: PolicyId;
  readonly rule?: string;
  /** The reason of the first of them. */
  readonly reason: string;
  readonly firstMs: number;
  readonly lastMs: number;
}

/** Groups of flows, those with most connections first. */
export function flowGroups(judged: Iterable<JudgedFlow>, nameOf: (end: RecordedEnd) => string): FlowGroup[] {
  const groups = new Map<string, FlowGroup>();
  for (const each of judged) {
    const group = groupOf(each, nameOf);
    const { from, to, protocol, port, was, verdict, unseen, policy, rule } = group;
    const key = JSON.stringify([from, to, protocol, port, was, verdict, unseen ?? false, policy, rule]);
    const known = groups.get(key);
    groups.set(key, known === undefined ? group : together(known, group));
  }
  return [...groups.values()].sort((a, b) => b.connections - a.connections);
}

function groupOf({ flow, verdict }: JudgedFlow, nameOf: (end: RecordedEnd) => string): FlowGroup {
  const { protocol, port, was, firstMs, lastMs } = flow;
  const { policy, rule, reason } = decisive(verdict);
  return {
    from: nameOf(flow.from),
    to: nameOf(flow.to),
    protocol,
    ...(port !== undefined && { port }),
    connections: countOf(flow),
    ...openOf(openBefore(flow)),
    was,
    verdict: verdict.verdict,
    ...(isUnseen(flow, verdict) && { unseen: true }),
    ...(policy !== undefined && { policy }),
    ...(rule !== undefined && { rule }),
    reason,
    firstMs,
    lastMs,
  };
}

function together(a: FlowGroup, b: FlowGroup): FlowGroup {
  return {
    ...a,
    connections: a.connections + b.connections,
    ...openOf((a.openBefore ?? 0) + (b.openBefore ?? 0)),
    firstMs: Math.min(a.firstMs, b.firstMs),
    lastMs: Math.max(a.lastMs, b.lastMs),
  };
}

function openOf(count: number): Pick<FlowGroup, 'openBefore'> {
  return count === 0 ? {} : { openBefore: count };
}

/** Whether no end that denies it now had been seen to let it pass. */
function isUnseen({ was, ...seen }: RecordedFlow, verdict: FlowVerdict): boolean {
  const denies = DIRECTIONS.filter(direction => verdict[direction].verdict === 'deny');
  return was === 'allow' && denies.length > 0 && denies.every(direction => seen[direction] === 0);
}

const DIRECTIONS = ['egress', 'ingress'] as const;

/** The direction that denies, else the one that a policy decided. */
function decisive({ egress, ingress }: FlowVerdict): DirectionVerdict {
  if (egress.verdict === 'deny') return egress;
  if (ingress.verdict === 'deny' || ingress.policy !== undefined) return ingress;
  return egress.policy === undefined ? ingress : egress;
}

export function connectionsIn(groups: readonly { readonly connections: number }[]): number {
  return groups.reduce((sum, { connections }) => sum + connections, 0);
}
