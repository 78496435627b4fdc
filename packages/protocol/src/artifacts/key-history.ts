import type { JsonValue } from '../canonical/utf8.ts'
import type { Instant } from '../canonical/time.ts'
import type { ReadBy } from '../reading/schema.ts'
import { arrayOf, closed, readRecord, required, withDefault } from '../reading/shape.ts'
import { identifier, instantOf, publicKey, requireOrder, signatures, timestamp } from '../reading/text.ts'
import { verifyEvery } from '../signing/verify-any.ts'
import type { GenesisBlock } from './genesis-block.ts'
import { VALID, type Verdict, invalid } from './verdict.ts'

const former = /* @__PURE__ */ closed({
  key_id: required(identifier),
  public_key: required(publicKey),
  valid_from: required(timestamp),
  valid_to: required(timestamp),
})

/** A key the authority signed with before, and when. */
export type FormerKey = ReadBy<typeof former>

export const keyHistoryShape = /* @__PURE__ */ closed({
  network_name: required(identifier),
  root_public_key: required(publicKey),
  issued_at: required(timestamp),
  former_keys: required(/* @__PURE__ */ arrayOf(former, { max: 64 })),
  signatures: withDefault(signatures, []),
})

/** The keys an authority had before the one of its genesis block, signed offline by the root key (protocol/core 4). */
export type KeyHistory = ReadBy<typeof keyHistoryShape>

export function readFormerKey(value: JsonValue): FormerKey {
  const key = readRecord(former, value)
  requireOrder(key, 'valid_from', '<', 'valid_to')
  return key
}

export function readKeyHistory(value: JsonValue): KeyHistory {
  const history = readRecord(keyHistoryShape, value)
  for (const key of history.former_keys) requireOrder(key, 'valid_from', '<', 'valid_to')
  return history
}

/**
 * Whether a history belongs to a genesis block that is trusted already: same network, same root, no key twice. The key
 * of the block may be listed with an earlier time: it is current again after an undone succession, and the root needs
 * that time when the key is replaced once more.
 */
export async function verifyKeyHistory(
  history: KeyHistory,
  genesis: GenesisBlock,
): Promise<Verdict<'missing_signature' | 'invalid_signature' | 'other_network' | 'repeated_key'>> {
  const isSame = history.network_name === genesis.network_name && history.root_public_key === genesis.root_public_key
  if (!isSame) return invalid('other_network')
  const { public_key: current, valid_from } = genesis.network_authority
  const keys = [genesis.root_public_key, current]
  for (const key of history.former_keys)
    if (key.public_key !== current || instantOf(key.valid_from) >= instantOf(valid_from)) keys.push(key.public_key)
  const ids = history.former_keys.map((key) => key.key_id)
  if (new Set(keys).size !== keys.length || new Set(ids).size !== ids.length) return invalid('repeated_key')
  if (history.signatures.length === 0) return invalid('missing_signature')
  return (await verifyEvery(history, genesis.root_public_key)) ? VALID : invalid('invalid_signature')
}

/** True while the key was the authority's: a record dated outside was not signed by the authority. */
export function wasCurrent(key: Pick<FormerKey, 'valid_from' | 'valid_to'>, at: Instant): boolean {
  return instantOf(key.valid_from) <= at && at < instantOf(key.valid_to)
}
