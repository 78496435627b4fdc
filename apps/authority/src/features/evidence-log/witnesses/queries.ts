import type { Reader, Transaction } from '../../../database/database.ts'
import { countOf } from '../../../database/large-tables.ts'
import type { Tables } from '../../../database/tables.ts'

export type WitnessRow = Tables['evidence_log_witnesses']
export type CosignedRow = Tables['evidence_log_cosigned']

/** A checkpoint of this log that a witness holds and that contradicts the stored one. */
export interface ContradictingNote {
  readonly name: string
  readonly note: string
}

export async function listWitnesses(db: Reader): Promise<readonly WitnessRow[]> {
  return db.selectFrom('evidence_log_witnesses').selectAll().orderBy('name').execute()
}

/** Also of witnesses that are no longer in the settings: removing one does not repair the log. */
export async function findProofs(db: Reader): Promise<readonly ContradictingNote[]> {
  const rows = await db
    .selectFrom('evidence_log_witnesses')
    .select(['name', 'proof_note'])
    .where('proof_note', 'is not', null)
    .orderBy('name')
    .execute()
  return rows.flatMap(({ name, proof_note: note }) => (note === null ? [] : [{ name, note }]))
}

export function countAlarms(db: Reader): Promise<number> {
  return countOf(db.selectFrom('evidence_log_witnesses').where('alarm', 'is not', null))
}

export async function storeWitness(tx: Transaction, row: WitnessRow): Promise<void> {
  const { name: _name, ...values } = row
  await tx.query
    .insertInto('evidence_log_witnesses')
    .values(row)
    .onConflict((conflict) => conflict.column('name').doUpdateSet(values))
    .execute()
}

/** Removes witnesses that are not asked any more, apart from those with an alarm. */
export async function removeOthers(tx: Transaction, names: readonly string[]): Promise<void> {
  await tx.query
    .deleteFrom('evidence_log_witnesses')
    .where('alarm', 'is', null)
    .$if(names.length > 0, (query) => query.where('name', 'not in', names))
    .execute()
}

export async function findCosigned(db: Reader): Promise<CosignedRow | undefined> {
  return db.selectFrom('evidence_log_cosigned').selectAll().executeTakeFirst()
}

export async function storeCosigned(tx: Transaction, row: Omit<CosignedRow, 'id'>): Promise<void> {
  await tx.query
    .insertInto('evidence_log_cosigned')
    .values({ id: 1, ...row })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
    .execute()
}
