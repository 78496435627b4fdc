import { type BoundaryDecision, isJsonObject, type JsonObject, type Signer } from '@chancery/protocol'
import { EXECUTED_CAPABILITY as CAPABILITY, signExecution, testSigner } from '@chancery/testkit'
import type { SendOptions, TestAuthority, TestResponse } from '@chancery/testkit'

/** The server of the routes: an authority in this process, or in another one. */
export interface Served {
  request(method: string, target: string, options?: SendOptions): Promise<TestResponse>
  operator(method: string, target: string, body?: JsonObject): Promise<TestResponse>
}

/** An authority in this process. */
export function servedHere(na: TestAuthority, operator: Operator = na.as('privileged')): Served {
  return {
    request: (method, target, options) => na.request(method, target, options),
    operator: (method, target, body) => operator(method, target, body),
  }
}

type Operator = ReturnType<TestAuthority['as']>

/** Creates the data of an evidence store: a member, an executor, decisions and their executions. */
export class EvidenceScenario {
  readonly #served: Served
  readonly #executor: Signer
  #attestation = ''

  private constructor(served: Served, executor: Signer) {
    this.#served = served
    this.#executor = executor
  }

  static async open(served: Served): Promise<EvidenceScenario> {
    const scenario = new EvidenceScenario(served, await testSigner('rotator-key'))
    const { keyId, publicKey } = scenario.#executor
    const key = { key_id: keyId, public_key: publicKey, executor_sovereign_id: 'rotator' }
    // Registered once per database, also when several scenarios use it.
    await served.operator('POST', '/admin/evidence/executor-keys', key)
    const member = { subject_id: 'vendor-1', roles: ['role:client'], claims: { capabilities: [CAPABILITY] } }
    const answer = await served.operator('POST', '/admin/attestations', member)
    if (answer.status !== 201) throw new Error(`no member: ${answer.status} ${answer.text.slice(0, 200)}`)
    scenario.#attestation = objectOf(answer)['attestation_id'] as string
    return scenario
  }

  decide(): Promise<TestResponse> {
    const asked = { attestation_id: this.#attestation, requested_capability: CAPABILITY }
    return this.#served.operator('POST', '/admin/boundary/evaluate', asked)
  }

  async execute(decision: BoundaryDecision): Promise<TestResponse> {
    const evidence = await signExecution(decision, this.#executor)
    return this.#served.request('POST', '/evidence/execution', { body: { evidence } })
  }

  anchor(): Promise<TestResponse> {
    return this.#served.operator('POST', '/admin/evidence/anchors', {})
  }

  retain(): Promise<TestResponse> {
    return this.#served.operator('POST', '/admin/evidence/retention/apply', { older_than_days: 1 })
  }

  get executorKey(): Signer {
    return this.#executor
  }
}

export function objectOf(answer: TestResponse): JsonObject {
  if (!isJsonObject(answer.json))
    throw new Error(`an object was expected: ${answer.status} ${answer.text.slice(0, 200)}`)
  return answer.json
}

export function decisionOf(answer: TestResponse): BoundaryDecision {
  return objectOf(answer)['decision'] as unknown as BoundaryDecision
}
