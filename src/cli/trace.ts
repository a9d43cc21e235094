import { undecidedByNode, undecidedDenials } from '../answers/questions/undecided.ts';
import {
  demanded,
  enforcementPoints,
  natNote,
  outcomeOf,
  podLinkFinder,
} from '../answers/readback/enforcementpoints.ts';
import { type KernelWalk, namedPods, type WalkEnd, walkKernel } from '../answers/readback/kernelwalk.ts';
import { resolvedInKernel } from '../answers/readback/resolvedinkernel.ts';
import { versioned } from '../answers/schema.ts';
import { waitingTexts } from '../api/health/agentchecks.ts';
import { unknownPodsIn } from '../compiler/unknownpods.ts';
import { ownAddresses } from '../kernel/host/read.ts';
import { openConntrack } from '../kernel/netlink/conntrack/conntrack.ts';
import type { Address } from '../model/address.ts';
import { addressOwners } from '../model/addressowners.ts';
import { addressesOfNode, type Cluster } from '../model/cluster.ts';
import type { Flow } from '../model/flow.ts';
import { whyUnjudged } from '../model/unjudged.ts';
import type { Connection } from '../nft/conntrack.ts';
import type { Ruleset } from '../nft/ruleset.ts';
import { evaluate } from '../semantics/evaluate.ts';
import { parseFlowPieces } from '../semantics/flowtext.ts';
import pc from '../terminal/colours.ts';
import { isData, writeData } from '../terminal/data.ts';
import { writeLines, writeNote } from '../terminal/output.ts';
import { isAskedElsewhere, type ReadbackOptions, traceCluster } from './everynode/readback.ts';
import {
  type AgentProgress,
  type Expected,
  expectedView,
  findExpected,
  type NodeOptions,
} from './findexpected.ts';
import { orCommandError } from './orcommanderror.ts';
import { hasRules, readKernel } from './readkernel.ts';
import { type TraceEnd, traceEnd } from './traceend.ts';
import { tracedEnds } from './traceends.ts';
import { type ExpectedPath, traceLines } from './tracetext.ts';

export type TraceOptions = ReadbackOptions & NodeOptions;

/**
 * `sluice trace FROM TO[:PORT[/PROTOCOL]]`: the verdict of the kernel, by a walk through the rules that were read back
 * from it.
 */
export async function traceCommand(from: string, to: string, options: TraceOptions): Promise<void> {
  if (await isAskedElsewhere(options, hasRules)) return traceCluster(from, to, options);
  const found = await findExpected('trace', options);
  if ('progress' in found) noteWaiting(found.progress);
  const ruleset = await readKernel();
  const known = 'missing' in found ? undefined : withResolved(found, ruleset);
  const [source, target] = known === undefined ? [from, to] : endsOf(known, from, to, options.namespace);
  const asked = nameless(
    source,
    target,
    known,
    'missing' in found ? `ask for an address; ${found.missing}` : undefined,
  );
  const flow =
    'missing' in found
      ? flowOf(namedPods(ruleset), source, asked.text, `${ONLY_RULES}; ${found.missing}`)
      : flowOf(found.cluster, source, asked.text, '');
  const isPodHere = known && podLinkFinder(known.cluster, known.node);
  const walk = named(walkKernel(ruleset, flow, addressesHere(known), isPodHere), known?.cluster);
  const connections = await trackedLike(flow);
  const unjudged = whyUnjudged(flow.to) ?? whyUnjudged(flow.from);
  if (unjudged !== undefined) writeNote(`note: not compared with policy: ${unjudged}`);
  const compared = unjudged === undefined ? known : undefined;
  const expected =
    compared && expectedOf({ unknownPods: unknownPodsIn(ruleset), ...compared }, asked, flow, walk);
  if (isData(options.output))
    await writeData(options.output, [traceObject(flow, walk, connections, expected)]);
  else {
    const here = { installed: ruleset.tables.size > 0, ...known };
    writeLines(traceLines(flow, walk, connections, expected, here));
    if ('missing' in found) writeLines(['', pc.dim(`policy was not read: ${found.missing}`)]);
  }
  if (expected !== undefined && expected.demanded !== walk.verdict) process.exitCode = 1;
}

function noteWaiting(progress: AgentProgress): void {
  const waiting = waitingTexts(progress);
  if (waiting.length > 0) writeNote(`note: the rules do not have the changes of ${waiting.join('; ')}`);
}

const ONLY_RULES =
  '; the rules name only pods of this node that policies select: give an address, or --manifests DIR --node NAME';

/** Manifests do not have the DNS answers of pods: for connections by name, the kernel's sets are taken as expected. */
function withResolved(found: Expected, ruleset: Ruleset): Expected {
  const { cluster, node, known } = found;
  if (known !== undefined) return found;
  return { ...found, cluster: { ...cluster, resolved: resolvedInKernel(ruleset, cluster, node) } };
}

