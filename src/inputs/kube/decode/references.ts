/**
 * What an object says of the connections that pods need: values that name hosts, monitors, webhooks, who may call the
 * API server. `sluice suggest` guesses from it. No verdict depends on it, so what cannot be read is left out.
 */
import type { LabelSelector, Labels } from '../../../model/labels.ts';
import type { ServiceKey } from '../../../model/service.ts';
import { asMap, asMaps, metadataOf, typeOf } from '../report/identity.ts';
import { hasPodTemplate } from './customworkloads.ts';
import { looseSelector } from './looseselector.ts';

/** A value that may name hosts, with the name of its variable, flag or key. */
export interface SaidText {
  readonly field: string;
  readonly name: string;
  readonly text: string;
}

export type Reference =
  | Speaker
  /** A ConfigMap: its values count for the pods that take them. */
  | { readonly kind: 'texts'; readonly key: string; readonly texts: readonly SaidText[] }
  /** Service accounts that a binding gives rights of the API: `shop/operator`. */
  | { readonly kind: 'binding'; readonly object: string; readonly accounts: readonly string[] }
  | {
      readonly kind: 'webhook';
      readonly object: string;
      readonly field: string;
      readonly service: ServiceKey;
      readonly port: number;
    }
  | { readonly kind: 'service'; readonly key: ServiceKey; readonly labels: Labels }
  | Monitor;

/** Something that makes pods, or a pod. */
export interface Speaker {
  readonly kind: 'speaker';
  /** `Deployment shop/web`. */
  readonly object: string;
  readonly namespace: string;
  /** `shop/default`. */
  readonly account: string;
  readonly texts: readonly SaidText[];
  /** ConfigMaps whose values the containers have; with a key only that one, by the name that the container has for it. */
  readonly configMaps: readonly {
    readonly field: string;
    readonly key: string;
    readonly only?: string;
    readonly name?: string;
  }[];
}

/** A ServiceMonitor or PodMonitor. */
export interface Monitor {
  readonly kind: 'monitor';
  readonly object: string;
  readonly of: 'services' | 'pods';
  /** Absent: of all namespaces. */
  readonly namespaces?: readonly string[];
  readonly selector: LabelSelector;
  /** Ports by the name of the Service's or the container's, or by number. */
  readonly ports: readonly { readonly field: string; readonly port: string | number }[];
}

export function referencesOf(object: unknown): readonly Reference[] {
  const one = referenceOf(object);
  return one === undefined ? webhooksOf(object) : [one];
}

function referenceOf(object: unknown): Reference | undefined {
  const { apiVersion = '', kind = '' } = typeOf(object);
  const { namespace, name } = metadataOf(object);
  const key: ServiceKey = `${namespace}/${name}`;
  const named = `${kind} ${key}`;
  if (apiVersion === 'v1' && kind === 'Service') return { kind: 'service', key, labels: labelsOf(object) };
  if (apiVersion === 'v1' && kind === 'ConfigMap')
    return { kind: 'texts', key, texts: textsOf(asMap(object).data, 'data') };
  if (apiVersion === 'monitoring.coreos.com/v1' && kind === 'ServiceMonitor')
    return monitorOf(object, named, namespace, 'services', 'endpoints');
  if (apiVersion === 'monitoring.coreos.com/v1' && kind === 'PodMonitor')
    return monitorOf(object, named, namespace, 'pods', 'podMetricsEndpoints');
  if (/^(?:Cluster)?RoleBinding$/.test(kind)) return bindingOf(object, named, namespace);
  return speakerOf(object, kind, named, namespace);
}

/** Each of a configuration of webhooks. */
function webhooksOf(object: unknown): readonly Reference[] {
  const { kind = '' } = typeOf(object);
  if (!/^(?:Mutating|Validating)WebhookConfiguration$/.test(kind)) return [];
  return asMaps(asMap(object).webhooks).flatMap(({ clientConfig }, at) => {
    const { namespace, name, port = 443 } = asMap(asMap(clientConfig).service);
    if (typeof namespace !== 'string' || typeof name !== 'string' || typeof port !== 'number') return [];
    const field = `webhooks[${at}].clientConfig.service`;
    const service: ServiceKey = `${namespace}/${name}`;
    return [{ kind: 'webhook' as const, object: `${kind} ${metadataOf(object).name}`, field, service, port }];
  });
}

function labelsOf(object: unknown): Labels {
  const entries = Object.entries(asMap(asMap(asMap(object).metadata).labels));
  return Object.fromEntries(entries.map(([key, value]) => [key, String(value)]));
}

function textsOf(map: unknown, field: string): SaidText[] {
  return Object.entries(asMap(map)).flatMap(([name, text]) =>
    typeof text === 'string' ? [{ field: `${field}.${name}`, name, text }] : [],
  );
}

