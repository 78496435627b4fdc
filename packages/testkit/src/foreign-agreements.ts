import { randomUUID } from 'node:crypto'
import { type Instant, hours, writeInstant } from '@chancery/protocol'
import type { ForeignObject, ForeignSovereign, ForeignValue } from './foreign-sovereign.ts'

/** What a counter and a record sign, from the text of protocol/trust-operations 3.4. */
const AGREED = [
  'agreed_terms',
  'graph_digest',
  'offer_id',
  'offerer_evidence',
  'offerer_sovereign_id',
  'responder_evidence',
  'responder_sovereign_id',
]

/** Adds each signer's signature over the seven agreed members. */
export function signAgreed(
  record: ForeignObject,
  ...signers: readonly Pick<ForeignSovereign, 'sign'>[]
): ForeignObject {
  const body = Object.fromEntries(AGREED.map((name) => [name, record[name] ?? null]))
  const added = signers.flatMap((signer) => signer.sign(body)['signatures'] as readonly ForeignValue[])
  return { ...record, signatures: [...((record['signatures'] ?? []) as readonly ForeignValue[]), ...added] }
}

export function foreignTerms(now: Instant, changes: ForeignObject = {}): ForeignObject {
  return {
    capabilities: ['ledger.read', 'ledger.append'],
    scope: {},
    valid_from: writeInstant(now - hours(1)),
    valid_until: writeInstant(now + hours(24)),
    freshness_commitment: 0,
    ...changes,
  }
}

/** An offer of another sovereign, signed by it. */
export function foreignOffer(
  offerer: ForeignSovereign,
  responder: string,
  now: Instant,
  changes: ForeignObject = {},
): ForeignObject {
  return offerer.sign({
    offer_id: randomUUID(),
    offerer_sovereign_id: offerer.sovereign_id,
    responder_sovereign_id: responder,
    requested_terms: foreignTerms(now),
    graph_digest: '0'.repeat(64),
    offerer_evidence: { verdict: 'allow' },
    expires_at: writeInstant(now + hours(1)),
    created_at: writeInstant(now),
    ...changes,
  })
}

/** The responder's answer to an offer, signed by it. */
export function foreignCounter(
  responder: ForeignSovereign,
  offer: ForeignObject,
  now: Instant,
  changes: ForeignObject = {},
): ForeignObject {
  const copied = ['offer_id', 'offerer_sovereign_id', 'responder_sovereign_id', 'graph_digest', 'offerer_evidence']
  const record = {
    ...Object.fromEntries(copied.map((name) => [name, offer[name] ?? null])),
    agreed_terms: foreignTerms(now, { capabilities: ['ledger.read'] }),
    responder_evidence: { verdict: 'allow' },
    expires_at: offer['expires_at'] ?? null,
    ...changes,
  }
  return signAgreed(record, responder)
}

/** An agreement of both parties, not signed yet. */
export function foreignAgreement(
  parties: { readonly offerer: string; readonly responder: string },
  now: Instant,
  changes: ForeignObject = {},
): ForeignObject {
  const terms = (changes['agreed_terms'] ?? foreignTerms(now)) as ForeignObject
  return {
    agreement_id: randomUUID(),
    offer_id: randomUUID(),
    offerer_sovereign_id: parties.offerer,
    responder_sovereign_id: parties.responder,
    agreed_terms: terms,
    offerer_evidence: { verdict: 'allow' },
    responder_evidence: { verdict: 'allow' },
    graph_digest: '0'.repeat(64),
    established_at: writeInstant(now),
    expires_at: terms['valid_until'] ?? null,
    ...changes,
  }
}
