import { type JsonObject, fromBase64, sha256Hex } from '@chancery/protocol'
import { WORKERS_RESTART } from '@chancery/service-kit'
import { secondsToFloor } from '../../auth/node.ts'
import { haltReasons, isWindowEnding, keyWindow } from '../../signing/halt-reasons.ts'
import type { Core, FeatureBase } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { PublishedDocuments } from '../../requests/published-documents.ts'
import type { BoundaryPolicies } from '../boundary-policies/index.ts'
import type { Crl } from '../crl/index.ts'
import type { Enrollment } from '../enrollment/index.ts'
import type { KeySuccession } from '../key-succession/index.ts'
import type { Policy } from '../policy/index.ts'
import type { RevocationFeeds } from '../revocation-feeds/index.ts'

export interface HealthParts
  extends
    FeatureBase,
    Pick<
      Core,
      | 'clockCheck'
      | 'doWorkersRestart'
      | 'instance'
      | 'isServing'
      | 'keyCheck'
      | 'limits'
      | 'operatorKeysCheck'
      | 'recordFaults'
      | 'rollback'
      | 'verifiedTreaties'
      | 'versions'
    > {
  readonly settings: Pick<
    AuthoritySettings,
    | 'anchorIntervalSeconds'
    | 'boundaryPolicyEnforcement'
    | 'evidenceStore'
    | 'genesisWindow'
    | 'haMode'
    | 'keyWarningDays'
    | 'logQuorum'
    | 'management'
    | 'proxyHops'
  >
  readonly publishedDocuments: PublishedDocuments
  readonly boundaryPolicies: BoundaryPolicies
  readonly crl: Crl
  readonly enrollment: Enrollment
  readonly keySuccession: KeySuccession
  readonly policy: Policy
  readonly revocationFeeds: RevocationFeeds
}

export interface ProbedDatabase {
  readonly database: JsonObject
  /** Returns whether the schema is that of this release, a newer one that this release may use, or neither. */
  readonly schema: 'own' | 'newer' | 'other' | 'unknown'
  readonly limiterResponds: boolean
}

export interface Readiness {
  readonly isReady: boolean
  /** All reasons for not being ready. */
  readonly reasons: readonly string[]
  /** The same members whether ready or not (protocol/core 22.1). */
  readonly checks: JsonObject
}

/** Checks everything that a request needs. */
export async function checkReadiness(
  parts: HealthParts,
  probe: { read(): Promise<ProbedDatabase> },
): Promise<Readiness> {
  const { database, schema, limiterResponds } = await probe.read()
  const isWritable = database['writable'] === true
  const refusesGrowth = (await parts.database.room.refusesGrowth().catch(() => undefined)) !== undefined
  const reasons = [
    ...(parts.isServing() ? [] : ['stopping']),
    ...(isWritable ? [] : ['database_unavailable', ...(database['error'] === 'DiskFullError' ? ['disk_full'] : [])]),
    ...(schema === 'other' ? ['schema_version'] : []),
    ...parts.signing.findObstacles(),
    ...parts.recordFaults.halts,
    ...(limiterResponds ? [] : ['rate_limiter_unavailable']),
  ]
  const { signer } = parts.signing
  const { valid_to, expires_in_seconds } = keyWindow(parts)
  const halts = [...haltReasons(parts.signing.halts), ...parts.recordFaults.halts]
  const warnings = [
    ...(isWindowEnding(parts) ? ['signing_key_window_ending'] : []),
    ...(secondsToFloor(parts) > 0 ? ['replay_floor'] : []),
    // Served until it is stopped, so that the instances of a release do not all stop at once (see migrate.ts).
    ...(schema === 'newer' ? ['newer_schema'] : []),
    ...(parts.doWorkersRestart() ? [WORKERS_RESTART] : []),
    ...(refusesGrowth ? ['disk_low'] : []),
    ...parts.recordFaults.warnings,
  ]
  const checks = {
    instance: parts.instance,
    ha_mode: parts.settings.haMode ? 'on' : 'off',
    database,
    signing_key: {
      key_id: signer.keyId,
      provider: signer.provider,
      fingerprint: sha256Hex(fromBase64(signer.publicKey) ?? new Uint8Array()),
      valid_to,
      expires_in_seconds,
    },
    rate_limiter: parts.limits.shared.name,
    // Only present if there is one: the members of a ready document are fixed.
    ...(halts.length > 0 ? { signing_halted: halts } : {}),
    ...(warnings.length > 0 ? { warnings } : {}),
    ...(reasons.length > 0 ? { reasons } : {}),
  }
  return { isReady: reasons.length === 0, reasons, checks }
}
