import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { isJsonObject, type JsonObject, writeInstant } from '@chancery/protocol'
import { type FaultProxy, startFaultProxy, type TestResponse, testSigner } from '@chancery/testkit'
import { type CampaignOptions, type CampaignResult, runCases } from '../lib/campaign.ts'
import { tryCommand } from '../lib/command.ts'
import { startOwnServer } from '../lib/private-postgres.ts'
import { type Random, seededRandom } from '../lib/random.ts'
import { newSigner, text } from '../lib/rows.ts'
import { checkInspection, checkReplays } from './fault-checks.ts'
import { type FaultInstances, openFaultInstances } from './fault-instances.ts'
import { FaultRecorder } from './fault-recorder.ts'

export const summary =
  'a backup taken under load is restored behind three instances: detected, all requests refused, recovered'
export const defaultCount = 3

const FLOOR_MS = 301_000
const NOTICED_SECONDS = 20
const MARKED_SECONDS = 20
const GONE = 'op-gone'
const HALTED = '"state_rollback"'

export function run(options: CampaignOptions): Promise<CampaignResult> {
  const random = seededRandom(options.seed)
  return runCases(options, () => restoreOnce(random))
}

async function restoreOnce(random: Random): Promise<string[]> {
  const server = await startOwnServer()
  const database = await server.createDatabase()
  const direct = new URL(database.settings['DATABASE_URL'] ?? '')
  const proxy = await startFaultProxy({ host: '127.0.0.1', port: Number(direct.port) })
  const through = new URL(direct)
  through.port = String(proxy.port)
  const instances = await openFaultInstances({
    databaseUrl: () => through.href,
    directUrl: direct.href,
    settings: await operators(),
  })
  try {
    const live = direct.pathname.slice(1)
    const scenario = new RestoreScenario(instances, random)
    await scenario.live()
    await scenario.backUp()
    await scenario.liveOn()
    await offline(proxy, async () => {
      await server.command(`drop database ${live} with (force)`, `create database ${live}`)
      await scenario.restore()
    })
    await scenario.notice()
    await scenario.recover()
    return scenario.violations
  } finally {
    await instances.close()
    await proxy.close()
    await server.remove()
  }
}

/** A third operator, whose key is revoked after the backup. */
async function operators(): Promise<Readonly<Record<string, string>>> {
  const names = { 'op-privileged': 'privileged', 'op-standard': 'standard', [GONE]: 'standard' }
  const keys: Record<string, string> = {}
  for (const name of Object.keys(names)) keys[name] = (await testSigner(name)).publicKey
  return { OPERATOR_PUBLIC_KEYS_JSON: JSON.stringify(keys), OPERATOR_KEY_TIERS_JSON: JSON.stringify(names) }
}

/** Restores without any connection of the instances. They only detect that the server was unreachable for a moment. */
async function offline(proxy: FaultProxy, work: () => Promise<void>): Promise<void> {
  proxy.isolate(true)
  await pause(100)
  await work()
  proxy.isolate(false)
}

/** Records of the network before the restore. None of them may be lost. */
class RestoreScenario {
  readonly #instances: FaultInstances
  readonly #recorder: FaultRecorder
  readonly #random: Random
  readonly #invites: string[] = []
  readonly #backup: string
  #highestFeed = -1

  constructor(instances: FaultInstances, random: Random) {
    this.#instances = instances
    this.#random = random
    this.#recorder = new FaultRecorder(instances, random)
    this.#backup = join(dirname(instances.envFile), 'backup')
  }

  get violations(): string[] {
    return this.#recorder.notes.violations
  }

  async live(): Promise<void> {
    await this.#recorder.open()
    await this.#work()
    this.#invites.push(await this.#invite())
  }

  /** Takes the backup under load. It contains at least everything that was acknowledged before it began. */
  async backUp(): Promise<void> {
    this.#recorder.start()
    await this.#command('backup', '--to', this.#backup)
    await this.#recorder.stop()
    await this.#command('rehearse', '--from', this.#backup)
  }

  /** The instances run but cannot reach the database. Their caches are older or newer than the backup. */
  async restore(): Promise<void> {
    const report = await this.#command('restore', '--from', this.#backup)
    if (report?.['recovery_needed'] !== true) this.#violation('restore did not notice that the backup is old')
  }

  async liveOn(): Promise<void> {
    await this.#expectAll('after the backup', 200)
    await this.#work()
    this.#invites.push(await this.#invite())
    this.#expect('revoking a key', await this.#operate(0, 'POST', `/admin/operator-keys/${GONE}/revoke`, {}), 200)
    await this.#awaitMark()
  }

  /** No decision may be made on the old state. */
  async notice(): Promise<void> {
    await this.#expectHalted()
    for (const [index, process] of this.#instances.processes.entries()) {
      // A cached list may be served, if it was published before.
      const list = await process.request('GET', '/crl')
      if (list.status === 200) this.#recorder.notes.list(list)
      else this.#expect('a list', list, 503)
      this.#expect('a policy', await this.#operate(index, 'POST', '/admin/policy', { policy_id: 'p' }), 503)
      for (const call of this.#recorder.spent.slice(-5)) {
        const answer = await process.as('standard')('GET', '/admin/policy/history', undefined, call)
        if (answer.status === 200) this.#violation(`the spent nonce ${call.nonce} was taken before the recovery`)
      }
    }
  }

