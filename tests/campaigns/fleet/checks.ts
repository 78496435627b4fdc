import { setTimeout as pause } from 'node:timers/promises'
import { isJsonObject, type JsonObject, readInstant, seedSigner, writeSortable } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { type NodeCaller, nodeCaller, operatorCaller, send, type TestResponse } from '@chancery/testkit'
import { publicKeyOf, SECRET_BYTES, writeSecret } from '../../tools/raw-ed25519.ts'
import { seededAddress, seededCertificateId, seededNodeBytes, seededNodeSeed } from '../../tools/seeded-nodes.ts'
import { text } from '../lib/rows.ts'
import type { FleetGenerator, SampledNode } from './generator.ts'
import type { FleetPlan, Site } from './site.ts'

const SAMPLE = 200
const ASKED_NODES = 5
/** Nodes that wait longer than this for their turn can be silent, and the authority is right to say so. */
const LATE_MS = 60_000
/** Gathered heartbeats are stored after a second at most; the statement takes some time more. */
const GATHERING_MS = 1500
/** On a busy machine the statement can take longer: what is still not stored then is lost. */
const LAST_LOOK_MS = 5000

/** Everything that has changed since the start, for all parts of the campaign. */
interface Changes {
  /** Nodes whose revocation has begun. */
  readonly revoked: Set<number>
  joined: number
}

interface Findings {
  cases: number
  violate(sentence: string): void
}

export interface CheckParts {
  readonly site: Site
  readonly plan: FleetPlan
  readonly generator: FleetGenerator
  readonly changes: Changes
  readonly findings: Findings
}

/** Returns the key of a node as it is in paths. */
function pathKeyOf(seed: string, node: number): string {
  const secret = new Uint8Array(SECRET_BYTES)
  writeSecret(seededNodeBytes(seed, node), secret)
  return publicKeyOf(secret).replaceAll('+', '-').replaceAll('/', '_').replace('=', '')
}

function gatheringMs({ mode }: FleetPlan): number {
  return mode === 'gathered' ? GATHERING_MS : 0
}

/** Returns a sentence for every acknowledged heartbeat that is newer than the stored one. */
export function lostHeartbeats(
  sample: readonly SampledNode[],
  stored: ReadonlyMap<string, string>,
  isRevoked: (node: number) => boolean,
): readonly string[] {
  return sample.flatMap(({ node, cert_id, sentAtMs }) => {
    // The liveness of a revoked certificate is removed.
    if (isRevoked(node)) return []
    const sent = writeSortable(BigInt(sentAtMs) * 1000n)
    const last = stored.get(cert_id)
    return last !== undefined && last >= sent ? [] : [`node ${node}: heartbeat of ${sent} acknowledged, stored ${last}`]
  })
}

/** Questions while the nodes send: is everything stored that was acknowledged, and does the authority know it? */
export class FleetChecks {
  /** Heartbeats that were stored later than promised. */
  storedLate = 0
  readonly listMs: number[] = []
  readonly countMs: number[] = []
  readonly #parts: CheckParts
  readonly #operator: ReturnType<typeof operatorCaller>

  constructor(parts: CheckParts) {
    const { network, authority } = parts.site
    this.#parts = parts
    this.#operator = operatorCaller(authority.url, network.operators.privileged, network.authority.publicKey, () =>
      systemClock.now(),
    )
  }

  async round(): Promise<void> {
    const { generator, plan } = this.#parts
    const sample = await generator.ask({ kind: 'sample', count: SAMPLE })
    await pause(gatheringMs(plan))
    // With each heartbeat committed before its answer there is no second look.
    if (plan.mode === 'gathered') {
      const late = (await this.#findLost(sample)).length
      this.storedLate += late
      if (late > 0) await pause(LAST_LOOK_MS)
    }
    await this.compare(sample)
    for (const node of sample.slice(0, ASKED_NODES)) await this.#askActive(node)
    await this.#askSilent(sample.length)
    await this.#readRoster()
  }

  /** The stored last heartbeats are at least those that were acknowledged. */
  async compare(sample: readonly SampledNode[]): Promise<void> {
    const { findings } = this.#parts
    findings.cases += sample.length
    for (const sentence of await this.#findLost(sample)) findings.violate(sentence)
  }

  async #findLost(sample: readonly SampledNode[]): Promise<readonly string[]> {
    const { site, changes } = this.#parts
    const { rows } = await site.client.query<{ readonly cert_id: string; readonly last_heartbeat: string }>(
      'select cert_id, last_heartbeat from node_liveness where cert_id = any($1::text[])',
      [sample.map(({ cert_id }) => cert_id)],
    )
    const stored = new Map(rows.map((row) => [row.cert_id, row.last_heartbeat]))
    return lostHeartbeats(sample, stored, (node) => changes.revoked.has(node))
  }

  /** Returns what an operator sees of a node. */
  async look(node: number): Promise<JsonObject> {
    const answer = await this.#operator('GET', `/admin/nodes/${pathKeyOf(this.#parts.plan.seed, node)}`)
    this.#parts.findings.cases += 1
    return answer.status === 200 && isJsonObject(answer.json) ? answer.json : { state: `answer ${answer.status}` }
  }

  async #askActive({ node, sentAtMs }: SampledNode): Promise<void> {
    const { changes, findings } = this.#parts
    const seen = await this.look(node)
    if (changes.revoked.has(node)) return
    const state = text(seen, 'state')
    const heard = readInstant(text(seen, 'last_heartbeat')) ?? 0n
    // A certificate in its last day, when nodes renew, is ends_soon.
    if (!['active', 'ends_soon'].includes(state) || heard < BigInt(sentAtMs) * 1000n)
      findings.violate(`node ${node} sent a heartbeat at ${sentAtMs}, but is ${state}, last heartbeat ${heard / 1000n}`)
  }

  async #askSilent(turn: number): Promise<void> {
    const { nodes, silent } = this.#parts.plan
    if (silent === 0) return
    const node = nodes - 1 - (turn % silent)
    const state = text(await this.look(node), 'state')
    if (state !== 'silent') this.#parts.findings.violate(`node ${node} sends nothing, but is ${state}`)
  }

  async #readRoster(): Promise<void> {
    const { site, plan, changes, findings, generator } = this.#parts
    const { waitP99Ms } = await generator.ask({ kind: 'report' })
    const before = performance.now()
    const list = await this.#operator('GET', '/admin/nodes?limit=50')
    this.listMs.push(performance.now() - before)
    if (list.status !== 200) findings.violate(`GET /admin/nodes is answered with ${list.status}`)
    const between = performance.now()
    const { json } = await send(site.authority.url, 'GET', '/nodes')
    this.countMs.push(performance.now() - between)
    const count = isJsonObject(json) ? Number(json['count']) : Number.NaN
    const live = plan.nodes - plan.silent
    const isLow = count < live - changes.revoked.size && waitP99Ms < LATE_MS
    findings.cases += 2
    if (isLow || !(count <= live + changes.joined))
      findings.violate(
        `${count} nodes are counted of ${live}, ${changes.revoked.size} revoked, ${changes.joined} joined`,
      )
  }
}

