import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import type { AuditRow } from './audit-log.ts'
import { readLedger, writeLedger } from './ledger.ts'
import { inTransaction, writeSchema } from './state-file.ts'

/** The writer of a live gateway waits while a reader reads: so long at a time, and then it gets its turn. */
const BURST_MS = 200
const BREATH_MS = 120
/** Between two looks at the time. */
const ROWS_PER_LOOK = 200

/** Small, or changed in place: copied in one go at the end, so that all of it is of one moment. */
const TABLES = ['checkpoints', 'withdrawn', 'equivocations', 'outbox'] as const

/**
 * Copies a state into an empty file while its gateway writes it. The audit is by far the largest part and only grows at its end: it is
 * copied in short bursts, and what came meanwhile with the rest, in one last read that sees one moment. The platform's
 * own copy begins anew at every change by another process, and so never ends beside a busy gateway.
 */
export async function copyState(source: DatabaseSync, target: DatabaseSync): Promise<void> {
  // Synced as a whole when it is finished; a copy that is not finished is removed.
  target.exec('pragma journal_mode = off; pragma synchronous = off')
  writeSchema(target)
  const head = readLedger(source).head_sequence
  let last = 0
  while (last < head) {
    const copied = inTransaction(target, () => copyAudit(source, target, last, BURST_MS))
    if (copied === last) break
    last = copied
    await pause(BREATH_MS)
  }
  copyRest(source, target, last)
}

/** Gives the sequence of the last event that was copied. */
function copyAudit(source: DatabaseSync, target: DatabaseSync, after: number, ms: number): number {
  const rows = source.prepare('select * from audit where sequence > ? order by sequence').iterate(after)
  const put = target.prepare('insert into audit (sequence, body, hash) values (?, ?, ?)')
  const endMs = performance.now() + ms
  let last = after
  let count = 0
  for (const row of rows) {
    const { sequence, body, hash } = row as unknown as AuditRow
    put.run(sequence, body, hash)
    last = sequence
    count += 1
    // Leaving the loop ends the read, and with it the lock.
    if (count % ROWS_PER_LOOK === 0 && performance.now() >= endMs) break
  }
  return last
}

/** What came since, everything else, and the ledger that seals it: of one moment. */
function copyRest(source: DatabaseSync, target: DatabaseSync, after: number): void {
  inTransaction(target, () => {
    source.exec('begin')
    try {
      const ledger = readLedger(source)
      copyAudit(source, target, after, Infinity)
      for (const table of TABLES) copyTable(source, target, table)
      // Events that were pruned while the copy was made.
      target.prepare('delete from audit where sequence < ?').run(ledger.first_sequence)
      writeLedger(target, ledger)
    } finally {
      source.exec('rollback')
    }
  })
}

function copyTable(source: DatabaseSync, target: DatabaseSync, table: (typeof TABLES)[number]): void {
  const read = source.prepare(`select * from ${table}`)
  let put: StatementSync | undefined
  for (const row of read.iterate()) {
    const names = Object.keys(row)
    put ??= target.prepare(`insert into ${table} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`)
    put.run(...Object.values(row))
  }
}
