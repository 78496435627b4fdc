import type { Reader, Transaction } from '../../database/database.ts'

export interface DecisionMinute {
  readonly minute: string
  readonly asked_by: string
  readonly authorized: number
  readonly denied: number
  readonly denied_for_freshness: number
}

/** Adds to the row of the minute, to which other instances add too. */
export async function addDecisionMinute(tx: Transaction, row: DecisionMinute): Promise<void> {
  await tx.query
    .insertInto('decision_minutes')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['minute', 'asked_by']).doUpdateSet((eb) => ({
        authorized: eb('decision_minutes.authorized', '+', row.authorized),
        denied: eb('decision_minutes.denied', '+', row.denied),
        denied_for_freshness: eb('decision_minutes.denied_for_freshness', '+', row.denied_for_freshness),
      })),
    )
    .execute()
}

export async function deleteDecisionMinutesBefore(tx: Transaction, minute: string): Promise<void> {
  await tx.query.deleteFrom('decision_minutes').where('minute', '<', minute).execute()
}

/** One sum per asker, from this minute on. */
export async function sumDecisionMinutes(db: Reader, from: string): Promise<readonly Omit<DecisionMinute, 'minute'>[]> {
  const rows = await db
    .selectFrom('decision_minutes')
    .select(({ fn }) => [
      'asked_by',
      fn.sum<number | string>('authorized').as('authorized'),
      fn.sum<number | string>('denied').as('denied'),
      fn.sum<number | string>('denied_for_freshness').as('denied_for_freshness'),
    ])
    .where('minute', '>=', from)
    .groupBy('asked_by')
    .execute()
  // PostgreSQL returns sums as text.
  return rows.map((row) => ({
    asked_by: row.asked_by,
    authorized: Number(row.authorized),
    denied: Number(row.denied),
    denied_for_freshness: Number(row.denied_for_freshness),
  }))
}
