import type { Database, Statement, Transaction } from '../database.ts'
import type { Domain } from './domains.ts'

/** Domains whose changes can end the basis of an allowed decision: keys, certificates, treaties, revocations, policies. */
const BASIS = [
  'boundary-policies',
  'crl',
  'feed',
  'imports',
  'operator-keys',
  'partners',
  'recognition-policy',
  'treaties',
] as const satisfies readonly Domain[]

// A transaction that stores an allowed decision shares this lock from its last read of the versions until its commit. A
// transaction that raises one of the versions takes it alone. So each decision is committed before the change, or sees
// it. An advisory lock writes no row, and a waiting change is not overtaken. SQLite has one writer and needs no lock.
const locking = (name: string, lock: string): Statement<undefined, unknown> => ({
  name,
  postgres: { text: `select ${lock}(77, 1)`, values: () => [] },
  sqlite: () => [],
})
const SHARE_BASIS = locking('share-decision-basis', 'pg_advisory_xact_lock_shared')
const LOCK_BASIS = locking('lock-decision-basis', 'pg_advisory_xact_lock')

const SELECT = `select name, version from heads where name in ('${BASIS.join("', '")}') order by name`
const READ_BASIS: Statement<undefined, { readonly version: number }> = {
  name: 'read-decision-basis',
  isRead: true,
  postgres: { text: SELECT, values: () => [] },
  sqlite: (prepare) => prepare(SELECT).all() as unknown as { version: number }[],
}

/** The versions of everything a decision is based on, as one text. */
export type BasisVersion = string

const toText = (rows: readonly { readonly version: number }[]): BasisVersion =>
  rows.map(({ version }) => version).join('.')

export async function readBasisVersion(database: Pick<Database, 'run'>): Promise<BasisVersion> {
  return toText(await database.run(READ_BASIS, undefined))
}

/** The versions, which do not change until the transaction ends. Both statements are sent together where that is possible. */
export async function holdBasisVersion(tx: Pick<Transaction, 'run'>): Promise<BasisVersion> {
  const [, rows] = await Promise.all([tx.run(SHARE_BASIS, undefined), tx.run(READ_BASIS, undefined)])
  return toText(rows)
}

/** Waits for running transactions that hold the versions, and keeps others waiting until this one ends. */
export async function lockBasisOf(tx: Pick<Transaction, 'run'>, domain: Domain): Promise<void> {
  if ((BASIS as readonly Domain[]).includes(domain)) await tx.run(LOCK_BASIS, undefined)
}