  async recover(): Promise<void> {
    await this.#command('recover')
    await this.#expectAll('after the recovery', 200)
    // Every signature with a timestamp before the floor is refused, with a new or a spent nonce.
    for (const sentence of await checkReplays(this.#instances, this.#recorder)) this.#violation(sentence)
    this.#expect('a call before the floor', await this.#operate(0, 'GET', '/admin/policy/history'), 503)
    await this.#instances.moveClock(FLOOR_MS)
    for (const index of this.#instances.processes.keys()) await this.#checkInstance(index)
    for (const sentence of await checkInspection(this.#instances)) this.#violation(sentence)
  }

  /** Runs the command like an operator; returns its JSON output, if any. */
  async #command(name: string, ...more: string[]): Promise<JsonObject | undefined> {
    const words = ['authority', name, '--env-file', this.#instances.envFile, ...more, '--json']
    const { code, stdout, stderr } = await tryCommand(words)
    if (code !== 0) this.#violation(`${name} failed: ${stderr.slice(0, 300)}`)
    return stdout.startsWith('{') ? (JSON.parse(stdout) as JsonObject) : undefined
  }

  async #checkInstance(index: number): Promise<void> {
    const process = this.#instances.processes[index]
    if (process === undefined) return
    const list = await process.request('GET', '/crl')
    const lost = [...this.#recorder.acks.revocations.keys()].filter((id) => !list.text.includes(id))
    if (lost.length > 0) this.#violation(`instance ${index + 1} lost ${lost.length} revocations`)
    if (sequenceOf(list) <= this.#recorder.acks.lastSequence)
      this.#violation(`list ${sequenceOf(list)} was given before`)
    const feed = await process.request('GET', '/sovereign-revocation-feed')
    const missing = [...this.#recorder.withdrawn].filter((id) => !feed.text.includes(id))
    if (missing.length > 0) this.#violation(`instance ${index + 1} lost ${missing.length} revoked attestations`)
    if (sequenceOf(feed) <= this.#highestFeed) this.#violation(`feed ${sequenceOf(feed)} was given before`)
    const gone = await process.as('standard')('GET', '/admin/policy/history', undefined, {
      signer: await testSigner(GONE),
      timestamp: writeInstant(this.#recorder.now()),
    })
    this.#expect('a revoked key', gone, 401)
    for (const token of this.#invites) {
      const node = this.#recorder.node(await newSigner(this.#random), process)
      this.#expect('an invite from before', await node.join(token), 403)
    }
    const decide = await this.#recorder.decideAt(process)
    this.#expect('a decision without its chain', decide, 503)
    const policy_id = `after-${index}`
    this.#expect('a policy', await this.#operate(index, 'POST', '/admin/policy', { policy_id }), 201)
  }

  async #work(): Promise<void> {
    this.#recorder.start()
    await pause(1000 + this.#random.below(1500))
    await this.#recorder.stop()
    this.#highestFeed = sequenceOf(
      (await this.#instances.processes[0]?.request('GET', '/sovereign-revocation-feed')) ?? NONE,
    )
  }

  async #invite(): Promise<string> {
    const answer = await this.#operate(0, 'POST', '/admin/invite', {})
    this.#expect('an invite', answer, 201)
    return text(isJsonObject(answer.json) ? answer.json : undefined, 'token_id')
  }

  #operate(index: number, method: string, target: string, body?: JsonObject): Promise<TestResponse> {
    const process = this.#instances.processes[index]
    if (process === undefined) throw new Error('no such instance')
    return process.as('privileged')(method, target, body, { timestamp: writeInstant(this.#recorder.now()) })
  }

  /** The mark is written within seconds of a change. A newer change cannot be detected. */
  async #awaitMark(): Promise<void> {
    const end = performance.now() + MARKED_SECONDS * 1000
    while (performance.now() < end) {
      const mark = JSON.parse(await readFile(this.#instances.markFile, 'utf8')) as Mark
      const isWhole =
        (mark.crl?.sequence ?? -1) >= this.#recorder.acks.lastSequence &&
        (mark.feed?.sequence ?? -1) >= this.#highestFeed &&
        mark.revoked_operator_keys.some((key) => key.key_id === GONE)
      if (isWhole) return
      await pause(50)
    }
    this.#violation(`the mark was not brought up to date within ${MARKED_SECONDS} s`)
  }

  async #expectAll(when: string, status: 200 | 503): Promise<void> {
    for (const index of await this.#instances.awaitReady(NOTICED_SECONDS, status))
      this.#violation(`instance ${index + 1} ${when}: its readiness is not ${status} within ${NOTICED_SECONDS} s`)
  }

  /** Reported as rolled back, not only as unreachable. */
  async #expectHalted(): Promise<void> {
    const end = performance.now() + NOTICED_SECONDS * 1000
    for (const [index, process] of this.#instances.processes.entries()) {
      const isHalted = async (): Promise<boolean> => (await process.request('GET', '/readyz')).text.includes(HALTED)
      while (!(await isHalted()) && performance.now() < end) await pause(25)
      if (!(await isHalted())) this.#violation(`instance ${index + 1} did not notice within ${NOTICED_SECONDS} s`)
    }
  }

  #expect(what: string, answer: TestResponse, status: number): void {
    if (answer.status !== status) this.#violation(`${what} was answered ${answer.status} ${answer.text.slice(0, 200)}`)
  }

  #violation(sentence: string): void {
    this.#recorder.notes.violation(sentence)
  }
}

interface Mark {
  readonly crl: { readonly sequence: number } | null
  readonly feed: { readonly sequence: number } | null
  readonly revoked_operator_keys: readonly { readonly key_id: string }[]
}

const NONE: TestResponse = { status: 0, headers: {}, bytes: new Uint8Array(), text: '', json: undefined }

function sequenceOf({ json }: TestResponse): number {
  return isJsonObject(json) ? Number(json['sequence']) : -1
}
