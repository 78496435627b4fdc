import { type JsonObject, type RecordKindName, readJson, writeJson } from '@chancery/protocol'
import {
  FloatNumber,
  accepted,
  foreignAttestation,
  foreignFeed,
  foreignSovereign,
  foreignTreaty,
  wireText,
} from '@chancery/testkit'
import type { ForeignObject, TestAuthority } from '@chancery/testkit'
import type { Random } from '../lib/random.ts'
import { type Route, type Target, provedText } from './targets.ts'

const partner = foreignSovereign('PARTNER-NET')
const third = foreignSovereign('THIRD-NET')
const ROLES = ['role:client', 'role:guest']

/** Records of a partner that independent code signed, with every member and unusual claims. */
export async function foreignTargets(na: TestAuthority, random: Random): Promise<readonly Target[]> {
  const now = na.core.clock.now()
  const ownTreaty = await recognise(na)
  const claims = {
    limit: new FloatNumber(90),
    whole: 90,
    note: `Zoë ${random.next()}`,
    list: ['a', 1, null, true],
    deep: { '\u{1f600}': 2, '\ue000': 1 },
  }
  const attestation = foreignAttestation(partner, now, {
    subject_public_key: third.publicKey,
    roles: ROLES,
    claims,
  })
  const treaty = foreignTreaty(partner, third, now, {
    subject_public_keys: [third.publicKey, partner.publicKey],
    scope: { allowed_roles: ['role:client'], accepted_statuses: ['active', 'suspended'], claims },
    metadata: claims,
  })
  const entry = { sovereign_id: 'PARTNER-NET', public_keys: [partner.publicKey], allowed_roles: ROLES }
  const policy = writeJson({ local_sovereign_id: 'TEST-NET', recognized_issuers: [entry] })
  const member = wireText(foreignAttestation(third, now))
  const keys = writeJson([partner.publicKey])
  const target = (kind: RecordKindName, record: ForeignObject, routes: readonly Route[]): Target => ({
    kind,
    record: readJson(wireText(record)) as JsonObject,
    trust: { keys: [partner.publicKey], validatorKeys: new Map(), now },
    partOf: (value) => provedText(kind, value),
    routes,
  })
  const route = (path: string, bodyOf: Route['bodyOf']): Route => ({ path, bodyOf })
  return [
    target('membership-attestation', attestation, [
      route('/attestations/verify', (text) => `{"attestation":${text},"recognition_policy":${policy}}`),
      route('/attestations/verify-with-treaty', (text) => `{"attestation":${text},"treaty":${ownTreaty}}`),
    ]),
    target('recognition-treaty', treaty, [
      route('/recognition-treaties/verify', (text) => `{"treaty":${text},"issuer_public_keys":${keys}}`),
      route('/recognition-treaties/verify', (text) => `{"treaty":${text}}`),
      route(
        '/attestations/verify-with-treaty',
        (text) => `{"attestation":${member},"treaty":${text},"treaty_issuer_public_keys":${keys}}`,
      ),
    ]),
    feedTarget(target),
  ]
}

/** An accepted feed uses its sequence, so the unchanged feed is sent with the sequence before. */
function feedTarget(target: (kind: RecordKindName, record: ForeignObject, routes: readonly Route[]) => Target): Target {
  const ids = ['a-1', 'b-ë', 'c-\ue000', 'c-\u{1f600}']
  const reasons = { revocation_reasons: { 'a-1': 'left', 'c-\u{1f600}': 'grüße' } }
  const [untouched, record] = [1, 2].map((sequence) => foreignFeed(partner, sequence, ids, reasons)) as [
    ForeignObject,
    ForeignObject,
  ]
  const unchanged = writeJson(readJson(wireText(record)))
  return target('sovereign-revocation-feed', record, [
    {
      path: '/admin/sovereign-revocation-feeds/import',
      isOperators: true,
      bodyOf: (text) => `{"feed":${text === unchanged ? wireText(untouched) : text}}`,
    },
  ])
}

/** The text of the treaty by which the authority recognises the partner. */
async function recognise(na: TestAuthority): Promise<string> {
  const scope = { allowed_roles: ROLES, accepted_statuses: ['active'] }
  const body = { subject_sovereign_id: 'PARTNER-NET', subject_public_keys: [partner.publicKey], scope }
  const answer = await na.as('privileged')('POST', '/admin/recognition-treaties', body)
  accepted(answer, 201)
  return answer.text
}
