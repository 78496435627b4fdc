import { type FormerKey, type Instant, digestOf, readInstant } from '@chancery/protocol'
import type { StoredFacts } from './stored-facts.ts'

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
