/** The kinds of rules by which pods get in and out that are not there yet, one by one: test/fixtures/comingpods.yaml. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import type { Direction } from '../../model/policy.ts';
import { memberName } from '../../model/workload.ts';
import { exposureTexts } from './rows.ts';
import { matrixViewOf } from './view.ts';

interface Case {
  readonly title: string;
  readonly direction?: Direction;
  /** Rules of a NetworkPolicy on the workload, of an AdminNetworkPolicy and of the baseline. */
  readonly ingress?: readonly object[];
  readonly egress?: readonly object[];
  readonly admin?: Rules;
  readonly baseline?: Rules;
  readonly more?: readonly object[];
  readonly listed: readonly string[];
}

type Rules = Partial<Record<Direction, readonly object[]>>;

const CASES = parse(
  readFileSync(join(import.meta.dirname, '../../../test/fixtures/comingpods.yaml'), 'utf8'),
) as readonly Case[];

const deployment = (name: string) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: 'shop' },
  spec: {
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: 'c', ports: [{ name: 'http', containerPort: 8080 }] }] },
    },
  },
});

const SHOP = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: 'shop', labels: { team: 'a', 'kubernetes.io/metadata.name': 'shop' } },
};

const API = { matchLabels: { app: 'api' } };

function policyOf({ ingress, egress }: Case): object[] {
  if (ingress === undefined && egress === undefined) return [];
  const metadata = { name: 'api', namespace: 'shop' };
  const policyTypes = [...(ingress ? ['Ingress'] : []), ...(egress ? ['Egress'] : [])];
  const spec = { podSelector: API, policyTypes, ...(ingress && { ingress }), ...(egress && { egress }) };
  return [{ apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata, spec }];
}

function clusterPolicy(kind: string, name: string, rules: Rules | undefined, more = {}): object[] {
  if (rules === undefined) return [];
  const shop = { matchLabels: { 'kubernetes.io/metadata.name': 'shop' } };
  const subject = { pods: { namespaceSelector: shop, podSelector: API } };
  const apiVersion = 'policy.networking.k8s.io/v1alpha1';
  return [{ apiVersion, kind, metadata: { name }, spec: { subject, ...more, ...rules } }];
}

test.each(CASES.map(each => [each.title, each] as const))('pods to come: %s', (_, each) => {
  const objects = [
    SHOP,
    deployment('api'),
    deployment('db'),
    ...policyOf(each),
    ...clusterPolicy('AdminNetworkPolicy', 'admin', each.admin, { priority: 1 }),
    ...clusterPolicy('BaselineAdminNetworkPolicy', 'default', each.baseline),
    ...(each.more ?? []),
  ];
  const view = matrixViewOf(
    clusterView(objects.map(object => JSON.stringify(object)).join('\n---\n')),
    'allow',
  );
  const direction = each.direction ?? (each.ingress === undefined ? 'egress' : 'ingress');
  const listed = exposureTexts(view)
    .filter(line => line.direction === direction && line.members.map(memberName).includes('shop/api'))
    .flatMap(({ whom, connections }) => whom.map(one => `${one}: ${connections}`));
  expect(listed).toEqual(each.listed);
});
