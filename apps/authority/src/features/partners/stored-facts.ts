import { type FormerKey, type Instant, digestOf, readInstant } from '@chancery/protocol'
import type { PULL_OUTCOMES } from '../../metrics.ts'

/** What the pulls of a partner found, stored as one JSON text: it is read and written as a whole. */
export interface StoredFacts {
  readonly genesis?: StoredGenesis
  readonly former_keys: readonly FormerKey[]
  /** Of the key history without signatures. Null when there is none. */
  readonly history_digest?: string | null
  readonly feed?: StoredFeed
  readonly crl?: StoredCrl
  readonly treaties?: StoredTreaties
  readonly key_changed_at?: string
  /** What the partner shows as its newest block. Absent when there never was a succession. */
  readonly succession?: StoredSuccession
  /** Pulls in a row that showed a lower sequence. */
  readonly rollbacks: { readonly feed: number; readonly crl: number }
  readonly metadata_mismatch: boolean
  readonly clock_offset: boolean
  /** The feed that the partner shows now was not read, because it has too many ids or bytes. */
  readonly feed_too_large?: boolean
}

export interface StoredGenesis {
  readonly digest: string
  readonly root_public_key: string
  readonly public_key: string
  readonly valid_from: string
  readonly valid_to: string
  readonly pinned: boolean
}

/** The key that follows the one in force, as the root of the partner signed it; null when there is none. */
export type AnnouncedKey = { readonly public_key: string; readonly valid_from: string } | null

export interface StoredSuccession {
  /** Null when the newest block is the one in force. */
  readonly announced: AnnouncedKey
  readonly etag?: string
}

export interface StoredFeed {
  readonly sequence: number
  readonly issued_at: string
  readonly ids: number
  readonly digest: string
  /** Null after an alarm was cleared: the next content counts. */
  readonly ids_digest: string | null
  readonly complete: boolean
  /** All these ids are imported. */
  readonly imported?: true
  readonly etag?: string
}

export interface StoredCrl {
  readonly sequence: number
  readonly issued_at: string
  readonly next_update: string
  readonly entries: number
  readonly digest: string
  readonly entries_digest: string | null
  readonly etag?: string
}

export interface StoredTreaties {
  readonly active: number
  readonly refused: number
  readonly truncated: boolean
  /** Left out because of the limit of all partners together. */
  readonly limited: boolean
}

export const NO_FACTS: StoredFacts = {
  former_keys: [],
  rollbacks: { feed: 0, crl: 0 },
  metadata_mismatch: false,
  clock_offset: false,
}

/** Written by this feature only. */
export function readFacts(text: string): StoredFacts {
  return JSON.parse(text) as StoredFacts
}

export function writeFacts(facts: StoredFacts): string {
  return JSON.stringify(facts)
}

/** The keys that an operator fixed for a partner. */
export type Pin =
  | { readonly kind: 'root'; readonly root_public_key: string }
  | { readonly kind: 'keys'; readonly authority_public_keys: readonly string[] }

export function pinDigest(pin: Pin): string {
  return digestOf(pin)
}

/** The keys that may sign records of a partner: some for every date, others for records dated in their window. */
export interface AcceptedKeys {
  readonly always: readonly string[]
  readonly former: readonly FormerKey[]
}

export function acceptedKeys(pin: Pin, { genesis, former_keys }: StoredFacts): AcceptedKeys {
  if (pin.kind === 'keys') return { always: pin.authority_public_keys, former: [] }
  return { always: genesis === undefined ? [] : [genesis.public_key], former: former_keys }
}

/** The accepted keys for a record of this date. */
export function keysAt({ always, former }: AcceptedKeys, date: Instant): readonly string[] {
  const inWindow = former.filter(
    ({ valid_from, valid_to }) => (readInstant(valid_from) ?? 0n) <= date && date < (readInstant(valid_to) ?? 0n),
  )
  return [...new Set([...always, ...inWindow.map((key) => key.public_key)])]
}

export type Outcome = (typeof PULL_OUTCOMES)[number]
export type Failure = Exclude<Outcome, 'ok' | 'unchanged'>

/** A step ended without a usable document. It has no text of the partner. */
export class StepFailureError extends Error {
  override readonly name = 'StepFailureError'
  readonly outcome: Failure

  constructor(outcome: Failure) {
    super(outcome)
    this.outcome = outcome
  }
}
