import { setTimeout as pause } from 'node:timers/promises'
import { type JsonObject, isJsonObject, seedSigner } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { type NodeCaller, type TestResponse, nodeCaller, operatorCaller } from '@chancery/testkit'
import { seededAddress, seededCertificateId, seededNodeSeed } from '../../tools/seeded-nodes.ts'
import { text } from '../lib/rows.ts'
import { type CheckParts, type FleetChecks, gatheringMs } from './checks.ts'

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
