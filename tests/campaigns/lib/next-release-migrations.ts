import { type Kysely, sql } from 'kysely'

/**
 * Same form as in apps/authority/src/database/migrate.ts, without its types, because the tables of the next release
 * have none.
 */
interface NextMigration {
  readonly version: number
  readonly servesFrom?: number
  up(tx: Kysely<never>): Promise<void>
}

/** Only adds: instances of the release before may continue. `released` is the schema version of this release. */
const adds = (released: number): NextMigration => ({
  version: released + 1,
  servesFrom: released,
  async up(tx) {
    await sql`create table next_notes (cert_id text not null, note text)`.execute(tx)
    await sql`insert into next_notes (cert_id) select cert_id from issued_certs`.execute(tx)
  },
})

/** Creates a table, fills it, and then fails on unexpected rows. */
const failsMidway = (version: number, released: number): NextMigration => ({
  version,
  servesFrom: released,
  async up(tx) {
    await sql`create table next_roles (role text not null)`.execute(tx)
    await sql`insert into next_roles select roles_json from issued_certs`.execute(tx)
    await sql`create unique index next_roles_role on next_roles (role)`.execute(tx)
  },
})

/** Changes a table that is in use: waits for every transaction that locks it, and stops after a time. */
const changesTable = (released: number): NextMigration => ({
  version: released + 1,
  servesFrom: released,
  async up(tx) {
    await sql`alter table issued_certs add column next_note text`.execute(tx)
  },
})

const RELEASES: Readonly<Record<string, (released: number) => readonly NextMigration[]>> = {
  'fails at once': (released) => [failsMidway(released + 1, released)],
  'fails at the second': (released) => [adds(released), failsMidway(released + 2, released)],
  'changes a table': (released) => [changesTable(released)],
  good: (released) => [adds(released)],
}

/** Returns the migrations that CHANCERY_NEXT_RELEASE names, numbered after those of this release. */
export function nextRelease(released: number): readonly NextMigration[] {
  return RELEASES[process.env['CHANCERY_NEXT_RELEASE'] ?? '']?.(released) ?? []
}
