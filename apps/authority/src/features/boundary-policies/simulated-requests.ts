import { Refusal } from '@chancery/contract'
import {
  FormError,
  assessAttestation,
  isJsonObject,
  readSupposedRequest,
  shape,
  supposedFact,
} from '@chancery/protocol'
import type {
  AskedQuestion,
  AttestationFacts,
  EngineAnswer,
  Facts,
  Instant,
  JsonObject,
  JsonValue,
  Scalar,
} from '@chancery/protocol'
import type { BoundaryPoliciesParts } from './active-set.ts'
import { refuseLargeContext } from '../../requests/context-size.ts'
import { readMember } from '../../requests/read-fields.ts'
import { type DecisionRange, listDecidedContexts } from '../evidence/index.ts'

/** Maximum number of requests in one simulation. Each costs two evaluations. */
const MAX_REQUESTS = 1000

/** A request to evaluate under two sets of policies. */
export interface SimulationInput {
  readonly facts: Facts
  readonly at: Instant
  /** The supposed or recorded answer of another system; undefined when there is none. */
  readonly externalFact: (asked: AskedQuestion) => EngineAnswer | undefined
  /** Position in the evidence store, for a stored decision. */
  readonly store_sequence?: number
}

/** The changed results to return: a number of them after a position, over the newest decisions of the first page. */
export interface SampleRange {
  readonly limit: number
  readonly after: number
  /** Position of the newest decision of the first page; undefined on the first page. */
  readonly through: number | undefined
}

const MAX_SAMPLE = 200

export function readSample(body: JsonObject): SampleRange {
  const limit = readMember(body['sample_limit'], 20, shape.integer(1, MAX_SAMPLE), 'invalid_page')
  const cursor = readMember(body['sample_cursor'], undefined, shape.string, 'invalid_page')
  if (cursor === undefined) return { limit, after: -1, through: undefined }
  const [, through, after] = /^(0|[1-9][0-9]{0,14})\.(0|[1-9][0-9]{0,2})$/.exec(cursor) ?? []
  if (through === undefined || after === undefined) throw new Refusal('invalid_page', { field: 'sample_cursor' })
  return { limit, after: Number(after), through: Number(through) }
}

/** The requests of a simulation: `contexts` as sent, or the `decisions` of a range of the evidence store. */
export async function readSimulatedRequests(
  body: JsonObject,
  parts: BoundaryPoliciesParts,
  sample: SampleRange,
): Promise<readonly SimulationInput[]> {
  const [contexts, decisions] = [body['contexts'], body['decisions']]
  if (decisions === undefined) return readContexts(contexts, parts)
  if (contexts !== undefined || !isJsonObject(decisions)) throw new Refusal('invalid_input', { field: 'decisions' })
  return readDecisions(readRange(decisions, sample), parts)
}

function readContexts(value: JsonValue | undefined, parts: BoundaryPoliciesParts): readonly SimulationInput[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_REQUESTS)
    throw new Refusal('invalid_input', { field: 'contexts' })
  const absent = { provider: parts.network.name, now: parts.clock.now() }
  return (value as readonly JsonValue[]).map((each, index) => {
    refuseLargeContext(each, `contexts[${index}]`)
    try {
      const { facts, at, external_facts } = readSupposedRequest(each, absent)
      return { facts, at, externalFact: (asked) => supposed(asked, external_facts, facts) }
    } catch (error) {
      if (!(error instanceof FormError)) throw error
      throw new Refusal('invalid_context', { field: `contexts[${index}].${error.field}` }, { cause: error })
    }
  })
}

function supposed(
  { gate_name, question }: AskedQuestion,
  given: ReadonlyMap<string, Scalar>,
  { context }: Facts,
): EngineAnswer | undefined {
  const answer = given.get(gate_name)
  if (question.kind !== 'external_fact' || answer === undefined) return undefined
  return supposedFact(question, answer, context.requested_at)
}

/** A range that begins at a position, or the newest decisions. */
function readRange(range: JsonObject, sample: SampleRange): DecisionRange {
  const limit = (name: string): number =>
    readMember(range[name], MAX_REQUESTS, shape.integer(1, MAX_REQUESTS), 'invalid_page')
  if (range['newest'] === undefined) {
    const after = readMember(range['after_sequence'], 0, shape.integer(0, Number.MAX_SAFE_INTEGER), 'invalid_page')
    return { after, limit: limit('limit') }
  }
  if (range['after_sequence'] !== undefined || range['limit'] !== undefined)
    throw new Refusal('invalid_input', { field: 'decisions' })
  // Later pages of the sample are about the same decisions, whatever was decided in the meantime.
  return { through: sample.through ?? Number.MAX_SAFE_INTEGER, limit: limit('newest') }
}

/** Returns stored decisions as requests under the current policies. Claims come from the attestations as stored now. */
async function readDecisions(range: DecisionRange, parts: BoundaryPoliciesParts): Promise<readonly SimulationInput[]> {
  if (!parts.settings.evidenceStore) throw new Refusal('evidence_store_disabled')
  const found = await listDecidedContexts(parts.database.read, range)
  const attested = new Map<string, AttestationFacts | undefined>()
  const at = parts.clock.now()
  const out: SimulationInput[] = []
  for (const { context, store_sequence, recordedFacts } of found) {
    const id = context.attestation_id
    if (id !== undefined && !attested.has(id)) attested.set(id, await attestationFacts(parts, id))
    const facts = { context, attestation: id === undefined ? undefined : attested.get(id) }
    out.push({ facts, at, store_sequence, externalFact: ({ question }) => recordedFacts.get(question.digest) })
  }
  return out
}

async function attestationFacts(
  parts: BoundaryPoliciesParts,
  attestation_id: string,
): Promise<AttestationFacts | undefined> {
  const state = await parts.attestations.reader.find(attestation_id)
  const asked = { attestation_id, requester: undefined }
  const { isVerified, attestation } = assessAttestation(asked, state?.stored, state?.checked)
  return isVerified ? attestation : undefined
}
