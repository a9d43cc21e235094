import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { Session } from '../core/session.ts';

/** A worker that is stopped forgets everything, as the real one does. */
vi.mock('../core/client.ts', () => ({
  CoreClient: class {
    stops = 0;
    hangs = false;
    #session = new Session();
    #reject: ((error: Error) => void) | undefined;
    stop(why: string): void {
      this.stops++;
      this.#session = new Session();
      this.#reject?.(new Error(why));
    }
    async call(method: keyof Session, ...args: readonly unknown[]): Promise<unknown> {
      if (this.hangs)
        return new Promise((_, reject) => {
          this.#reject = reject;
        });
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

test('after a stop a question is answered: the manifests and their edits are read again', async () => {
  const { ask, model, openFiles, setText, stopReading } = await import('./manifests.ts');
  await openFiles([['pod.yaml', POD]]);
  setText('policy.yaml', POLICY);
  await expect.poll(() => model.value?.counts.policies).toBe(1);
  stopReading();
  const [internet, pod] = ['internet', 'Pod default/web'].map(name =>
    model.value!.rows.findIndex(({ member }) => member === name),
  );
  const { answer } = await ask('explain', { from: internet!, to: pod! });
  expect(answer).toMatchObject({ verdict: 'deny' });
});

test('two questions after a stop read the manifests once', async () => {
  const { ask, core, openFiles, stopReading } = await import('./manifests.ts');
  await openFiles([['pod.yaml', POD]]);
  stopReading();
  const call = vi.spyOn(core, 'call');
  await Promise.all([ask('overview'), ask('document', 'csv')]);
  expect(call.mock.calls.map(([method]) => method)).toEqual(['open', 'overview', 'document']);
});

test('a question that takes longer than a minute is stopped with a sentence, and the next one is answered', async () => {
  const { ask, core, openFiles } = await import('./manifests.ts');
  await openFiles([['pod.yaml', POD]]);
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  Object.assign(core, { hangs: true });
  const asked = ask('explain', { from: 0, to: 1 });
  const refused = expect(asked).rejects.toThrow('longer than a minute');
  await vi.advanceTimersByTimeAsync(60_000);
  await refused;
  Object.assign(core, { hangs: false });
  expect((await ask('explain', { from: 0, to: 1 })).answer).toMatchObject({ verdict: 'allow' });
});
