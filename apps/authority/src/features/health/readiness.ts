import { fromBase64, sha256Hex } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { WORKERS_RESTART } from '@chancery/service-kit'
import { secondsToFloor } from '../../auth/replay-floor.ts'
import type { HealthParts } from './parts.ts'
import { haltReasons } from '../../signing/signing-halt.ts'
import { isWindowEnding, keyWindow } from '../../signing/key-window.ts'
import { EXPECTED_SCHEMA_VERSION, readServedSchema } from '../../database/migrate.ts'
import type { FoundSchema } from '../../database/migrate.ts'
import { inTime } from './in-time.ts'

export interface Readiness {
  readonly isReady: boolean
  /** All reasons for not being ready. */
  readonly reasons: readonly string[]
  /** The same members whether ready or not (protocol/core 22.1). */
  readonly checks: JsonObject
}

/** Checks everything that a request needs. The time is limited, so that a hanging database is reported as not ready. */
export async function checkReadiness(parts: HealthParts): Promise<Readiness> {
  const [{ database, schema }, limiterResponds] = await Promise.all([checkDatabase(parts), canCount(parts)])
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

interface DatabaseCheck {
  readonly database: JsonObject
  /** Returns whether the schema is that of this release, a newer one that this release may use, or neither. */
  readonly schema: 'own' | 'newer' | 'other' | 'unknown'
}

async function checkDatabase(parts: HealthParts): Promise<DatabaseCheck> {
  const facts = { backend: parts.database.engine, expected_schema_version: EXPECTED_SCHEMA_VERSION }
  try {
    const { version, isNewerButServed } = await inTime(probeDatabase(parts))
    const database = { ...facts, writable: true, schema_version: version }
    const schema = version === EXPECTED_SCHEMA_VERSION ? 'own' : isNewerButServed ? 'newer' : 'other'
    return { database, schema }
  } catch (error) {
    // A class name only, because driver texts contain host names and user names.
    const name = error instanceof Error ? error.name : 'Error'
    return { database: { ...facts, writable: false, schema_version: null, error: name }, schema: 'unknown' }
  }
}

async function probeDatabase(parts: HealthParts): Promise<FoundSchema> {
  // After a lost connection another database may respond. The load balancer must get this result before it sends
  // requests. A halted instance also recovers with the first check after a recovery, however long its jobs back off.
  const { rollback } = parts
  if (rollback.needsRecheck || rollback.isHalted()) await rollback.recheck()
  await parts.database.checkWritable()
  if (rollback.needsRecheck) await rollback.recheck()
  return readServedSchema(parts.database.read)
}

/** Only a shared limiter can fail. In HA mode it must respond. */
async function canCount(parts: HealthParts): Promise<boolean> {
  if (!parts.settings.haMode) return true
  try {
    await inTime(parts.limits.shared.probe())
    return true
  } catch {
    return false
  }
}
