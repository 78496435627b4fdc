import { type Instant, hours, writeInstant } from '@chancery/protocol'
import { foreignAgreement } from './foreign-agreements.ts'
import { foreignAttestation, foreignTreaty } from './foreign-records.ts'
import { foreignSovereign, wireText } from './foreign-sovereign.ts'
import type { ForeignObject, ForeignSovereign, ForeignValue } from './foreign-sovereign.ts'
import { foreignConsensus, foreignIntent, foreignLicense, foreignVote } from './foreign-trust-records.ts'

/** What makes a body large: one long text, or as many small values as a body may have. */
export type Filling =
  | { readonly kind: 'text'; readonly bytes: number }
  | { readonly kind: 'values'; readonly count: number }

const ABOUT = { proof_id: 'proof-1', decision_id: 'decision-1' }

/**
 * For each verify route the body that costs most: as many keys and signatures as it reads, all well-formed and none of
 * them good where that would end the search, and free content in the place that is canonicalised or at least read.
 */
export function costlyVerifications(now: Instant, filling?: Filling): ReadonlyMap<string, string> {
  const signers = Array.from({ length: 64 }, (_, n) => foreignSovereign('COSTLY-NET', `costly-${n}`))
  const keys = signers.map(({ publicKey }) => publicKey)
  const signatures = signers.slice(0, 8).map((signer, n) => strangeSignature(signer, n))
  const free = filling === undefined ? {} : fill(filling)
  const [by] = signers as [ForeignSovereign]
  const attestation = { ...foreignAttestation(by, now), signatures }
  const treaty = {
    ...foreignTreaty(by, { sovereign_id: 'COSTLY-NET', publicKey: by.publicKey }, now, {
      issuer_sovereign_id: 'TREATY-NET',
      subject_public_keys: keys.slice(0, 16),
    }),
    signatures,
  }
  const issuer = { sovereign_id: 'COSTLY-NET', public_keys: keys.slice(0, 16), allowed_roles: ['role:client'] }
  const bodies: Readonly<Record<string, ForeignObject>> = {
    '/trust-evidence/verify': { evidence: { ...evidence(now, free), signatures }, issuer_public_keys: keys },
    '/agreements/verify': {
      agreement: { ...foreignAgreement(PARTIES, now, { offerer_evidence: free }), signatures },
      offerer_public_keys: keys,
      responder_public_keys: keys.toReversed(),
    },
    '/recognition-treaties/verify': { treaty, issuer_public_keys: keys.slice(0, 16), free },
    '/attestations/verify-with-treaty': {
      treaty,
      attestation,
      treaty_issuer_public_keys: keys.slice(0, 16),
      free,
    },
    '/attestations/verify': {
      attestation,
      recognition_policy: { local_sovereign_id: 'LOCAL-NET', recognized_issuers: [issuer] },
      free,
    },
    '/consensus/verify': consensus(by, now, filling === undefined ? 64 : 1024),
    '/data-usage/verify': {
      intent: foreignIntent(by, now),
      policy: foreignLicense(by, now),
      agent_public_keys: keys.toReversed(),
      policy_public_keys: keys.toReversed(),
      free,
    },
  }
  return new Map(Object.entries(bodies).map(([path, body]) => [path, wireText(body)]))
}

const PARTIES = { offerer: 'A-NET', responder: 'B-NET' }

/** Good for another text: every check up to the equation passes. */
function strangeSignature(signer: ForeignSovereign, n: number): ForeignValue {
  const [signature] = signer.sign({ other: n })['signatures'] as readonly ForeignValue[]
  return signature ?? null
}

function evidence(now: Instant, metadata: ForeignObject): ForeignObject {
  return {
    evidence_id: 'e-1',
    issuer_sovereign_id: 'COSTLY-NET',
    source_sovereign_id: 'COSTLY-NET',
    target_sovereign_id: 'OTHER-NET',
    verdict: 'allow',
    reason: '',
    requested_roles: [],
    trusted: true,
    hop_count: 1,
    signals: [],
    graph_digest: '0'.repeat(64),
    evaluated_at: writeInstant(now - hours(1)),
    issued_at: writeInstant(now - hours(1)),
    issued_by: 'x',
    metadata,
  }
}

/** Every vote is good, so every vote is verified. */
function consensus(assembler: ForeignSovereign, now: Instant, count: number): ForeignObject {
  const validator = foreignSovereign('VOTING-NET')
  const votes = Array.from({ length: count }, () => foreignVote(validator, ABOUT, now))
  const changes = { votes, validator_sovereign_ids: ['VOTING-NET'], required_threshold: 1 }
  return {
    proof: foreignConsensus(assembler, ABOUT, now, changes),
    assembler_public_keys: [assembler.publicKey],
    validator_public_keys: { 'VOTING-NET': validator.publicKey },
  }
}

function fill(filling: Filling): ForeignObject {
  if (filling.kind === 'text') return { text: 'a'.repeat(filling.bytes) }
  const values = Array.from({ length: Math.floor(filling.count / 3) }, (_, n) => ({ [`name ${n}`]: n, b: 'é' }))
  return { values }
}
