import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Instant, isJsonObject, type JsonObject, writeInstant } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { nodeCaller, startFaultProxy } from '@chancery/testkit'
import type { AuthorityProcess, NodeCaller, TestResponse } from '@chancery/testkit'
import { checkInspection } from '../faults/fault-checks.ts'
import { type FaultInstances, openFaultInstances } from '../faults/fault-instances.ts'
import { tryCommand } from '../lib/command.ts'
import { startOwnServer } from '../lib/private-postgres.ts'
import type { Random } from '../lib/random.ts'
import { newSigner, text } from '../lib/rows.ts'
import { Alarms } from './alarms.ts'
import {
  authorityTargets,
  doctorOn,
  Findings,
  FOLLOWING,
  healthOf,
  readinessNames,
  SCRAPES_AFTER,
  WITHOUT_STANDBY,
} from './tools.ts'
import type { OperateCase } from './tools.ts'

const NOTICED_SECONDS = 20
const MARKED_SECONDS = 20
const FLOOR_MS = 301_000

/**
 * Restores a backup although certificates were issued after it: docs/operate/backup.md, steps 5 to 12.
 */
export const oldRestore: OperateCase = {
  name: 'old restore with later certificates',
  async run(random) {
    const server = await startOwnServer()
    const database = await server.createDatabase()
    const direct = new URL(database.settings['DATABASE_URL'] ?? '')
    const proxy = await startFaultProxy({ host: '127.0.0.1', port: Number(direct.port) })
    const through = new URL(direct)
    through.port = String(proxy.port)
    const instances = await openFaultInstances({
      databaseUrl: () => through.href,
      directUrl: direct.href,
      instances: 2,
    })
    try {
      const live = direct.pathname.slice(1)
      const scenario = await RestoreScenario.open(instances, random)
      await scenario.before()
      proxy.isolate(true)
      await pause(100)
      await server.command(`drop database ${live} with (force)`, `create database ${live}`)
      await scenario.restore()
      proxy.isolate(false)
      await scenario.notice()
      await scenario.recover()
      await scenario.resolveUnknown()
      return await scenario.serveAgain()
    } finally {
      await instances.close()
      await proxy.close()
      await server.remove()
    }
  },
}

/** Expected state of a certificate: `known` is in the backup, all others were issued after it. */
type ExpectedState = 'known' | 'adopted' | 'unknown' | 'revoked' | 'lost key' | 'turns up later'

interface Member {
  readonly node: NodeCaller
  readonly cert_id: string
  readonly text: string
}

class RestoreScenario {
  readonly #instances: FaultInstances
  readonly #random: Random
  readonly #alarms: Alarms
  readonly #findings = new Findings()
  readonly #folder: string
  readonly #members = new Map<ExpectedState, Member>()
  #sequence = -1

  private constructor(instances: FaultInstances, random: Random, alarms: Alarms) {
    this.#instances = instances
    this.#random = random
    this.#alarms = alarms
    this.#folder = dirname(instances.envFile)
  }

  static async open(instances: FaultInstances, random: Random): Promise<RestoreScenario> {
    return new RestoreScenario(instances, random, await Alarms.open(authorityTargets(instances.processes)))
  }

