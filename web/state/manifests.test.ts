import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Session } from '../core/session.ts';

/** A worker that is stopped forgets everything, as the real one does. */
vi.mock('../core/client.ts', () => ({
  CoreClient: class {
    stops = 0;
    #session = new Session();
    stop(): void {
      this.stops++;
      this.#session = new Session();
    }
    async call(method: keyof Session, ...args: readonly unknown[]): Promise<unknown> {
      return (this.#session[method] as (...all: readonly unknown[]) => unknown).apply(this.#session, [
        ...args,
      ]);
    }
  },
}));
vi.mock('bundled:examplefiles', () => ({ files: new Map() }));

beforeEach(() => vi.stubGlobal('requestAnimationFrame', (then: () => void) => setTimeout(then, 0)));
afterEach(() => vi.unstubAllGlobals());

const POLICY = `kind: NetworkPolicy
apiVersion: networking.k8s.io/v1
metadata: { name: deny, namespace: default }
spec: { podSelector: {}, policyTypes: [Ingress] }
`;
const POD = `kind: Pod
apiVersion: v1
metadata: { name: web, namespace: default }
spec: { containers: [{ name: web }] }
status: { podIP: 10.0.0.1 }
`;

test('after a stop an edit is compared with what was opened', async () => {
  const { changes, failure, openFiles, setText, stopReading } = await import('./manifests.ts');
  await openFiles([['pod.yaml', POD]]);
  stopReading();
  setText('policy.yaml', POLICY);
  await expect.poll(() => changes.value?.summary).toMatch(/^\d+ changes?: 0 open, [1-9]/);
  expect(failure.value).toBeUndefined();
});