function bindingOf(object: unknown, named: string, own: string): Reference {
  const accounts = asMaps(asMap(object).subjects).flatMap(({ kind, name, namespace = own }) =>
    kind === 'ServiceAccount' ? [`${namespace}/${name}`] : [],
  );
  // A ClusterRoleBinding has no namespace.
  return { kind: 'binding', object: named.replace(/^(ClusterRoleBinding) .*\//, '$1 '), accounts };
}

function monitorOf(
  object: unknown,
  named: string,
  own: string,
  of: Monitor['of'],
  list: string,
): Monitor | undefined {
  const spec = asMap(asMap(object).spec);
  const selector = looseSelector(spec.selector);
  if (selector === undefined) return undefined;
  const { any, matchNames } = asMap(spec.namespaceSelector);
  const names = Array.isArray(matchNames) ? matchNames.map(String) : [own];
  const ports = asMaps(spec[list]).flatMap(({ port, portNumber, targetPort }, at) => {
    const found = port ?? portNumber ?? targetPort;
    const isPort = typeof found === 'string' || typeof found === 'number';
    return isPort ? [{ field: `spec.${list}[${at}]`, port: found }] : [];
  });
  return { kind: 'monitor', object: named, of, ...(any !== true && { namespaces: names }), selector, ports };
}

// What the containers of a pod have: variables, commands, arguments, ConfigMaps.

function speakerOf(object: unknown, kind: string, named: string, namespace: string): Speaker | undefined {
  const found = podSpecOf(object, kind);
  if (found === undefined) return undefined;
  const [spec, path] = found;
  const account = `${namespace}/${spec.serviceAccountName ?? spec.serviceAccount ?? 'default'}`;
  const lists = ['initContainers', 'containers'].flatMap(list =>
    asMaps(spec[list]).map((container, at) => [container, `${path}.${list}[${at}]`] as const),
  );
  return {
    kind: 'speaker',
    object: named,
    namespace,
    account,
    texts: lists.flatMap(([container, field]) => [
      ...variablesOf(container, field),
      ...wordsOf(container.command, `${field}.command`),
      ...wordsOf(container.args, `${field}.args`),
    ]),
    configMaps: [
      ...lists.flatMap(([container, field]) => configMapsOf(container, field, namespace)),
      ...volumesOf(spec, path, namespace),
    ],
  };
}

type Map = Readonly<Record<string, unknown>>;

/** A pod that something else made is that something's. */
function podSpecOf(object: unknown, kind: string): readonly [Map, string] | undefined {
  const { spec, metadata } = asMap(object);
  if (kind === 'Pod')
    return asMap(metadata).ownerReferences === undefined ? [asMap(spec), 'spec'] : undefined;
  const [job, path] =
    kind === 'CronJob' ? [asMap(asMap(spec).jobTemplate).spec, 'spec.jobTemplate.spec'] : [spec, 'spec'];
  if (
    kind !== 'CronJob' &&
    !hasPodTemplate(object) &&
    !Array.isArray(asMap(asMap(asMap(spec).template).spec).containers)
  )
    return undefined;
  return [asMap(asMap(asMap(job).template).spec), `${path}.template.spec`];
}

function variablesOf({ env }: Map, field: string): SaidText[] {
  return asMaps(env).flatMap(({ name, value }, at) =>
    typeof name === 'string' && typeof value === 'string'
      ? [{ field: `${field}.env[${at}]`, name, text: value }]
      : [],
  );
}

/** The value of `--db-host=db` and of `--db-host db` has the name of the flag. */
function wordsOf(list: unknown, field: string): SaidText[] {
  const words = Array.isArray(list) ? list.map(word => (typeof word === 'string' ? word : '')) : [];
  return words.map((text, at) => {
    const [, flag, value] = /^(-[^=\s]*)=(.*)$/s.exec(text) ?? [];
    const before = words[at - 1] ?? '';
    const name = flag ?? (/^-[^=\s]+$/.test(before) ? before : '');
    return { field: `${field}[${at}]`, name, text: value ?? text };
  });
}

function configMapsOf({ env, envFrom }: Map, field: string, namespace: string): Speaker['configMaps'] {
  const whole = asMaps(envFrom).flatMap(({ configMapRef }, at) => {
    const { name } = asMap(configMapRef);
    return typeof name === 'string'
      ? [{ field: `${field}.envFrom[${at}]`, key: `${namespace}/${name}` }]
      : [];
  });
  const single = asMaps(env).flatMap(({ name: variable, valueFrom }, at) => {
    const { name, key } = asMap(asMap(valueFrom).configMapKeyRef);
    if (typeof name !== 'string' || typeof key !== 'string' || typeof variable !== 'string') return [];
    return [{ field: `${field}.env[${at}]`, key: `${namespace}/${name}`, only: key, name: variable }];
  });
  return [...whole, ...single];
}

function volumesOf({ volumes }: Map, path: string, namespace: string): Speaker['configMaps'] {
  return asMaps(volumes).flatMap(({ configMap }, at) => {
    const { name } = asMap(configMap);
    return typeof name === 'string' ? [{ field: `${path}.volumes[${at}]`, key: `${namespace}/${name}` }] : [];
  });
}
