import { sql } from 'kysely'
import type { Database } from '../database.ts'

/** A row that the primary committed. A server that has it has everything that was committed before it. */
export interface ReplicaProof {
  readonly name: string
  readonly at: string
}

const FORM = sql.lit('YYYY-MM-DD"T"HH24:MI:SS.US"Z"')

/**
 * Writes the row of this timeline with a later time than any before, also of other instances. A failover begins another
 * timeline: a replica that follows the former primary never gets the row of the new one. The row has the key of the
 * authority: a replica of another network, whose rows may be later, has none of that name.
 */
export async function writeProof(primary: Pick<Database, 'write'>): Promise<ReplicaProof> {
  const { rows } = await primary.write(({ query }) =>
    sql<ReplicaProof>`
      insert into moments (name, at)
      values (
        'replica-proof ' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) || ' '
          || (select public_key from authority_identity),
        to_char(clock_timestamp() at time zone 'UTC', ${FORM})
      )
      on conflict (name) do update set at = greatest(
        excluded.at,
        to_char((moments.at::timestamptz + interval '1 microsecond') at time zone 'UTC', ${FORM})
      )
      returning name, at`.execute(query),
  )
  const [proof] = rows
  if (proof === undefined) throw new Error('the primary returned no row')
  return proof
}

/** True when the server has the row and still follows a primary: one that was promoted has its own history. */
export async function hasProof(replica: Pick<Database, 'read'>, { name, at }: ReplicaProof): Promise<boolean> {
  const { rows } = await sql<{
    readonly at: string
  }>`select at from moments where name = ${name} and pg_is_in_recovery()`.execute(replica.read)
  return (rows[0]?.at ?? '') >= at
}
