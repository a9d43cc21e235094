/** Endpoints, which people write beside a Service without a selector; the cluster makes slices of them, a folder has none. */
import { FAMILIES, familyOf } from '../../../model/address.ts';
import type { Endpoint, EndpointSlice } from '../../../model/service.ts';
import type { Field } from './fields.ts';
import { readName, readNamespace } from './metadata.ts';
import { endpointPod, readSlicePort, serviceAddresses } from './services.ts';

/** A slice for each subset and family. */
export function decodeEndpoints(object: Field): readonly EndpointSlice[] {
  const name = readName(object);
  const namespace = readNamespace(object);
  if (name === undefined || namespace === undefined) return [];
  return object
    .get('subsets')
    .items()
    .flatMap((subset, index) => {
      const ports = subset.get('ports').items().flatMap(readSlicePort);
      const endpoints = [
        ...endpointsIn(subset.get('addresses'), namespace, true),
        ...endpointsIn(subset.get('notReadyAddresses'), namespace, false),
      ];
      return FAMILIES.map(
        (family): EndpointSlice => ({
          key: `${namespace}/${name} (subset ${index}, ${family})`,
          service: `${namespace}/${name}`,
          family,
          ports,
          endpoints: endpoints.filter(({ addresses }) => addresses.some(each => familyOf(each) === family)),
          isMirrored: true,
        }),
      );
    });
}

function endpointsIn(list: Field, namespace: string, ready: boolean): Endpoint[] {
  return list.items().map(field => {
    const pod = endpointPod(field, namespace);
    return { addresses: serviceAddresses([field.get('ip')]), ready, ...(pod && { pod }) };
  });
}
