/** This machine does not allow the benchmark to run. The message says why. */
export class NotMeasurable extends Error {
  override readonly name = 'NotMeasurable';
}
