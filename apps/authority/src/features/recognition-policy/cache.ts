import type { RecognitionPolicy } from '@chancery/protocol'
import { findActiveRecognitionPolicy } from './queries.ts'
import type { Core } from '../../core.ts'

export interface RecognitionPolicyParts extends Pick<Core, 'audit' | 'clock' | 'database' | 'versions'> {}

/** A policy prepared for many checks. */
export interface ReadyPolicy {
  readonly policy: RecognitionPolicy
  readonly revokedIds: ReadonlySet<string>
}

/** The active recognition policy. It is read again when its version has changed on any instance. */
export class RecognitionPolicyCache {
  #cached: { readonly version: number; readonly ready: ReadyPolicy | undefined } | undefined

  async current(parts: RecognitionPolicyParts): Promise<ReadyPolicy | undefined> {
    const version = (await parts.versions.read()).versions.get('recognition-policy') ?? -1
    if (this.#cached?.version === version) return this.#cached.ready
    const policy = await findActiveRecognitionPolicy(parts.database.read)
    const ready = policy === undefined ? undefined : prepare(policy)
    this.#cached = { version, ready }
    return ready
  }
}

export function prepare(policy: RecognitionPolicy): ReadyPolicy {
  return { policy, revokedIds: new Set(policy.revoked_attestation_ids) }
}
