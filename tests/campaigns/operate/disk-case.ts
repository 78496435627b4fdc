import { setTimeout as pause } from 'node:timers/promises'
import { isJsonObject, type JoinCertificate, type JsonObject, type JsonValue } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { accepted, enroll, nodeCaller, testSigner } from '@chancery/testkit'
import type { NodeCaller, TestDatabase, TestNetwork, TestResponse } from '@chancery/testkit'
import type { Random } from '../lib/random.ts'
import { type Rows, text as columnOf, withRows } from '../lib/rows.ts'
import type { SmallDisk } from '../lib/small-disk.ts'
import type { CaseProcess } from './disk-full.ts'
import type { Findings } from './tools.ts'

const LANES = 8
const READY_SECONDS = 90
const FLOOD_SECONDS = 8
const ENLARGED_MEGABYTES = 160
/** What a request may end with on a full disk. */
const REFUSED: ReadonlySet<number> = new Set([429, 503])

export interface DiskCaseParts {
  readonly disk: SmallDisk
  readonly random: Random
  readonly findings: Findings
  readonly process: CaseProcess
  readonly network: TestNetwork
  readonly settings: TestDatabase['settings']
  readonly revocations: number
  /** Whether the disk is filled by others, whatever the seed says. */
  readonly isFilled: boolean
}

interface EventText {
  readonly details: Readonly<Record<string, string | number>>
}

interface Member {
  readonly signer: NodeCaller['signer']
  readonly certificate: JoinCertificate
}