  /** One certificate before the backup, five after it. Two of them are revoked, and one is in no export. */
  async before(): Promise<void> {
    await this.#join('known')
    await this.#command('authority', 'backup', '--to', join(this.#folder, 'backup'))
    await this.#join('adopted')
    await this.#join('unknown')
    await this.#join('revoked')
    await this.#join('lost key')
    await this.#revoke('revoked', 'cessation_of_operation')
    await this.#revoke('lost key', 'key_compromise')
    await this.#command('authority', 'audit', '--out', join(this.#folder, 'audit.jsonl'))
    await this.#join('turns up later')
    await mkdir(join(this.#folder, 'certificates'))
    await writeFile(join(this.#folder, 'certificates', 'adopted.json'), this.#member('adopted').text)
    await this.#findings.until('the mark names the last list', MARKED_SECONDS, async () => {
      const mark = JSON.parse(await readFile(this.#instances.markFile, 'utf8')) as { crl: { sequence: number } | null }
      return (mark.crl?.sequence ?? -1) >= this.#sequence
    })
    await this.#alarms.scrape(12, 100)
    this.#alarms.expect('before', [])
  }

  async restore(): Promise<void> {
    await this.#command('authority', 'restore', '--from', join(this.#folder, 'backup'))
  }

  async notice(): Promise<void> {
    for (const [index, process] of this.#instances.processes.entries()) {
      await this.#findings.until(`instance ${index + 1} says state_rollback`, NOTICED_SECONDS, () =>
        readinessNames(process, 'reasons', 'state_rollback'),
      )
      const { reasons } = await healthOf(process)
      this.#findings.require(reasons.includes('state_rollback'), `/health says ${reasons.join(', ')}`)
    }
    this.#findings.require(
      (await doctorOn(this.#instances, 'high-water')) === 'bad',
      'doctor does not see the rollback',
    )
    await this.#alarms.scrape(14, 150)
    const allowed = [...FOLLOWING, ...WITHOUT_STANDBY]
    this.#alarms.expect('before the recovery', ['ChanceryStateRollback'], allowed)
  }

  async recover(): Promise<void> {
    await this.#command('authority', 'recover')
    for (const index of await this.#instances.awaitReady(NOTICED_SECONDS))
      this.#findings.add(`instance ${index + 1} is not ready after the recovery`)
    await this.#alarms.scrape(6, 150)
    const allowed = [...FOLLOWING, ...WITHOUT_STANDBY]
    this.#alarms.expect('before the floor is over', ['ChanceryReplayFloor'], allowed)
    for (const process of this.#instances.processes) {
      const isWarned = await readinessNames(process, 'warnings', 'replay_floor')
      this.#findings.require(isWarned, '/readyz does not warn of the replay floor')
    }
    const answer = await this.#operate('GET', '/admin/policy/history')
    this.#findings.require(
      answer.status === 503 && answer.text.includes('"replay_floor"') && answer.headers['retry-after'] !== undefined,
      `a call below the floor was answered ${answer.status} ${answer.text.slice(0, 200)}`,
    )
  }

  /** Listed first, which changes nothing; then adopted, then revoked. */
  async resolveUnknown(): Promise<void> {
    const audit = ['--audit', join(this.#folder, 'audit.jsonl')]
    const sources = [...audit, '--certificates', join(this.#folder, 'certificates')]
    for (const round of ['first', 'second']) {
      const listed = await this.#command('authority', 'recover', ...sources)
      for (const name of ['adopted', 'unknown'] as const)
        this.#findings.require(
          listed.includes(this.#member(name).cert_id),
          `the ${round} listing lacks the ${name} one`,
        )
      this.#findings.require(!listed.includes(this.#member('known').cert_id), 'a known certificate is listed')
      this.#findings.require(
        /without a row: 2$/m.test(listed),
        `the listing does not count the revoked ones: ${listed}`,
      )
    }
    const adopted = await this.#command('authority', 'recover', ...sources, '--unknown', 'adopt')
    this.#findings.require(/^adopted: 1;/m.test(adopted), `adopt said ${adopted}`)
    const revoked = await this.#command('authority', 'recover', ...audit, '--unknown', 'revoke')
    this.#findings.require(/^revoked: 1, list/m.test(revoked), `node revoke said ${revoked}`)
  }

  async serveAgain(): Promise<readonly string[]> {
    const findings = this.#findings
    await this.#instances.moveClock(FLOOR_MS)
    await this.#alarms.scrape(SCRAPES_AFTER, 60)
    this.#alarms.expect('after the recovery', [], WITHOUT_STANDBY)
    for (const name of ['known', 'adopted'] as const) {
      const { node, cert_id } = this.#member(name)
      const answer = await node.heartbeat(cert_id)
      findings.require(
        answer.status === 200,
        `the ${name} node was answered ${answer.status} ${answer.text.slice(0, 200)}`,
      )
    }
    for (const name of ['unknown', 'revoked', 'lost key'] as const) {
      const { node, cert_id } = this.#member(name)
      await this.#expectListed(name, cert_id)
      const answer = await node.heartbeat(cert_id)
      findings.require(answer.text.includes('"certificate_revoked"'), `the ${name} node was answered ${answer.status}`)
    }
    await this.#revokeForgotten()
    const again = await this.#member('lost key').node.join(await this.#invite())
    findings.require(again.text.includes('"node_key_compromised"'), `a lost key was answered ${again.status}`)
    await this.#revoke('adopted', 'unspecified')
    await this.#expectListed('adopted', this.#member('adopted').cert_id)
    findings.require((await doctorOn(this.#instances, 'high-water')) === 'good', 'doctor still sees a rollback')
    return [...findings.violations, ...(await checkInspection(this.#instances)), ...(await this.#alarms.verdict())]
  }

  /** No export or file has this certificate, so the authority uses id and key from the operator. */
  async #revokeForgotten(): Promise<void> {
    const { cert_id, node } = this.#member('turns up later')
    const bare = await this.#operate('POST', '/admin/revoke', { cert_id })
    this.#findings.require(
      bare.text.includes('"certificate_not_found"'),
      `the status for a missing id is ${bare.status}`,
    )
    const body = { cert_id, node_public_key: node.key, reason: 'cessation_of_operation' }
    const answer = await this.#operate('POST', '/admin/revoke', body)
    this.#findings.require(answer.status === 200, `the status for a missing certificate is ${answer.status}`)
    await this.#expectListed('turns up later', cert_id)
  }

  async #expectListed(name: string, cert_id: string): Promise<void> {
    for (const [index, process] of this.#instances.processes.entries()) {
      const { json, text: list } = await process.request('GET', '/crl')
      const sequence = isJsonObject(json) ? Number(json['sequence']) : -1
      this.#findings.require(list.includes(cert_id), `instance ${index + 1}: the ${name} one is not on the list`)
      this.#findings.require(sequence > this.#sequence || name === 'adopted', `list ${sequence} was given before`)
    }
  }

  #now(): Instant {
    return systemClock.now() + BigInt(this.#instances.clockOffsetMs) * 1000n
  }

  get #first(): AuthorityProcess {
    const [process] = this.#instances.processes
    if (process === undefined) throw new Error('no instance')
    return process
  }

  #member(name: ExpectedState): Member {
    const member = this.#members.get(name)
    if (member === undefined) throw new Error(`no node joined as ${name}`)
    return member
  }

  async #invite(): Promise<string> {
    const { json } = await this.#operate('POST', '/admin/invite', {})
    return text(isJsonObject(json) ? json : undefined, 'token_id')
  }

  async #join(name: ExpectedState): Promise<void> {
    const node = nodeCaller(this.#first.url, await newSigner(this.#random), () => this.#now())
    const answer = await node.join(await this.#invite())
    if (answer.status !== 201) throw new Error(`a join was answered ${answer.status} ${answer.text.slice(0, 200)}`)
    const cert_id = text(isJsonObject(answer.json) ? answer.json : undefined, 'cert_id')
    this.#members.set(name, { node, cert_id, text: answer.text })
  }

  async #revoke(name: ExpectedState, reason: string): Promise<void> {
    const answer = await this.#operate('POST', '/admin/revoke', { cert_id: this.#member(name).cert_id, reason })
    const sequence = isJsonObject(answer.json) ? Number(answer.json['crl_sequence']) : Number.NaN
    this.#findings.require(
      answer.status === 200,
      `a revocation was answered ${answer.status} ${answer.text.slice(0, 200)}`,
    )
    if (sequence > this.#sequence) this.#sequence = sequence
  }

  #operate(method: string, target: string, body?: JsonObject): Promise<TestResponse> {
    return this.#first.as('privileged')(method, target, body, { timestamp: writeInstant(this.#now()) })
  }

  /** Runs a command like an operator, with the settings of the service; returns its output. */
  async #command(...words: string[]): Promise<string> {
    const { code, stdout, stderr } = await tryCommand([...words, '--env-file', this.#instances.envFile])
    this.#findings.require(code === 0, `chancery ${words.join(' ')} failed: ${stderr.slice(0, 300)}`)
    return stdout
  }
}
