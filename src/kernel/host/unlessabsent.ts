/** What was read of a file, or `otherwise` where there is none: what a kernel does not do has no file. */
export async function unlessAbsent<T>(reading: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return otherwise;
    throw error;
  }
}
