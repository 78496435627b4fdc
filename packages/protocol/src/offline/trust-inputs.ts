import type { CapabilityCommitment } from '../artifacts/capability-commitment.ts'
import { signersOf } from '../artifacts/followed-keys.ts'
import type { GenesisBlock } from '../artifacts/genesis-block.ts'
import type { KeyHistory } from '../artifacts/key-history.ts'
import type { JsonObject } from '../canonical/utf8.ts'
import { CLOCK_TOLERANCE, type Instant } from '../canonical/time.ts'
import { VALID, type Verdict, invalid } from '../artifacts/verdict.ts'
import { instantOf } from '../reading/text.ts'
import type { Received } from '../signing/received.ts'
import type { CheckedPart, Unproven } from './offline-verdict.ts'

/** Inputs to verify a record without network calls. */
export interface OfflineTrust {
  /** Keys the signer is known by. */
  readonly keys: readonly string[]
  /** The network the record must be of, where its genesis block was given instead of keys. */
  readonly genesis?: GenesisBlock | undefined
  /** With it: the keys its authority had before, verified against it. Each counts for records of its time. */
  readonly history?: KeyHistory | undefined
  /** For an agreement: the keys of each party. A list for both would let one party sign for the other. */
  readonly offererKeys?: readonly string[] | undefined
  readonly responderKeys?: readonly string[] | undefined
  readonly validatorKeys: ReadonlyMap<string, string>
  readonly commitment?: Received<CapabilityCommitment>
  readonly now: Instant
}

/** What a verifier found, without what no record of the kind proves. */
export type Held<Value> =
  | {
      readonly ok: true
      readonly record: Value
      readonly checked: readonly CheckedPart[]
      readonly unproven?: readonly Unproven[]
    }
  | { readonly ok: false; readonly reason: string }

/** Verifies one kind of record. Throws a FormError when the record does not have its form. */
export type RecordVerifier<Value> = (value: JsonObject, trust: OfflineTrust) => Promise<Held<Value>>

interface SignedFacts {
  /** Who speaks; left out where no name is signed. */
  readonly issuer?: string
  readonly from?: string | undefined
  readonly until?: string | undefined
}

/** A record whose signature verified: whose name it bears, then its time. */
export function holdSigned<Value>(record: Value, trust: OfflineTrust, facts: SignedFacts): Held<Value> {
  const { issuer, from, until } = facts
  if (issuer !== undefined && !isOfNetwork(issuer, trust)) return invalid('wrong_issuer')
  const timely = checkTime(from, until, trust.now)
  if (!timely.ok) return timely
  const isNamed = issuer !== undefined
  return {
    ok: true,
    record,
    checked: [
      'signature',
      ...(isNamed && trust.genesis !== undefined ? (['network'] as const) : []),
      ...(from === undefined && until === undefined ? [] : (['time'] as const)),
    ],
    unproven: isNamed && trust.genesis === undefined ? ['network'] : [],
  }
}

/**
 * The given keys, or the authority's key of the genesis block and, with a key history, the former ones whose window
 * holds the date of the record. A record that bears no date may be of any of them.
 */
export function signerKeys({ keys, genesis, history }: OfflineTrust, record: object = {}): readonly string[] {
  return signersOf(genesis === undefined ? keys : { genesis, history }, record)
}

/** A key of one network must not speak in the name of another. */
export function isOfNetwork(name: unknown, { genesis }: OfflineTrust): boolean {
  return genesis === undefined || name === genesis.network_name
}

/** The keys of one party: those given for it, or the authority of the genesis block where that is the party. */
export function partyKeys(name: string, given: readonly string[] | undefined, trust: OfflineTrust): readonly string[] {
  const { genesis } = trust
  return genesis !== undefined && name === genesis.network_name ? signerKeys(trust) : (given ?? [])
}

/** Inside a window, give or take the clock tolerance at its beginning: clocks of others may be ahead of ours. */
export function checkTime(from: string | undefined, until: string | undefined, now: Instant): Verdict<string> {
  if (from !== undefined && now < instantOf(from) - CLOCK_TOLERANCE) return invalid('not_yet_valid')
  return until !== undefined && now > instantOf(until) ? invalid('expired') : VALID
}
