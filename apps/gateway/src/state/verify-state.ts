import { DatabaseSync } from 'node:sqlite'
import { findBrokenLink } from './audit-log.ts'
import { factRows } from './checkpoints.ts'
import { SCHEMA } from './schema.ts'
import { EMPTY_STATE_VALUES, type StateValues, changeFacts, readStateValues } from './state-values.ts'
import { StateError } from './state-error.ts'

/**
 * Checks everything that needs no keys: pages, tables, seal, digests and, unless left out, the audit chain. Throws {@link
 * StateError}.
 */
export function verifyState(db: DatabaseSync, chain: 'with-chain' | 'without-chain' = 'with-chain'): StateValues {
  try {
    const [first] = db.prepare('pragma integrity_check(1)').all()
    if (first?.['integrity_check'] !== 'ok') throw new StateError('the state is damaged: its pages are inconsistent')
    checkTables(db)
    const values = readStateValues(db)
    checkFacts(db, values)
    checkOutbox(db, values)
    const broken = chain === 'with-chain' ? findBrokenLink(db, values) : undefined
    if (broken !== undefined) throw new StateError(`the state is damaged: the audit chain breaks at event ${broken}`)
    return values
  } catch (error) {
    if (error instanceof StateError) throw error
    throw new StateError('the state is damaged', { cause: error })
  }
}

/** The definitions of the tables are text in the file. A changed name in them would fail only at its first use. */
function checkTables(db: DatabaseSync): void {
  const fresh = new DatabaseSync(':memory:')
  try {
    fresh.exec(SCHEMA)
    if (readDefinitions(db) !== readDefinitions(fresh))
      throw new StateError('the state is damaged: the definition of a table was changed')
  } finally {
    fresh.close()
  }
}

const readDefinitions = (db: DatabaseSync): string =>
  JSON.stringify(db.prepare('select type, name, tbl_name, sql from sqlite_schema order by type, name').all())

function checkFacts(db: DatabaseSync, values: StateValues): void {
  const { facts, facts_count } = changeFacts(EMPTY_STATE_VALUES, factRows(db), [])
  if (facts !== values.facts || facts_count !== values.facts_count) {
    throw new StateError('the state is damaged: a checkpoint or a revocation was changed')
  }
}

function checkOutbox(db: DatabaseSync, values: StateValues): void {
  const row = db.prepare('select count(*) as count, coalesce(sum(sequence), 0) as sum from outbox').get()
  if (row?.['count'] !== values.pending_count || row['sum'] !== values.pending_sum) {
    throw new StateError('the state is damaged: the outbox was changed')
  }
}
