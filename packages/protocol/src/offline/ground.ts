import type { CapabilityCommitment } from '../artifacts/capability-commitment.ts'
import type { GenesisBlock } from '../artifacts/genesis-block.ts'
import type { JsonObject } from '../canonical/json-value.ts'
import { CLOCK_TOLERANCE } from '../canonical/time.ts'
import type { Instant } from '../canonical/time.ts'
import type { Verdict } from '../artifacts/verdict.ts'
import { HOLDS, fails } from '../artifacts/verdict.ts'
import { instantOf } from '../reading/text.ts'
import type { Received } from '../signing/received.ts'

/** What a person brings to verify a record without asking anybody. */
export interface OfflineGround {
  /** Keys the signer is known by. */
  readonly keys: readonly string[]
  /** The network the record must be of, where its genesis block was given instead of keys. */
  readonly genesis?: GenesisBlock
  readonly validatorKeys: ReadonlyMap<string, string>
  readonly commitment?: Received<CapabilityCommitment>
  readonly now: Instant
}

/** Verifies one kind of record. Throws a FormError when the record does not have its form. */
export type Judge = (value: JsonObject, ground: OfflineGround) => Promise<Verdict<string>>

/** The authority's key of the genesis block, or the given keys. */
export function signerKeys({ keys, genesis }: OfflineGround): readonly string[] {
  return genesis === undefined ? keys : [genesis.network_authority.public_key]
}

/** A key of one network must not speak in the name of another. */
export function isOfNetwork(name: unknown, { genesis }: OfflineGround): boolean {
  return genesis === undefined || name === genesis.network_name
}

/** Inside a window, give or take the clock tolerance at its beginning: clocks of others may be ahead of ours. */
export function checkTime(from: string | undefined, until: string | undefined, now: Instant): Verdict<string> {
  if (from !== undefined && now < instantOf(from) - CLOCK_TOLERANCE) return fails('not_yet_valid')
  return until !== undefined && now > instantOf(until) ? fails('expired') : HOLDS
}
