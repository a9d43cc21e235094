/** What the edit model says opens and closes after any edits is what a comparison says that begins anew, and all else too. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { EditModel } from '../../src/answers/edit/editmodel.ts';
import { connectionsText } from '../../src/answers/reach/connectionstext.ts';
import { type DiffView, diffOf } from '../../src/answers/reach/diff/diffview.ts';
import { matrixObject, rowsOf } from '../../src/answers/reach/rows.ts';
import type { UnknownPods } from '../../src/model/podcidrs.ts';
import { manifestsArbitrary } from '../support/arbitrary/manifests.ts';
import { runs } from '../support/seed.ts';

const EDITS = 6;
const HISTORIES = runs(1_000 / EDITS, 12);

const selector = fc.constantFrom({}, { matchLabels: { app: 'web' } }, { matchLabels: { tier: 'x' } });
const namespaces = fc.constantFrom({}, { matchLabels: { team: 'x' } }, { matchLabels: { team: 'new' } });
const pods = fc.record({ namespaceSelector: namespaces, podSelector: selector });
const adminPeer = fc.oneof(
  namespaces.map(each => ({ namespaces: each })),
  pods.map(each => ({ pods: each })),
);
const egressPeer = fc.oneof(
  adminPeer,
  fc
    .constantFrom('10.0.1.0/24', '0.0.0.0/0', '192.0.2.0/24', '10.0.0.0/8')
    .map(each => ({ networks: [each] })),
  fc.constant({ nodes: {} }),
  fc.constantFrom('a.example.org', '*.example.org').map(each => ({ domainNames: [each] })),
);
const adminRule = (direction: 'from' | 'to', peer: fc.Arbitrary<object>) =>
  fc.record({
    action: direction === 'to' ? fc.constant('Allow') : fc.constantFrom('Allow', 'Deny', 'Pass'),
    [direction]: peer.map(each => [each]),
    ports: fc.constantFrom(80, 443).map(port => [{ portNumber: { protocol: 'TCP', port } }]),
  });

/** Of the third API, and objects that make pods to come, are on the network of their node, or of an unknown namespace. */
const others = fc.oneof(
  fc
    .record({
      priority: fc.nat(5),
      subject: adminPeer,
      ingress: adminRule('from', adminPeer).map(each => [each]),
      egress: adminRule('to', egressPeer).map(each => [each]),
    })
    .map(spec => ({
      apiVersion: 'policy.networking.k8s.io/v1alpha1',
      kind: 'AdminNetworkPolicy',
      metadata: { name: `anp${spec.priority}` },
      spec,
    })),
  fc
    .record({
      name: fc.constantFrom('one', 'two'),
      namespace: fc.constantFrom('a', 'unknown'),
      app: fc.constantFrom('web', 'db'),
      hostNetwork: fc.boolean(),
    })
    .map(({ name, namespace, app, hostNetwork }) => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace },
      spec: {
        selector: { matchLabels: { app } },
        template: { metadata: { labels: { app } }, spec: { hostNetwork, containers: [{ name: 'c' }] } },
      },
    })),
);

interface Edit {
  readonly how: 'replace' | 'remove' | 'add' | 'as a text' | 'undo';
  readonly at: number;
  readonly object: object;
}

const historyArbitrary = fc
  .tuple(manifestsArbitrary, fc.array(others, { maxLength: 3 }))
  .chain(([base, more]) => {
    const objects = [...base.world, ...base.policies, ...more];
    const object = manifestsArbitrary.chain(({ world, policies }) =>
      fc.oneof(
        { weight: 4, arbitrary: fc.constantFrom(...policies) },
        { weight: 2, arbitrary: fc.constantFrom(...world) },
        { weight: 1, arbitrary: others },
      ),
    );
    const how = fc.constantFrom<Edit['how']>(
      'replace',
      'replace',
      'replace',
      'remove',
      'add',
      'as a text',
      'undo',
    );
    const edit: fc.Arbitrary<Edit> = fc.record({ how, at: fc.nat(30), object });
    const unknownPods = fc.constantFrom<UnknownPods>('allow', 'deny');
    return fc.record({
      objects: fc.constant(objects),
      edits: fc.array(edit, { minLength: EDITS, maxLength: EDITS }),
      unknownPods,
    });
  });

const FILE = 'all.yaml';
const textsOf = (objects: readonly object[]) => objects.map(object => stringify(object));

/** The documents after the edit; the model is edited in the same way. */
function edited(
  model: EditModel,
  documents: readonly string[],
  base: readonly string[],
  edit: Edit,
): string[] {
  if (edit.how === 'undo') {
    model.undo(FILE);
    return [...base];
  }
  const at = edit.at % documents.length;
  const given = edit.how === 'remove' ? [] : textsOf([edit.object]);
  const gone = edit.how === 'add' || documents.length === 1 ? 0 : 1;
  const after = documents.toSpliced(at, gone, ...given);
  const start = documents
    .slice(0, at)
    .map(text => `${text}---\n`)
    .join('').length;
  const to = start + (gone === 0 ? 0 : documents[at]!.length + (at === documents.length - 1 ? 0 : 4));
  const insert = given
    .map(text => (at === documents.length - gone && gone > 0 ? text : `${text}---\n`))
    .join('');
  if (edit.how === 'as a text' || at === documents.length - 1) model.edit(FILE, after.join('---\n'));
  else model.edit(FILE, [{ from: start, to, insert }]);
  return after;
}

function shown({ pool, changes, ...rest }: DiffView): object {
  const named = changes.map(({ connections, ...change }) => ({
    ...change,
    what: connectionsText(pool, connections),
  }));
  return { ...rest, changes: named };
}

function opened(text: string, unknownPods: UnknownPods): EditModel {
  const model = new EditModel({ unknownPods });
  model.open(new Map([[FILE, text]]));
  return model;
}

test('diff(), matrix() and problems() of an edit model are those of the same texts read anew, whatever was edited before', () => {
  const tally = { edits: 0, opens: 0, closes: 0, undecided: 0 };
  fc.assert(
    fc.property(historyArbitrary, ({ objects, edits, unknownPods }) => {
      const base = textsOf(objects);
      const model = opened(base.join('---\n'), unknownPods);
      let documents: readonly string[] = base;
      for (const edit of edits) {
        documents = edited(model, documents, base, edit);
        const fresh = opened(documents.join('---\n'), unknownPods);
        expect(model.files.now).toEqual(fresh.files.now);
        const [view, wanted] = [
          model.diff(),
          diffOf(opened(base.join('---\n'), unknownPods).now, fresh.now, unknownPods),
        ];
        expect(shown(view)).toEqual(shown(wanted));
        tally.edits++;
        for (const { kind, undecided } of view.changes) tally[undecided ? 'undecided' : kind]++;
      }
      const fresh = opened(documents.join('---\n'), unknownPods);
      expect(model.problems()).toEqual(fresh.problems());
      const [view, wanted] = [model.matrix(), fresh.matrix()];
      expect(
        matrixObject(
          view,
          rowsOf(view, () => true),
          [],
        ),
      ).toEqual(
        matrixObject(
          wanted,
          rowsOf(wanted, () => true),
          [],
        ),
      );
    }),
    { numRuns: HISTORIES },
  );
  process.stdout.write(`    ${JSON.stringify(tally)}\n`);
  expect(tally.opens).toBeGreaterThan(HISTORIES);
  expect(tally.closes).toBeGreaterThan(HISTORIES);
  expect(tally.undecided).toBeGreaterThan(HISTORIES / 10);
});
