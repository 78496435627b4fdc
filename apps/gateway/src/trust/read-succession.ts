import {
  FormError,
  JsonError,
  allAuthorityKeys,
  isJsonObject,
  readGenesisBlock,
  readJsonBytes,
  readKeyHistory,
  scanRevocationList,
  toUtf8,
  verifySuccession,
  writeJson,
} from '@chancery/protocol'
import type { FollowRefusal, HeldKeys } from '@chancery/protocol'
import type { FollowedKeys } from '../policy/policy.ts'

export interface SuccessionTask {
  /** The response of GET /key-succession. */
  readonly bytes: Uint8Array
  /** What the offer is verified against. */
  readonly held: HeldKeys
}

/** Keys that the pinned root leads to. */
export interface OfferedKeys {
  readonly keys: FollowedKeys['keys']
  /** The key that signs now, as the authority says. It is one of the keys. */
  readonly signingKey: string
  /** While a key is announced: its first list. Not verified. */
  readonly firstList: { readonly issuer: string; readonly bytes: Uint8Array } | undefined
}

export type SuccessionRefusal = FollowRefusal | 'malformed' | 'unknown_signing_key'

/** Limited by its bytes alone: the first list of a large network has megabytes. */
const ANY_COUNT = { maxDepth: 64, maxValues: Number.MAX_SAFE_INTEGER, maxNames: Number.MAX_SAFE_INTEGER }

/** Reads and verifies the keys that an authority offers. Never throws on input. */
export async function readSuccession({
  bytes,
  held,
}: SuccessionTask): Promise<OfferedKeys | { readonly refusal: SuccessionRefusal }> {
  try {
    const value = readJsonBytes(bytes, ANY_COUNT)
    const { genesis, key_history, current_public_key, first_list = null } = isJsonObject(value) ? value : {}
    const keys = { genesis: readGenesisBlock(genesis ?? null), history: readKeyHistory(key_history ?? null) }
    const verdict = await verifySuccession(held, keys)
    if (!verdict.ok) return { refusal: verdict.reason }
    const signingKey = allAuthorityKeys(keys).find((key) => key === current_public_key)
    if (signingKey === undefined) return { refusal: 'unknown_signing_key' }
    const first = isJsonObject(first_list) ? toUtf8(writeJson(first_list)) : undefined
    return { keys, signingKey, firstList: first && listOf(first) }
  } catch (error) {
    if (error instanceof JsonError || error instanceof FormError) return { refusal: 'malformed' }
    throw error
  }
}

/** A list with the key id that it names. */
export function listOf(bytes: Uint8Array): OfferedKeys['firstList'] {
  const issuer = scanRevocationList(bytes)?.issuer
  return issuer === undefined ? undefined : { issuer, bytes }
}
