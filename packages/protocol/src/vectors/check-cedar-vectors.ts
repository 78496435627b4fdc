import type * as Protocol from '../index.ts'
import type { CheckResult } from './cases.ts'

/** The shape of `cedar.json`: golden results of cedar.v1. */
export interface CedarVectors {
  readonly engine_version: string
  readonly schema: string
  readonly policy_sets: { readonly [name: string]: string }
  /** JSON text of the context without request_parameters. */
  readonly context: string
  readonly cases: readonly CedarVector[]
}

export interface CedarVector {
  readonly name: string
  /** One of `policy_sets`. */
  readonly policy_set: string
  readonly config: string
  readonly parameters: string
  /** Another time than that of the context. */
  readonly requested_at?: string
  /** Canonical bytes of what Cedar is asked; absent when no request can be made. */
  readonly request?: string
  readonly request_sha256?: string
  /** What Cedar answers; absent when it is not asked. */
  readonly answer?: CedarVectorAnswer
  readonly outcome: string
  /** Canonical bytes of the inputs in the trace. */
  readonly inputs: string
}

export type CedarVectorAnswer =
  | { readonly decision: string; readonly reason: readonly string[]; readonly errors: readonly string[] }
  | { readonly failure: string }

/** Every vector against the given protocol, in Node and in browsers. The answers are those of the vectors. */
export function checkCedarVectors(vectors: CedarVectors, protocol: typeof Protocol): CheckResult {
  const failures: string[] = []
  let passed = 0
  const expectEqual = (name: string, seen: string, wanted: string): void => {
    if (seen === wanted) passed += 1
    else failures.push(`${name}: gave ${seen} instead of ${wanted}`)
  }
  for (const vector of vectors.cases) {
    const { name, request, request_sha256, answer, outcome, inputs } = vector
    const question = cedarQuestionOf(vector, vectors, protocol)
    expectEqual(
      `${name}: request`,
      question === undefined ? '' : protocol.canonicalJson(question.request),
      request ?? '',
    )
    if (request_sha256 !== undefined)
      expectEqual(`${name}: digest`, question === undefined ? '' : protocol.digestOf(question.request), request_sha256)
    const answers =
      question === undefined || answer === undefined
        ? new Map<string, Protocol.EngineAnswer>()
        : new Map([[question.digest, toAnswer(answer, vectors.engine_version)]])
    const config = protocol.readJson(vector.config) as Protocol.JsonObject
    const facts = { ...factsOf(vector, vectors, protocol), answers }
    const reading = protocol.GATE_TYPES.get('cedar.v1')?.prepare(config)(facts, {
      gate_name: 'vector/gate',
      isDenied: false,
    })
    expectEqual(`${name}: outcome`, reading?.outcome ?? 'unregistered', outcome)
    expectEqual(`${name}: inputs`, protocol.canonicalJson(reading?.inputs ?? {}), inputs)
  }
  return { passed, failures }
}

/** Returns what the gate of a vector asks Cedar. */
export function cedarQuestionOf(
  vector: CedarVector,
  vectors: CedarVectors,
  protocol: typeof Protocol,
): Protocol.CedarQuestion | undefined {
  const config = protocol.readJson(vector.config) as Protocol.JsonObject
  const question = protocol.GATE_TYPES.get('cedar.v1')?.prepareQuestion?.(config)(factsOf(vector, vectors, protocol))
  return question?.kind === 'cedar' ? question : undefined
}

/** Returns the answer of a vector as the engine gives it. */
export function toAnswer(answer: CedarVectorAnswer, engine_version: string): Protocol.EngineAnswer {
  const given =
    'failure' in answer ? { kind: 'none', engine_version, ...answer } : { kind: 'cedar', engine_version, ...answer }
  return given as Protocol.EngineAnswer
}

function factsOf(
  { parameters, requested_at }: CedarVector,
  { context }: CedarVectors,
  protocol: typeof Protocol,
): Protocol.Facts {
  const common = protocol.readJson(context) as unknown as Protocol.ContextFacts
  const request_parameters = protocol.readJson(parameters) as Protocol.JsonObject
  return {
    context: { ...common, request_parameters, ...(requested_at === undefined ? {} : { requested_at }) },
    attestation: undefined,
  }
}
