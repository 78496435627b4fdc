import { readTrustedPublicKey } from '@chancery/protocol'
import type { Database } from '../database/database.ts'
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

/** Two ids for one key: revoking one of them leaves the key usable under the other. */
export function sharedPublicKeys(ring: OperatorKeyring): readonly string[] {
  const byKey = Map.groupBy(ring.values(), (key) => key.publicKey)
  return [...byKey.values()]
    .filter((group) => group.length > 1)
    .map((group) => group.map((key) => key.key_id).join(', '))
}

/** The revoked keys, cached with the version of their domain row. */
export class RevokedOperatorKeys {
  #version: number | undefined
  #ids: ReadonlySet<string> = new Set()

  /** True when the key is revoked as of a version read for this request, so no instance accepts a revoked key. */
  async has({ database }: { readonly database: Database }, key_id: string, versions: Versions): Promise<boolean> {
    const version = versions.versions.get('operator-keys')
    if (version === undefined || version !== this.#version) {
      const rows = await database.read.selectFrom('revoked_operator_keys').select('key_id').execute()
      this.#ids = new Set(rows.map((row) => row.key_id))
      // The rows may be newer than the version, never older: the next request with a newer version reads them again.
      this.#version = version
    }
    return this.#ids.has(key_id)
  }
}
