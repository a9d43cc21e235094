/** A pod whose first process opens one connection after the other: what a pod can do before its rules stand. */
import { create, type KubeObject } from './api.ts';
import { kubectl, until } from './cluster.ts';
import { IMAGE } from './site.ts';

/** Of `/agnhost connect`; `startMs` is milliseconds since 1970. */
export interface FirstAttempt {
  readonly startMs: number;
  readonly open: boolean;
}

export interface EagerOptions {
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
  /** `10.0.0.1:80` */
  readonly to: string;
}

/** How many were denied when it has seen enough, and rests. */
const DENIED = 20;

export function eagerPod({ namespace, name, node, to }: EagerOptions): Promise<KubeObject> {
  const script = `for ((denied = 0; denied < ${DENIED};)); do
    start=$EPOCHREALTIME
    if /agnhost connect ${to} --timeout=50ms 2>/dev/null; then echo $start open; else echo $start denied; ((++denied)); fi
  done
  exec /agnhost pause`;
  return create({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels: { name, eager: 'yes' } },
    spec: {
      nodeName: node,
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'eager', image: IMAGE, command: ['/bin/bash', '-c', script] }],
    },
  });
}

/** A pod may wait for its node's agent, whose kubelet waits longer with every end of it. */
const PATIENCE_MS = 300_000;

/** Of its container that runs now, from the first one on. */
export async function firstAttempts({ metadata }: KubeObject): Promise<FirstAttempt[]> {
  const { name, namespace } = metadata;
  const log = await until(
    `${name} was denied ${DENIED} times`,
    async () => {
      const text = await kubectl('-n', namespace!, 'logs', name).catch(() => '');
      return text.split('denied').length > DENIED ? text : undefined;
    },
    PATIENCE_MS,
  );
  return log
    .trim()
    .split('\n')
    .map(line => ({ startMs: Number(line.split(' ')[0]) * 1000, open: line.endsWith('open') }));
}
