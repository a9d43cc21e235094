/** Verdicts of the rules on open connections, compared with the reference. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { situationArbitrary } from '../../../test/support/arbitrary/cluster.ts';
import { DNS_QUEUE, withResolvedElements } from '../../../test/support/oracle/resolved.ts';
import { runs } from '../../../test/support/seed.ts';
import { podMap } from '../../compiler/base.ts';
import { compile } from '../../compiler/compile.ts';
import { classChain } from '../../compiler/unknownpods.ts';
import { type Address, familyOf } from '../../model/address.ts';
import type { Flow } from '../../model/flow.ts';
import type { Direction } from '../../model/policy.ts';
import { isTunnel } from '../../model/tunnels.ts';
import type { Ruleset } from '../../nft/ruleset.ts';
import { evaluator } from '../../semantics/evaluate.ts';
import { ConnectionChecker } from './connectionchecker.ts';

test('a connection is denied where the reference denies it at an end that this node enforces', () => {
  const tally = { denied: 0, allowed: 0, passing: 0, twice: 0 };
  fc.assert(
    fc.property(situationArbitrary(60), ({ cluster, unknownPods, flows }) => {
      const compiled = compile(cluster, 'n1', unknownPods, 'others', DNS_QUEUE);
      const ruleset = withResolvedElements(compiled, cluster, 'n1', unknownPods);
      const own = new Set(cluster.nodes.get('n1')!.addresses);
      const checker = new ConnectionChecker(ruleset, () => own);
      const evaluate = evaluator(cluster, undefined, 'n1');
      // Tunnels between nodes are no policy's concern, and no class's (N72).
      const ofPolicies = flows.filter(flow => !isTunnel(flow));
      for (const flow of [...ofPolicies, ...ofPolicies]) {
        const enforced = enforcedDirections(ruleset, own, flow);
        const verdict = evaluate(flow);
        const denied = enforced.some(direction => verdict[direction].verdict === 'deny');
        expect(checker.denies(flow), JSON.stringify(flow)).toBe(denied);
        tally[denied ? 'denied' : enforced.length > 0 ? 'allowed' : 'passing']++;
        if (enforced.length > 1) tally.twice++;
      }
    }),
    { numRuns: runs(150) },
  );
  expect(Math.min(...Object.values(tally)), JSON.stringify(tally)).toBeGreaterThan(runs(100));
}, 300_000);

function enforcedDirections(ruleset: Ruleset, own: ReadonlySet<Address>, { from, to }: Flow): Direction[] {
  const hasClass = (direction: Direction, address: Address) => {
    const family = familyOf(address);
    const element = ruleset.tables
      .get(family)!
      .sets.get(podMap(direction, family).name)!
      .elements.get(address);
    return element !== undefined && classChain(element) !== undefined;
  };
  return [
    ...(hasClass('egress', from) ? (['egress'] as const) : []),
    ...(!own.has(from) && hasClass('ingress', to) ? (['ingress'] as const) : []),
  ];
}
