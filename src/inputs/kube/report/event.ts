/**
 * Kubernetes Events as data: core/v1, which kubectl lists and every server since 1.0 accepts. The name of an Event is
 * derived from its contents, so that all nodes write the same one and the server keeps it once.
 */
import { createHash } from 'node:crypto';
import type { ObjectReference } from '../../../model/problem.ts';
import { printable } from '../../../terminal/printable.ts';

/** Something that the author or the owner of an object should know. */
export interface EventSpec {
  readonly about: ObjectReference;
  readonly type: 'Normal' | 'Warning';
  /** The reason as one CamelCase word: `InvalidPolicy`. */
  readonly reason: string;
  /** One sentence. It may contain text from tenants. */
  readonly note: string;
}

/** The component that reports, and the time. */
export interface Reporter {
  /** Name of the node. */
  readonly node: string;
  readonly at: Date;
}

/** The server's own limit for notes, which it checks for the newer form of the same objects. */
const LONGEST_NOTE = 1024;
/** Objects that live in no namespace have their Events here: nowhere else does the server take them. */
const NAMESPACE_OF_NONE = 'default';

/** The path to which the Event is POSTed. */
export function eventPath({ about }: EventSpec): string {
  return `/api/v1/namespaces/${about.namespace ?? NAMESPACE_OF_NONE}/events`;
}

/** `sluice.5f0c…`: the same for the same spec about the same generation, on every node. */
export function eventName({ about, type, reason, note }: EventSpec): string {
  const { kind, namespace, name, uid, generation } = about;
  const said = JSON.stringify([kind, namespace, name, uid, generation, type, reason, note]);
  return `sluice.${createHash('sha256').update(said).digest('hex').slice(0, 32)}`;
}

export function eventObject(spec: EventSpec, { node, at }: Reporter): object {
  const { about, type, reason, note } = spec;
  const { generation, ...involvedObject } = about;
  const time = at.toISOString().replace(/\.\d+/, ''); // whole seconds: metav1.Time
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: eventName(spec), namespace: about.namespace ?? NAMESPACE_OF_NONE },
    involvedObject,
    type,
    reason,
    message: shortened(printable(generation === undefined ? note : `${note} (generation ${generation})`)),
    source: { component: 'sluice', host: node },
    reportingComponent: 'sluice',
    reportingInstance: node,
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  };
}

/** Shortened to the server's limit in bytes, never within a character. */
function shortened(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= LONGEST_NOTE) return text;
  return `${bytes
    .subarray(0, LONGEST_NOTE - 4)
    .toString('utf8')
    .replace(/\uFFFD$/, '')}…`;
}
