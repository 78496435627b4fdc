import { readTrustedPublicKey } from '@chancery/protocol'
import type { Database, Reader } from '../database/database.ts'
import type { Versions } from '../database/locks/versions.ts'

export type Tier = 'standard' | 'privileged'

export interface OperatorKey {
  readonly key_id: string
  readonly publicKey: string
  /** Parsed once: every admin request is verified with it. */
  readonly bytes: Uint8Array
  readonly tier: Tier
}

export type OperatorKeyring = ReadonlyMap<string, OperatorKey>

const RANKS: Readonly<Record<Tier, number>> = { standard: 1, privileged: 2 }

export function satisfiesTier(holder: Tier, required: Tier): boolean {
  return RANKS[holder] >= RANKS[required]
}

/** Builds the ring, or throws with all problems at once (protocol/core 2 and 12). There is no default tier. */
export function buildKeyring(
  keys: ReadonlyMap<string, string>,
  tiers: ReadonlyMap<string, string>,
): { readonly ring: OperatorKeyring; readonly problems: readonly string[] } {
  const problems: string[] = []
  const ring = new Map<string, OperatorKey>()
  for (const [key_id, publicKey] of keys) {
    const bytes = readTrustedPublicKey(publicKey)
    if (bytes === undefined) problems.push(`operator key ${key_id} is not an Ed25519 public key`)
    const tier = tiers.get(key_id)
    if (tier !== 'standard' && tier !== 'privileged') {
      problems.push(`operator key ${key_id} needs the tier standard or privileged`)
    } else if (bytes !== undefined) {
      ring.set(key_id, { key_id, publicKey, bytes, tier })
    }
  }
  for (const key_id of tiers.keys()) {
    if (!keys.has(key_id)) problems.push(`a tier is given for ${key_id}, which is not a configured operator key`)
  }
  return { ring, problems }
}

/** Two ids for one key: revoking one of them revokes all of them. */
export function sharedPublicKeys(ring: OperatorKeyring): readonly string[] {
  const byKey = Map.groupBy(ring.values(), (key) => key.publicKey)
  return [...byKey.values()]
    .filter((group) => group.length > 1)
    .map((group) => group.map((key) => key.key_id).join(', '))
}

export interface RevokedKey {
  readonly key_id: string
  readonly revoked_at: string
  readonly reason: string
  readonly revoked_by: string
  /** Null when an earlier release revoked the key. */
  readonly public_key: string | null
}

export function listRevokedKeys(db: Reader): Promise<readonly RevokedKey[]> {
  return db.selectFrom('revoked_operator_keys').selectAll().orderBy('key_id').execute()
}

type RevocationCheck = (key: Pick<OperatorKey, 'key_id' | 'publicKey'>) => boolean

/**
 * Returns a check of an id and its public key. A stolen key must not return under another id, and a revoked id must not
 * return with another key.
 */
export function checkRevoked(rows: readonly RevokedKey[]): RevocationCheck {
  const ids = new Set(rows.map(({ key_id }) => key_id))
  const keys = new Set(rows.map(({ public_key }) => public_key))
  return ({ key_id, publicKey }) => ids.has(key_id) || keys.has(publicKey)
}

/** The revoked keys, cached with the version of their domain row. */
export class RevokedOperatorKeys {
  #version: number | undefined
  #isRevoked: RevocationCheck = () => false

  /** True when the key is revoked as of a version read for this request, so no instance accepts a revoked key. */
  async has({ database }: { readonly database: Database }, key: OperatorKey, versions: Versions): Promise<boolean> {
    const version = versions.versions.get('operator-keys')
    if (version === undefined || version !== this.#version) {
      this.#isRevoked = checkRevoked(await listRevokedKeys(database.read))
      // The rows may be newer than the version, never older: the next request with a newer version reads them again.
      this.#version = version
    }
    return this.#isRevoked(key)
  }
}

/** A keyring whose content can be replaced as a whole, while others refer to it. */
export class LiveKeyring implements OperatorKeyring {
  #ring: OperatorKeyring

  constructor(ring: OperatorKeyring) {
    this.#ring = ring
  }

  replace(ring: OperatorKeyring): void {
    this.#ring = ring
  }

  get size(): number {
    return this.#ring.size
  }

  get(key_id: string): OperatorKey | undefined {
    return this.#ring.get(key_id)
  }

  has(key_id: string): boolean {
    return this.#ring.has(key_id)
  }

  forEach(visit: (key: OperatorKey, key_id: string, ring: OperatorKeyring) => void): void {
    this.#ring.forEach(visit)
  }

  entries(): MapIterator<[string, OperatorKey]> {
    return this.#ring.entries()
  }

  keys(): MapIterator<string> {
    return this.#ring.keys()
  }

  values(): MapIterator<OperatorKey> {
    return this.#ring.values()
  }

  [Symbol.iterator](): MapIterator<[string, OperatorKey]> {
    return this.#ring.entries()
  }
}
