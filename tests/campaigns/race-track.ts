import { createHash } from 'node:crypto'
import { isJsonObject } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { createTestNetwork, nodeCaller, startAuthorityProcess } from '@chancery/testkit'
import type { AuthorityProcess, NodeCaller, TestAnswer, TestNetwork } from '@chancery/testkit'
import type { Signer } from '@chancery/protocol'
import type { OwnServer } from './own-server.ts'
import type { Random } from './random.ts'
import { openRows } from './rows.ts'
import type { Rows } from './rows.ts'

/** Two authorities on one fresh PostgreSQL database, and what a round writes down. */
export interface RaceTrack {
  readonly network: TestNetwork
  readonly processes: readonly [AuthorityProcess, AuthorityProcess]
  readonly rows: Rows
  readonly random: Random
  readonly callers: number
  /** Certificates and invites put into the database behind the authorities' backs. */
  readonly planted: Set<string>
  readonly notes: RaceNotes
  /** A node that calls one of the two in turn. */
  node(signer: Signer, index: number): NodeCaller
  close(): Promise<void>
}

/** Counts answers and violations over all rounds. */
export class RaceNotes {
  readonly answers = new Map<string, number>()
  readonly violations: string[] = []
  readonly #lists = new Map<number, string>()

  violation(sentence: string): void {
    this.violations.push(sentence)
  }

  /** Counts an answer; one that the specification does not allow here is a violation. */
  judge(race: string, answer: TestAnswer, allowed: readonly string[]): string {
    const what = describeAnswer(answer)
    const name = `${race}: ${what}`
    this.answers.set(name, (this.answers.get(name) ?? 0) + 1)
    if (!allowed.includes(what)) this.violation(`${race}: answered ${answer.status} ${answer.text.slice(0, 200)}`)
    return what
  }

  /** One number may only ever have one content, whoever serves it. */
  list(answer: TestAnswer): void {
    const sequence = isJsonObject(answer.json) ? Number(answer.json['sequence']) : -1
    const digest = createHash('sha256').update(answer.text).digest('hex')
    if (answer.status !== 200) this.violation(`GET /crl: answered ${answer.status} ${answer.text.slice(0, 200)}`)
    else if ((this.#lists.get(sequence) ?? digest) !== digest) this.violation(`list ${sequence}: two contents`)
    this.#lists.set(sequence, digest)
  }

  /** Numbers begin again with a new database. */
  forgetLists(): void {
    this.#lists.clear()
  }
}

/** `201`, or `403 certificate_revoked`. */
function describeAnswer(answer: TestAnswer): string {
  const error = isJsonObject(answer.json) ? answer.json['error'] : undefined
  const code = isJsonObject(error) ? error['code'] : undefined
  return typeof code === 'string' ? `${answer.status} ${code}` : String(answer.status)
}

export async function openRaceTrack(facts: {
  readonly server: OwnServer
  readonly random: Random
  readonly callers: number
  readonly notes: RaceNotes
}): Promise<RaceTrack> {
  const network = await createTestNetwork('RACE-NET')
  const database = await facts.server.createDatabase()
  // One after the other: the first migrates.
  const first = await startAuthorityProcess({ network, settings: database.settings })
  const second = await startAuthorityProcess({ network, settings: database.settings })
  const processes = [first, second] as const
  const rows = await openRows(database)
  facts.notes.forgetLists()
  return {
    ...facts,
    network,
    processes,
    rows,
    planted: new Set(),
    node: (signer, index) => nodeCaller((index % 2 === 0 ? first : second).url, signer, () => systemClock.now()),
    async close() {
      await rows.close()
      await Promise.all(processes.map((process) => process.stop()))
      await database.drop()
      await network.remove()
    },
  }
}
