import { fromBase64, sha256Hex } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import type { Office } from '../../office.ts'
import { haltReasons } from '../../signing/halts.ts'
import { mayMakeSignatures } from '../../signing/seal.ts'
import { EXPECTED_SCHEMA_VERSION, readSchemaVersion } from '../../store/migrate.ts'

export interface Readiness {
  readonly isReady: boolean
  /** The same members whether ready or not (protocol/core 22.1). */
  readonly checks: JsonObject
}

const TIME_LIMIT_MS = 1500

/** Asks everything a request would need. Bounded, so that a hanging database is a "no" and not a silence. */
export async function checkReadiness(office: Office): Promise<Readiness> {
  const [database, limiterAnswers] = await Promise.all([checkDatabase(office), canCount(office)])
  const isReady =
    office.isServing() &&
    database['writable'] === true &&
    database['schema_version'] === EXPECTED_SCHEMA_VERSION &&
    mayMakeSignatures(office) &&
    limiterAnswers
  const { signer } = office
  const halts = haltReasons(office.halts)
  const checks = {
    instance: office.instance,
    ha_mode: office.settings.haMode ? 'on' : 'off',
    database,
    signing_key: {
      key_id: signer.keyId,
      provider: signer.provider,
      fingerprint: sha256Hex(fromBase64(signer.publicKey) ?? new Uint8Array()),
    },
    rate_limiter: office.limiter.name,
    // Only when there is one: the members of a ready document are fixed.
    ...(halts.length > 0 ? { signing_halted: halts } : {}),
  }
  return { isReady, checks }
}

async function checkDatabase(office: Office): Promise<JsonObject> {
  const facts = { backend: office.store.backend, expected_schema_version: EXPECTED_SCHEMA_VERSION }
  try {
    const schema_version = await inTime(probeDatabase(office))
    return { ...facts, writable: true, schema_version }
  } catch (error) {
    // A class name only: driver texts hold host names and user names.
    return { ...facts, writable: false, schema_version: null, error: error instanceof Error ? error.name : 'Error' }
  }
}

async function probeDatabase(office: Office): Promise<number> {
  await office.store.checkWritable()
  // After a lost connection another database may answer: a balancer hears of it before anybody is sent here.
  // And a halted instance serves again as soon as it is asked after a recovery, however long its jobs back off.
  const { rollbackWatch } = office
  if (rollbackWatch.isSuspect || rollbackWatch.isHalted()) await rollbackWatch.settle()
  return readSchemaVersion(office.store.db)
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

async function inTime<Value>(work: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new TimeLimit()), TIME_LIMIT_MS)
  })
  try {
    return await Promise.race([work, limit])
  } finally {
    clearTimeout(timer)
  }
}

class TimeLimit extends Error {
  override readonly name = 'TimeLimit'
}
