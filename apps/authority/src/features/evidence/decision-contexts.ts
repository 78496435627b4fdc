import { contextRecordForm, isJsonObject, readJson, readReceived } from '@chancery/protocol'
import type { ContextRecord, JsonObject, JsonValue } from '@chancery/protocol'
import type { Reader } from '../../database/database.ts'

/** The request of a stored decision. */
export interface DecidedContext {
  readonly store_sequence: number
  readonly context: ContextRecord
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
    .select(['store_sequence', 'line'])
    .where('entry_kind', '=', 'decision')
  const page =
    'after' in range
      ? decisions.where('store_sequence', '>', range.after).orderBy('store_sequence')
      : decisions.where('store_sequence', '<=', range.through).orderBy('store_sequence', 'desc')
  const rows = await page.limit(range.limit).execute()
  return rows.map(({ store_sequence, line }) => ({
    store_sequence: Number(store_sequence),
    context: readReceived(contextRecordForm, part(part(readJson(line), 'payload'), 'context')).record,
  }))
}

function part(value: JsonValue, name: string): JsonObject {
  const found = isJsonObject(value) ? value[name] : undefined
  return isJsonObject(found) ? found : {}
}
