/** The cluster of the page: manifests that are read, and what is asked of them. It runs in the worker. */
import { EditModel } from '../../src/answers/edit/editmodel.ts';
import { doubtNotes } from '../../src/answers/entrances/waytext.ts';
import { inDoubt, type Question } from '../../src/answers/questions/answer.ts';
import { ask, type QuestionResult } from '../../src/answers/questions/ask.ts';
import { answerObject, fixOf } from '../../src/answers/questions/explanation.ts';
import type { ClusterView } from '../../src/answers/questions/place.ts';
import { csvLines, htmlLines, markdownLines } from '../../src/answers/reach/documents.ts';
import { matrixObject, rowsOf } from '../../src/answers/reach/rows.ts';
import type { MatrixView } from '../../src/answers/reach/view.ts';
import type { LoadedCluster } from '../../src/inputs/files/load.ts';
import { withoutSecrets } from '../../src/inputs/files/withoutsecrets.ts';
import { plural } from '../../src/lib/text/plural.ts';
import { shellWord } from '../../src/lib/text/shellword.ts';
import type { Problem } from '../../src/model/problem.ts';
import { yamlText } from '../../src/terminal/yamltext.ts';
import { endpointText, likelyPort } from './endpoints.ts';
import { auditedChanges, changesShown, modelOf, rowsShown } from './model.ts';
import { LOST, notesOf } from './notes.ts';
import { overviewOf } from './overview.ts';
import { linkText } from './pack.ts';
import { Verbatim } from './printabledata.ts';
import type {
  Asked,
  Changes,
  Core,
  DocumentFormat,
  Edits,
  Explained,
  Explanation,
  Files,
  Fixed,
  LinkedFiles,
  Model,
  Overview,
  Place,
  Row,
} from './protocol.ts';
import { waysFromOutside, waysOf, waysShown } from './ways.ts';

const UNKNOWN_PODS = 'allow';

interface State {
  readonly loaded: LoadedCluster;
  readonly view: MatrixView;
  readonly rows: readonly Row[];
}

export class Session implements Core {
  readonly #edited = new EditModel({ unknownPods: UNKNOWN_PODS });
  #state: State | undefined;

  open(files: Files): Model {
    this.#edited.open(new Map(files));
    return this.#judge();
  }

