import { type RecognitionTreaty, readRecognitionTreaty } from '@chancery/protocol'
import type { Connection } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { loadRecord } from '../../files/json-file.ts'

const TREATY = { name: 'a recognition treaty', member: 'treaty', read: readRecognitionTreaty } as const

export function isTreatyFile(given: string): boolean {
  return given.endsWith('.json')
}

export function loadTreaty(cwd: string, file: string): Promise<RecognitionTreaty> {
  return loadRecord(cwd, file, TREATY)
}

/** Returns a treaty by its id at the authority, or from a .json file. */
export async function findTreaty(
  { cwd }: CommandContext,
  connection: Connection,
  given: string,
): Promise<RecognitionTreaty> {
  if (isTreatyFile(given)) return loadTreaty(cwd, given)
  return (await connection.ask((client) => client.recognitionTreaties.find(given))).treaty
}
