import { writeFile } from 'node:fs/promises'
import { type GenesisBlock, writeJson, writePrivateKeyFile } from '@chancery/protocol'
import type { Clock } from '@chancery/service-kit'
import {
  FIRST_KEY,
  createTestDatabase,
  signSuccession,
  startTestAuthority,
  runTestStep,
  testSeed,
} from '@chancery/testkit'
import type { Backend, Succeeded, TestAuthority, TestDatabase, TestKey } from '@chancery/testkit'
import { writeHome } from './real-authority.suite.ts'
import { type CommandRun, TestContext, type TestContextOptions } from './run-command.suite.ts'

/** A real authority whose key is replaced while commands run against it, always at the same address. */
export class SuccessionSetup {
  readonly setup: TestContext
  readonly clock: Clock
  readonly genesis: GenesisBlock
  readonly #database: TestDatabase
  readonly #settings: Readonly<Record<string, string>>
  #na: TestAuthority
  #state: Succeeded

  private constructor(parts: {
    readonly setup: TestContext
    readonly clock: Clock
    readonly database: TestDatabase
    readonly settings: Readonly<Record<string, string>>
    readonly na: TestAuthority
  }) {
    this.setup = parts.setup
    this.clock = parts.clock
    this.genesis = parts.na.genesis
    this.#database = parts.database
    this.#settings = parts.settings
    this.#na = parts.na
    this.#state = { genesis: parts.na.genesis, key: FIRST_KEY }
  }

  static async open(
    clock: Clock,
    settings: Readonly<Record<string, string>> = {},
    backend: Backend = 'sqlite',
  ): Promise<SuccessionSetup> {
    const [setup, database] = [await TestContext.make(), await createTestDatabase(backend)]
    const na = await startTestAuthority({ clock, database, settings })
    await writeFile(setup.path('genesis.json'), writeJson(na.genesis))
    // A key is announced with its first list, which goes on from the one in force.
    await na.request('GET', '/crl')
    await writeFile(setup.path('operator.key'), writePrivateKeyFile(testSeed('op-privileged'), 'op-privileged'), {
      mode: 0o600,
    })
    const config = {
      network: { name: na.genesis.network_name, na_endpoint: na.url },
      paths: { genesis: 'genesis.json', operator_private_key: 'operator.key' },
    }
    await writeHome(setup, 'operator', config)
    return new SuccessionSetup({ setup, clock, database, settings, na })
  }

  get na(): TestAuthority {
    return this.#na
  }

  get url(): string {
    return this.#na.url
  }

  /** What the root signed last. */
  get state(): Succeeded {
    return this.#state
  }

  run(line: string, options: TestContextOptions = {}): Promise<CommandRun> {
    return this.setup.run(line, { now: () => this.clock.now(), ...options })
  }

  asOperator(line: string): Promise<CommandRun> {
    return this.run(`${line} --home operator`)
  }

  /** The root signs the next key, and it is announced. */
  async announce(key: TestKey): Promise<Required<Succeeded>> {
    const next = await signSuccession(this.setup.folder, this.#state, key, this.clock.now())
    await runTestStep('announce', next, { database: this.#database, clock: this.clock })
    this.#na.core.newestBlock.clear()
    return next
  }

  /** The announced key takes over; the address stays. */
  async switchTo(next: Required<Succeeded>): Promise<void> {
    const { port } = new URL(this.url)
    // In full: the next one has the same address, and an open connection would still go to this one.
    await this.#na.authority.stopAccepting()
    await this.#na.stop()
    await runTestStep('switch', next, { database: this.#database, clock: this.clock, isForced: true })
    this.#state = next
    const settings = { ...this.#settings, ...next.settings, PORT: port }
    this.#na = await startTestAuthority({ clock: this.clock, database: this.#database, settings })
  }

  async retire(): Promise<void> {
    const signed = this.#state as Required<Succeeded>
    await runTestStep('retire', signed, { database: this.#database, clock: this.clock, isForced: true })
  }

  async close(): Promise<void> {
    await this.#na.stop()
    await this.#database.drop()
    await this.setup.remove()
  }
}
