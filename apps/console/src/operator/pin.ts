import { type GenesisBlock, fromBase64, sha256Hex, signedBytes } from '@chancery/protocol'
import { readChoice, storeChoice } from './choices.ts'

/** The network that this browser unlocked before. */
export interface Pin {
  readonly network: string
  readonly fingerprint: string
  readonly rootKey: string
  readonly authorityKey: string
}

const NAME = 'pin'

/** Returns the fingerprint of a genesis block, as `chancery verify` prints it. */
export function genesisFingerprint(genesis: GenesisBlock): string {
  return `sha256:${sha256Hex(signedBytes(genesis, 'signatures'))}`
}

export function keyFingerprint(publicKey: string): string {
  return sha256Hex(fromBase64(publicKey) ?? new Uint8Array())
}

export function toPin(genesis: GenesisBlock): Pin {
  return {
    network: genesis.network_name,
    fingerprint: genesisFingerprint(genesis),
    rootKey: genesis.root_public_key,
    authorityKey: genesis.network_authority.public_key,
  }
}

export function findPin(): Pin | undefined {
  const text = readChoice(NAME)
  if (text === undefined) return undefined
  try {
    return JSON.parse(text) as Pin
  } catch {
    return undefined
  }
}

export function storePin(pin: Pin): void {
  storeChoice(NAME, JSON.stringify(pin))
}

export type PinResult =
  | { readonly kind: 'first' | 'same' | 'succeeded'; readonly pin: Pin }
  | { readonly kind: 'changed'; readonly before: Pin; readonly now: Pin }

/**
 * Compares a genesis block with the pinned one. Another block is accepted only when the pinned root key signed it and,
 * for another authority key, the key history that leads to it; `verify` checks both.
 */
export async function comparePin(
  genesis: GenesisBlock,
  verify: (genesis: GenesisBlock, isOtherKey: boolean) => Promise<boolean>,
  before: Pin | undefined = findPin(),
): Promise<PinResult> {
  const now = toPin(genesis)
  if (before === undefined) return { kind: 'first', pin: now }
  if (before.fingerprint === now.fingerprint) return { kind: 'same', pin: now }
  const isSameRoot = before.rootKey === now.rootKey && before.network === now.network
  if (isSameRoot && (await verify(genesis, before.authorityKey !== now.authorityKey)))
    return { kind: 'succeeded', pin: now }
  return { kind: 'changed', before, now }
}
