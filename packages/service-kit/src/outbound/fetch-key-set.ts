import { type JsonObject, type JsonValue, isJsonObject, member, readJsonBytes } from '@chancery/protocol'
import { type OutboundCall, callUrl } from './call-url.ts'

const MAX_KEYS = 64

/** Fetches a JSON Web Key Set. Throws when the response is not one. */
export async function fetchKeySet(
  call: Omit<OutboundCall, 'headers'>,
): Promise<{ readonly keys: readonly JsonObject[]; readonly document: JsonValue }> {
  const { status, body } = await callUrl({ ...call, headers: { accept: 'application/json' } })
  if (status !== 200) throw new Error(`status ${status}`)
  const document = readJsonBytes(body)
  const keys = readKeySet(document)
  if (keys === undefined) throw new Error('not a key set')
  return { keys, document }
}

/** The keys of a set, or undefined. */
export function readKeySet(value: JsonValue): readonly JsonObject[] | undefined {
  const keys = isJsonObject(value) ? member(value, 'keys') : undefined
  if (!Array.isArray(keys) || keys.length > MAX_KEYS) return undefined
  return (keys as readonly JsonValue[]).filter((key) => isJsonObject(key))
}
