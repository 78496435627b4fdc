import { Refusal } from '@chancery/contract'
import { MAX_POLICY_TEXTS, MAX_POLICY_TEXT_BYTES, sha256Hex } from '@chancery/protocol'
import type { BoundaryPolicyIntent, JsonValue } from '@chancery/protocol'
import type { Database } from '../../database/database.ts'
import { findPolicyText } from './queries.ts'

/** Texts of one request, by digest. */
export type SentTexts = ReadonlyMap<string, string>

/** Stored texts that policies name by their digest. */
export interface PolicyTexts {
  find(digest: string): Promise<string | undefined>
}

/** Texts in memory: 64 of the largest are 4 MB. */
const MAX_CACHED = 64

/**
 * Reads each text once. Its name is its digest, so a text in memory is always the signed one, and an edited row counts
 * as absent.
 */
export function openPolicyTexts(database: Pick<Database, 'read'>): PolicyTexts {
  const cached = new Map<string, string>()
  return {
    async find(digest) {
      const known = cached.get(digest)
      if (known !== undefined) return known
      const text = await findPolicyText(database.read, digest)
      if (text === undefined || sha256Hex(text) !== digest) return undefined
      const [oldest] = cached.keys()
      if (cached.size >= MAX_CACHED && oldest !== undefined) cached.delete(oldest)
      cached.set(digest, text)
      return text
    },
  }
}

/** The member `texts` of validate, simulate and publish. A text that no gate names is refused. */
export function readTexts(value: JsonValue | undefined, intent: BoundaryPolicyIntent): SentTexts {
  if (value === undefined || value === null) return new Map()
  if (!Array.isArray(value)) throw refused('texts', 'an array is needed')
  if (value.length > MAX_POLICY_TEXTS) throw refused('texts', 'has too many items')
  const named = new Set<unknown>(
    intent.gates.flatMap(({ config }) => [config['policy_set_digest'], config['schema_digest']]),
  )
  return new Map(
    (value as readonly JsonValue[]).map((text, index) => {
      const field = `texts[${index}]`
      if (typeof text !== 'string') throw refused(field, 'a string is needed')
      if (Buffer.byteLength(text) > MAX_POLICY_TEXT_BYTES)
        throw refused(field, `is larger than ${MAX_POLICY_TEXT_BYTES} bytes`)
      if (text.includes('\0')) throw refused(field, 'contains a null character')
      const digest = sha256Hex(text)
      if (!named.has(digest)) throw refused(field, 'no gate names the digest of this text')
      return [digest, text]
    }),
  )
}

function refused(field: string, message: string): Refusal {
  return new Refusal('invalid_boundary_policy', { errors: [{ field, message }] })
}
