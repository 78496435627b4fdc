import type { AuditEventType, RefusalCode } from '@chancery/contract'
import { type Instant, type JsonObject, type RecordForm, asJson, writeJson, writeSortable } from '@chancery/protocol'
import type { HttpResponse, MaybePromise } from '@chancery/service-kit'
import { requestDetails } from '../audit/record.ts'
import type { OperatorCall } from '../auth/operator.ts'
import type { Core } from '../core.ts'
import type { Transaction } from '../database/database.ts'
import type { Domain } from '../database/locks/domains.ts'
import { readAttempt, respondOnce } from './idempotency.ts'

/** How a record is signed: by its form, where `failed` is for a signer that fails; or as a list of signatures. */
type Sealing<Value> =
  | {
      readonly form: RecordForm<Value>
      readonly failed: RefusalCode
      /** Of the signature; the key id by default. */
      readonly label?: string
    }
  | { readonly sign: (draft: Value) => Promise<Value> }

/** A record that a call issues, after its checks. */
export type SignedRecord<Value extends object> = Sealing<Value> & {
  /** Locked when the record is stored, too. */
  readonly lock?: Domain
  /** A record that needs no change. It is returned with 200, and nothing is signed. */
  readonly existing?: object | undefined
  /** Made under the lock, each time the transaction runs: it names the key that signs it. */
  readonly draft: (now: Instant) => Value
  readonly event: AuditEventType
  /** Members of the record that its event names. */
  readonly named: readonly (keyof Value & string)[]
  /** Stores what belongs to the record. Returns more details of the event. */
  readonly store?: (tx: Transaction, record: Value, now: Instant) => MaybePromise<JsonObject | void>
  /** The response, when it is not the record. Runs after the event. */
  readonly answer?: (record: Value, tx: Transaction, now: Instant) => MaybePromise<object>
}

/**
 * Responds to a creating call with a newly signed record (201). The event is stored in the transaction in which the
 * record was signed, so that every record has one. A repeated attempt under one Idempotency-Key gets the first response.
 */
export async function issueRecord<Value extends object>(
  call: OperatorCall,
  { audit, clock, signing, database }: Pick<Core, 'audit' | 'clock' | 'signing' | 'database'>,
  kind: SignedRecord<Value>,
): Promise<HttpResponse> {
  signing.requireAllowed()
  const attempt = readAttempt(call, clock.now())
  return database.write(async (tx) => {
    if (kind.lock !== undefined) await tx.lock(kind.lock)
    const now = clock.now()
    return respondOnce(tx, attempt, writeSortable(now), async () => {
      if (kind.existing !== undefined) return { status: 200, text: writeJson(asJson(kind.existing)) }
      const draft = kind.draft(now)
      const record =
        'sign' in kind ? await kind.sign(draft) : await signing.signFormOr(kind.failed, kind.form, draft, kind.label)
      const named = Object.fromEntries(kind.named.map((name) => [name, asJson(record)[name] ?? null]))
      const details = { ...named, ...(await kind.store?.(tx, record, now)), ...requestDetails(call) }
      await audit.record(tx, { type: kind.event, details })
      return { status: 201, text: writeJson(asJson((await kind.answer?.(record, tx, now)) ?? record)) }
    })
  })
}
