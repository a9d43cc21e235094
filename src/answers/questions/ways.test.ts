/**
 * Ports of nodes: each combination of the node of the client, the node that is dialled and the node of the pod behind
 * is judged as packets are, which are followed from hook to hook.
 */
import { expect, test } from 'vitest';
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
} from '../../../test/support/oracle/nodeports.ts';
import { answer } from './answer.ts';

const COMBINATIONS: readonly Combination[] = [...NODES, 'outside' as const].flatMap(client =>
  NODES.flatMap(dialled => NODES.map(backend => ({ client, dialled, backend }))),
);

const CASES = COMBINATIONS.flatMap(each =>
  ([NODE_PORT, LOCAL_PORT, HOST_PORT] as const).flatMap(port =>
    // A host port is there where its pod is.
    port === HOST_PORT && each.dialled !== each.backend
      ? []
      : (['yes', 'no'] as const).map(masquerade => {
          const title = `${each.client} -> ${each.dialled} -> ${each.backend}`;
          return { each, port, masquerade, title };
        }),
  ),
);

function ask(known: ReturnType<typeof world>, { client, dialled }: Combination, port: number): string {
  const from = client === 'outside' ? CLIENT : 'shop/client';
  return answer(known, { from, to: `node/${dialled}:${port}` }).verdict;
}

test.each(CASES.filter(({ each }) => each.client !== 'outside'))(
  'egress of $title, port $port, masquerade $masquerade',
  ({ each, port, masquerade }) => {
    const { egress, ingress } = packet(each, port, masquerade);
    for (const target of TARGETS) {
      const said = ask(world(each, [egressTo(target)], masquerade), each, port);
      const expected = ingress === undefined ? 'undecided' : target === egress ? 'allow' : 'deny';
      expect(said, `allowed ${target}`).toBe(expected);
    }
  },
);

test.each(CASES)('ingress of $title, port $port, masquerade $masquerade', ({ each, port, masquerade }) => {
  const { ingress } = packet(each, port, masquerade);
  for (const client of CLIENTS) {
    const said = ask(world(each, [ingressFrom(client)], masquerade), each, port);
    // N43: a pod is always open to its own node.
    const isOpen = client === ingress || ingress === ADDRESS[each.backend];
    expect(said, `allowed ${client}`).toBe(ingress === undefined ? 'undecided' : isOpen ? 'allow' : 'deny');
  }
});
