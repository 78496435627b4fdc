import { sql } from 'kysely'
import type { Kysely } from 'kysely'

/** As apps/authority/src/store/migrate.ts wants them, without its types: the tables of the next release are not known. */
interface NextMigration {
  readonly version: number
  readonly servesFrom?: number
  up(tx: Kysely<never>): Promise<void>
}

const RELEASED = 25

/** Only adds: instances of the release before may go on. */
const adds: NextMigration = {
  version: RELEASED + 1,
  servesFrom: RELEASED,
  async up(tx) {
    await sql`create table next_notes (cert_id text not null, note text)`.execute(tx)
    await sql`insert into next_notes (cert_id) select cert_id from issued_certs`.execute(tx)
  },
}

/** Makes a table, fills it, and then meets rows that it did not expect. */
const failsMidway = (version: number): NextMigration => ({
  version,
  servesFrom: RELEASED,
  async up(tx) {
    await sql`create table next_roles (role text not null)`.execute(tx)
    await sql`insert into next_roles select roles_json from issued_certs`.execute(tx)
    await sql`create unique index next_roles_role on next_roles (role)`.execute(tx)
  },
})

/** Changes a table that is in use: it waits for everybody who holds it, and gives up. */
const changesTable: NextMigration = {
  version: RELEASED + 1,
  servesFrom: RELEASED,
  async up(tx) {
    await sql`alter table issued_certs add column next_note text`.execute(tx)
  },
}

const RELEASES: Readonly<Record<string, readonly NextMigration[]>> = {
  'fails at once': [failsMidway(RELEASED + 1)],
  'fails at the second': [adds, failsMidway(RELEASED + 2)],
  'changes a table': [changesTable],
  good: [adds],
}

export const nextRelease: readonly NextMigration[] = RELEASES[process.env['CHANCERY_NEXT_RELEASE'] ?? ''] ?? []
