import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commands, type Features } from '@chancery/authority'
import { readGenesisBlock, readJson, writeJson, writePrivateKeyFile } from '@chancery/protocol'
import type { GenesisBlock, JsonObject, KeyHistory, Signer } from '@chancery/protocol'
import { silentLog } from '@chancery/service-kit'
import {
  createMigratedDatabase,
  createTestDatabase,
  FIRST_KEY,
  ManualClock,
  operatorCaller,
  runTestStep,
  signSuccession,
  startTestAuthority,
  testSeed,
  testSigner,
} from '@chancery/testkit'
import type { Backend, Succeeded, TestAuthority, TestDatabase, TestResponse } from '@chancery/testkit'
import { openFeatures } from '../../../apps/authority/src/features.ts'
import { recoverState } from '../../../apps/authority/src/recovery/recover.ts'
import { openCore } from '../../../apps/authority/src/startup/open-core.ts'

const SETTINGS = {
  NA_CLOCK_CHECK: 'off',
  NA_CERTIFICATE_KEPT_DAYS: '30',
  NA_RATE_LIMIT_OPERATOR_READ_PER_MINUTE: '1000000',
}
const QUIET = { flags: {}, onProgress: () => undefined }

/** One authority in this process that changes its key, is backed up, restored and cleaned by its own code. */
export class PastAuthority {
  readonly clock = new ManualClock('2030-01-02T03:00:00Z')
  readonly backend: Backend
  readonly blocks: GenesisBlock[] = []
  readonly #folder: string
  readonly #databases: TestDatabase[] = []
  #na: TestAuthority | undefined
  #signed: Succeeded | undefined
  #keys = 1

  private constructor(backend: Backend, folder: string) {
    this.backend = backend
    this.#folder = folder
  }

  static async open(backend: Backend): Promise<PastAuthority> {
    const one = new PastAuthority(backend, await mkdtemp(join(tmpdir(), 'chancery-past-')))
    one.#databases.push(await createMigratedDatabase(backend))
    await one.#start({})
    // The files of a test authority end with it.
    const key = join(one.#folder, 'na.key')
    await writeFile(key, writePrivateKeyFile(testSeed('na'), 'na-test'), { mode: 0o600 })
    const genesisFile = join(one.#folder, 'genesis.json')
    await cp(one.na.settings.genesisFile, genesisFile)
    const genesis = readGenesisBlock(readJson(await readFile(genesisFile, 'utf8')))
    const settings = { GENESIS_FILE: genesisFile, NA_PRIVATE_KEY_FILE: key, NA_KEY_ID: 'na-test' }
    one.#signed = { genesis, key: FIRST_KEY, settings }
    one.blocks.push(genesis)
    await one.request('GET', '/crl')
    await one.request('GET', '/sovereign-revocation-feed')
    return one
  }

  get na(): TestAuthority {
    if (this.#na === undefined) throw new Error('the authority is stopped')
    return this.#na
  }

  get keyHistory(): KeyHistory | undefined {
    return this.#signed?.history
  }

  get keyId(): string {
    return this.#signed?.key.keyId ?? FIRST_KEY.keyId
  }

  /** Microseconds for which a statement says nothing yet. */
  get unsettled(): bigint {
    return this.backend === 'sqlite' ? 10_000_000n : 120_000_000n
  }

  get #database(): TestDatabase {
    const database = this.#databases.at(-1)
    if (database === undefined) throw new Error('there is no database')
    return database
  }

  async #start(settings: Readonly<Record<string, string>>): Promise<void> {
    this.#na = await startTestAuthority({
      clock: this.clock,
      database: this.#database,
      network: 'PAST-NET',
      keys: '',
      settings: { ...SETTINGS, NA_HIGH_WATER_FILES: this.#mark, ...settings },
    })
  }

  get #mark(): string {
    return join(this.#folder, 'authority.mark')
  }

