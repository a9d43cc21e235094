/**
 * For the end of a switch over a union: a case that is missing is a compile error, and an invalid value at run time
 * throws.
 */
export function assertNever(value: never): never {
  throw new TypeError(`unexpected value: ${JSON.stringify(value)}`);
}
