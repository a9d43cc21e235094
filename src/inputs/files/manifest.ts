import { getOrMake } from '../../lib/collections/getormake.ts';
import { once } from '../../lib/collections/once.ts';
import type { Cidr } from '../../model/address.ts';
import { type Problem, problemNote } from '../../model/problem.ts';
import { WORKLOAD_KINDS } from '../../model/workload.ts';
import { hasPodTemplate, podMakerOf } from '../kube/decode/customworkloads.ts';
import { type Decoded, decodeObject } from '../kube/decode/decode.ts';
import { foreignPolicyOf, isNamespacedForeign } from '../kube/decode/foreignpolicies.ts';
import { type DecodedItem, decodeInventory } from '../kube/decode/inventory.ts';
import { legacyAddresses } from '../kube/decode/legacyaddresses.ts';
import { refusedMetadata } from '../kube/decode/refusedmetadata.ts';
import { serviceNetworks } from '../kube/decode/service.ts';
import { asMap, metadataOf, type ObjectType, objectKey, typeOf } from '../kube/report/identity.ts';
import { flattenLists } from './lists.ts';
import { type Documents, neededDocuments, type Parse } from './needed.ts';
import { parseDocuments } from './parse.ts';
import type { FileTally } from './tally.ts';
import { type ParsedDocument, ParseError, parseYaml } from './yaml.ts';

/** An object, and the place in its file of each field. */
export interface FiledObject extends Decoded {
  readonly placeOf: (field?: string) => Pick<Problem, 'file' | 'line'>;
  readonly serviceNetworks: readonly Cidr[];
  /** The object for questions that name it; the agent does not use it. */
  readonly inventory: () => DecodedItem;
  /** Further problems: of an object without a usable name, and of what API servers refuse that has no effect here. */
  readonly deeper: () => readonly Problem[];
  readonly type: ObjectType;
  /** The engine of a policy that is not ours to enforce. */
  readonly engine: string | undefined;
  /** `shop/web`. */
  readonly name: string;
}

/** The contents of a file; without `objects` the file could not be read, and the problem says why. */
export interface Manifest {
  readonly objects?: readonly FiledObject[];
  readonly problems: readonly Problem[];
  /** Whether documents between the others could not be parsed. */
  readonly isCut?: boolean;
  /** Absent where all documents of a file are wanted. */
  readonly tally?: FileTally;
}

/** Whether the file could be read completely. */
export function isWhole({ objects }: Manifest): boolean {
  return objects?.every(({ event, problems }) => event !== undefined || !problems.some(isError)) ?? false;
}

export function isError({ severity }: Problem): boolean {
  return severity === 'error';
}

/** Reads a file of a repository for its author: problems in one document do not hide those in the others. */
export function readAllDocuments(text: string, file: string, namespace?: string, memory?: Memory): Manifest {
  const { documents, tally } = neededDocuments(text, undefined, memory?.parse);
  const read = documents.map(document => {
    try {
      if (document instanceof ParseError) throw document;
      return withProblems(decodeDocument(document, file, namespace, memory));
    } catch (error) {
      if (!(error instanceof ParseError)) throw error;
      return { objects: [], problems: [unreadable(file, error.message, error.line)], isLost: true };
    }
  });
  return {
    objects: read.flatMap(({ objects }) => objects),
    problems: read.flatMap(({ problems }) => problems),
    isCut: read.some(each => 'isLost' in each),
    tally,
  };
}

function withProblems(objects: readonly FiledObject[]) {
  return { objects, problems: objects.flatMap(({ problems, deeper }) => [...problems, ...deeper()]) };
}

/**
 * Reads a file's text. One bad document spoils the whole file: half of a change must never be in force. `namespace` is
 * that of objects that name none.
 */
export function readManifest(text: string, file: string, namespace?: string): Manifest {
  return readDocuments({ documents: parseDocuments(text) }, file, namespace);
}

/** The same of a file of a repository, in which not all is an object that an answer needs. */
export function readNeeded(text: string, file: string, namespace?: string): Manifest {
  return readDocuments(neededDocuments(text), file, namespace);
}

function readDocuments(
  { documents, tally }: Pick<Documents, 'documents'> & Partial<Documents>,
  file: string,
  namespace: string | undefined,
): Manifest {
  try {
    const objects = documents.flatMap(document => {
      if (document instanceof ParseError) throw document;
      return decodeDocument(document, file, namespace);
    });
    return { objects, problems: objects.flatMap(({ problems }) => problems), ...(tally && { tally }) };
  } catch (error) {
    if (error instanceof ParseError) return { problems: [unreadable(file, error.message, error.line)] };
    throw error;
  }
}

/** The contents of a file in which nothing can be read. */
export function unreadable(file: string, message: string, line?: number): Problem {
  return { severity: 'error', ...place(file, line), message, effect: UNREADABLE };
}

const UNREADABLE = 'file ignored; the previous version stays';

function decodeDocument(
  document: ParsedDocument,
  file: string,
  namespace?: string,
  memory?: Memory,
): readonly FiledObject[] {
  const read = () => objectsIn(document.value, namespace);
  const objects = memory === undefined ? read() : memory.objectsOf(document.value, read);
  return objects.map(({ path, inventory, deeper, ...object }) => {
    const placeOf = (field = '') => place(file, document.lineOf(`${path}.${field}`));
    const placed = (problems: readonly Problem[]) =>
      problems.map(problem => ({ ...problem, ...placeOf(problem.field) }));
    return {
      ...object,
      problems: placed(object.problems),
      placeOf,
      inventory: () => ({ ...inventory(), problems: placed(inventory().problems) }),
      deeper: () => placed(deeper()),
    };
  });
}

