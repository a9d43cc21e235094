/** Objects that are written ten times a second beside the policies of an attack: those that policies are about. */
import { parseAddress } from '../../src/model/address.ts';
import type { KubeObject } from '../fakeapiserver.ts';
import { ELSEWHERE, farPod, HOSTILE, HOSTILE_ADDRESS, NEIGHBOURS_NODE, pod, TENANT } from './population.ts';

const PODS_OF_AN_EDIT = 200;
const NAMESPACES = 50;
const NODES = 50;
const ADDRESS = parseAddress('10.3.99.99')!;

/** Another value of `tier` each time that their turn comes. */
export function relabelledPods(edit: number): KubeObject[] {
  const round = Math.floor((edit * PODS_OF_AN_EDIT) / ELSEWHERE);
  const tier = round % 2 === 0 ? 'red' : 'any';
  return podsOf(edit).map(i => farPod(i, { app: `peer-${i % 500}`, tier }));
}

/** Pods with one address, as a kubelet may report its own pods. */
export function podsOfOneAddress(edit: number): KubeObject[] {
  const status = { phase: 'Running', podIP: ADDRESS, podIPs: [{ ip: ADDRESS }] };
  return podsOf(edit).map(i => ({ ...farPod(i), status }));
}

export function relabelledNamespaces(edit: number): KubeObject[] {
  return Array.from({ length: NAMESPACES }, (_, i) => {
    const name = `crowd-${i}`;
    const labels = { 'kubernetes.io/metadata.name': name, team: `t${(i + edit) % NAMESPACES}` };
    return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } };
  });
}

/** The tenant's own, of 3,000 pods: another value each time. */
export function relabelledTenant(edit: number): KubeObject[] {
  const labels = { 'kubernetes.io/metadata.name': TENANT, team: edit % 2 === 0 ? 'red' : 'any' };
  return [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: TENANT, labels } }];
}

/** Another role with each edit. */
export function relabelledHere(edit: number): KubeObject[] {
  const labels = { ...HOSTILE, role: roleOf(edit) };
  return [pod(TENANT, 'hostile-0', NEIGHBOURS_NODE, HOSTILE_ADDRESS, labels)];
}

export const roleOf = (edit: number) => (edit % 2 === 0 ? 'a' : 'b');

export function changingNodes(edit: number): KubeObject[] {
  return Array.from({ length: NODES }, (_, i) => {
    const addresses = [{ type: 'InternalIP', address: `172.31.${i}.${1 + (edit % 250)}` }];
    const metadata = { name: `changing-${i}`, labels: { zone: `z${edit % 7}` } };
    return { apiVersion: 'v1', kind: 'Node', metadata, spec: {}, status: { addresses } };
  });
}

/** Annotations of the largest size that an object may have. */
export function annotatedPods(edit: number): KubeObject[] {
  const pod = farPod(edit % 10);
  const annotations = { blob: `${edit}`.padStart(250_000, 'x') };
  return [{ ...pod, metadata: { ...pod.metadata, annotations } }];
}

function podsOf(edit: number): number[] {
  return Array.from({ length: PODS_OF_AN_EDIT }, (_, i) => (edit * PODS_OF_AN_EDIT + i) % ELSEWHERE);
}
