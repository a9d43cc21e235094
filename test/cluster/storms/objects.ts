/** Objects for the API server, a line each; a `status` is written by `Api.apply` where it belongs. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Manifest } from './api.ts';

type LabelMap = Readonly<Record<string, string>>;

const POLICY_GROUP = 'policy.networking.k8s.io';

export function namespace(name: string, labels: LabelMap = {}): Manifest {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } };
}

export function node(name: string, address: string): Manifest {
  const status = { addresses: [{ type: 'InternalIP', address }] };
  return { apiVersion: 'v1', kind: 'Node', metadata: { name }, status };
}

export interface PodOptions {
  readonly node: string;
  readonly ips: readonly string[];
  readonly labels?: LabelMap;
  readonly phase?: string;
}

/** `key` is `namespace/name`. */
export function pod(key: string, { node, ips, labels = {}, phase = 'Running' }: PodOptions): Manifest {
  const containers = [{ name: 'c', image: 'none', ports: [{ name: 'web', containerPort: 8080 }] }];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...identity(key), labels },
    spec: { nodeName: node, containers },
    status: { phase, podIP: ips[0], podIPs: ips.map(ip => ({ ip })) },
  };
}

export function networkPolicy(key: string, spec: object): Manifest {
  return { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: identity(key), spec };
}

export function clusterPolicy(name: string, spec: object, version = 'v1alpha2'): Manifest {
  return {
    apiVersion: `${POLICY_GROUP}/${version}`,
    kind: 'ClusterNetworkPolicy',
    metadata: { name },
    spec,
  };
}

export function adminPolicy(name: string, spec: object): Manifest {
  return { apiVersion: `${POLICY_GROUP}/v1alpha1`, kind: 'AdminNetworkPolicy', metadata: { name }, spec };
}

/** There can be one, and its name is `default`. */
export function baselinePolicy(spec: object): Manifest {
  const metadata = { name: 'default' };
  return { apiVersion: `${POLICY_GROUP}/v1alpha1`, kind: 'BaselineAdminNetworkPolicy', metadata, spec };
}

/** A definition of network-policy-api, from the Go module that the upstream suites are built from. */
export function definition(plural: string): Manifest {
  const module = join(import.meta.dirname, plural.startsWith('cluster') ? '../binaries' : '../binaries/anp');
  const find = ['list', '-m', '-f', '{{.Dir}}', 'sigs.k8s.io/network-policy-api'];
  const folder = execFileSync('go', find, { cwd: module, encoding: 'utf8' }).trim();
  const file = join(folder, 'config/crd/experimental', `${POLICY_GROUP}_${plural}.yaml`);
  const { status: _, ...rest } = parse(readFileSync(file, 'utf8'));
  return rest;
}

interface Version {
  readonly name: string;
}

/** The same definition in all these versions, of which some are served and the first is stored; one schema for all. */
export function servedAs(definition: Manifest, served: readonly string[], all: readonly string[]): Manifest {
  const spec = definition.spec as { versions: Version[] };
  const versions = all.map((name, index) => ({
    ...spec.versions[0],
    name,
    served: served.includes(name),
    storage: index === 0,
  }));
  return { ...definition, spec: { ...spec, versions } };
}

function identity(key: string): { namespace: string; name: string } {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name };
}