/** Both ends as the walk takes them. */
function endsOf(known: Expected, from: string, to: string, namespace?: string): readonly [string, string] {
  const [source, target] = tracedEnds(expectedView(known, namespace), from, to);
  return [source.text, target.text];
}

function nameless(from: string, to: string, known: Expected | undefined, whyUnknown?: string): TraceEnd {
  return orCommandError(() => traceEnd(from, to, known?.known, known?.cluster, whyUnknown));
}

function flowOf(cluster: Cluster, from: string, to: string, hint: string): Flow {
  return orCommandError(
    () => parseFlowPieces(cluster, from, to),
    message => message + hint,
  );
}

/** Addresses of interfaces that are up come from the system, those of others from the agent. */
function addressesHere(known: Expected | undefined): ReadonlySet<Address> {
  const node = known?.cluster.nodes.get(known.node);
  return new Set([...ownAddresses(), ...(node === undefined ? [] : addressesOfNode(node))]);
}

/** The cluster knows more pods than the rules do. */
function named(walk: KernelWalk, cluster: Cluster | undefined): KernelWalk {
  if (cluster === undefined) return walk;
  const owners = addressOwners(cluster);
  const nameOf = (end: WalkEnd): WalkEnd => {
    const pod = owners.get(end.address)?.key ?? end.pod;
    return { ...end, ...(pod !== undefined && { pod }) };
  };
  return { ...walk, from: nameOf(walk.from), to: nameOf(walk.to) };
}

/** The connections that conntrack knows between the two, to the same port. */
async function trackedLike(flow: Flow): Promise<Connection[]> {
  const conntrack = openConntrack();
  const found: Connection[] = [];
  const isLike = ({ from, to, protocol, port }: Flow) =>
    from === flow.from && to === flow.to && protocol === flow.protocol && port === flow.port;
  try {
    await conntrack.read([flow.from], isLike, connection => found.push(connection));
    return found;
  } finally {
    conntrack.close();
  }
}

function expectedOf(
  { cluster, node, unknownPods = 'allow' }: Expected,
  asked: TraceEnd,
  flow: Flow,
  { hook, verdict: actual }: KernelWalk,
): ExpectedPath {
  const isItself = flow.from === flow.to && hook !== 'output';
  const verdict = evaluate(cluster, isItself ? { ...flow, viaService: true } : flow, unknownPods);
  const judged = { flow, verdict };
  const ownNote = () => {
    const { undecided, notes } = undecidedByNode(cluster, [judged], unknownPods);
    return [...undecided.values(), ...notes][0];
  };
  const points = enforcementPoints(cluster, flow, verdict, unknownPods);
  const outcome = outcomeOf(points, node, hook, actual);
  const unheard =
    outcome === 'drop' || outcome === 'accept'
      ? undefined
      : undecidedDenials(cluster, [judged], { node }, unknownPods).get(judged);
  return {
    node,
    verdict,
    demanded: demanded(points, node, hook),
    outcome: unheard === undefined ? outcome : 'not-judged-here',
    elsewhere: points.filter(point => point.node !== node),
    ...(unheard !== undefined && { unheard }),
    note: isItself ? NEVER_HERE : (asked.note ?? ownNote() ?? natNote(cluster, asked.text, flow)),
  };
}

const NEVER_HERE =
  'what a pod sends to its own address never leaves it: the rules see it only where a Service leads back to the pod, and this is what they do then';

function traceObject(
  flow: Flow,
  walk: KernelWalk,
  connections: readonly Connection[],
  expected: ExpectedPath | undefined,
): object {
  const tracked = connections.map(({ sourcePort, dialled, unreplied }) => ({
    sourcePort,
    dialled,
    unreplied,
  }));
  const explained = expected && { ...explainedOf(expected), demanded: expected.demanded };
  const agrees = expected === undefined ? null : expected.demanded === walk.verdict;
  const { node = null, outcome = null, note } = expected ?? {};
  const elsewhere = expected === undefined ? null : elsewhereOf(expected);
  const policy = { node, outcome, elsewhere, explain: explained ?? null, agrees, note };
  return versioned('Trace', { flow, ...walk, tracked, ...policy });
}

function explainedOf({ verdict, unheard }: ExpectedPath): object {
  if (unheard === undefined) return verdict;
  const egress = { ...verdict.egress, verdict: 'undecided', reason: unheard };
  return { ...verdict, verdict: 'undecided', egress };
}

function elsewhereOf({ elsewhere, unheard }: ExpectedPath): object {
  return elsewhere.map(point =>
    unheard !== undefined && point.direction === 'egress' ? { ...point, verdict: 'undecided' } : point,
  );
}
