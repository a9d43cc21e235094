/**
 * `node editmemory.ts EDITS`: how many objects an edit model has in use after a few edits, and after EDITS more, which are
 * thousands: a program, as in the process of the tests the runner has objects of its own that come and go. Prints
 * `{ before, after, changes }`.
 */
import { setImmediate } from 'node:timers/promises';
import { queryObjects } from 'node:v8';
import { EditModel } from '../../../src/answers/edit/editmodel.ts';

const EDITS = Number(process.argv[2]);
/** The model judges all anew after each thousand, so what it may keep since then is of as many edits at both counts. */
const FIRST_EDITS = 50;
const PODS = 4;

/**
 * How many objects are in use, all that can be reached. It collects garbage before it counts. What V8 compiles in another
 * thread is in use for as long, so the fewest of some counts are meant.
 */
async function objectsInUse(): Promise<number> {
  const counts: number[] = [];
  for (let n = 0; n < 3; n++) {
    await setImmediate();
    counts.push(queryObjects(Object, { format: 'count' }) as number);
  }
  return Math.min(...counts);
}

const pod = (i: number) => `apiVersion: v1
kind: Pod
metadata: { name: app-${i}, namespace: shop, labels: { app: app-${i} } }
spec: { containers: [{ name: c }] }
status: { phase: Running, podIPs: [{ ip: 10.0.0.${i + 1} }] }
`;
const policy = (i: number, app: string, port: number, network: number) => `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: p-${i}, namespace: shop }
spec:
  podSelector: { matchLabels: { app: app-${i} } }
  ingress:
  - from: [{ podSelector: { matchLabels: { app: ${app} } } }, { ipBlock: { cidr: 10.0.${network}.0/24 } }]
    ports: [{ port: ${port} }]
`;
const policies = (edited: string) => [edited, policy(1, 'app-0', 80, 1)].join('---\n');
const BASE = policies(policy(0, 'app-1', 80, 0));

/** Each is another text: a port, a label and a network that were never there before. */
function edit(model: EditModel, i: number): void {
  const [port, network] = [1 + (i % 60_000), 1 + (i % 250)];
  const kinds = [
    () => policy(0, 'app-1', port, 0),
    () => policy(0, `typed-${i}`, 80, 0),
    () => policy(0, 'app-1', 80, network),
  ];
  model.edit('policies.yaml', policies(kinds[i % kinds.length]!()));
  model.diff();
}

const model = new EditModel();
const pods = Array.from({ length: PODS }, (_, i) => pod(i)).join('---\n');
model.open(
  new Map([
    ['pods.yaml', pods],
    ['policies.yaml', BASE],
  ]),
);
const empty = await objectsInUse();
for (let i = 0; i < FIRST_EDITS; i++) edit(model, i);
const before = (await objectsInUse()) - empty;
for (let i = 0; i < EDITS; i++) edit(model, EDITS + i);
const after = (await objectsInUse()) - empty;
// It is in use until here, or there would be nothing to count.
model.undo();
const { changes } = model.diff();
console.log(JSON.stringify({ before, after, changes: changes.length }));
