import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Instant, isJsonObject, type Signer } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { createTestNetwork, nodeCaller, startAuthorityProcess } from '@chancery/testkit'
import type { AuthorityProcess, NodeCaller, TestNetwork, TestResponse } from '@chancery/testkit'
import type { OwnServer } from './private-postgres.ts'
import type { Random } from './random.ts'
import { openRows, type Rows } from './rows.ts'

/** Several authorities on one new PostgreSQL database, and the results of a round. */
export interface RaceRunner {
  readonly network: TestNetwork
  readonly processes: readonly AuthorityProcess[]
  /** Returns the authorities one after the other. */
  at(index: number): AuthorityProcess
  /** Moves the clock of all authorities; only with a test clock. */
  advance(ms: number): Promise<void>
  now(): Instant
  readonly rows: Rows
  readonly random: Random
  readonly callers: number
  /** Certificates and invites that were inserted directly into the database. */
  readonly seeded: Set<string>
  readonly notes: RaceNotes
  /** A node that calls the authorities one after the other. */
  node(signer: Signer, index: number): NodeCaller
  close(): Promise<void>
}

/** Counts responses and violations over all rounds. */
export class RaceNotes {
  readonly answers = new Map<string, number>()
  readonly violations: string[] = []
  readonly #lists = new Map<number, string>()

  violation(sentence: string): void {
    this.violations.push(sentence)
  }

  /** Counts a response; one that the specification does not allow here is a violation. */
  countResponse(race: string, answer: TestResponse, allowed: readonly string[]): string {
    const what = describeResponse(answer)
    const name = `${race}: ${what}`
    this.answers.set(name, (this.answers.get(name) ?? 0) + 1)
    if (!allowed.includes(what)) this.violation(`${race}: answered ${answer.status} ${answer.text.slice(0, 200)}`)
    return what
  }

  /** One sequence may only ever have one content, on every instance. */
  list(answer: TestResponse): void {
    const sequence = isJsonObject(answer.json) ? Number(answer.json['sequence']) : -1
    const digest = createHash('sha256').update(answer.text).digest('hex')
    if (answer.status !== 200) this.violation(`GET /crl: answered ${answer.status} ${answer.text.slice(0, 200)}`)
    else if ((this.#lists.get(sequence) ?? digest) !== digest) this.violation(`list ${sequence}: two contents`)
    this.#lists.set(sequence, digest)
  }

  /** Sequences start again with a new database. */
  forgetLists(): void {
    this.#lists.clear()
  }
}

/** Returns `201`, or `403 certificate_revoked`. */
function describeResponse(answer: TestResponse): string {
  const error = isJsonObject(answer.json) ? answer.json['error'] : undefined
  const code = isJsonObject(error) ? error['code'] : undefined
  return typeof code === 'string' ? `${answer.status} ${code}` : String(answer.status)
}

export interface RaceOptions {
  readonly server: OwnServer
  readonly random: Random
  readonly callers: number
  readonly notes: RaceNotes
  readonly instances?: number
  readonly settings?: Readonly<Record<string, string>>
}

const MOVED_CLOCK = new URL('moved-clock.ts', import.meta.url).href
/** Jobs run every 20 ms. */
const CLOCK_SETTLES_MS = 60

export async function openRaceRunner(facts: RaceOptions): Promise<RaceRunner> {
  const network = await createTestNetwork('RACE-NET')
  const database = await facts.server.createDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'chancery-race-'))
  const clockFile = join(folder, 'clock')
  await writeFile(clockFile, '0')
  let offsetMs = 0
  const processes: AuthorityProcess[] = []
  // Starts one after the other, because the first one migrates.
  for (let index = 0; index < (facts.instances ?? 2); index += 1) {
    const settings = { ...database.settings, ...facts.settings, CHANCERY_MOVED_CLOCK_FILE: clockFile }
    processes.push(await startAuthorityProcess({ network, settings, execArgv: ['--import', MOVED_CLOCK] }))
  }
  const rows = await openRows(database)
  facts.notes.forgetLists()
  const now = (): Instant => systemClock.now() + BigInt(offsetMs) * 1000n
  const at = (index: number): AuthorityProcess => {
    const process = processes[index % processes.length]
    if (process === undefined) throw new Error('no authority is started')
    return process
  }
  return {
    ...facts,
    network,
    processes,
    at,
    rows,
    now,
    seeded: new Set(),
    async advance(ms) {
      offsetMs += ms
      await writeFile(clockFile, String(offsetMs))
      await pause(CLOCK_SETTLES_MS)
    },
    node: (signer, index) => nodeCaller(at(index).url, signer, now),
    async close() {
      await rows.close()
      await Promise.all(processes.map((process) => process.stop()))
      await database.drop()
      await rm(folder, { recursive: true, force: true })
      await network.remove()
    },
  }
}
