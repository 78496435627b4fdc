import {
  contextRecordForm,
  isJsonObject,
  readEventLine,
  readJson,
  readReceived,
  readRecordedFact,
} from '@chancery/protocol'
import type { ContextRecord, EngineAnswer, JsonObject, JsonValue } from '@chancery/protocol'
import type { Reader } from '../../database/database.ts'

/** The request of a stored decision. */
export interface DecidedContext {
  readonly store_sequence: number
  readonly context: ContextRecord
  /** Answers of other systems that the decision used, by the digest of the question. */
  readonly recordedFacts: ReadonlyMap<string, EngineAnswer>
}

/** A range of decisions: after a position in store order, or the newest up to one. */
export type DecisionRange = { readonly limit: number } & (
  | { readonly after: number }
  /** Not after this position, newest first. */
  | { readonly through: number }
)

/** Returns the contexts of stored decisions. */
export async function listDecidedContexts(db: Reader, range: DecisionRange): Promise<readonly DecidedContext[]> {
  const decisions = db
    .selectFrom('evidence_entries')
    .select(['store_sequence', 'decision_id', 'line'])
    .where('entry_kind', '=', 'decision')
  const page =
    'after' in range
      ? decisions.where('store_sequence', '>', range.after).orderBy('store_sequence')
      : decisions.where('store_sequence', '<=', range.through).orderBy('store_sequence', 'desc')
  const rows = await page.limit(range.limit).execute()
  const entries = rows.map(({ store_sequence, decision_id, line }) => {
    const payload = part(readJson(line), 'payload')
    return {
      store_sequence: Number(store_sequence),
      decision_id: decision_id ?? '',
      context: readReceived(contextRecordForm, part(payload, 'context')).record,
      asksOthers: asksOthers(part(payload, 'decision')),
    }
  })
  const asked = entries.filter((each) => each.asksOthers).map((each) => each.decision_id)
  const facts = await listRecordedFacts(db, asked)
  return entries.map(({ store_sequence, context, decision_id }) => ({
    store_sequence,
    context,
    recordedFacts: facts.get(decision_id) ?? new Map<string, EngineAnswer>(),
  }))
}

/** The context of one decision; undefined when retention has removed it. */
export async function findDecidedContext(db: Reader, decision_id: string): Promise<ContextRecord | undefined> {
  const row = await db
    .selectFrom('evidence_entries')
    .select('line')
    .where('decision_id', '=', decision_id)
    .where('entry_kind', '=', 'decision')
    .executeTakeFirst()
  if (row === undefined) return undefined
  return readReceived(contextRecordForm, part(part(readJson(row.line), 'payload'), 'context')).record
}

function asksOthers(decision: JsonObject): boolean {
  const types = part(decision, 'policy_binding')['registry_gate_types']
  return Array.isArray(types) && types.includes('external_fact.v1')
}

/** What the proofs of these decisions say of other systems. */
async function listRecordedFacts(
  db: Reader,
  decisions: readonly string[],
): Promise<ReadonlyMap<string, ReadonlyMap<string, EngineAnswer>>> {
  if (decisions.length === 0) return new Map()
  const rows = await db
    .selectFrom('evidence_entries')
    .select(['decision_id', 'line'])
    .where('entry_kind', '=', 'justification')
    .where('decision_id', 'in', decisions)
    .execute()
  return new Map(rows.map(({ decision_id, line }) => [decision_id ?? '', factsOf(readEventLine(line)?.payload ?? {})]))
}

function factsOf(proof: JsonValue): ReadonlyMap<string, EngineAnswer> {
  const { entries } = part(proof, 'trace')
  const found = new Map<string, EngineAnswer>()
  for (const entry of Array.isArray(entries) ? (entries as readonly JsonValue[]) : []) {
    const inputs = part(entry, 'inputs')
    const digest = inputs['question_digest']
    const answer = readRecordedFact(inputs)
    if (typeof digest === 'string' && answer !== undefined) found.set(digest, answer)
  }
  return found
}

function part(value: JsonValue, name: string): JsonObject {
  const found = isJsonObject(value) ? value[name] : undefined
  return isJsonObject(found) ? found : {}
}
