/**
 * The edits of manifests that the demo makes while the agents run, in place of a person. Files are replaced in one
 * step.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Document, parseAllDocuments } from 'yaml';

export interface Edit {
  readonly title: string;
  /** Lines as in a diff. */
  readonly diff: readonly string[];
  apply(folder: string): void;
}

export const EDITS: readonly Edit[] = [
  {
    title: 'A developer edits NetworkPolicy shop/web: the shop window is for guests only',
    diff: [
      '   ingress:',
      '     - ports: [{ protocol: TCP, port: 80 }]',
      '+      from: [{ namespaceSelector: { matchLabels: { team: guest } } }]',
    ],
    apply: folder =>
      edit(join(folder, 'policies.yaml'), 'NetworkPolicy', 'web', policy =>
        policy.setIn(
          ['spec', 'ingress', 0, 'from'],
          [{ namespaceSelector: { matchLabels: { team: 'guest' } } }],
        ),
      ),
  },
  {
    title: 'Somebody relabels Pod shop/jobs: it is an api now, with all that an api may do',
    diff: ['   labels:', '-    app: jobs', '+    app: api'],
    apply: folder =>
      edit(join(folder, 'cluster.yaml'), 'Pod', 'jobs', pod =>
        pod.setIn(['metadata', 'labels', 'app'], 'api'),
      ),
  },
];

function edit(file: string, kind: string, name: string, change: (object: Document) => void): void {
  const documents = parseAllDocuments(readFileSync(file, 'utf8')) as Document[];
  const found = documents.find(
    object => object.get('kind') === kind && object.getIn(['metadata', 'name']) === name,
  );
  if (found === undefined) throw new RangeError(`${file} has no ${kind} ${name}`);
  change(found);
  const aside = `${file}.new`; // its name is not that of a manifest, so the agents do not read it
  writeFileSync(aside, documents.map(String).join(''));
  renameSync(aside, file);
}