/** One authority on one disk: fills it, revokes, frees it, and looks for everything that was acknowledged. */
export class DiskCase {
  readonly #parts: DiskCaseParts
  readonly #acknowledged = {
    joined: new Set<string>(),
    /** With the sequence of the list that the response names. */
    revoked: new Map<string, number>(),
    decisions: new Set<string>(),
    /** When the newest acknowledged one was sent. */
    heartbeats: new Map<string, number>(),
  }

  constructor(parts: DiskCaseParts) {
    this.#parts = parts
  }

  get revoked(): number {
    return this.#acknowledged.revoked.size
  }

  async run(): Promise<void> {
    const { disk, random, process, revocations, isFilled } = this.#parts
    const targets = await this.#join(revocations)
    const [flooder, ...beating] = await this.#join(4)
    if (flooder === undefined) throw new Error('no node joined')
    const attestation_id = await this.#attest(flooder)
    const isFlooded = random.chance(60)
    if (isFlooded) await this.#flood(flooder, attestation_id)
    // To the last byte, by a program that writes once.
    if (random.chance(70) || isFilled || !isFlooded) await disk.fill()
    const restartAt = random.chance(40) ? random.below(targets.length) : -1
    for (const [index, target] of targets.entries()) {
      if (index === restartAt) await process.killAndStart()
      await this.#revoke(target)
      if (random.chance(10)) await this.#other(flooder, attestation_id, beating)
    }
    await this.#checkList('while the disk is full')
    await disk.free()
    // The stored decisions of a flood fill the disk without the filler, too.
    await disk.enlarge(ENLARGED_MEGABYTES)
    await this.#checkAfterwards(beating)
  }

  async #join(count: number): Promise<Member[]> {
    const members: Member[] = []
    const lane = async (): Promise<void> => {
      while (members.length < count) {
        const signer = await testSigner('node', `disk-${crypto.randomUUID()}`)
        const node = nodeCaller(this.#url, signer, () => systemClock.now())
        const certificate = await enrollInTime(this.#parts.process.current, node)
        this.#acknowledged.joined.add(certificate.cert_id)
        members.push({ signer, certificate })
      }
    }
    await Promise.all(Array.from({ length: LANES }, lane))
    return members.slice(0, count)
  }

  async #attest({ signer }: Member): Promise<string> {
    const body = {
      subject_id: 'agent',
      roles: ['role:client'],
      validity_hours: 24,
      subject_public_key: signer.publicKey,
    }
    const claims = { capabilities: ['ledger.read'] }
    const issued = await this.#parts.process.current.as('privileged')('POST', '/admin/attestations', {
      ...body,
      claims,
    })
    return textOf(accepted(issued, 201)['attestation_id'])
  }

  /** One node asks until nothing more is stored for it. */
  async #flood(flooder: Member, attestation_id: string): Promise<void> {
    const until = performance.now() + FLOOD_SECONDS * 1000
    let refused = 0
    const lane = async (): Promise<void> => {
      while (performance.now() < until && refused < 40)
        refused += (await this.#decide(flooder, attestation_id, 12_000)) === 201 ? 0 : 1
    }
    await Promise.all(Array.from({ length: LANES }, lane))
  }

  async #decide({ signer, certificate }: Member, attestation_id: string, letters: number): Promise<number> {
    const { findings, network } = this.#parts
    const node = nodeCaller(this.#url, signer, () => systemClock.now())
    const named = { action: 'boundary-request', audience: network.authority.publicKey, cert_id: certificate.cert_id }
    const context = { request_parameters: { x: 'x'.repeat(letters) } }
    const asked = { ...named, attestation_id, requested_capability: 'ledger.read', context }
    const answer = await node.post('/boundary/request', asked)
    const { decision } = answer.status === 201 ? accepted(answer, 201) : {}
    if (isJsonObject(decision ?? null))
      this.#acknowledged.decisions.add(textOf((decision as JsonObject)['decision_id']))
    else findings.require(REFUSED.has(answer.status), `a decision ended with ${answer.status} ${answer.text}`)
    return answer.status
  }

  async #revoke({ certificate }: Member): Promise<void> {
    const { findings, process } = this.#parts
    const body = { cert_id: certificate.cert_id, reason: 'superseded' }
    const answer = await process.current.as('privileged')('POST', '/admin/revoke', body)
    findings.require(answer.status === 200, `revocation ${this.revoked + 1} ended with ${answer.status} ${answer.text}`)
    if (answer.status === 200)
      this.#acknowledged.revoked.set(certificate.cert_id, Number(accepted(answer)['crl_sequence']))
  }

  /** What may be refused now, and must not be lost when it is not. */
  async #other(flooder: Member, attestation_id: string, beating: readonly Member[]): Promise<void> {
    const { findings, random } = this.#parts
    if (random.chance(50)) return void (await this.#decide(flooder, attestation_id, random.below(12_000)))
    const one = beating[random.below(beating.length)]
    if (one === undefined) return
    const node = nodeCaller(this.#url, one.signer, () => systemClock.now())
    const sentAt = Date.now()
    const { status, text } = await node.heartbeat(one.certificate.cert_id, { status: 'healthy' })
    findings.require(status === 200 || REFUSED.has(status), `a heartbeat ended with ${status} ${text}`)
    if (status === 200) this.#acknowledged.heartbeats.set(one.certificate.cert_id, sentAt)
  }

  async #checkList(when: string): Promise<void> {
    const answer = await this.#parts.process.current.request('GET', '/crl')
    const entries = accepted(answer)['revoked_certificates'] as readonly JsonObject[]
    const listed = new Set(entries.map((entry) => entry['certificate_id']))
    const missing = [...this.#acknowledged.revoked.keys()].filter((id) => !listed.has(id))
    this.#parts.findings.require(missing.length === 0, `${missing.length} revocations are not in the list ${when}`)
  }

  async #checkAfterwards(beating: readonly Member[]): Promise<void> {
    const { findings, process } = this.#parts
    const isReady = async (): Promise<boolean> => (await process.current.request('GET', '/readyz')).status === 200
    await findings.until('it is ready after there is room', READY_SECONDS, isReady)
    // Everything from the database, and nothing from memory.
    await process.killAndStart()
    await findings.until('it is ready after a restart', READY_SECONDS, isReady)
    await this.#checkList('afterwards')
    await withRows({ settings: this.#parts.settings, drop: () => Promise.resolve() }, (rows) => this.#checkRows(rows))
    for (const { certificate, signer } of beating) {
      const node = nodeCaller(this.#url, signer, () => systemClock.now())
      const { status } = await node.heartbeat(certificate.cert_id, { status: 'healthy' })
      findings.require(status === 200, `a heartbeat ended with ${status} afterwards`)
    }
    await this.#checkStored()
  }

  /** Every acknowledged change is a row, and every revocation and every list it names has its audit event. */
  async #checkRows(rows: Rows): Promise<void> {
    const { findings } = this.#parts
    const { joined, revoked, decisions, heartbeats } = this.#acknowledged
    const column = async (name: string, from: string): Promise<Set<string>> =>
      new Set((await rows.query(`select ${name} from ${from}`)).map((row) => columnOf(row, name)))
    const require = (expected: Iterable<string>, stored: Set<string>, what: string): void => {
      const missing = [...expected].filter((each) => !stored.has(each))
      findings.require(missing.length === 0, `${missing.length} ${what} are lost, such as ${missing[0]}`)
    }
    const events = async (type: string, member: string): Promise<Set<string>> => {
      const texts = await column('event_json', `audit_events where event_type = '${type}'`)
      return new Set([...texts].map((text) => `${(JSON.parse(text) as EventText).details[member]}`))
    }
    require(joined, await column('cert_id', 'issued_certs'), 'certificates')
    require(revoked.keys(), await column('cert_id', "issued_certs where status = 'revoked'"), 'revocations')
    require(revoked.keys(), await events('certificate_revoked', 'cert_id'), 'audit events of revocations')
    const lists = new Set([...revoked.values()].map(String))
    require(lists, await events('crl_published', 'sequence'), 'audit events of lists')
    require(decisions, await column('decision_id', 'evidence_entries'), 'decisions')
    const stored = await rows.query('select cert_id, last_heartbeat from node_liveness')
    const last = new Map(stored.map((row) => [columnOf(row, 'cert_id'), Date.parse(columnOf(row, 'last_heartbeat'))]))
    for (const [certId, at] of heartbeats)
      findings.require((last.get(certId) ?? 0) >= at, `a heartbeat of ${new Date(at).toISOString()} is lost`)
  }

  async #checkStored(): Promise<void> {
    const { findings } = this.#parts
    const verified = accepted(await this.#read('/admin/evidence/verify'))
    findings.require(verified['verified'] === true, `the evidence store does not verify: ${JSON.stringify(verified)}`)
  }

  /** A loaded machine may take longer than the deadline of a request. */
  async #read(target: string): Promise<TestResponse> {
    const read = (): Promise<TestResponse> => this.#parts.process.current.as('standard')('GET', target)
    const until = performance.now() + READY_SECONDS * 1000
    let answer = await read()
    for (; answer.status === 503 && performance.now() < until; answer = await read()) await pause(500)
    return answer
  }

  get #url(): string {
    return this.#parts.process.current.url
  }
}

/** Again where a loaded machine needs longer than the deadline of a request. */
async function enrollInTime(process: CaseProcess['current'], node: NodeCaller): Promise<JoinCertificate> {
  const join = (): Promise<JoinCertificate> => enroll(process, node)
  return join().catch(join).catch(join).catch(join)
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}