/** An object, wherever its document is. */
interface ReadObject extends Omit<FiledObject, 'placeOf'> {
  /** `` or `items[3]`. */
  readonly path: string;
}

function objectsIn(value: unknown, namespace: string | undefined): readonly ReadObject[] {
  return flattenLists(value).map(({ object: written, path }) => {
    const object = namespace === undefined ? written : withNamespace(written, namespace);
    const decoded = decodeObject(object);
    return {
      ...decoded,
      path,
      serviceNetworks: serviceNetworks(object),
      inventory: once(() => decodeInventory(object)),
      deeper: once(() => unneededProblems(object, decoded)),
      type: typeOf(object),
      engine: foreignPolicyOf(object)?.engine,
      name: objectKey(object) ?? '',
    };
  });
}

/** Sets the namespace of an object that names none, as kubectl does. */
function withNamespace(object: unknown, namespace: string): unknown {
  const { kind = '' } = typeOf(object);
  const { metadata, ...rest } = asMap(object);
  const own = asMap(metadata);
  const isNamespaced =
    NAMESPACED.includes(kind) ||
    hasPodTemplate(object) ||
    podMakerOf(object) !== undefined ||
    isNamespacedForeign(object);
  if (!isNamespaced || (own.namespace ?? '') !== '') return object;
  return { ...rest, metadata: { ...own, namespace } };
}

const NAMESPACED: readonly string[] = [
  'NetworkPolicy',
  'Pod',
  'Service',
  'EndpointSlice',
  'Endpoints',
  'Ingress',
  'Route',
  'HTTPRoute',
  'GRPCRoute',
  'TLSRoute',
  'TCPRoute',
  'UDPRoute',
  ...WORKLOAD_KINDS,
];

/** What is wrong beside what an answer needs. */
function unneededProblems(object: unknown, decoded: Decoded): readonly Problem[] {
  const { kind = '' } = typeOf(object);
  const { namespace, name } = metadataOf(object);
  const isApplied = decoded.object !== undefined || NAMESPACED.includes(kind);
  const label = decoded.object ?? `${kind} ${namespace}/${name}`;
  const known = new Set(decoded.problems.filter(isError).map(({ field }) => field));
  // Where a part is wrong, as a name that is missing because there is no map, the whole is not wrong once more.
  const isKnown = (field = '') => [...known].some(each => each === field || each?.startsWith(`${field}.`));
  const refused = isApplied ? refusedMetadata(object, label).filter(({ field }) => !isKnown(field)) : [];
  return [...deeperProblems(object, decoded), ...legacyAddresses(object), ...refused];
}

/**
 * An object without a usable name is decoded once more with another name, to find its other problems. Until it has a name
 * they have no effect of their own.
 */
function deeperProblems(object: unknown, { event, object: name, problems }: Decoded): readonly Problem[] {
  const error = problems.find(isError);
  if (event !== undefined || name === undefined || error === undefined) return [];
  const known = new Set(problems.map(problemNote));
  const renamed = decodeObject({ ...asMap(object), metadata: { name: 'unnamed', namespace: 'default' } });
  return renamed.problems
    .filter(problem => !known.has(problemNote(problem)))
    .map(problem => ({ ...problem, object: name, effect: error.effect }));
}

function place(file: string, line: number | undefined): Pick<Problem, 'file' | 'line'> {
  return line === undefined ? { file } : { file, line };
}

/**
 * A file that is being edited. A document whose text did not change is neither parsed nor decoded again, and its objects
 * stay the same. What the last text does not have is forgotten.
 */
export class EditedFile {
  readonly #file: string;
  readonly #namespace: string | undefined;
  #text: string | undefined;
  #manifest: Manifest = { problems: [] };
  #documents = new Map<string, KnownDocuments>();
  readonly #objects = new WeakMap<object, readonly ReadObject[]>();

  constructor(file: string, namespace: string | undefined) {
    this.#file = file;
    this.#namespace = namespace;
  }

  /** The same as `readAllDocuments`. */
  read(text: string): Manifest {
    if (text === this.#text) return this.#manifest;
    const before = this.#documents;
    const now = new Map<string, KnownDocuments>();
    const parse: Parse = part => {
      const known = now.get(part) ?? before.get(part) ?? parsedOnce(part);
      now.set(known.text, known);
      return known.documents;
    };
    this.#manifest = readAllDocuments(text, this.#file, this.#namespace, {
      parse,
      objectsOf: (value, read) => (isObject(value) ? getOrMake(this.#objects, value, read) : read()),
    });
    this.#text = text;
    this.#documents = now;
    return this.#manifest;
  }
}

interface Memory {
  readonly parse: Parse;
  objectsOf(value: unknown, read: () => readonly ReadObject[]): readonly ReadObject[];
}

interface KnownDocuments {
  readonly text: string;
  readonly documents: ReturnType<Parse>;
}

/** A part of a text keeps the whole text in memory, and a copy does not. */
function parsedOnce(part: string): KnownDocuments {
  const text = [part.slice(0, 1), part.slice(1)].join('');
  return { text, documents: parseYaml(text) };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
