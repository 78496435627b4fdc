import { type JsonObject, fromBase64, sha256Hex } from '@chancery/protocol'
import { WORKERS_RESTART } from '@chancery/service-kit'
import { secondsToFloor } from '../../auth/replay-floor.ts'
import type { DatabaseProbe } from './database-probe.ts'
import type { HealthParts } from './parts.ts'
import { haltReasons } from '../../signing/signing-halt.ts'
import { isWindowEnding, keyWindow } from '../../signing/key-window.ts'

export interface Readiness {
  readonly isReady: boolean
  /** All reasons for not being ready. */
  readonly reasons: readonly string[]
  /** The same members whether ready or not (protocol/core 22.1). */
  readonly checks: JsonObject
}

/** Checks everything that a request needs. */
export async function checkReadiness(parts: HealthParts, probe: DatabaseProbe): Promise<Readiness> {
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
