/** Our .proto files, in the form that grpc-js needs to serve and to call. */
import { join } from 'node:path';
import { loadPackageDefinition, type ServiceClientConstructor, type ServiceDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

const PROTO = join(import.meta.dirname, 'proto');

export interface Schema {
  readonly kni: ServiceDefinition;
  readonly health: ServiceDefinition;
  readonly sluice: ServiceDefinition;
  readonly SluiceClient: ServiceClientConstructor;
}

export function loadSchema(): Schema {
  const files = ['kni.proto', 'health.proto', 'sluice.proto'].map(file => join(PROTO, file));
  const options = {
    keepCase: true,
    longs: Number,
    enums: String,
    defaults: true,
    arrays: true,
    objects: true,
  };
  const root = loadPackageDefinition(loadSync(files, options));
  const client = (path: string) =>
    path
      .split('.')
      .reduce(
        (at, name) => (at as Record<string, unknown>)[name],
        root as unknown,
      ) as ServiceClientConstructor;
  return {
    kni: client('kni.KNI').service,
    health: client('grpc.health.v1.Health').service,
    sluice: client('sluice.v1.Sluice').service,
    SluiceClient: client('sluice.v1.Sluice'),
  };
}
