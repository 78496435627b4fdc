import type { DatabaseSync } from 'node:sqlite'
import { DAY, isJsonObject, readJson } from '@chancery/protocol'
import { type AuditFormat, writeAuditLine } from '@chancery/contract'
import type { GatewaySettings } from '../settings/gateway-settings.ts'
import {
  Chain,
  appendEvents,
  auditRows,
  eventText,
  findBrokenLink,
  pruneEvents,
  releaseOutbox,
} from '../state/audit-log.ts'
import type { AuditRow } from '../state/audit-log.ts'
import { StateError, readStateValues } from '../state/state-values.ts'
import { inTransaction, openStateFile, readState } from '../state/state-file.ts'
import { packageVersion } from './start.ts'
import { operatorEvent } from '../audit/request-audit.ts'
import { TOOLS, type ToolResult, changeState, done, stateFileOf } from './state-command.ts'

/** `audit verify`: verifies the chain from the oldest stored event to the head. */
export async function verifyAudit(settings: GatewaySettings): Promise<ToolResult> {
  return readState(stateFileOf(settings), settings, (db) => {
    const values = readStateValues(db)
    const broken = findBrokenLink(db, values)
    const { first_sequence, head_sequence, head_hash } = values
    const data = { ok: broken === undefined, first_sequence, head_sequence, head_hash, broken_at: broken ?? null }
    if (broken === undefined) return done(data, `The chain is valid up to event ${head_sequence}.`)
    return { data, text: `The chain breaks at event ${broken}.`, exitCode: 1 }
  })
}

/**
 * `audit export`: writes JSON Lines, oldest first; `write` resolves when the reader has accepted the lines. It verifies
 * the chain and stops with an error before the first event that does not follow.
 */
export async function exportAudit(
  settings: GatewaySettings,
  write: (lines: string) => Promise<void>,
  format: AuditFormat = 'json',
): Promise<{ readonly exitCode: 0 }> {
  const db = openStateFile({ file: stateFileOf(settings), isReadOnly: true, maxBytes: settings.stateMaxBytes })
  try {
    let lines: string[] = []
    const values = readStateValues(db)
    let chain = new Chain(values)
    for (const row of auditRows(db, values.head_sequence)) {
      if (!chain.follow(row)) chain = behindRetention(db, chain, row)
      lines.push(`${toLine(row, format)}\n`)
      if (lines.length < 1000) continue
      await write(lines.join(''))
      lines = []
    }
    await write(lines.join(''))
    return { exitCode: 0 }
  } finally {
    db.close()
  }
}

/** The stored text unchanged, because its hash covers it, or the event in another form. */
function toLine(row: AuditRow, format: AuditFormat): string {
  const text = eventText(row)
  if (format === 'json') return text
  const event = readJson(text)
  if (!isJsonObject(event)) throw new StateError(`the audit event ${row.sequence} is not an object`)
  return writeAuditLine(event, format, { service: 'gateway', network: undefined, version: packageVersion() })
}

/** Verifies from the first event now: a running gateway may have removed older events during the export. */
function behindRetention(db: DatabaseSync, { expected }: Chain, row: AuditRow): Chain {
  const values = readStateValues(db)
  const chain = new Chain(values)
  if (values.first_sequence > expected && chain.follow(row)) return chain
  throw new StateError(`the audit chain breaks at event ${expected}`)
}

/**
 * `audit prune`: removes events of a stopped gateway that are older than some days. With a collector it stops before the
 * first event that was not acknowledged.
 */
export async function pruneAudit(settings: GatewaySettings, olderThanDays: number): Promise<ToolResult> {
  const before = TOOLS.clock.now() - BigInt(olderThanDays) * DAY
  const hasCollector = settings.auditUrl !== undefined
  return changeState(settings, (db) =>
    inTransaction(db, () => {
      if (!hasCollector) releaseOutbox(db)
      const pruned = pruneEvents(db, { before }, Number.MAX_SAFE_INTEGER)
      if (pruned !== undefined) appendEvents(db, [operatorEvent('audit_pruned', { ...pruned }, TOOLS)], hasCollector)
      const { first_sequence, pending_count } = readStateValues(db)
      const data = { removed_count: pruned?.removed_count ?? 0, first_sequence, waiting_count: pending_count }
      const waiting = pending_count === 0 ? '' : ` ${pending_count} events wait for the collector and stay.`
      return done(data, `${data.removed_count} events were removed.${waiting}`)
    }),
  )
}
