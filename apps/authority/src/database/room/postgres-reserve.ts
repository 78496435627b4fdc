import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { DiskFullError } from '../errors.ts'
import type { Query } from '../database.ts'
import { PARTS, PART_BYTES, type Part, type PartState, type Reserve, type ReserveState } from './disk-room.ts'

/** Shows that the parts were made, so that a missing one was released. It is empty. */
const MARK = 'disk_reserve'
const tableOf = (part: Part): string => `${MARK}_${part}`
const HEADROOM = `${MARK}_headroom`

/** Tables that hold space and no rows of the authority. Copies leave them out. */
export const RESERVE_TABLES: readonly string[] = [MARK, HEADROOM, ...PARTS.map(tableOf)]

/** Short enough to be stored as they are, four in a page of 8 KiB. */
const ROW_CHARACTERS = 1900
const ROWS_AT_ONCE = 512
const ROWS_PER_MEBIBYTE = 512
const EXISTS_ALREADY: ReadonlySet<string> = new Set(['42P07', '23505'])

/**
 * Two tables. The space of the disk cannot be seen from here, so the first failed write shows that it is full. DROP frees
 * a table at once and needs no room: it changes rows of the catalogue in their place, and adds none.
 */
export function postgresReserve(
  query: Query,
  isFull: Reserve['isFull'],
  sqlState: (error: unknown) => string | undefined,
): Reserve {
  const look = async (): Promise<ReserveState> => {
    const { rows } = await sql<Record<Part | 'mark', boolean>>`select
      to_regclass(${MARK}) is not null as mark,
      to_regclass(${tableOf('service')}) is not null as service,
      to_regclass(${tableOf('revocations')}) is not null as revocations`.execute(query)
    const [found] = rows
    const stateOf = (part: Part): PartState =>
      found?.[part] === true ? 'held' : found?.mark === true ? 'released' : 'missing'
    return { service: stateOf('service'), revocations: stateOf('revocations') }
  }
  return {
    look,
    isFull,
    measure: () => Promise.resolve(undefined),
    release: async (part) => void (await sql`drop table if exists ${sql.table(tableOf(part))}`.execute(query)),
    // Outside of a transaction. Its own tables only, which are small.
    reclaim: async () => void (await sql`vacuum (truncate false) crl_versions, crl_segments`.execute(query)),
    async make(limitBytes, signal) {
      const state = await look()
      try {
        await query.transaction().execute(async (tx) => {
          await sql`create table if not exists ${sql.table(MARK)} (filler text)`.execute(tx)
          for (const part of PARTS)
            if (state[part] !== 'held') await makeTable(tx, tableOf(part), PART_BYTES[part], signal)
          // Only with room for other work: it would be released again at once.
          await makeTable(tx, HEADROOM, limitBytes, signal)
          await sql`drop table ${sql.table(HEADROOM)}`.execute(tx)
        })
      } catch (error) {
        // Another instance makes it at the same time.
        if (!EXISTS_ALREADY.has(sqlState(error) ?? '')) throw error
      }
    },
  }
}

async function makeTable(tx: Query, name: string, bytes: number, signal: AbortSignal): Promise<void> {
  const table = sql.table(name)
  await sql`create table ${table} (filler text) with (autovacuum_enabled = false)`.execute(tx)
  const rows = Math.ceil((bytes / (1 << 20)) * ROWS_PER_MEBIBYTE)
  for (let made = 0; made < rows; made += ROWS_AT_ONCE) {
    if (signal.aborted) throw new DiskFullError('a write needed the room of the reserve')
    const count = Math.min(ROWS_AT_ONCE, rows - made)
    // Random, because a file system that compresses would hold no space for equal bytes.
    const fillers = Array.from({ length: count }, () => randomBytes(ROW_CHARACTERS / 2).toString('hex'))
    await sql`insert into ${table} select * from unnest(${fillers}::text[])`.execute(tx)
  }
}
