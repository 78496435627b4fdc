import { createHash } from 'node:crypto'
import { asJson, DAY, draftAttestation, HOUR, signList, writeInstant } from '@chancery/protocol'
import type { Instant, JsonObject, Signer } from '@chancery/protocol'
import { testSigner } from '@chancery/testkit'
import type { Random } from '../lib/random.ts'

/** Random requests of the histories of evidence packs. */

const CAPABILITIES = ['secret.rotate', 'ledger.read', 'cargo.track'] as const
const PARTNERS = ['BETA-NET', 'GAMMA-NET'] as const
/** Texts that a careless page would run. */
const NAMES = ['vendor-1', '</script><b>x', 'Zoë 中', 'a"b\\c', '<!--', '\u202edrowssap'] as const
const RULES = '@id("few") permit (principal, action, resource) when { context.request_parameters.amount <= 500 };\n'
const SCHEMA = `entity Member; entity Secret;
action "secret.rotate", "ledger.read", "cargo.track" appliesTo {
  principal: Member, resource: Secret, context: { request_parameters: { amount: Long, id: String } }
};
`

/** The keys of the partners, by name. */
export async function openPartners(): Promise<ReadonlyMap<string, Signer>> {
  const partners = new Map<string, Signer>()
  for (const name of PARTNERS) partners.set(name, await testSigner(`na-${name}`, name))
  return partners
}

export function memberRequest(random: Random): JsonObject {
  const claims = { capabilities: CAPABILITIES.slice(0, 1 + random.below(3)), limit: random.below(2000) }
  const validity_hours = 24 * (2 + random.below(30))
  return { subject_id: random.pick(NAMES), roles: ['role:client'], claims, validity_hours }
}

export function decisionRequest(random: Random): JsonObject & { readonly requested_capability: string } {
  const context = { request_parameters: { amount: random.below(1500), id: random.pick(NAMES) } }
  return { requested_capability: random.pick(CAPABILITIES), context }
}

/** One of four policies; the last one has a Cedar gate. */
export function policyIntent(random: Random, now: Instant): JsonObject & { readonly policy_id: string } {
  const policy_id = `policy-${random.below(4)}`
  const isCedar = policy_id === 'policy-3'
  const limit = {
    gate_type: 'max_value.v1',
    config: { path: 'request_parameters.amount', max: 100 * random.below(12) },
  }
  return {
    policy_id,
    description: random.pick(NAMES),
    valid_from: writeInstant(now - HOUR),
    valid_until: writeInstant(now + 300n * DAY),
    gates: [
      { gate_id: 'limit', order: 0, mode: random.pick(['enforce', 'observe']), ...(isCedar ? CEDAR_GATE : limit) },
    ],
    ...(isCedar ? { texts: [RULES, SCHEMA] } : {}),
  }
}

const CEDAR_GATE = {
  gate_type: 'cedar.v1',
  config: {
    policy_set_digest: sha256(RULES),
    schema_digest: sha256(SCHEMA),
    principal: { type: 'Member', id: 'requester_sovereign_id' },
    action: { type: 'Action', id: 'requested_capability' },
    resource: { type: 'Secret', id: 'request_parameters.id' },
    context: ['request_parameters'],
  },
}

export function treatyRequest(random: Random, partners: ReadonlyMap<string, Signer>): JsonObject {
  const name = random.pick(PARTNERS)
  return {
    subject_sovereign_id: name,
    subject_public_keys: [partners.get(name)?.publicKey ?? ''],
    scope: { allowed_roles: ['role:client'], claims: { capabilities: ['ledger.*', 'secret.*'] } },
    validity_hours: 24 * (5 + random.below(60)),
  }
}

export function agreementRequest(random: Random, now: Instant): JsonObject {
  return {
    responder_sovereign_id: random.pick(PARTNERS),
    capabilities: ['ledger.read'],
    valid_from: writeInstant(now - HOUR),
    valid_until: writeInstant(now + 20n * DAY),
    expires_at: writeInstant(now + 20n * DAY),
  }
}

/** An attestation of a partner; some have another role or have expired. */
export async function partnerAttestation(
  random: Random,
  partners: ReadonlyMap<string, Signer>,
  now: Instant,
): Promise<JsonObject> {
  const name = random.pick(PARTNERS)
  const signer = partners.get(name) as Signer
  const draft = draftAttestation({
    attestation_id: `${name}-${random.next()}`,
    issuer_sovereign_id: name,
    subject_id: random.pick(NAMES),
    subject_public_key: null,
    roles: [random.chance(90) ? 'role:client' : 'role:other'],
    claims: { capabilities: [...CAPABILITIES] },
    issued_by: signer.keyId,
    now: now - 2n * HOUR,
    validityHours: random.chance(90) ? 48 : 1,
  })
  return asJson(await signList(draft, signer))
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
