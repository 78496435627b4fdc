import type { AuditEventType } from '@chancery/contract'
import { type Instant, type JsonObject, asJson, writeJson, writeSortable } from '@chancery/protocol'
import { type HttpResponse, jsonText } from '@chancery/service-kit'
import { requestDetails } from '../audit/record.ts'
import type { OperatorCall } from '../auth/operator.ts'
import type { Core } from '../core.ts'
import type { Transaction } from '../database/database.ts'
import type { Domain } from '../database/locks/domains.ts'
import { findStoredResponse, storeResponse, readAttempt } from './idempotency.ts'

/** A newly signed record and its audit event. */
export interface Issued {
  readonly record: object
  readonly type: AuditEventType
  readonly details: JsonObject
}

/** A record that needs no change. It is returned with 200 and without an event. */
export interface Existing {
  readonly existing: object
}

/**
 * Responds to a creating call with a newly signed record (201). The event is stored in the transaction in which the
 * record was signed, so that every record has one. A repeated attempt under one Idempotency-Key gets the first
 * response. `head` names the domain to lock when the record is stored, too.
 */
export async function issueRecord(
  call: OperatorCall,
  parts: Pick<Core, 'audit' | 'clock' | 'signing' | 'database'>,
  issue: (tx: Transaction, now: Instant) => Promise<Issued | Existing>,
  head?: Domain,
): Promise<HttpResponse> {
  parts.signing.requireAllowed()
  const attempt = readAttempt(call, parts.clock.now())
  return parts.database.write(async (tx) => {
    if (head !== undefined) await tx.lock(head)
    const now = parts.clock.now()
    const earlier = attempt === undefined ? undefined : await findStoredResponse(tx, attempt, writeSortable(now))
    if (earlier !== undefined) return jsonText(earlier.text, earlier.status)
    const issued = await issue(tx, now)
    const isNew = 'record' in issued
    const answer = { status: isNew ? 201 : 200, text: writeJson(asJson(isNew ? issued.record : issued.existing)) }
    if (isNew) {
      const { type, details } = issued
      await parts.audit.record(tx, { type, details: { ...details, ...requestDetails(call) } })
    }
    if (attempt !== undefined) await storeResponse(tx, attempt, answer)
    return jsonText(answer.text, answer.status)
  })
}