  edit(files: Edits): Changes | 'unreadable' {
    for (const [name, text] of files) this.#edited.edit(name, text);
    // Half a word is no change of policy: without the policy that is being written, much would seem to open.
    const isUnreadable = this.#edited.now.hidesPolicies && this.#state?.loaded.hidesPolicies === false;
    return isUnreadable ? 'unreadable' : changesShown(this.#edited.diff());
  }

  matrix(): Model {
    return this.#judge();
  }

  #judge(): Model {
    const [loaded, view] = [this.#edited.now, this.#edited.matrix()];
    const rows = rowsShown(view);
    this.#state = { loaded, view, rows };
    return modelOf({ view, rows, notes: notesOf(loaded), audited: auditedChanges(loaded, UNKNOWN_PODS) });
  }

  overview(): Overview {
    const { loaded, view } = this.#now();
    const ways = waysFromOutside(clusterViewOf(loaded), loaded.hidesPolicies);
    return { ...overviewOf(loaded, view), ways: waysShown(ways), wayNotes: doubtNotes(ways) };
  }

  check(): readonly Problem[] {
    return this.#edited.problems();
  }

  explain(asked: Asked): Explained {
    const { question, port, protocol } = this.#question(asked);
    const { loaded } = this.#now();
    const clusterView = clusterViewOf(loaded);
    const result = answerOf(loaded, clusterView, question);
    const ways = waysOf(result, clusterView, loaded.hidesPolicies);
    const answer = answerObject(result, clusterView, [], { ways }) as Explanation;
    return {
      ...{ question, port, protocol, answer },
      command: commandOf(question),
      ways: ways === undefined ? [] : waysShown(ways),
      places: placesOf(loaded, answer),
    };
  }

  fix(asked: Asked, wanted: 'allow' | 'deny'): Fixed {
    const { question } = this.#question(asked);
    const { loaded } = this.#now();
    const clusterView = clusterViewOf(loaded);
    const result = answerOf(loaded, clusterView, question);
    if ('error' in result) return { none: result.error, also: [] };
    const fix = fixOf(result.answer, clusterView, wanted);
    if (typeof fix === 'string') return { none: fix, also: [] };
    const also = fix.flips.map(
      ({ from, to, flow: { protocol, port } }) =>
        `${from} → ${to}${port === undefined ? '' : `:${port}`}/${protocol}`,
    );
    const yaml = fix.objects.map(object => yamlText(object)).join('---\n');
    const all = fix.allPorts ? ['every port and protocol between these ends'] : [];
    return { yaml: new Verbatim(yaml), verdict: fix.verdict, also: [...all, ...also] };
  }

  document(format: DocumentFormat): Verbatim<string> {
    const { view, loaded } = this.#now();
    const entryways = waysFromOutside(clusterViewOf(loaded), loaded.hidesPolicies);
    const rows = rowsOf(view, () => true);
    const notes = [...doubtNotes(entryways), ...notesOf(loaded)];
    return new Verbatim(documentText(format, { ...view, entryways }, rows, notes));
  }

  async linkText({ base, edited }: LinkedFiles): Promise<Verbatim<string>> {
    const without = (files: Files) => files.map(([name, text]) => [name, withoutSecrets(text)] as const);
    const linked = { base: without(base), ...(edited && { edited: without(edited) }) };
    return new Verbatim(await linkText(linked));
  }

  #now(): State {
    if (this.#state === undefined) throw new Error('no manifest is open');
    return this.#state;
  }

  #question({ from, to, port, protocol }: Asked) {
    const { view, rows, loaded } = this.#now();
    const [source, target] = [rows[from], rows[to]];
    if (source === undefined || target === undefined) throw new Error('there is no such line any more');
    const cell = view.cell(view.ends[source.end]!, view.ends[target.end]!);
    const likely = likelyPort(view, cell, target, loaded);
    const asked = { port: port ?? likely.port, protocol: protocol ?? likely.protocol };
    const texts = [source, target].map(row => endpointText(view.ends[row.end]!, row, loaded));
    const [first = '', second = ''] = texts;
    const withPort = ['TCP', 'UDP', 'SCTP'].includes(asked.protocol)
      ? `${second.includes(':') ? `[${second}]` : second}:${asked.port}/${asked.protocol}`
      : `${second}/${asked.protocol}`;
    return { question: { from: first, to: withPort }, ...asked };
  }
}

/** The port may be of a link, which may come from anybody. Where the manifests are on a disk, the page does not know. */
function commandOf({ from, to }: Question): string {
  return ['sluice explain', ...[from, to].map(shellWord), '--manifests PATH'].join(' ');
}

/** Policies that could not be read may decide anything: then there is no verdict. */
function answerOf(loaded: LoadedCluster, view: ClusterView, question: Question): QuestionResult {
  const [result] = ask(view, [question]);
  return loaded.hidesPolicies && 'answer' in result! ? { answer: inDoubt(result.answer, LOST) } : result!;
}

function clusterViewOf({ cluster, inventory }: LoadedCluster): ClusterView {
  return {
    cluster,
    inventory,
    knowsInventory: true,
    defaultNamespace: 'default',
    unknownPods: UNKNOWN_PODS,
  };
}

/** The lines of the policies on the way, and of the rules in them. */
function placesOf(
  { placeOf }: LoadedCluster,
  { egress, ingress, nearly = [] }: Explanation,
): Record<string, Place> {
  const stops = [egress, ingress].flatMap(direction => direction?.stops ?? []);
  const places: Record<string, Place> = {};
  for (const { policy, rule } of [...stops, ...nearly])
    places[`${policy} ${rule ?? ''}`] = placeOf(policy, rule === undefined ? 'spec' : `spec.${rule}`);
  return places;
}

function documentText(
  format: DocumentFormat,
  view: MatrixView,
  rows: ReturnType<typeof rowsOf>,
  notes: readonly string[],
): string {
  const all = [...notes, ...view.notes];
  if (format === 'json') return `${JSON.stringify(matrixObject(view, rows, all), undefined, 2)}\n`;
  const source = `${plural(view.counts.policies, 'policy')} of the page`;
  const lines = { html: htmlLines, csv: csvLines, md: markdownLines };
  if (format === 'html') return [...lines.html(view, rows, source, all)].join('\n');
  return [...(format === 'csv' ? lines.csv(view, rows) : lines.md(view, rows, all))].join('\n');
}
