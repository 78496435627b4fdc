import { sql } from 'kysely'
import type { Reader } from '../../database/database.ts'
import { findStoredBackup } from '../../database/latest-times.ts'
import { toWireTime } from '../../requests/list-position.ts'
import { findUsableKeys } from './check-operators.ts'
import type { FindingsParts } from './parts.ts'

/** What was done to set up this network. The console ticks its first steps with it. */
export type FirstSteps = {
  readonly invite_made: boolean
  readonly node_joined: boolean
  readonly policy_active: boolean
  readonly partner_added: boolean
  readonly usable_operator_keys: number
  /** Null before the first recorded backup. */
  readonly backup_at: string | null
}

export async function readFirstSteps(parts: FindingsParts): Promise<FirstSteps> {
  const { database, enrollment, boundaryPolicies, operators } = parts
  const db = database.read
  const { issued } = await enrollment.certificates.read()
  return {
    // Used and old invites are removed. Every certificate had one.
    invite_made: issued > 0 || (await hasRows(db, 'invite_tokens')),
    node_joined: issued > 0,
    policy_active: (await boundaryPolicies.active.read()).length > 0,
    partner_added: (await hasRows(db, 'partners')) || (await hasRows(db, 'recognition_treaties')),
    usable_operator_keys: (await findUsableKeys(db, operators)).length,
    backup_at: toWireTime((await findStoredBackup(db)) ?? null),
  }
}

type Table = 'invite_tokens' | 'partners' | 'recognition_treaties'

async function hasRows(db: Reader, table: Table): Promise<boolean> {
  return (
    (await db
      .selectFrom(table)
      .select(sql<number>`1`.as('one'))
      .limit(1)
      .executeTakeFirst()) !== undefined
  )
}
