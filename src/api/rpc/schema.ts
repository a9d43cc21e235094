/** Our .proto files, in the form that grpc-js needs to serve and to call. */
import { join } from 'node:path';
import {
  type GrpcObject,
  loadPackageDefinition,
  type ServiceClientConstructor,
  type ServiceDefinition,
} from '@grpc/grpc-js';
import {
  loadSync,
  type MessageTypeDefinition,
  type Options,
  type PackageDefinition,
} from '@grpc/proto-loader';

const PROTO = join(import.meta.dirname, 'proto');

export interface Schema {
  readonly kni: ServiceDefinition;
  readonly health: ServiceDefinition;
  readonly sluice: ServiceDefinition;
  readonly SluiceClient: ServiceClientConstructor;
  /** Each file as an encoded FileDescriptorProto. */
  readonly descriptors: readonly Buffer[];
}

export function loadSchema(): Schema {
  const definitions = definitionsIn(['kni.proto', 'health.proto', 'sluice.proto']);
  const root = loadPackageDefinition(definitions);
  return {
    kni: clientIn(root, 'kni.KNI').service,
    health: clientIn(root, 'grpc.health.v1.Health').service,
    sluice: clientIn(root, 'sluice.v1.Sluice').service,
    SluiceClient: clientIn(root, 'sluice.v1.Sluice'),
    descriptors: descriptorsIn(definitions),
  };
}

/** The service that describes the others; clients of our own do not need it. */
export function loadReflection(): {
  readonly service: ServiceDefinition;
  readonly descriptors: readonly Buffer[];
} {
  const definitions = definitionsIn(['reflection.proto'], { oneofs: true });
  const root = loadPackageDefinition(definitions);
  return {
    service: clientIn(root, 'grpc.reflection.v1.ServerReflection').service,
    descriptors: descriptorsIn(definitions),
  };
}

function definitionsIn(names: readonly string[], more: Options = {}): PackageDefinition {
  return loadSync(
    names.map(file => join(PROTO, file)),
    { keepCase: true, longs: Number, enums: String, defaults: true, arrays: true, objects: true, ...more },
  );
}

/** Each message knows all files that were loaded with its own. */
function descriptorsIn(definitions: PackageDefinition): readonly Buffer[] {
  for (const definition of Object.values(definitions))
    if ('fileDescriptorProtos' in definition)
      return (definition as MessageTypeDefinition<object, object>).fileDescriptorProtos;
  return [];
}

function clientIn(root: GrpcObject, path: string): ServiceClientConstructor {
  return path
    .split('.')
    .reduce((at, name) => (at as Record<string, unknown>)[name], root as unknown) as ServiceClientConstructor;
}
