export function byName<T extends { readonly name: string }>(objects: readonly T[]): Map<string, T> {
  return new Map(objects.map(object => [object.name, object]));
}
