/** What `explain` answers for Services and for pods that are not there yet is what `evaluate` says of each connection meant. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { answer } from '../../src/answers/questions/answer.ts';
import type { ClusterView } from '../../src/answers/questions/place.ts';
import {
  type Address,
  type AddressRange,
  addressFromInt,
  FAMILIES,
  familyOf,
} from '../../src/model/address.ts';
import { addressOwners, takenAddresses } from '../../src/model/addressowners.ts';
import type { Cluster, Pod } from '../../src/model/cluster.ts';
import type { Flow } from '../../src/model/flow.ts';
import { NO_INVENTORY } from '../../src/model/inventory.ts';
import type { Labels } from '../../src/model/labels.ts';
import type { UnknownPods } from '../../src/model/podcidrs.ts';
import type { Service, ServiceKey } from '../../src/model/service.ts';
import { evaluator } from '../../src/semantics/evaluate.ts';
import { knownClusterArbitrary, podLabels } from '../support/arbitrary/cluster.ts';
import { runs } from '../support/seed.ts';

const RUNS = runs(500);
const QUESTIONS = 10;

const protocol = fc.constantFrom('TCP', 'UDP', 'SCTP');
const namespace = fc.constantFrom('a', 'b', 'c');

const service: fc.Arbitrary<Service> = fc
  .record({
    namespace,
    selector: podLabels,
    headless: fc.boolean(),
    protocol,
    port: fc.constantFrom(53, 80, 443),
    target: fc.constantFrom<number | string>(80, 81, 1000, 8080, 'web', 'dns'),
  })
  .map(({ protocol, port, target, ...rest }) => ({
    ...rest,
    key: `${rest.namespace}/s` as const,
    name: 's',
    type: 'ClusterIP',
    clusterIps: [],
    externalIps: [],
    ports: [{ name: 'x', protocol, port, target }],
  }));

const worldOf = (
  cluster: Cluster,
  unknownPods: UnknownPods,
  services: readonly Service[] = [],
): ClusterView => ({
  cluster,
  inventory: {
    ...NO_INVENTORY,
    services: new Map<ServiceKey, Service>(services.map(each => [each.key, each])),
  },
  knowsInventory: true,
  defaultNamespace: 'a',
  unknownPods,
});

const hasAll = (labels: Labels, wanted: Labels) =>
  Object.entries(wanted).every(([key, value]) => labels[key] === value);

/** The pods behind it, with the port of each; undefined where one cannot be asked about. */
function behind(
  cluster: Cluster,
  { namespace, selector = {}, headless, ports }: Service,
): [Pod, number][] | undefined {
  const [{ protocol, port, target }] = ports as [Service['ports'][0]];
  const owners = addressOwners(cluster);
  const pods = [...cluster.pods.values()].filter(
    pod => pod.namespace === namespace && !pod.finished && hasAll(pod.labels, selector),
  );
  const isOdd = (pod: Pod) =>
    pod.addresses.length === 0 ||
    (!pod.hostNetwork && pod.addresses.some(address => owners.get(address) !== pod));
  if (pods.some(isOdd)) return undefined;
  return pods.flatMap((pod): [Pod, number][] => {
    if (headless) {
      const named = pod.ports.some(each => each.name === target && each.protocol === protocol);
      return typeof target === 'number' || named ? [[pod, port]] : [];
    }
    const number =
      typeof target === 'number'
        ? target
        : pod.ports.find(each => each.name === target && each.protocol === protocol)?.port;
    return number === undefined ? [] : [[pod, number]];
  });
}

