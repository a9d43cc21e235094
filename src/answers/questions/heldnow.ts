/** The addresses of a name that a pod was told and may connect to now. */
import { familyOf } from '../../model/address.ts';
import type { Cluster } from '../../model/cluster.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { ToldAsOf, ToldFact } from '../../names/toldfacts.ts';
import { evaluator } from '../../semantics/evaluate.ts';
import type { Case } from './judge.ts';
import { podOf } from './ports.ts';

/** Of cases that wait for an answer to bring an address of the name. */
export function heldNow(
  cluster: Cluster,
  waiting: readonly Case[],
  known: ToldAsOf | undefined,
  unknownPods: UnknownPods,
): readonly ToldFact[] {
  if (known === undefined || waiting.length === 0) return [];
  const evaluate = evaluator(cluster, unknownPods);
  const found = waiting.flatMap(({ from, to, flow, family }) => {
    const pod = podOf(from)?.key;
    const facts = pod === undefined ? [] : [...known.facts.of(pod)];
    return facts.filter(
      ({ name, address, untilMs }) =>
        name === to.place.domain &&
        untilMs > known.nowMs &&
        familyOf(address) === family &&
        evaluate({ ...flow, to: address }).verdict === 'allow',
    );
  });
  return [...new Set(found)];
}
