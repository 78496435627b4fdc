import { at, readText } from '../client.ts'

/** Reads stored lines after a sequence, each byte for byte. */
export async function readEntryLines(
  since_sequence: number,
  limit: number,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const text = await readText(at`/admin/evidence/export`, { since_sequence, limit }, signal)
  return text.split('\n').filter((line) => line !== '')
}
