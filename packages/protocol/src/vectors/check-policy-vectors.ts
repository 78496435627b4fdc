import type * as Protocol from '../index.ts'
import type { CheckResult } from './cases.ts'

/** The shape of `policies.json`: golden values of boundary policies. */
export interface PolicyVectors {
  readonly key: { readonly key_id: string; readonly public_key: string }
  readonly now: string
  readonly contexts: readonly { readonly name: string; readonly bytes: string; readonly sha256: string }[]
  readonly policy: { readonly bytes: string; readonly sha256: string; readonly signature: string }
  readonly policy_set: { readonly bytes: string; readonly sha256: string; readonly empty_sha256: string }
  readonly attestation: { readonly bytes: string; readonly sha256: string }
  readonly decision: { readonly bytes: string }
  readonly gates: readonly GateVector[]
}

export interface GateVector {
  readonly type: string
  readonly config: string
  /** JSON text of the fact at request_parameters.v; absent when there is none. */
  readonly value?: string
  readonly outcome: string
  readonly condition?: string
  readonly value_type?: string
}

/** Every policy vector against the given protocol, in Node and in browsers. */
export async function checkPolicyVectors(vectors: PolicyVectors, protocol: typeof Protocol): Promise<CheckResult> {
  const failures: string[] = []
  let passed = 0
  const expectEqual = (name: string, seen: string, wanted: string): void => {
    if (seen === wanted) passed += 1
    else failures.push(`${name}: gave ${seen} instead of ${wanted}`)
  }
  for (const { name, bytes, sha256 } of vectors.contexts)
    expectEqual(name, protocol.digestOf(protocol.readJson(bytes)), sha256)
  await checkExample(vectors, protocol, expectEqual)
  for (const vector of vectors.gates) checkGate(vector, vectors, protocol, expectEqual)
  return { passed, failures }
}

type Expect = (name: string, seen: string, wanted: string) => void

/** E7 is read, verified and resolved; E6, E7 and E9 together give the binding of E11. */
async function checkExample(vectors: PolicyVectors, protocol: typeof Protocol, expectEqual: Expect): Promise<void> {
  const { policy, attestation, key, now } = vectors
  const signature = `,"signature":{"key_id":"${key.key_id}","sig":"${policy.signature}"}}`
  const row = {
    policy_id: 'vendor-apps',
    version: 3,
    policy_json: policy.bytes.replace(/\}$/, signature),
    policy_digest: policy.sha256,
  }
  const checked = await protocol.checkStoredPolicy(row, [key.public_key])
  expectEqual('E7 is ready', String(checked.problem), 'undefined')
  expectEqual('E7 digest', checked.ready?.policy_digest ?? '', policy.sha256)
  expectEqual('E8 empty set', protocol.digestOf([]), vectors.policy_set.empty_sha256)
  const record = protocol.readJson(attestation.bytes) as unknown as Protocol.Attestation
  const basis: Protocol.AttestationBasis = {
    kind: 'attestation',
    attestation_id: record.attestation_id,
    failure: undefined,
    found: true,
    attestation: record,
    isVerified: true,
    requester: record.subject_id,
    attestation_digest: attestation.sha256,
    revocation_seq_checked: 0,
  }
  const context = protocol.readJson(vectors.contexts[1]?.bytes ?? '') as unknown as Protocol.ContextFacts
  const instant = protocol.readInstant(now) ?? 0n
  const evaluation = protocol.evaluateBoundary({ basis, context, policies: [checked], now: instant })
  const wanted = protocol.readJson(vectors.decision.bytes) as unknown as {
    readonly policy_binding: Protocol.JsonObject
    readonly gate_results: readonly { readonly gate_name: string; readonly passed: boolean }[]
  }
  const { policy_binding } = evaluation
  expectEqual('E8 set digest', policy_binding.policy_set_digest, vectors.policy_set.sha256)
  expectEqual('E11 binding', protocol.canonicalJson(policy_binding), protocol.canonicalJson(wanted.policy_binding))
  const names = (results: readonly { readonly gate_name: string; readonly passed: boolean }[]): string =>
    results.map(({ gate_name, passed }) => `${gate_name} ${passed}`).join()
  expectEqual('E11 gates', names(evaluation.steps), names(wanted.gate_results))
  expectEqual('E11 verdict', `${evaluation.authorized} ${evaluation.denial_reason}`, 'true null')
}

function checkGate(vector: GateVector, vectors: PolicyVectors, protocol: typeof Protocol, expectEqual: Expect): void {
  const name = `5.8 ${vector.type} ${vector.config} with ${vector.value ?? 'nothing'}`
  const config = protocol.readJson(vector.config) as Protocol.JsonObject
  const situation = { gate_name: 'vector/gate', isDenied: false }
  const reading = protocol.GATE_TYPES.get(vector.type)?.prepare(config)(factsFor(vector, vectors, protocol), situation)
  expectEqual(name, reading?.outcome ?? 'unregistered', vector.outcome)
  if (reading === undefined) return
  if (vector.condition !== undefined)
    expectEqual(`${name}: condition`, protocol.canonicalJson(reading.condition), vector.condition)
  if (vector.value_type !== undefined) expectEqual(`${name}: type`, reading.type, vector.value_type)
}

function factsFor(vector: GateVector, vectors: PolicyVectors, protocol: typeof Protocol): Protocol.Facts {
  const context = protocol.readJson(vectors.contexts[1]?.bytes ?? '') as unknown as Protocol.ContextFacts
  const parameters = vector.value === undefined ? {} : { v: protocol.readJson(vector.value) }
  const attestation = protocol.readJson(vectors.attestation.bytes) as unknown as Protocol.Attestation
  return { context: { ...context, request_parameters: parameters }, attestation }
}
