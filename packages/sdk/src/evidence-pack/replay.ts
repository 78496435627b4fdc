import {
  BOUNDARY_POLICY_FORM,
  FormError,
  boundaryDecisionForm,
  contextRecordForm,
  isJsonObject,
  justificationForm,
  readAttestation,
  readEventLine,
  readReceived,
  replayDecision,
  replayQuestions,
  sha256Hex,
} from '@chancery/protocol'
import type { AttestationFacts, CedarQuestion, EngineAnswer, Replay, StoredCase } from '@chancery/protocol'
import { type EvidencePack, EvidencePackError } from './format.ts'

/** Asks Cedar with the texts of the pack. */
export type AskCedar = (
  question: CedarQuestion,
  texts: { readonly policySet: string; readonly schema: string },
) => Promise<EngineAnswer>

/**
 * Computes the gates of an evidence pack again. Verify the pack first with `verifyPack`: a replay says whether the
 * decision follows from its records, not whether the records are genuine. Throws EvidencePackError.
 */
export async function replayPack(pack: EvidencePack, askCedar?: AskCedar): Promise<Replay> {
  const stored = readCase(pack)
  const texts = new Map(pack.policy_texts.map((text) => [sha256Hex(text), text]))
  const answers = new Map<string, EngineAnswer>()
  for (const { question } of replayQuestions(stored)) {
    if (question.kind !== 'cedar') continue
    const [policySet, schema] = [texts.get(question.policy_set_digest), texts.get(question.schema_digest)]
    const isHere = policySet !== undefined && schema !== undefined
    const failure = { kind: 'none', failure: isHere ? 'engine_unavailable' : 'text_unavailable' } as const
    const answer = isHere ? await askCedar?.(question, { policySet, schema }) : undefined
    answers.set(question.digest, answer ?? failure)
  }
  return replayDecision(stored, answers)
}

function readCase(pack: EvidencePack): StoredCase {
  try {
    const events = pack.entries.map((line) => readEventLine(line))
    const payloadOf = (kind: string) => events.find((event) => event?.entry.entry_kind === kind)?.payload ?? null
    const [made, proof] = [payloadOf('decision'), payloadOf('justification')]
    if (!isJsonObject(made)) throw new EvidencePackError('The pack has no decision.')
    if (proof === null) throw new EvidencePackError('The pack has no justification, so there is nothing to compare.')
    const decision = readReceived(boundaryDecisionForm, made['decision'] ?? null).record
    return {
      decision,
      context: readReceived(contextRecordForm, made['context'] ?? null).record,
      trace: readReceived(justificationForm, proof).record.trace.entries,
      policies: pack.policies.map((policy) => readReceived(BOUNDARY_POLICY_FORM, policy).record),
      attestation: attestationOf(pack, decision.operator_sovereign_id),
    }
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    throw new EvidencePackError(`A record of the pack cannot be read: ${error.message}.`, { cause: error })
  }
}

/** A partner's attestation gives no facts to policies (protocol/trust-operations 4.11). */
function attestationOf({ attestation }: EvidencePack, own: string): AttestationFacts | undefined {
  const record = attestation === null ? undefined : readAttestation(attestation)
  return record?.issuer_sovereign_id === own ? record : undefined
}
