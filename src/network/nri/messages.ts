/** The messages of NRI and of ttrpc's envelope, by name: objects of JavaScript on one side, bytes on the other. */
import { join } from 'node:path';
import protobuf from 'protobufjs';
import { WireError } from './multiplex.ts';

export const NRI_PACKAGE = 'nri.pkg.api.v1alpha1';

export interface Status {
  readonly code: number;
  readonly message: string;
}

/** The properties of a sandbox that concern the network of its pod. */
export interface PodSandbox {
  readonly id: string;
  readonly name: string;
  readonly uid: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly linux?: {
    readonly namespaces: readonly { readonly type: string; readonly path: string }[];
  } | null;
  readonly pid: number;
  readonly ips: readonly string[];
}

/** Messages have the names of src/network/nri/proto. */
export interface Messages {
  readonly Request: {
    readonly service: string;
    readonly method: string;
    readonly payload: Uint8Array;
    readonly timeoutNano: number;
  };
  readonly Response: { readonly status?: Status | null; readonly payload: Uint8Array };
  readonly Empty: object;
  readonly RegisterPluginRequest: { readonly pluginName: string; readonly pluginIdx: string };
  readonly ConfigureRequest: {
    readonly runtimeName: string;
    readonly runtimeVersion: string;
    readonly requestTimeout: number;
  };
  readonly ConfigureResponse: { readonly events: number };
  readonly SynchronizeRequest: {
    readonly pods: readonly PodSandbox[];
    readonly containers: readonly { readonly podSandboxId: string }[];
    readonly more: boolean;
  };
  readonly SynchronizeResponse: { readonly more: boolean };
  readonly StateChangeEvent: { readonly event: number; readonly pod?: PodSandbox | null };
}

export const EVENT = { runPodSandbox: 1, stopPodSandbox: 2, removePodSandbox: 3 } as const;

const PROTO = join(import.meta.dirname, 'proto');
const root = protobuf.loadSync(['ttrpc.proto', 'nri.proto'].map(file => join(PROTO, file)));
root.resolveAll();
const TO_OBJECT = { longs: Number, defaults: true, arrays: true, objects: true };

function typeOf(name: keyof Messages): protobuf.Type {
  const scope = name === 'Request' || name === 'Response' ? 'ttrpc' : NRI_PACKAGE;
  return root.lookupType(`${scope}.${name}`);
}

/** Fields that are left out have protobuf's defaults. */
export function encode<Name extends keyof Messages>(name: Name, value: Partial<Messages[Name]>): Buffer {
  const type = typeOf(name);
  return Buffer.from(type.encode(type.fromObject(value)).finish());
}

/** Throws WireError where the bytes are no such message. */
export function decode<Name extends keyof Messages>(name: Name, bytes: Uint8Array): Messages[Name] {
  const type = typeOf(name);
  try {
    countFields(type, protobuf.Reader.create(bytes), bytes.length, 0);
    return type.toObject(type.decode(bytes), TO_OBJECT) as Messages[Name];
  } catch (error) {
    throw new WireError(`${name} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

/** Two thousand pods with all that they have. A field of two bytes may become an object of two hundred. */
const MOST_FIELDS = 200_000;

/** Those that are read, with those before them. Throws where there are too many for the agent's memory. */
function countFields(type: protobuf.Type, reader: protobuf.Reader, end: number, before: number): number {
  let count = before;
  while (reader.pos < end) {
    const tag = reader.uint32();
    const field = type.fieldsById[tag >>> 3];
    if (field !== undefined && ++count > MOST_FIELDS) throw new RangeError(`more than ${MOST_FIELDS} fields`);
    if (field?.resolvedType instanceof protobuf.Type && (tag & 7) === LENGTH_DELIMITED) {
      const length = reader.uint32();
      count = countFields(field.resolvedType, reader, reader.pos + length, count);
    } else reader.skipType(tag & 7);
  }
  return count;
}

const LENGTH_DELIMITED = 2;
