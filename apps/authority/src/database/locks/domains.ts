import { type Kysely, sql } from 'kysely'
import type { Tables } from '../tables.ts'

/**
 * One row per domain: a lock, and a version that shows every instance when its cache is old. Locks are taken in this
 * order, so that two transactions cannot deadlock.
 */
export const DOMAINS = [
  'operator-keys',
  'crl',
  'policy',
  'recognition-policy',
  'treaties',
  'feed',
  'imports',
  'partners',
  'boundary-policies',
  'data-usage',
  'evidence-anchors',
  'admission',
] as const
export type Domain = (typeof DOMAINS)[number]

/** Counts a change of the domain. */
export async function raiseVersion(query: Kysely<Tables>, name: Domain): Promise<void> {
  await query
    .updateTable('heads')
    .set({ version: sql<number>`version + 1` })
    .where('name', '=', name)
    .execute()
}
