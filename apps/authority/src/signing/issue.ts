import type { AuditEventType } from '@chancery/contract'
import { asJson, writeJson, writeSortable } from '@chancery/protocol'
import type { Instant, JsonObject } from '@chancery/protocol'
import { jsonText } from '@chancery/service-kit'
import type { Answer } from '@chancery/service-kit'
import { causedBy, recordAudit } from '../audit/record.ts'
import type { OperatorCall } from '../auth/operator.ts'
import type { Office } from '../office.ts'
import type { Tx } from '../store/database.ts'
import type { HeadName } from '../store/heads.ts'
import { findAnswer, keepAnswer, readAttempt } from '../store/idempotency.ts'
import { requireSigningWindow } from './seal.ts'

/** A record that was just signed, and the event that tells of it. */
export interface Issued {
  readonly record: object
  readonly type: AuditEventType
  readonly details: JsonObject
}

/**
 * Answers a creating call with a newly signed record (201). The event is kept in the transaction in which the record
 * was signed, so that none leaves without a trace; a try repeated under one Idempotency-Key gets the first answer.
 * `head` names the domain to lock when the record is stored, too.
 */
export async function issueRecord(
  call: OperatorCall,
  office: Office,
  issue: (tx: Tx, now: Instant) => Promise<Issued>,
  head?: HeadName,
): Promise<Answer> {
  requireSigningWindow(office)
  const attempt = readAttempt(call, office.clock.now())
  return office.store.transact(async (tx) => {
    if (head !== undefined) await office.store.lockHead(tx, head)
    const now = office.clock.now()
    const earlier = attempt === undefined ? undefined : await findAnswer(tx, attempt, writeSortable(now))
    if (earlier !== undefined) return jsonText(earlier.text, earlier.status)
    const { record, type, details } = await issue(tx, now)
    const text = writeJson(asJson(record))
    await recordAudit(tx, office, { type, details: { ...details, ...causedBy(call) } })
    if (attempt !== undefined) await keepAnswer(tx, attempt, { status: 201, text })
    return jsonText(text, 201)
  })
}
