/** Objects that lead clients from outside to Services. No verdict depends on them, so what cannot be read is left out. */
import type { Backend, Entrance, ServiceKey } from '../../../model/service.ts';
import { asMap, asMaps, metadataOf, typeOf } from '../report/identity.ts';

type Map = Readonly<Record<string, unknown>>;

export function entranceOf(object: unknown): Entrance | undefined {
  const { apiVersion = '', kind = '' } = typeOf(object);
  const spec = asMap(asMap(object).spec);
  const { namespace, name } = metadataOf(object);
  const backends = backendsOf(apiVersion, kind, spec, namespace);
  return backends && { object: `${kind} ${namespace}/${name}`, backends };
}

function backendsOf(apiVersion: string, kind: string, spec: Map, namespace: string) {
  if (apiVersion === 'networking.k8s.io/v1' && kind === 'Ingress') return ingressBackends(spec, namespace);
  if (apiVersion.startsWith('gateway.networking.k8s.io/') && kind.endsWith('Route'))
    return gatewayBackends(spec, namespace);
  if (apiVersion === 'route.openshift.io/v1' && kind === 'Route') return openshiftBackends(spec, namespace);
  return undefined;
}

function ingressBackends(spec: Map, namespace: string): Backend[] {
  const paths = asMaps(spec.rules).flatMap(({ http }, rule) =>
    asMaps(asMap(http).paths).flatMap(({ backend }, path) =>
      ingressBackend(backend, `spec.rules[${rule}].http.paths[${path}].backend`, namespace),
    ),
  );
  return [...ingressBackend(spec.defaultBackend, 'spec.defaultBackend', namespace), ...paths];
}

function ingressBackend(backend: unknown, field: string, namespace: string): Backend[] {
  const { name, port } = asMap(asMap(backend).service);
  const { number, name: portName } = asMap(port);
  return backendAt(`${field}.service`, namespace, name, number ?? portName);
}

/** HTTPRoute, GRPCRoute, TLSRoute, TCPRoute and UDPRoute have their backends at the same place. */
function gatewayBackends(spec: Map, namespace: string): Backend[] {
  return asMaps(spec.rules).flatMap(({ backendRefs }, rule) =>
    asMaps(backendRefs).flatMap(({ kind = 'Service', group = '', name, namespace: own, port }, at) =>
      kind === 'Service' && group === ''
        ? backendAt(
            `spec.rules[${rule}].backendRefs[${at}]`,
            typeof own === 'string' ? own : namespace,
            name,
            port,
          )
        : [],
    ),
  );
}

/** Its port may be one of the pods, and so is not compared with those of the Service. */
function openshiftBackends(spec: Map, namespace: string): Backend[] {
  return [
    ...backendAt('spec.to', namespace, asMap(spec.to).name),
    ...asMaps(spec.alternateBackends).flatMap(({ name }, at) =>
      backendAt(`spec.alternateBackends[${at}]`, namespace, name),
    ),
  ];
}

function backendAt(field: string, namespace: string, name: unknown, port?: unknown): Backend[] {
  if (typeof name !== 'string') return [];
  const service: ServiceKey = `${namespace}/${name}`;
  return [
    typeof port === 'number' || typeof port === 'string' ? { field, service, port } : { field, service },
  ];
}
