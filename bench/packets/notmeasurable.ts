/** This machine does not let us run the benchmark. The message says why. */
export class NotMeasurable extends Error {
  override readonly name = 'NotMeasurable';
}
