/**
 * What `explain` says of a port of a node, from manifests that do not say where pods run or whether the network
 * masquerades, holds in every cluster that the manifests may become.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { answer } from '../../src/answers/questions/answer.ts';
import {
  ADDRESS,
  CLIENT,
  CLIENTS,
  type Combination,
  egressTo,
  HOST_PORT,
  ingressFrom,
  LOCAL_PORT,
  NODE_PORT,
  NODES,
  packet,
  TARGETS,
  world,
} from '../support/oracle/nodeports.ts';
import { runs } from '../support/seed.ts';

const node = fc.constantFrom(...NODES);
const question = fc.record(
  {
    client: fc.option(fc.constantFrom(...NODES, 'outside' as const), { nil: undefined }),
    backend: fc.option(node, { nil: undefined }),
    masquerade: fc.option(fc.constantFrom('yes' as const, 'no' as const), { nil: undefined }),
    dialled: node,
    port: fc.constantFrom(NODE_PORT, LOCAL_PORT),
    egress: fc.option(fc.constantFrom(...TARGETS.filter(target => !target.endsWith(String(HOST_PORT)))), {
      nil: undefined,
    }),
    ingress: fc.option(fc.subarray([...CLIENTS]), { nil: undefined }),
  },
  { requiredKeys: ['client', 'backend', 'masquerade', 'dialled', 'port', 'egress', 'ingress'] },
);
type Question = typeof question extends fc.Arbitrary<infer T> ? T : never;

/** Whether connections pass in each completion; undefined where nobody answers. */
function completions({ client, backend, masquerade, dialled, port, egress, ingress }: Question) {
  const clients = client === undefined ? NODES : [client];
  const backends = backend === undefined ? NODES : [backend];
  const networks = masquerade === undefined ? (['yes', 'no'] as const) : [masquerade];
  return clients.flatMap(from =>
    backends.flatMap(behind =>
      networks.map(each => {
        const combination: Combination = { client: from, dialled, backend: behind };
        const seen = packet(combination, port, each);
        if (seen.ingress === undefined) return undefined;
        const mayLeave = from === 'outside' || egress === undefined || egress === seen.egress;
        const isOwnNode = seen.ingress === ADDRESS[behind];
        return mayLeave && (ingress === undefined || isOwnNode || ingress.includes(seen.ingress));
      }),
    ),
  );
}

test('a verdict on a port of a node holds wherever the pods run, and whether or not the network masquerades', () => {
  fc.assert(
    fc.property(question, asked => {
      const { client, backend, masquerade, dialled, port, egress, ingress } = asked;
      const policies = [
        ...(egress === undefined ? [] : [egressTo(egress)]),
        ...(ingress === undefined ? [] : [ingressFrom(...ingress)]),
      ];
      const where = { ...(client && { client }), ...(backend && { backend }) };
      const known = world(where, policies, masquerade);
      const from = client === 'outside' ? CLIENT : 'shop/client';
      const { verdict, cases } = answer(known, { from, to: `node/${dialled}:${port}` });
      const outcomes = completions(asked).filter(outcome => outcome !== undefined);
      if (verdict === 'allow') expect(outcomes.every(isOpen => isOpen)).toBe(true);
      // The stricter verdict counts where they differ.
      if (verdict === 'deny') expect(outcomes.some(isOpen => !isOpen)).toBe(true);
      if (verdict === 'undecided' && outcomes.length > 0) expect(new Set(outcomes).size).toBe(2);
      if (outcomes.length === 0) expect(verdict).toBe('undecided');
      if (cases.every(each => each.verdict.verdict === 'allow' && each.undecided === undefined))
        expect(outcomes).not.toContain(false);
    }),
    { numRuns: runs(2_000) },
  );
});