test('a Service is answered as each endpoint behind it, in both families', () => {
  const tally = { allow: 0, deny: 0, undecided: 0, skipped: 0 };
  const check = (cluster: Cluster, found: Service, source: Pod, unknownPods: UnknownPods) => {
    const [{ protocol, port }] = found.ports as [Service['ports'][0]];
    const targets = behind(cluster, found);
    const owners = addressOwners(cluster);
    const isAsked = source.hostNetwork || source.addresses.every(address => owners.get(address) === source);
    if (targets === undefined || source.finished || source.addresses.length === 0 || !isAsked) {
      tally.skipped++;
      return;
    }
    const evaluate = evaluator(cluster, unknownPods);
    const verdicts = targets.flatMap(([pod, number]) =>
      FAMILIES.flatMap(family => {
        const [from, to] = [source, pod].map(each => each.addresses.find(at => familyOf(at) === family));
        if (from === undefined || to === undefined) return [];
        const flow: Flow = { from, to, protocol, port: number, ...(!found.headless && { viaService: true }) };
        return [evaluate(flow).verdict];
      }),
    );
    const world = worldOf(cluster, unknownPods, [found]);
    const ask = () => answer(world, { from: source.key, to: `svc/${found.key}:${port}/${protocol}` });
    if (targets.length > 0 && verdicts.length === 0)
      return expect(ask).toThrow('no address family in common');
    const { verdict } = ask();
    tally[verdict]++;
    expect(verdict).toBe(verdicts.length === 0 ? 'undecided' : verdicts.includes('deny') ? 'deny' : 'allow');
  };
  const situations = knownClusterArbitrary.chain(cluster =>
    fc.record({
      cluster: fc.constant(cluster),
      asked: fc.array(fc.tuple(service, fc.constantFrom(...cluster.pods.values())), {
        minLength: QUESTIONS,
        maxLength: QUESTIONS,
      }),
      unknownPods: fc.constantFrom<UnknownPods>('allow', 'deny'),
    }),
  );
  fc.assert(
    fc.property(situations, ({ cluster, asked, unknownPods }) => {
      for (const [found, source] of asked) check(cluster, found, source, unknownPods);
    }),
    { numRuns: RUNS },
  );
  process.stdout.write(`    ${JSON.stringify(tally)}\n`);
  expect(Math.min(tally.allow, tally.deny, tally.undecided)).toBeGreaterThan(0.1 * RUNS);
}, 900_000);

/** The pod as it is once it has got this address. */
function withPod(cluster: Cluster, namespace: string, labels: Labels, address: Address): Cluster {
  const rest = { node: '', hostNetwork: false, finished: false, createdAt: '', ports: [] };
  const pod: Pod = { key: `${namespace}/new`, namespace, name: 'new', labels, addresses: [address], ...rest };
  return { ...cluster, pods: new Map(cluster.pods).set(pod.key, pod) };
}

function addressIn({ family, first, last }: AddressRange, part: number): Address {
  return addressFromInt(family, first + ((last - first) * BigInt(part)) / 1000n);
}

test('labels of a pod that is not there are judged as the pod, whatever address it gets', () => {
  const tally = { allow: 0, deny: 0 };
  const check = (
    cluster: Cluster,
    { namespace, labels, other, port, isSource, part }: Asked,
    unknownPods: UnknownPods,
  ) => {
    const owners = addressOwners(cluster);
    if (other.finished || other.addresses.length === 0 || Object.keys(labels).length === 0) return;
    if (!other.hostNetwork && other.addresses.some(address => owners.get(address) !== other)) return;
    const text = `${namespace}/${Object.entries(labels).map(label => label.join('='))}`;
    const [from, to] = isSource ? [text, `${other.key}:${port}`] : [other.key, `${text}:${port}`];
    const taken = takenAddresses(cluster);
    for (const { flow, fromRange, toRange, verdict } of answer(worldOf(cluster, unknownPods), { from, to })
      .cases) {
      const address = addressIn((fromRange ?? toRange)!, part);
      if (taken.has(address)) continue;
      const after = withPod(cluster, namespace, labels, address);
      const asked = isSource ? { ...flow, from: address } : { ...flow, to: address };
      expect(verdict.verdict).toBe(evaluator(after, unknownPods)(asked).verdict);
      tally[verdict.verdict]++;
    }
  };
  interface Asked {
    readonly namespace: string;
    readonly labels: Labels;
    readonly other: Pod;
    readonly port: number;
    readonly isSource: boolean;
    readonly part: number;
  }
  const situations = knownClusterArbitrary.chain(cluster =>
    fc.record({
      cluster: fc.constant(cluster),
      asked: fc.array(
        fc.record({
          namespace,
          labels: podLabels,
          other: fc.constantFrom(...cluster.pods.values()),
          port: fc.constantFrom(53, 80, 443, 1000),
          isSource: fc.boolean(),
          part: fc.nat(1000),
        }),
        { minLength: QUESTIONS, maxLength: QUESTIONS },
      ),
      unknownPods: fc.constantFrom<UnknownPods>('allow', 'deny'),
    }),
  );
  fc.assert(
    fc.property(situations, ({ cluster, asked, unknownPods }) => {
      for (const each of asked) check(cluster, each, unknownPods);
    }),
    { numRuns: RUNS },
  );
  process.stdout.write(`    ${JSON.stringify(tally)}\n`);
  expect(Math.min(tally.allow, tally.deny)).toBeGreaterThan(RUNS);
}, 900_000);
