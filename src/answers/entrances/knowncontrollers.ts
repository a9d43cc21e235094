/** The ingress controllers that many clusters have: what says that an object is for one, and what its pods look like. */
import { hasLabels, type Labels } from '../../model/labels.ts';

export interface KnownController {
  readonly name: string;
  /** `spec.controller` of an IngressClass, `spec.controllerName` of a GatewayClass; with a suffix it is the same. */
  readonly controllers: readonly string[];
  /** The names that its classes usually have, for manifests without the class. */
  readonly classes: readonly string[];
  /** The namespaces that are usually its own; the first is where its pods are looked for in vain. */
  readonly namespaces: readonly string[];
  /** Labels that the first of them always has. */
  readonly namespaceLabels?: Labels;
  /** Labels of the pods that send to backends, by the way that it was installed; the first is the usual one. */
  readonly pods: readonly Labels[];
}

const NAME = 'app.kubernetes.io/name';
const COMPONENT = 'app.kubernetes.io/component';

const KNOWN_CONTROLLERS: readonly KnownController[] = [
  {
    name: 'ingress-nginx',
    controllers: ['k8s.io/ingress-nginx'],
    classes: ['nginx'],
    namespaces: ['ingress-nginx'],
    pods: [{ [NAME]: 'ingress-nginx', [COMPONENT]: 'controller' }],
  },
  {
    name: 'nginx-ingress',
    controllers: ['nginx.org/ingress-controller'],
    classes: [],
    namespaces: ['nginx-ingress'],
    pods: [{ [NAME]: 'nginx-ingress' }, { app: 'nginx-ingress' }],
  },
  {
    name: 'nginx-gateway-fabric',
    controllers: ['gateway.nginx.org/nginx-gateway-controller'],
    classes: [],
    namespaces: ['nginx-gateway'],
    pods: [{ [NAME]: 'nginx-gateway-fabric' }, { [NAME]: 'nginx-gateway' }],
  },
  {
    name: 'traefik',
    controllers: ['traefik.io/ingress-controller', 'traefik.io/gateway-controller'],
    classes: ['traefik'],
    namespaces: ['traefik', 'kube-system'],
    pods: [{ [NAME]: 'traefik' }],
  },
  {
    name: 'haproxy',
    controllers: ['haproxy.org/ingress-controller'],
    classes: [],
    namespaces: ['haproxy-controller'],
    pods: [{ [NAME]: 'kubernetes-ingress' }, { run: 'haproxy-ingress' }],
  },
  {
    name: 'haproxy-ingress',
    controllers: ['haproxy-ingress.github.io/controller'],
    classes: [],
    namespaces: ['ingress-controller'],
    pods: [{ [NAME]: 'haproxy-ingress' }],
  },
  {
    name: 'kong',
    controllers: ['ingress-controllers.konghq.com/kong', 'konghq.com/kic-gateway-controller'],
    classes: ['kong'],
    namespaces: ['kong'],
    pods: [{ [NAME]: 'kong' }, { [NAME]: 'gateway', [COMPONENT]: 'app' }, { app: 'proxy-kong' }],
  },
  {
    name: 'contour',
    controllers: ['projectcontour.io/ingress-controller', 'projectcontour.io/gateway-controller'],
    classes: ['contour'],
    namespaces: ['projectcontour'],
    pods: [{ app: 'envoy' }, { [NAME]: 'contour', [COMPONENT]: 'envoy' }],
  },
  {
    name: 'istio',
    controllers: ['istio.io/ingress-controller', 'istio.io/gateway-controller'],
    classes: ['istio'],
    namespaces: ['istio-system', 'istio-ingress'],
    pods: [{ istio: 'ingressgateway' }, { istio: 'ingress' }],
  },
  {
    name: 'envoy-gateway',
    controllers: ['gateway.envoyproxy.io/gatewayclass-controller'],
    classes: ['eg', 'envoy-gateway'],
    namespaces: ['envoy-gateway-system'],
    pods: [{ [NAME]: 'envoy', 'app.kubernetes.io/managed-by': 'envoy-gateway' }],
  },
  {
    name: 'emissary-ingress',
    controllers: ['getambassador.io/ingress-controller'],
    classes: ['ambassador'],
    namespaces: ['emissary'],
    pods: [{ [NAME]: 'emissary-ingress' }],
  },
  {
    name: 'apisix',
    controllers: ['apisix.apache.org/apisix-ingress', 'apisix.apache.org/apisix-ingress-controller'],
    classes: ['apisix'],
    namespaces: ['ingress-apisix'],
    pods: [{ [NAME]: 'apisix' }],
  },
];

/** The router of OpenShift, which serves its Routes, and Ingresses. */
export const ROUTER: KnownController = {
  name: 'the router',
  controllers: ['openshift.io/ingress-to-route'],
  classes: ['openshift-default'],
  namespaces: ['openshift-ingress'],
  namespaceLabels: {
    'network.openshift.io/policy-group': 'ingress',
    'policy-group.network.openshift.io/ingress': '',
  },
  pods: [{ 'ingresscontroller.operator.openshift.io/deployment-ingresscontroller': 'default' }],
};

/** Load balancers outside of the cluster: no pod of it sends what they send. */
const OUTSIDE =
  /^(ingress\.k8s\.aws\/|application-networking\.k8s\.aws\/|k8s\.io\/ingress-gce|networking\.gke\.io\/|azure\/|alb\.networking\.azure\.io\/)/;
const OUTSIDE_CLASSES: readonly string[] = ['alb', 'gce', 'gce-internal', 'azure-application-gateway'];

export function isOutsideController(controller: string): boolean {
  return OUTSIDE.test(controller) || OUTSIDE_CLASSES.includes(controller);
}

const ALL = [...KNOWN_CONTROLLERS, ROUTER];

/** By what a class says, with or without a suffix of the author's: `haproxy.org/ingress-controller/edge`. */
export function controllerCalled(controller: string): KnownController | undefined {
  return ALL.find(({ controllers }) =>
    controllers.some(each => controller === each || controller.startsWith(`${each}/`)),
  );
}

/** By the name of a class of which there is no object. */
export function controllerOfClass(name: string): KnownController | undefined {
  return ALL.find(({ classes }) => classes.includes(name));
}

/** The controller whose pods have these labels, in whatever namespace they run. */
export function controllerWith(labels: Labels): KnownController | undefined {
  return ALL.find(({ pods }) => pods.some(each => hasLabels(labels, each)));
}
