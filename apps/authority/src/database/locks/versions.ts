import { SharedRead, endOfLoopTurn } from '@chancery/service-kit'
import type { Database, Statement } from '../database.ts'

/** What every request may read cheaply: whether anything changed, and when the next change is due. */
export interface Versions {
  readonly versions: ReadonlyMap<string, number>
  /** When the next superseded certificate is due for the revocation list. */
  readonly nextListing: string | null
}

interface VersionRow {
  readonly name: string
  readonly version: number
  readonly due: string | null
}

const SELECT_VERSIONS =
  'select name, version, (select min(list_after) from issued_certs where list_after is not null) as due from heads'

const READ_VERSIONS: Statement<undefined, VersionRow> = {
  name: 'read-versions',
  isRead: true,
  postgres: { text: SELECT_VERSIONS, values: () => [] },
  sqlite: (prepare) => prepare(SELECT_VERSIONS).all() as unknown as VersionRow[],
}

export async function readVersions(database: Pick<Database, 'run'>): Promise<Versions> {
  const rows = await database.run(READ_VERSIONS, undefined)
  return { versions: new Map(rows.map((row) => [row.name, row.version])), nextListing: rows[0]?.due ?? null }
}

/**
 * Versions that are never older than the call: callers that arrive during a read share the next one, so a thousand
 * waiting requests cost one statement.
 */
export function versionReader(
  database: Pick<Database, 'run'>,
  observe: (versions: Versions) => Versions,
): SharedRead<Versions> {
  return new SharedRead(async () => observe(await readVersions(database)), endOfLoopTurn)
}
