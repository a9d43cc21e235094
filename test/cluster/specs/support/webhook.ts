/**
 * A validating webhook, as cert-manager has one: a pod that the API server asks about objects. The API server of this
 * cluster runs on no node, so it asks at an address of one, and a process on the network of that node passes its
 * connections on to the pod. The pod sees what it sees of an API server that runs on the node.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { call, create, type KubeObject, pathOf, remove } from './api.ts';
import { command } from './cluster.ts';
import { endpoint, type RunningPod, type Site } from './site.ts';

export type WebhookOrders =
  /** Answers the API server, and refuses with these words whatever it asks about. */
  | { readonly role: 'webhook'; readonly port: number; readonly pem: string; readonly refusal: string }
  | { readonly role: 'relay'; readonly port: number; readonly to: { host: string; port: number } };

/** Port of the pod, and port of the node. */
const [WEBHOOK_PORT, RELAY_PORT] = [8443, 18443];
const REFUSAL = 'the webhook was asked';

/** `not asked`: the API server does not know of the webhook yet. */
type Asked = 'answered' | 'unanswered' | 'not asked';

interface Webhook {
  /** Has the API server ask about an object that is never stored. */
  ask(): Promise<Asked>;
  end(): Promise<void>;
}

/** The API server asks `pod` about ConfigMaps of its namespace, through the node of `onNode`, by the nth address of both. */
export async function webhook(
  { namespace }: Site,
  pod: RunningPod,
  onNode: RunningPod,
  nth: number,
): Promise<Webhook> {
  const [host, own] = [pod.addresses[nth]!, onNode.addresses[nth]!];
  const pem = await certified(own);
  const processes = [
    await started(pod, { role: 'webhook', port: WEBHOOK_PORT, pem, refusal: REFUSAL }),
    await started(onNode, { role: 'relay', port: RELAY_PORT, to: { host, port: WEBHOOK_PORT } }),
  ];
  const configuration = validating(namespace, `https://${endpoint(own, RELAY_PORT)}`, pem);
  await call('DELETE', pathOf(configuration)); // that of an earlier run
  await create(configuration);
  return {
    ask: () => ask(namespace),
    async end() {
      await remove(configuration);
      for (const child of processes) child.kill('SIGKILL');
    },
  };
}

/** A key and a certificate for the address, which signs itself. */
async function certified(address: string): Promise<string> {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', '-'];
  const subject = ['-subj', '/CN=webhook', '-addext', `subjectAltName=IP:${address}`];
  const { code, stdout, stderr } = await command('openssl', 'req', '-x509', '-days', '1', ...key, ...subject);
  if (code !== 0) throw new Error(`openssl: ${stderr}`);
  return stdout;
}

const PROCESS = fileURLToPath(new URL('./webhook-process.ts', import.meta.url));

async function started({ pid }: RunningPod, orders: WebhookOrders): Promise<ChildProcess> {
  const words = ['-t', `${pid}`, '-n', process.execPath, PROCESS, JSON.stringify(orders)];
  const child = spawn('nsenter', words, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the ${orders.role} has ended with exit code ${code}`);
  });
  await Promise.race([once(child, 'message'), ended]);
  ended.catch(() => {}); // it is killed at the end
  return child;
}

/** Only of what carries the label: other ConfigMaps of the namespace do not wait for a webhook. */
const LABELS = { webhook: 'asks' };

function validating(namespace: string, url: string, pem: string): KubeObject {
  const certificate = pem.slice(pem.indexOf('-----BEGIN CERTIFICATE'));
  const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] };
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: namespace },
    webhooks: [
      {
        name: 'webhook.example.org',
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        timeoutSeconds: 1,
        rules: [rule],
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
        objectSelector: { matchLabels: LABELS },
        clientConfig: { url, caBundle: Buffer.from(certificate).toString('base64') },
      },
    ],
  };
}

async function ask(namespace: string): Promise<Asked> {
  const { status, body } = await call('POST', `/api/v1/namespaces/${namespace}/configmaps?dryRun=All`, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'asked', labels: LABELS },
  });
  if (status < 300) return 'not asked';
  if (body.message.includes(REFUSAL)) return 'answered';
  if (/failed calling webhook.*(deadline exceeded|timeout)/i.test(body.message)) return 'unanswered';
  throw new Error(`${status} ${body.message}`);
}
