import type { DatabaseSync } from 'node:sqlite'
import { findBrokenLink } from './audit-log.ts'
import { factRows } from './checkpoints.ts'
import { EMPTY_LEDGER, changeFacts, readLedger } from './ledger.ts'
import type { Ledger } from './ledger.ts'
import { StateProblem } from './state-problem.ts'

/**
 * Everything that can be checked without keys: pages, seal, digests, and the audit chain unless it is left out. Throws
 * {@link StateProblem}.
 */
export function verifyState(db: DatabaseSync, chain: 'with-chain' | 'without-chain' = 'with-chain'): Ledger {
  try {
    const [first] = db.prepare('pragma integrity_check(1)').all()
    if (first?.['integrity_check'] !== 'ok') throw new StateProblem('the state is damaged: its pages are inconsistent')
    const ledger = readLedger(db)
    checkFacts(db, ledger)
    checkOutbox(db, ledger)
    const broken = chain === 'with-chain' ? findBrokenLink(db, ledger) : undefined
    if (broken !== undefined) throw new StateProblem(`the state is damaged: the audit chain breaks at event ${broken}`)
    return ledger
  } catch (error) {
    if (error instanceof StateProblem) throw error
    throw new StateProblem('the state is damaged', { cause: error })
  }
}

function checkFacts(db: DatabaseSync, ledger: Ledger): void {
  const { facts, facts_count } = changeFacts(EMPTY_LEDGER, factRows(db), [])
  if (facts !== ledger.facts || facts_count !== ledger.facts_count) {
    throw new StateProblem('the state is damaged: a checkpoint or a revocation was changed')
  }
}

function checkOutbox(db: DatabaseSync, ledger: Ledger): void {
  const row = db.prepare('select count(*) as count, coalesce(sum(sequence), 0) as sum from outbox').get()
  if (row?.['count'] !== ledger.pending_count || row['sum'] !== ledger.pending_sum) {
    throw new StateProblem('the state is damaged: the outbox was changed')
  }
}
