import { SharedRead, endOfLoopTurn } from '@chancery/service-kit'
import { sql } from 'kysely'
import type { Versions, Database, Tx } from '../database.ts'

/**
 * One row per domain, both the lock that is taken first and the version stamp that keeps caches honest over all
 * instances. Locks are taken in this order and never downwards, so two transactions cannot wait for each other.
 */
export const DOMAINS = [
  'operator-keys',
  'crl',
  'policy',
  'recognition-policy',
  'treaties',
  'feed',
  'imports',
  'boundary-policies',
  'data-usage',
  'evidence-anchors',
] as const
export type Domain = (typeof DOMAINS)[number]

/** Counts a change of the domain. In the same transaction as the change, so no reader sees one without the other. */
export async function raiseVersion(tx: Tx, name: Domain): Promise<void> {
  await tx
    .updateTable('heads')
    .set({ version: sql<number>`version + 1` })
    .where('name', '=', name)
    .execute()
}

/**
 * Version stamps that are never older than the question: callers that arrive while a read is under way share the
 * next one, so a thousand waiting requests cost one statement.
 */
export function versionReader(database: Database, see: (versions: Versions) => Versions): SharedRead<Versions> {
  return new SharedRead(async () => see(await database.readVersions()), endOfLoopTurn)
}
