import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import type { AuditRow } from './audit-log.ts'
import { readStateValues, writeStateValues } from './state-values.ts'
import { inTransaction, writeSchema } from './state-file.ts'

/** The writer of a running gateway waits while a reader reads. A read lasts this long, then the writer continues. */
const BURST_MS = 200
const BREATH_MS = 120
/** Rows between two checks of the time. */
const ROWS_PER_READ = 200

/** Small, or changed in place: copied together at the end, so that all of it is consistent. */
const TABLES = ['checkpoints', 'withdrawn', 'equivocations', 'outbox'] as const

/**
 * Copies a state into an empty file while its gateway writes. The audit is by far the largest part and only grows at
 * its end. It is copied in short bursts, and the rest in one last consistent read. The platform's own copy starts again
 * at every change by another process, so it never ends next to a busy gateway.
 */
export async function copyState(source: DatabaseSync, target: DatabaseSync): Promise<void> {
  // Synced when it is complete. An incomplete copy is removed.
  target.exec('pragma journal_mode = off; pragma synchronous = off')
  writeSchema(target)
  const head = readStateValues(source).head_sequence
  let last = 0
  while (last < head) {
    const copied = inTransaction(target, () => copyAudit(source, target, last, BURST_MS))
    if (copied === last) break
    last = copied
    await pause(BREATH_MS)
  }
  copyRest(source, target, last)
}

/** Returns the sequence of the last copied event. */
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
    // Leaving the loop ends the read and releases the lock.
    if (count % ROWS_PER_READ === 0 && performance.now() >= endMs) break
  }
  return last
}

/** Copies newer events, the other tables and the sealed values in one consistent read. */
function copyRest(source: DatabaseSync, target: DatabaseSync, after: number): void {
  inTransaction(target, () => {
    source.exec('begin')
    try {
      const values = readStateValues(source)
      copyAudit(source, target, after, Infinity)
      for (const table of TABLES) copyTable(source, target, table)
      // Removes events that were pruned during the copy.
      target.prepare('delete from audit where sequence < ?').run(values.first_sequence)
      writeStateValues(target, values)
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
