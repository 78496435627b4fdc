import { Refusal } from '@chancery/contract'
import { FormError, assessAttestation, isJsonObject, readSupposedRequest, shape } from '@chancery/protocol'
import type { AttestationFacts, Facts, Instant, JsonObject, JsonValue } from '@chancery/protocol'
import type { BoundaryPoliciesParts } from './parts.ts'
import { readMember } from '../../requests/read-fields.ts'
import { listDecidedContexts } from '../evidence/index.ts'

/** Maximum number of requests in one simulation. Each costs two evaluations. */
const MAX_REQUESTS = 1000

/** A request to evaluate under two sets of policies. */
export interface SimulationInput {
  readonly facts: Facts
  readonly at: Instant
  /** Position in the evidence store, for a stored decision. */
  readonly store_sequence?: number
}

/** The requests of a simulation: `contexts` as sent, or the `decisions` of a range of the evidence store. */
export async function readSimulatedRequests(
  body: JsonObject,
  parts: BoundaryPoliciesParts,
): Promise<readonly SimulationInput[]> {
  const [contexts, decisions] = [body['contexts'], body['decisions']]
  if (decisions === undefined) return readContexts(contexts, parts)
  if (contexts !== undefined || !isJsonObject(decisions)) throw new Refusal('invalid_input', { field: 'decisions' })
  return readDecisions(decisions, parts)
}

function readContexts(value: JsonValue | undefined, parts: BoundaryPoliciesParts): readonly SimulationInput[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_REQUESTS)
    throw new Refusal('invalid_input', { field: 'contexts' })
  const absent = { provider: parts.network.name, now: parts.clock.now() }
  return (value as readonly JsonValue[]).map((each, index) => {
    try {
      return readSupposedRequest(each, absent)
    } catch (error) {
      if (!(error instanceof FormError)) throw error
      throw new Refusal('invalid_context', { field: `contexts[${index}].${error.field}` }, { cause: error })
    }
  })
}

/** Returns stored decisions as requests under the current policies. Claims come from the attestations as stored now. */
async function readDecisions(range: JsonObject, parts: BoundaryPoliciesParts): Promise<readonly SimulationInput[]> {
  if (!parts.settings.evidenceStore) throw new Refusal('evidence_store_disabled')
  const after = readMember(range['after_sequence'], 0, shape.integer(0, Number.MAX_SAFE_INTEGER), 'invalid_page')
  const limit = readMember(range['limit'], MAX_REQUESTS, shape.integer(1, MAX_REQUESTS), 'invalid_page')
  const found = await listDecidedContexts(parts.database.read, { after, limit })
  const attested = new Map<string, AttestationFacts | undefined>()
  const at = parts.clock.now()
  const out: SimulationInput[] = []
  for (const { context, store_sequence } of found) {
    const id = context.attestation_id
    if (id !== undefined && !attested.has(id)) attested.set(id, await attestationFacts(parts, id))
    out.push({ facts: { context, attestation: id === undefined ? undefined : attested.get(id) }, at, store_sequence })
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
