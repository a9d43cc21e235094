/** Objects that lead clients from outside to Services. No verdict depends on them, so what cannot be read is left out. */
import type {
  Backend,
  Entrance,
  EntranceClass,
  RouteGrant,
  ServedBy,
  ServiceKey,
} from '../../../model/service.ts';
import { asMap, asMaps, metadataOf, typeOf } from '../report/identity.ts';

type Map = Readonly<Record<string, unknown>>;

export function entranceOf(object: unknown): Entrance | undefined {
  const { apiVersion = '', kind = '' } = typeOf(object);
  const spec = asMap(asMap(object).spec);
  const { namespace, name } = metadataOf(object);
  const found = (servedBy: ServedBy, backends: readonly Backend[]): Entrance => {
    return { object: `${kind} ${namespace}/${name}`, backends, servedBy };
  };
  if (apiVersion === 'networking.k8s.io/v1' && kind === 'Ingress')
    return found(classOf(object, spec), ingressBackends(spec, namespace));
  if (apiVersion.startsWith(GATEWAY_API) && kind.endsWith('Route')) {
    const backends = gatewayBackends(spec, kind, namespace);
    const servedBy: ServedBy = { kind: 'gateways', keys: gatewaysOf(spec, namespace) };
    return found(servedBy, kind === 'UDPRoute' ? backends.map(each => ({ ...each, isUdp: true })) : backends);
  }
  if (apiVersion === 'route.openshift.io/v1' && kind === 'Route')
    return found({ kind: 'router' }, openshiftBackends(spec, namespace));
  return undefined;
}

const GATEWAY_API = 'gateway.networking.k8s.io/';

function classOf(object: unknown, { ingressClassName }: Map): ServedBy {
  const name = ingressClassName ?? annotationsOf(object)['kubernetes.io/ingress.class'];
  return typeof name === 'string' ? { kind: 'class', name } : { kind: 'class' };
}

function annotationsOf(object: unknown): Map {
  return asMap(asMap(asMap(object).metadata).annotations);
}

/** Parents of another kind, as Services of a mesh, lead nobody in. */
function gatewaysOf({ parentRefs }: Map, own: string): string[] {
  return asMaps(parentRefs).flatMap(({ kind = 'Gateway', name, namespace = own }) =>
    kind === 'Gateway' && typeof name === 'string' ? [`${namespace}/${name}`] : [],
  );
}

/** An object that says which controller serves an entrance. */
export function entranceClassOf(object: unknown): EntranceClass | undefined {
  const { apiVersion = '', kind } = typeOf(object);
  const { controller, controllerName, gatewayClassName } = asMap(asMap(object).spec);
  const { namespace, name } = metadataOf(object);
  const isDefault = annotationsOf(object)['ingressclass.kubernetes.io/is-default-class'] === 'true';
  if (apiVersion === 'networking.k8s.io/v1' && kind === 'IngressClass')
    return { kind, name, ...textAs('controller', controller), ...(isDefault && { isDefault }) };
  if (!apiVersion.startsWith(GATEWAY_API)) return undefined;
  if (kind === 'GatewayClass') return { kind, name, ...textAs('controller', controllerName) };
  if (kind === 'Gateway') return { kind, name: `${namespace}/${name}`, ...textAs('class', gatewayClassName) };
  return undefined;
}

function textAs<K extends string>(key: K, value: unknown) {
  return (typeof value === 'string' ? { [key]: value } : {}) as { readonly [key in K]?: string };
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
function gatewayBackends(spec: Map, route: string, own: string): Backend[] {
  return asMaps(spec.rules).flatMap(({ backendRefs }, rule) =>
    asMaps(backendRefs).flatMap(({ kind = 'Service', group = '', name, namespace = own, port }, at) => {
      if (kind !== 'Service' || group !== '' || typeof namespace !== 'string') return [];
      const found = backendAt(`spec.rules[${rule}].backendRefs[${at}]`, namespace, name, port);
      const grantedTo = { kind: route, namespace: own };
      return namespace === own ? found : found.map(backend => ({ ...backend, grantedTo }));
    }),
  );
}

/** What a ReferenceGrant allows routes of the Gateway API; undefined for objects of other kinds. */
export function routeGrantsOf(object: unknown): readonly RouteGrant[] | undefined {
  const { apiVersion = '', kind } = typeOf(object);
  if (!apiVersion.startsWith(GATEWAY_API) || kind !== 'ReferenceGrant') return undefined;
  const { from, to } = asMap(asMap(object).spec);
  const { namespace } = metadataOf(object);
  const services = asMaps(to).filter(({ group = '', kind }) => kind === 'Service' && group === '');
  return asMaps(from).flatMap(({ group, kind, namespace: routes }) => {
    if (`${group}/` !== GATEWAY_API || typeof kind !== 'string' || typeof routes !== 'string') return [];
    const route = { kind, namespace: routes };
    return services.map(({ name }) => ({ from: route, namespace, ...textAs('service', name) }));
  });
}

/** Its port may be one of the pods, and so is not compared with those of the Service. */
function openshiftBackends(spec: Map, namespace: string): Backend[] {
  const { targetPort } = asMap(spec.port);
  const isPort = typeof targetPort === 'number' || (typeof targetPort === 'string' && targetPort !== '');
  const backends = [
    ...backendAt('spec.to', namespace, asMap(spec.to).name),
    ...asMaps(spec.alternateBackends).flatMap(({ name }, at) =>
      backendAt(`spec.alternateBackends[${at}]`, namespace, name),
    ),
  ];
  return isPort ? backends.map(backend => ({ ...backend, targetPort })) : backends;
}

function backendAt(field: string, namespace: string, name: unknown, port?: unknown): Backend[] {
  if (typeof name !== 'string') return [];
  const service: ServiceKey = `${namespace}/${name}`;
  return [
    typeof port === 'number' || typeof port === 'string' ? { field, service, port } : { field, service },
  ];
}
