import { Refusal } from '@chancery/contract'
import { DAY, canonicalJson, digestOf, isJsonObject, readEventLine, writeSortable } from '@chancery/protocol'
import { type Call, type HttpResponse, jsonText } from '@chancery/service-kit'
import { sql } from 'kysely'
import type { Database, Reader, Transaction } from '../database/database.ts'
import { deleteInParts } from '../database/large-tables.ts'
import type { Tables } from '../database/tables.ts'

export const IDEMPOTENCY_KEY: RegExp = /^[A-Za-z0-9._:-]{1,128}$/

/** One attempt of a creating call, as its caller named it. */
export interface Attempt {
  readonly scope: string
  readonly key: string
  readonly bodyDigest: string
  readonly expires_at: string
}

export interface StoredResponse {
  readonly status: number
  readonly text: string
}

/** The `Idempotency-Key` of a call, scoped to operator and route; undefined when there is none. */
export function readAttempt(
  call: Call & { readonly operator: { readonly key_id: string } },
  now: bigint,
): Attempt | undefined {
  const given = call.headers.all('idempotency-key')
  if (given.length === 0) return undefined
  const key = given[0] ?? ''
  if (given.length > 1 || !IDEMPOTENCY_KEY.test(key)) throw new Refusal('bad_request')
  const scope = `${call.operator.key_id} ${call.method} ${call.path}`
  return { scope, key, bodyDigest: digestOf(call.body), expires_at: writeSortable(now + DAY) }
}

/**
 * Returns the response to an earlier identical call, or undefined when this is the first. Another body under the same
 * key is a conflict. So is a repeat whose response contained a secret and was therefore not stored. A running call is
 * waited for: its row is not visible before its effect is.
 */
export async function findStoredResponse(
  tx: Transaction,
  attempt: Attempt,
  now: string,
): Promise<StoredResponse | undefined> {
  await tx.query
    .deleteFrom('idempotency_keys')
    .where('scope', '=', attempt.scope)
    .where('idempotency_key', '=', attempt.key)
    .where('expires_at', '<=', now)
    .execute()
  const claimed = await tx.query
    .insertInto('idempotency_keys')
    .values({
      scope: attempt.scope,
      idempotency_key: attempt.key,
      body_digest: attempt.bodyDigest,
      answer_json: null,
      answer_rest: null,
      answer_sequence: null,
      status: 0,
      expires_at: attempt.expires_at,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('scope')
    .executeTakeFirst()
  if (claimed !== undefined) return undefined
  const row = await tx.query
    .selectFrom('idempotency_keys')
    .selectAll()
    .where('scope', '=', attempt.scope)
    .where('idempotency_key', '=', attempt.key)
    .executeTakeFirst()
  if (row === undefined || row.body_digest !== attempt.bodyDigest) throw new Refusal('conflict')
  return readResponse(tx.query, row)
}

/** Runs the work and stores its response with it; a repeated attempt gets the stored response instead. */
export async function respondOnce(
  tx: Transaction,
  attempt: Attempt | undefined,
  now: string,
  work: () => Promise<StoredResponse>,
): Promise<HttpResponse> {
  const earlier = attempt && (await findStoredResponse(tx, attempt, now))
  if (earlier !== undefined) return jsonText(earlier.text, earlier.status)
  const answer = await work()
  if (attempt !== undefined) await storeResponse(tx, attempt, answer)
  return jsonText(answer.text, answer.status)
}

/** Reads the response to an earlier identical call, without claiming the key. */
export async function peekStoredResponse(
  db: Reader,
  attempt: Attempt,
  now: string,
): Promise<StoredResponse | undefined> {
  const row = await db
    .selectFrom('idempotency_keys')
    .select(['body_digest', 'answer_json', 'answer_rest', 'answer_sequence', 'status'])
    .where('scope', '=', attempt.scope)
    .where('idempotency_key', '=', attempt.key)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  if (row === undefined) return undefined
  if (row.body_digest !== attempt.bodyDigest) throw new Refusal('conflict')
  return readResponse(db, row)
}

/** Not in any JSON text: it marks where the context was. */
const CUT = '\n'

/** A conflict where the response was not stored, or its context was removed with the entry of the store. */
async function readResponse(
  db: Reader,
  row: Pick<Tables['idempotency_keys'], 'answer_json' | 'answer_rest' | 'answer_sequence' | 'status'>,
): Promise<StoredResponse> {
  if (row.answer_json !== null) return { status: row.status, text: row.answer_json }
  const [before, after] = row.answer_rest?.split(CUT) ?? []
  const entry =
    row.answer_sequence === null
      ? undefined
      : await db
          .selectFrom('evidence_entries')
          .select('line')
          .where('store_sequence', '=', row.answer_sequence)
          .executeTakeFirst()
  const payload = entry && readEventLine(entry.line)?.payload
  const context = isJsonObject(payload) ? payload['context'] : undefined
  if (before === undefined || after === undefined || context === undefined) throw new Refusal('conflict')
  return { status: row.status, text: `${before}${canonicalJson(context)}${after}` }
}

/** Releases a claimed key: the call was refused and has no effect. */
export async function forgetAttempt(tx: Transaction, attempt: Attempt): Promise<void> {
  await tx.query
    .deleteFrom('idempotency_keys')
    .where('scope', '=', attempt.scope)
    .where('idempotency_key', '=', attempt.key)
    .execute()
}

/** Stores the response in the transaction of its effect. Never called for responses that contain a secret. */
export async function storeResponse(tx: Transaction, attempt: Attempt, answer: StoredResponse): Promise<void> {
  await tx.query
    .updateTable('idempotency_keys')
    .set({ answer_json: answer.text, status: answer.status })
    .where('scope', '=', attempt.scope)
    .where('idempotency_key', '=', attempt.key)
    .execute()
}

/**
 * Stores the response to a decision whose context is in the evidence store, without the context: a caller chooses its
 * size, and it is stored once.
 */
export async function storeDecisionResponse(
  tx: Transaction,
  attempt: Attempt,
  answer: StoredResponse,
  { context, store_sequence }: { readonly context: string; readonly store_sequence: number },
): Promise<void> {
  const at = answer.text.indexOf(context)
  if (at === -1) return storeResponse(tx, attempt, answer)
  const answer_rest = `${answer.text.slice(0, at)}${CUT}${answer.text.slice(at + context.length)}`
  await tx.query
    .updateTable('idempotency_keys')
    .set({ answer_rest, answer_sequence: store_sequence, status: answer.status })
    .where('scope', '=', attempt.scope)
    .where('idempotency_key', '=', attempt.key)
    .execute()
}

export async function purgeStoredResponses(database: Database, now: string, signal: AbortSignal): Promise<void> {
  await deleteInParts(database, 'idempotency_keys', sql`expires_at <= ${now}`, signal)
}
