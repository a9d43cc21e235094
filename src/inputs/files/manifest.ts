import type { Cidr } from '../../model/address.ts';
import { type Problem, problemNote } from '../../model/problem.ts';
import { WORKLOAD_KINDS } from '../../model/workload.ts';
import { hasPodTemplate, podMakerOf } from '../kube/decode/customworkloads.ts';
import { type Decoded, decodeObject } from '../kube/decode/decode.ts';
import { foreignPolicyOf, isNamespacedForeign } from '../kube/decode/foreignpolicies.ts';
import { type DecodedItem, decodeInventory } from '../kube/decode/inventory.ts';
import { legacyAddresses } from '../kube/decode/legacyaddresses.ts';
import { serviceNetworks } from '../kube/decode/service.ts';
import { asMap, type ObjectType, objectKey, typeOf } from '../kube/report/identity.ts';
import { flattenLists } from './lists.ts';
import { type Documents, neededDocuments } from './needed.ts';
import { parseDocuments } from './parse.ts';
import type { FileTally } from './tally.ts';
import { type ParsedDocument, ParseError } from './yaml.ts';

/** An object, and the place in its file of each field. */
export interface FiledObject extends Decoded {
  readonly placeOf: (field?: string) => Pick<Problem, 'file' | 'line'>;
  readonly serviceNetworks: readonly Cidr[];
  /** The object for questions that name it; the agent does not use it. */
  readonly inventory: () => DecodedItem;
  /** Further problems: of an object without a usable name, and of what newer API servers refuse. */
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
export function readAllDocuments(text: string, file: string, namespace?: string): Manifest {
  const { documents, tally } = neededDocuments(text);
  const read = documents.map(document => {
    try {
      if (document instanceof ParseError) throw document;
      return withProblems(decodeDocument(document, file, namespace));
    } catch (error) {
      if (!(error instanceof ParseError)) throw error;
      return { objects: [], problems: [unreadable(file, error.message, error.line)] };
    }
  });
  return {
    objects: read.flatMap(({ objects }) => objects),
    problems: read.flatMap(({ problems }) => problems),
    isCut: documents.some(document => document instanceof ParseError),
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

function decodeDocument(document: ParsedDocument, file: string, namespace?: string): readonly FiledObject[] {
  return flattenLists(document.value).map(({ object: written, path }) => {
    const object = namespace === undefined ? written : withNamespace(written, namespace);
    const placeOf = (field = '') => place(file, document.lineOf(`${path}.${field}`));
    const decoded = decodeObject(object);
    const problems = decoded.problems.map(problem => ({ ...problem, ...placeOf(problem.field) }));
    const inventory = () => placed(decodeInventory(object), placeOf);
    const deeper = () =>
      [...deeperProblems(object, decoded), ...legacyAddresses(object)].map(problem => ({
        ...problem,
        ...placeOf(problem.field),
      }));
    const rest = {
      placeOf,
      serviceNetworks: serviceNetworks(object),
      inventory,
      deeper,
      type: typeOf(object),
      engine: foreignPolicyOf(object)?.engine,
      name: objectKey(object) ?? '',
    };
    return { ...decoded, problems, ...rest };
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

/** An object without a usable name is decoded once more with another name, to find its other problems. */
function deeperProblems(object: unknown, { event, object: name, problems }: Decoded): readonly Problem[] {
  if (event !== undefined || name === undefined || !problems.some(isError)) return [];
  const known = new Set(problems.map(problemNote));
  const renamed = decodeObject({ ...asMap(object), metadata: { name: 'unnamed', namespace: 'default' } });
  return renamed.problems
    .map(problem => ({ ...problem, object: name }))
    .filter(problem => !known.has(problemNote(problem)));
}

function placed({ problems, ...item }: DecodedItem, placeOf: FiledObject['placeOf']): DecodedItem {
  return { ...item, problems: problems.map(problem => ({ ...problem, ...placeOf(problem.field) })) };
}

function place(file: string, line: number | undefined): Pick<Problem, 'file' | 'line'> {
  return line === undefined ? { file } : { file, line };
}
