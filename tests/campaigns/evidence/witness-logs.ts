import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { Refusal } from '@chancery/contract'
import {
  consistencyProof,
  hashChildren,
  hashLeaf,
  logOrigin,
  readCheckpointText,
  readNote,
  sha256,
  sha256Hex,
  signCheckpoint,
  toUtf8,
  treeRoot,
  writeAddCheckpoint,
  writeLogKey,
  writePrivateKeyFile,
} from '@chancery/protocol'
import type { JsonObject, NodeReader } from '@chancery/protocol'
import { COMPILE_CACHE, createSqlite, startTestAuthority, testSeed, testSigner } from '@chancery/testkit'
import type { TestAuthority, TestDatabase } from '@chancery/testkit'
import { TestWitness } from '../../../apps/authority/src/features/evidence-log/witnesses/witness.suite.ts'
import { CLI } from '../lib/command.ts'
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
  const open = (on: TestDatabase): Promise<TestAuthority> =>
    startTestAuthority({
      database: on,
      backend: 'sqlite',
      settings: {
        EVIDENCE_STORE: 'on',
        NA_ANCHOR_INTERVAL_SECONDS: '0',
        NA_LOG_WITNESSES: witness.setting,
      },
    })
  try {
    const first = await open(database)
    await grow(first, random.below(4))
    if (random.chance(70)) await ask(first)
    await first.stop()
    await copyDatabase(database, copy)
    const second = await open(database)
    await grow(second, 1 + random.below(4))
    await ask(second)
    const known = witness.store.last(ORIGIN)?.size ?? 0
    const clean = await stateOf(second)
    await second.stop()
    if (clean['alarm'] !== null || known === 0) return `an alarm without a rollback, or no cosignature: ${known}`
    const restored = await open(copy)
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

const KILLED_ORIGIN = 'killed.example/evidence-log'
const REQUESTS = 40

/**
 * Kills the real witness process while requests run, and starts it again on the same state: what it cosigned is still
 * there, and it cosigns no second history.
 */
export async function killWitnesses(
  count: number,
  random: Random,
): Promise<{ readonly kills: number; readonly violations: readonly string[] }> {
  const violations: string[] = []
  for (let at = 0; at < count; at += 1) {
    const found = await killOnce(random)
    violations.push(...found.map((violation) => `kill ${at}: ${violation}`))
  }
  return { kills: count, violations }
}

interface Running {
  readonly child: ChildProcess
  readonly url: string
}

async function killOnce(random: Random): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'chancery-kill-'))
  const violations: string[] = []
  const log = await testSigner('log', 'killed log')
  await writeFile(join(folder, 'w.key'), writePrivateKeyFile(testSeed('killed witness'), 'w.example'), { mode: 0o600 })
  await writeFile(join(folder, 'logs'), `log ${writeLogKey({ name: KILLED_ORIGIN, publicKey: log.publicKey })}\n`)
  let running = await start(folder, true)
  // Two histories that share a beginning, sent at the same time.
  const shared = random.below(5)
  const [honest, forked] = ['a', 'b'].map((name) =>
    Array.from({ length: 200 }, (_, at) => hashLeaf(sha256(toUtf8(at < shared ? `${at}` : `${name}${at}`)))),
  )
  const cosigned: { readonly history: string; readonly size: number }[] = []
  const askFor = async (history: string, size: number): Promise<void> => {
    const leaves = (history === 'a' ? honest : forked) ?? []
    const body = async (oldSize: number): Promise<string> => {
      const read = nodesOf(leaves.slice(0, size))
      const checkpoint = await signCheckpoint({ origin: KILLED_ORIGIN, size, root: await treeRoot(size, read) }, log)
      return writeAddCheckpoint({ oldSize, proof: await consistencyProof(oldSize, size, read), checkpoint })
    }
    let old = 0
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const answer = await post(running.url, await body(old))
      if (answer?.status === 200) cosigned.push({ history, size })
      const known = answer?.status === 409 ? Number(answer.text) : Number.NaN
      if (!(known <= size) || known === old) return
      old = known
    }
  }
  try {
    const killAt = 5 + random.below(REQUESTS - 10)
    const sent: Promise<void>[] = []
    for (let at = 0; at < REQUESTS; at += 1) {
      sent.push(askFor(random.chance(70) ? 'a' : 'b', 1 + shared + random.below(at + 2)))
      if (at === killAt) running.child.kill('SIGKILL')
      if (random.chance(30)) await Promise.all(sent.splice(0))
    }
    await Promise.all(sent)
    if (running.child.exitCode === null && running.child.signalCode === null) await once(running.child, 'exit')
    running = await start(folder, false)
    const stored = await headOf(running.url)
    const largest = Math.max(0, ...cosigned.map(({ size }) => size))
    if (stored < largest) violations.push(`${largest} entries were cosigned, and ${stored} are stored`)
    for (let at = 0; at < 10; at += 1) await askFor(random.chance(50) ? 'a' : 'b', 1 + shared + random.below(60))
    const histories = new Set(cosigned.filter(({ size }) => size > shared).map(({ history }) => history))
    if (histories.size > 1) violations.push('two histories were cosigned')
  } finally {
    running.child.kill('SIGTERM')
    if (running.child.exitCode === null && running.child.signalCode === null) await once(running.child, 'exit')
    await rm(folder, { recursive: true, force: true })
  }
  return violations
}

async function start(folder: string, isNew: boolean): Promise<Running> {
  const words = 'evidence witness --listen 127.0.0.1:0 --state state --logs logs --key w.key --json'.split(' ')
  const child = spawn(process.execPath, ['--conditions=development', CLI, ...words, ...(isNew ? ['--init'] : [])], {
    cwd: folder,
    env: { ...COMPILE_CACHE, PATH: process.env['PATH'] ?? '', HOME: folder },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  return { child, url: (JSON.parse(line) as { readonly url: string }).url }
}

/** Undefined when the witness is gone. */
async function post(
  url: string,
  body: string,
): Promise<{ readonly status: number; readonly text: string } | undefined> {
  try {
    const response = await fetch(`${url}/add-checkpoint`, { method: 'POST', body })
    return { status: response.status, text: await response.text() }
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}

async function headOf(url: string): Promise<number> {
  const response = await fetch(`${url}/${sha256Hex(toUtf8(KILLED_ORIGIN))}/checkpoint`)
  if (response.status === 404) return 0
  return readCheckpointText(readNote(await response.text())?.text ?? '')?.size ?? Number.NaN
}

function nodesOf(leaves: readonly Uint8Array[]): NodeReader {
  const read: NodeReader = async (level, index) =>
    level === 0
      ? (leaves[index] ?? new Uint8Array())
      : hashChildren(await read(level - 1, 2 * index), await read(level - 1, 2 * index + 1))
  return read
}
