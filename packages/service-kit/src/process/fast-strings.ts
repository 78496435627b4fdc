/** More reads than the engine needs before it caches a property access. */
const READS = 1000

/**
 * Makes string methods fast again. A class that extends String, as in the Redis client, turns String.prototype into the
 * slow form of the engine, and every loop over characters then takes six times as long, in the whole process. Reading
 * through a String object a few times gives it back its fast form. Call it after the import of such a library.
 */
export function restoreFastStrings(): void {
  const wrapped = Object('a') as { charCodeAt(at: number): number }
  for (let at = 0; at < READS; at += 1) readOnce(wrapped)
}

function readOnce(wrapped: { charCodeAt(at: number): number }): number {
  return wrapped.charCodeAt(0)
}
