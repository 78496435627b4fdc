import { contextRecordForm, isJsonObject, readJson, readReceived } from '@chancery/protocol'
import type { ContextRecord, JsonObject, JsonValue } from '@chancery/protocol'
import type { Reader } from '../../database/database.ts'

/** The request of a stored decision. */
export interface DecidedContext {
  readonly store_sequence: number
  readonly context: ContextRecord
}

/** Returns the contexts of stored decisions after a position, in store order. */
export async function listDecidedContexts(
  db: Reader,
  range: { readonly after: number; readonly limit: number },
): Promise<readonly DecidedContext[]> {
  const rows = await db
    .selectFrom('evidence_entries')
    .select(['store_sequence', 'line'])
    .where('store_sequence', '>', range.after)
    .where('entry_kind', '=', 'decision')
    .orderBy('store_sequence')
    .limit(range.limit)
    .execute()
  return rows.map(({ store_sequence, line }) => ({
    store_sequence: Number(store_sequence),
    context: readReceived(contextRecordForm, part(part(readJson(line), 'payload'), 'context')).record,
  }))
}

function part(value: JsonValue, name: string): JsonObject {
  const found = isJsonObject(value) ? value[name] : undefined
  return isJsonObject(found) ? found : {}
}
