import { randomBytes, randomUUID } from 'node:crypto'
import {
  agreementRecordForm,
  asJson,
  boundaryDecisionForm,
  hours,
  seedSigner,
  signForm,
  writeInstant,
  writeJson,
} from '@chancery/protocol'
import type { AgreementRecord, BoundaryDecision, Instant, Signer } from '@chancery/protocol'

export function newSigner(name: string): Promise<Signer> {
  return seedSigner(name, randomBytes(32).toString('base64'))
}

function now(): Instant {
  return BigInt(Date.now()) * 1000n
}

/** A grant of three gates, as the authority makes them, signed by this key. */
export async function decisionBody(signer: Signer): Promise<string> {
  const draft: BoundaryDecision = {
    decision_id: randomUUID(),
    context_id: randomUUID(),
    agreement_id: randomUUID(),
    authorized: true,
    denial_reason: null,
    gate_results: ['capability_check', 'validity_window', 'freshness_check'].map((gate_name) => ({
      gate_name,
      passed: true,
      detail: 'ok',
    })),
    decision_made_at: writeInstant(now()),
    decision_valid_until: writeInstant(now() + hours(1)),
    operator_sovereign_id: 'bench-network',
    freshness_proof: null,
    signature: null,
  }
  const decision = asJson(await signForm(boundaryDecisionForm, draft, signer))
  return writeJson({ decision, operator_public_keys: [signer.publicKey] })
}

function draftAgreement(
  capabilities: readonly string[],
  evidence: AgreementRecord['offerer_evidence'],
): AgreementRecord {
  const valid_until = writeInstant(now() + hours(24))
  return {
    agreement_id: randomUUID(),
    offer_id: randomUUID(),
    offerer_sovereign_id: 'offerer-net',
    responder_sovereign_id: 'responder-net',
    agreed_terms: { capabilities, scope: {}, valid_from: writeInstant(now()), valid_until, freshness_commitment: 0 },
    offerer_evidence: evidence,
    responder_evidence: { verdict: 'allow' },
    graph_digest: '0'.repeat(64),
    established_at: writeInstant(now()),
    expires_at: valid_until,
    signatures: [],
  }
}

/** An agreement of two parties, responder first: the order in which it is signed. */
export async function agreementBody(offerer: Signer, responder: Signer): Promise<string> {
  const draft = draftAgreement(['ledger.read', 'ledger.append'], { verdict: 'allow', evidence_id: randomUUID() })
  const once = await signForm(agreementRecordForm, draft, responder)
  const agreement = asJson(await signForm(agreementRecordForm, once, offerer))
  const keys = { offerer_public_keys: [offerer.publicKey], responder_public_keys: [responder.publicKey] }
  return writeJson({ agreement, ...keys })
}

/**
 * The most expensive request of an unauthenticated caller to /agreements/verify: eight signatures against 64 keys of
 * each party, of which only the last one fits, over a record as large as a request may be.
 */
export async function worstBody(bytes: number): Promise<string> {
  const strangers = await Promise.all(Array.from({ length: 126 }, (_, n) => newSigner(`stranger-${n}`)))
  const signers = await Promise.all(Array.from({ length: 8 }, (_, n) => newSigner(`signer-${n}`)))
  const capabilities = Array.from({ length: 1024 }, (_, n) => `capability-${n}`)
  // Quotes are escaped on the wire and in the signed bytes, so this is the most expensive text.
  const members = Object.fromEntries(Array.from({ length: 9000 }, (_, n) => [`member-${n}`, n]))
  let record = draftAgreement(capabilities, { members, text: '"'.repeat(Math.floor((bytes - 300_000) / 2)) })
  for (const signer of signers) record = await signForm(agreementRecordForm, record, signer)
  const last = signers.at(-1)?.publicKey ?? ''
  const keys = strangers.map(({ publicKey }) => publicKey)
  return writeJson({
    agreement: asJson(record),
    offerer_public_keys: [...keys.slice(0, 63), last],
    responder_public_keys: [...keys.slice(63), last],
  })
}
