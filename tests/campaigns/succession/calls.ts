import { type JsonObject, isJsonObject } from '@chancery/protocol'
import { EvidenceScenario, type Served, decisionOf, objectOf } from '../evidence/scenario.ts'

const DECISIONS_AT_ONCE = 3

/** Results of one period of load. */
interface Work {
  /** Issued and not revoked. */
  readonly member: JsonObject
  readonly revoked: JsonObject | undefined
  readonly decision: JsonObject
  readonly anchor: JsonObject
}

/** Load in the network: members join and are revoked, decisions are made, executed and anchored. */
export class Business {
  readonly #served: Served
  readonly #scenario: EvidenceScenario
  #members = 0
  #last: JsonObject | undefined

  private constructor(served: Served, scenario: EvidenceScenario) {
    this.#served = served
    this.#scenario = scenario
  }

  static async open(served: Served): Promise<Business> {
    return new Business(served, await EvidenceScenario.open(served))
  }

  async work(): Promise<Work> {
    this.#members += 1
    const facts = { subject_id: `member-${this.#members}`, roles: ['role:client'] }
    const member = objectOf(await this.#require(201, 'POST', '/admin/attestations', facts))
    const revoked = this.#last
    if (revoked !== undefined)
      await this.#require(200, 'POST', `/admin/attestations/${revoked['attestation_id'] as string}/revoke`, {})
    this.#last = member
    let decision: JsonObject = {}
    for (let each = 0; each < DECISIONS_AT_ONCE; each += 1) {
      const decided = await this.#scenario.decide()
      if (decided.status !== 201)
        throw new Error(`a decision is refused: ${decided.status} ${decided.text.slice(0, 300)}`)
      const made = decisionOf(decided)
      decision = made
      const done = await this.#scenario.execute(made)
      if (done.status !== 201) throw new Error(`evidence is refused: ${done.status} ${done.text.slice(0, 300)}`)
    }
    const anchored = objectOf(await this.#scenario.anchor())
    const anchor = isJsonObject(anchored['anchor'] ?? null) ? (anchored['anchor'] as JsonObject) : anchored
    return { member, revoked, decision, anchor }
  }

  async #require(
    status: number,
    method: string,
    path: string,
    body: JsonObject,
  ): Promise<Awaited<ReturnType<Served['operator']>>> {
    const answer = await this.#served.operator(method, path, body)
    if (answer.status !== status) throw new Error(`${method} ${path}: ${answer.status} ${answer.text.slice(0, 300)}`)
    return answer
  }
}
