/** What is said of a way through an ingress controller is what `evaluate` says of both connections. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Entryway, entrywaysFromInternet } from '../../src/answers/entrances/entryways.ts';
import { type Address, familyOf, parseAddress } from '../../src/model/address.ts';
import { addressOwners } from '../../src/model/addressowners.ts';
import type { Cluster, Pod } from '../../src/model/cluster.ts';
import { NO_INVENTORY } from '../../src/model/inventory.ts';
import type { Service } from '../../src/model/service.ts';
import { evaluator } from '../../src/semantics/evaluate.ts';
import { knownClusterArbitrary } from '../support/arbitrary/cluster.ts';
import { runs } from '../support/seed.ts';

const RUNS = runs(200);
/** An address of the internet in each family that no generated policy names alone. */
const OUTSIDE = { ip: parseAddress('8.8.8.8')!, ip6: parseAddress('2001:4860::8')! };

test('each step has the verdict of evaluate, and the way the stricter one', () => {
  const tally = { allow: 0, deny: 0, undecided: 0, closed: 0 };
  fc.assert(
    fc.property(knownClusterArbitrary, fc.constantFrom(80, 81, 1000, 8080), (cluster, port) => {
      const pods = ownersOf(cluster);
      for (const target of pods) {
        const behind = [...cluster.pods.values()].filter(each => !each.finished && hasAll(each, target));
        // On the network of a node, or without an address of its own.
        if (behind.some(each => !pods.includes(each))) continue;
        for (const controller of pods.filter(each => each !== target)) {
          const { ways } = entrywaysFromInternet(worldOf(cluster, target, port), [controller.key]);
          for (const { verdict, steps, to } of ways) {
            tally[verdict]++;
            if (steps[0].verdict !== 'allow') tally.closed++;
            expect(verdict).toBe(
              ['deny', 'undecided', 'allow'].find(word => steps.some(each => each.verdict === word)),
            );
            const pod = pods.find(({ key }) => to === `Pod ${key}`)!;
            expectSteps(cluster, controller, pod, port, steps);
          }
        }
      }
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
  process.stdout.write(`    ${JSON.stringify(tally)}\n`);
  expect(Math.min(tally.allow, tally.deny, tally.closed)).toBeGreaterThan(RUNS / 4);
}, 900_000);

function expectSteps(
  cluster: Cluster,
  controller: Pod,
  behind: Pod,
  port: number,
  [first, second]: Entryway['steps'],
): void {
  const evaluate = evaluator(cluster, 'allow');
  const isAllowed = (from: Address, to: Address, port: number) =>
    evaluate({ from, to, protocol: 'TCP', port, viaService: true }).verdict === 'allow';
  const all = connections(controller, behind);
  if (second!.verdict !== 'undecided')
    expect(second!.verdict).toBe(all.every(([from, to]) => isAllowed(from, to, port)) ? 'allow' : 'deny');
  // Policies may deny some of the internet: one address does not show that all of it may.
  if (first.verdict !== 'allow') return;
  for (const to of controller.addresses) expect(isAllowed(OUTSIDE[familyOf(to)], to, first.port)).toBe(true);
}

/** The pods that are selected and have all of their addresses to themselves. */
function ownersOf(cluster: Cluster): Pod[] {
  const owners = addressOwners(cluster);
  return [...cluster.pods.values()].filter(
    pod =>
      !(pod.hostNetwork || pod.finished) &&
      pod.addresses.length > 0 &&
      pod.addresses.every(address => owners.get(address) === pod),
  );
}

function hasAll({ namespace, labels }: Pod, target: Pod): boolean {
  const wanted = Object.entries(target.labels);
  return namespace === target.namespace && wanted.every(([key, value]) => labels[key] === value);
}

/** One address of each family that both have, as a question judges it. */
function connections(from: Pod, to: Pod) {
  return (['ip', 'ip6'] as const).flatMap(family => {
    const of = ({ addresses }: Pod) => addresses.find(address => familyOf(address) === family);
    const [source, destination] = [of(from), of(to)];
    return source === undefined || destination === undefined ? [] : [[source, destination] as const];
  });
}

function worldOf(cluster: Cluster, target: Pod, port: number) {
  const service: Service = {
    ...{ key: `${target.namespace}/s`, namespace: target.namespace, name: 's', type: 'ClusterIP' },
    ...{ clusterIps: [], externalIps: [], headless: false, selector: target.labels },
    ports: [{ name: '', protocol: 'TCP', port: 80, target: port }],
  };
  const backends = [{ field: 'spec.defaultBackend.service', service: service.key, port: 80 }];
  const entrances = [{ object: 'Ingress a/i', backends, servedBy: { kind: 'class', name: 'x' } as const }];
  return {
    cluster,
    inventory: { ...NO_INVENTORY, services: new Map([[service.key, service]]), entrances },
    ...{ knowsInventory: true, defaultNamespace: 'a', unknownPods: 'allow' as const },
  };
}
