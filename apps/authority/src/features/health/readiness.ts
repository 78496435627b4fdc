import { fromBase64, sha256Hex } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { secondsToFloor } from '../../auth/replay-floor.ts'
import type { Office } from '../../office.ts'
import { haltReasons } from '../../signing/halts.ts'
import { isWindowEnding, keyWindow } from '../../signing/key-window.ts'
import { whyNoSignatures } from '../../signing/seal.ts'
import { EXPECTED_SCHEMA_VERSION, readServedSchema } from '../../store/migrate.ts'
import type { FoundSchema } from '../../store/migrate.ts'
import { inTime } from './in-time.ts'

export interface Readiness {
  readonly isReady: boolean
  /** Why not, all of it. */
  readonly reasons: readonly string[]
  /** The same members whether ready or not (protocol/core 22.1). */
  readonly checks: JsonObject
}

/** Asks everything a request would need. Bounded, so that a hanging database is a "no" and not a silence. */
export async function checkReadiness(office: Office): Promise<Readiness> {
  const [{ database, schema }, limiterAnswers] = await Promise.all([checkDatabase(office), canCount(office)])
  const isWritable = database['writable'] === true
  const reasons = [
    ...(office.isServing() ? [] : ['stopping']),
    ...(isWritable ? [] : ['database_unavailable', ...(database['error'] === 'DiskFull' ? ['disk_full'] : [])]),
    ...(schema === 'other' ? ['schema_version'] : []),
    ...whyNoSignatures(office),
    ...office.recordFaults.halts,
    ...(limiterAnswers ? [] : ['rate_limiter_unavailable']),
  ]
  const { signer } = office
  const { valid_to, expires_in_seconds } = keyWindow(office)
  const halts = [...haltReasons(office.halts), ...office.recordFaults.halts]
  const warnings = [
    ...(isWindowEnding(office) ? ['signing_key_window_ending'] : []),
    ...(secondsToFloor(office) > 0 ? ['replay_floor'] : []),
    // Served until it is stopped: all instances of a release must not go at once (see migrate.ts).
    ...(schema === 'newer' ? ['newer_schema'] : []),
    ...office.recordFaults.warnings,
  ]
  const checks = {
    instance: office.instance,
    ha_mode: office.settings.haMode ? 'on' : 'off',
    database,
    signing_key: {
      key_id: signer.keyId,
      provider: signer.provider,
      fingerprint: sha256Hex(fromBase64(signer.publicKey) ?? new Uint8Array()),
      valid_to,
      expires_in_seconds,
    },
    rate_limiter: office.limiter.name,
    // Only when there is one: the members of a ready document are fixed.
    ...(halts.length > 0 ? { signing_halted: halts } : {}),
    ...(warnings.length > 0 ? { warnings } : {}),
    ...(reasons.length > 0 ? { reasons } : {}),
  }
  return { isReady: reasons.length === 0, reasons, checks }
}

interface DatabaseCheck {
  readonly database: JsonObject
  /** Whether the schema is that of this release, a newer one that this release may serve on, or neither. */
  readonly schema: 'own' | 'newer' | 'other' | 'unknown'
}

async function checkDatabase(office: Office): Promise<DatabaseCheck> {
  const facts = { backend: office.store.backend, expected_schema_version: EXPECTED_SCHEMA_VERSION }
  try {
    const { version, isNewerButServed } = await inTime(probeDatabase(office))
    const database = { ...facts, writable: true, schema_version: version }
    const schema = version === EXPECTED_SCHEMA_VERSION ? 'own' : isNewerButServed ? 'newer' : 'other'
    return { database, schema }
  } catch (error) {
    // A class name only: driver texts hold host names and user names.
    const name = error instanceof Error ? error.name : 'Error'
    return { database: { ...facts, writable: false, schema_version: null, error: name }, schema: 'unknown' }
  }
}

async function probeDatabase(office: Office): Promise<FoundSchema> {
  await office.store.checkWritable()
  // After a lost connection another database may answer: a balancer hears of it before anybody is sent here.
  // And a halted instance serves again as soon as it is asked after a recovery, however long its jobs back off.
  const { rollbackWatch } = office
  if (rollbackWatch.isSuspect || rollbackWatch.isHalted()) await rollbackWatch.settle()
  return readServedSchema(office.store.db)
}

/** Only a shared limiter can fail; in HA mode it has to answer. */
async function canCount(office: Office): Promise<boolean> {
  if (!office.settings.haMode) return true
  try {
    await inTime(office.limiter.probe())
    return true
  } catch {
    return false
  }
}