/** A join in each turn, a revocation in every second one. */
export const TURN_MS = 1000

/** Joins and revocations while the nodes send. A revoked node is refused from the acknowledgement on. */
export class Trickle {
  refused = 0
  readonly #parts: CheckParts
  readonly #checks: FleetChecks
  readonly #later: Promise<void>[] = []
  #isStopped = false
  #work: Promise<void> = Promise.resolve()

  constructor(parts: CheckParts, checks: FleetChecks) {
    this.#parts = parts
    this.#checks = checks
  }

  start(): void {
    this.#work = this.#run()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#work
    await Promise.all(this.#later)
  }

  async #run(): Promise<void> {
    const started = performance.now()
    for (let turn = 1; !this.#isStopped; turn += 1) {
      await this.#join()
      if (turn % 2 === 0) await this.#revoke()
      await pause(Math.max(0, turn * TURN_MS - (performance.now() - started)))
    }
  }

  async #join(): Promise<void> {
    const { plan, changes, generator } = this.#parts
    const invite = this.#take(await this.#operator('standard')('POST', '/admin/invite', {}), 201)
    if (invite === undefined) return
    const index = plan.nodes + changes.joined
    const node = await this.#caller(index)
    changes.joined += 1
    const headers = { 'X-Forwarded-For': seededAddress(seededCertificateId(plan.seed, index)) }
    const certificate = this.#take(await node.join(text(invite, 'token_id'), {}, { headers }), 201)
    if (certificate !== undefined)
      await generator.ask({ kind: 'joined', node: index, cert_id: text(certificate, 'cert_id') })
  }

  async #revoke(): Promise<void> {
    const { changes, findings, generator } = this.#parts
    const held = await generator.ask({ kind: 'hold' })
    if (held === null) return
    changes.revoked.add(held.node)
    const node = await this.#caller(held.node)
    const { cert_id } = held
    const body = { cert_id, reason: 'cessation_of_operation' }
    if (this.#take(await this.#operator('privileged')('POST', '/admin/revoke', body), 200) === undefined) return
    const told = generator.ask({ kind: 'revoked', node: held.node, atMs: Date.now() })
    const answer = await node.heartbeat(cert_id, { status: 'ok' })
    const code = isJsonObject(answer.json) && isJsonObject(answer.json['error']) ? answer.json['error']['code'] : ''
    findings.cases += 1
    if (code === 'certificate_revoked') this.refused += 1
    else findings.violate(`node ${held.node} is revoked, and its heartbeat is answered with ${answer.status}`)
    await told
    this.#later.push(this.#checkGone(held.node, cert_id))
  }

  /** No heartbeat that was gathered before the revocation brings the liveness back. */
  async #checkGone(node: number, cert_id: string): Promise<void> {
    const { plan, site, findings } = this.#parts
    await pause(gatheringMs(plan))
    const { rowCount } = await site.client.query('select 1 from node_liveness where cert_id = $1', [cert_id])
    if (rowCount !== 0) findings.violate(`the revoked node ${node} has a stored heartbeat`)
    const state = text(await this.#checks.look(node), 'state')
    if (state !== 'revoked') findings.violate(`the revoked node ${node} is ${state}`)
  }

  /** Returns the body of a success. A refusal because of load is no violation; the figures show those of the nodes. */
  #take({ status, json, text: body }: TestResponse, expected: number): JsonObject | undefined {
    this.#parts.findings.cases += 1
    if (status === expected && isJsonObject(json)) return json
    if (status !== 429 && status !== 503) this.#parts.findings.violate(`answered ${status} ${body.slice(0, 200)}`)
    return undefined
  }

  #operator(name: 'privileged' | 'standard'): ReturnType<typeof operatorCaller> {
    const { network, authority } = this.#parts.site
    return operatorCaller(authority.url, network.operators[name], network.authority.publicKey, () => systemClock.now())
  }

  async #caller(node: number): Promise<NodeCaller> {
    const { plan, site } = this.#parts
    const signer = await seedSigner('node', seededNodeSeed(plan.seed, node))
    return nodeCaller(site.authority.url, signer, () => systemClock.now())
  }
}