  async #stop(): Promise<void> {
    const na = this.#na
    this.#na = undefined
    await na?.stop()
  }

  request(method: string, target: string, body?: JsonObject): Promise<TestResponse> {
    return this.na.request(method, target, body === undefined ? {} : { body })
  }

  /** As privileged operator, for the current key. */
  operate(method: string, target: string, body?: JsonObject): Promise<TestResponse> {
    const genesis = this.blocks.at(-1) ?? this.na.genesis
    const signer = this.na.signers['privileged'] as Signer
    const audience = genesis.network_authority.public_key
    return operatorCaller(this.na.url, signer, audience, () => this.clock.now())(method, target, body)
  }

  /** The root signs another key, and the authority changes to it. */
  async succeed(): Promise<void> {
    if (this.#signed === undefined) throw new Error('the authority is not open')
    const on = { database: this.#database, clock: this.clock, isForced: true }
    this.#keys += 1
    const next = { keyId: `na-past-${this.#keys}`, seed: `past key ${this.#keys}` }
    const signed = await signSuccession(this.#folder, this.#signed, next, this.clock.now())
    const held = { ...signed, settings: { ...signed.settings, NA_HIGH_WATER_FILES: this.#mark } }
    await runTestStep('announce', held, on)
    await this.na.core.rollback.writeMark()
    await this.#stop()
    await runTestStep('switch', held, on)
    this.#signed = held
    this.blocks.push(signed.genesis)
    await this.#start(held.settings)
  }

  async backUp(): Promise<string> {
    const to = join(this.#folder, `backup-${this.#databases.length}`)
    const outcome = await commands.backup({ ...QUIET, envFile: await this.#envFile(), to })
    if (!outcome.ok) throw new Error(`no backup: ${outcome.message}`)
    return to
  }

  /** The database is lost. The backup is restored into an empty one, and recovered past the mark. */
  async restore(from: string): Promise<void> {
    await this.na.core.rollback.writeMark()
    const { settings: before } = this.na
    await this.#stop()
    this.#databases.push(await createTestDatabase(this.backend))
    const args = { ...QUIET, envFile: await this.#envFile(), from, restart: false, withoutMark: false }
    const outcome = await commands.restore(args)
    if (!outcome.ok) throw new Error(`no restore: ${outcome.message} ${outcome.problems.join(', ')}`)
    if (outcome.behind.length === 0) throw new Error('the restored database is not behind its mark')
    await this.#start(this.#signed?.settings ?? {})
    const { settings } = this.na
    if (settings.keyId !== before.keyId) throw new Error('another key')
    const opened = await openCore(settings, { log: silentLog, clock: this.clock, isRecovering: true })
    try {
      await recoverState({ ...opened.core, ...openFeatures(opened.core, settings) })
    } finally {
      await opened.close()
    }
    await this.na.core.rollback.recheck()
  }

  /** Runs the jobs that remove rows until they find none. */
  async removeOld(): Promise<void> {
    const signal = new AbortController().signal
    const { features } = this.na
    const run = async (of: keyof Features, name: string): Promise<void> => {
      const feature = features[of]
      const job = 'jobs' in feature ? feature.jobs.find((each) => each.name === name) : undefined
      if (job === undefined) throw new Error(`there is no job ${name}`)
      await job.run(signal)
    }
    await this.request('GET', '/crl')
    // A list that the mark names is not removed.
    await this.na.core.rollback.writeMark()
    for (let round = 0; round < 12; round += 1) await run('crl', 'crl-removal')
    await features.enrollment.removeEnded(signal)
    await run('enrollment', 'certificate-removal')
  }

  async close(): Promise<void> {
    await this.#stop()
    for (const database of this.#databases) await database.drop()
    await rm(this.#folder, { recursive: true, force: true })
  }

  async #envFile(): Promise<string> {
    const path = join(this.#folder, 'authority.env')
    const names = ['op-privileged', 'op-standard']
    const keys: Record<string, string> = {}
    for (const name of names) keys[name] = (await testSigner(name)).publicKey
    const settings = {
      ...this.#signed?.settings,
      OPERATOR_PUBLIC_KEYS_JSON: writeJson(keys),
      OPERATOR_KEY_TIERS_JSON: writeJson({ 'op-privileged': 'privileged', 'op-standard': 'standard' }),
      NA_HIGH_WATER_FILES: this.#mark,
      ...this.#database.settings,
    }
    const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`)
    await writeFile(path, lines.join(''))
    return path
  }
}
