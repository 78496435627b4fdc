import { cp, mkdir, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Refusal } from '@chancery/contract'
import { type JsonObject, logOrigin } from '@chancery/protocol'
import { type TestAuthority, type TestDatabase, createSqlite, startTestAuthority, testSigner } from '@chancery/testkit'
import { TestWitness } from '../../../apps/authority/src/features/evidence-log/witnesses/witness.suite.ts'
import type { Random } from '../lib/random.ts'
import { EvidenceScenario } from './scenario.ts'

const ORIGIN = logOrigin('TEST-NET')

/**
 * Real authorities whose database is restored from an older copy: the witness refuses the log, the authority raises an
 * alarm with a proof, and signs no further checkpoint.
 */
export async function rollBackLogs(
  count: number,
  random: Random,
): Promise<{ readonly alarms: number; readonly violations: readonly string[] }> {
  const violations: string[] = []
  let alarms = 0
  for (let at = 0; at < count; at += 1) {
    const found = await rollBack(random)
    alarms += found === undefined ? 1 : 0
    if (found !== undefined) violations.push(`restored log ${at}: ${found}`)
  }
  return { alarms, violations }
}

/** Undefined when everything was as it must be. */
async function rollBack(random: Random): Promise<string | undefined> {
  const { publicKey } = await testSigner('na-test', 'na')
  const witness = await TestWitness.start('witness.example', [{ name: ORIGIN, publicKey }], () =>
    Math.floor(Date.now() / 1000),
  )
  const database = await createSqlite()
  const copy = await createSqlite()
  const start = (on: TestDatabase): Promise<TestAuthority> =>
    startTestAuthority({
      database: on,
      backend: 'sqlite',
      settings: {
        EVIDENCE_STORE: 'on',
        NA_ANCHOR_INTERVAL_SECONDS: '0',
        NA_LOG_WITNESSES: witness.setting,
        // Rounds are asked for here, one after the other.
        NA_LOG_WITNESS_SECONDS: '86400',
      },
    })
  try {
    const first = await start(database)
    await grow(first, random.below(4))
    if (random.chance(70)) await ask(first)
    await first.stop()
    await copyDatabase(database, copy)
    const second = await start(database)
    await grow(second, 1 + random.below(4))
    await ask(second)
    const known = witness.store.last(ORIGIN)?.size ?? 0
    const clean = await stateOf(second)
    await second.stop()
    if (clean['alarm'] !== null || known === 0) return `an alarm without a rollback, or no cosignature: ${known}`
    const restored = await start(copy)
    const problem = await checkRestored(restored, witness, random)
    await restored.stop()
    return problem
  } finally {
    await witness.stop()
    await database.drop()
    await copy.drop()
  }
}

async function checkRestored(na: TestAuthority, witness: TestWitness, random: Random): Promise<string | undefined> {
  const known = witness.store.last(ORIGIN)?.size ?? 0
  // Fewer entries than the witness has, as many, or more: other ones in any case.
  const decisions = 1 + random.below(6)
  // The job may have asked first. Then the log is stopped already, as it must be.
  await grow(na, decisions).catch((error: unknown) => {
    if (!(error instanceof Refusal)) throw error
  })
  await ask(na)
  const size = await sizeOf(na)
  const state = await stateOf(na)
  const wanted = size < known ? 'rolled_back' : 'forked'
  if (state['alarm'] !== wanted || state['proven'] !== true)
    return `${size} entries after ${known}: ${JSON.stringify(state)}`
  if ((await na.auditEvents('evidence_log_witness_alarm')).length === 0) return 'no audit event'
  const metrics = (await na.request('GET', '/metrics')).text
  if (!metrics.includes('chancery_evidence_log_witness_alarms 1')) return 'the metric does not show the alarm'
  const isSigned = await grow(na, 1).then(
    () => true,
    () => false,
  )
  if (isSigned || (await sizeOf(na)) !== size) return 'the log was signed on after the proof'
  if (witness.store.last(ORIGIN)?.size !== known) return 'the witness moved'
  return undefined
}

/** Until the witness said something about the last checkpoint: the job of the authority may be asking meanwhile. */
async function ask(na: TestAuthority): Promise<void> {
  for (let left = 100; left > 0; left -= 1) {
    await na.features.evidenceLog.askWitnesses()
    const { known_size, alarm } = await stateOf(na)
    if (known_size === (await sizeOf(na)) || (alarm ?? null) !== null) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

async function grow(na: TestAuthority, decisions: number): Promise<void> {
  const operator = na.as('privileged')
  const scenario = await EvidenceScenario.open({
    request: (method, target, options) => na.request(method, target, options),
    operator: (method, target, body) => operator(method, target, body),
  })
  for (let at = 0; at < decisions; at += 1) await scenario.decide()
  await na.features.evidenceLog.append()
}

async function sizeOf(na: TestAuthority): Promise<number> {
  return Number((await na.request('GET', '/evidence-log/checkpoint')).text.split('\n')[1])
}

async function stateOf(na: TestAuthority): Promise<JsonObject> {
  const { json } = await na.as('standard')('GET', '/admin/evidence-log/witnesses')
  return ((json as JsonObject)['witnesses'] as readonly JsonObject[])[0] ?? {}
}

/** The files of a stopped authority. */
async function copyDatabase(from: TestDatabase, into: TestDatabase): Promise<void> {
  const [source, target] = [from, into].map(({ settings }) => dirname(settings['DB_PATH'] ?? ''))
  if (source === undefined || target === undefined) throw new Error('not SQLite')
  await mkdir(target, { recursive: true })
  for (const name of await readdir(source)) await cp(join(source, name), join(target, name))
}
