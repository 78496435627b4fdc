// oxlint-disable max-lines -- every check of one route in its order
import {
  PROOF_V1,
  contentDigest,
  contextDigest,
  seconds,
  signatureBase,
  toBase64,
  toUtf8,
  writeInstant,
  writeJson,
  writeProofParameters,
} from '@chancery/protocol'
import type { CallerProof, ContextRecord, JoinCertificate, JsonObject, JsonValue } from '@chancery/protocol'
import {
  FloatNumber,
  ManualClock,
  accepted,
  enroll,
  foreignAttestation,
  foreignFeed,
  foreignSovereign,
  newNodeCaller,
  refused,
  startTestAuthority,
  wireText,
} from '@chancery/testkit'
import type { ForeignObject, NodeCaller, TestAuthority, TestResponse } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock('2026-01-02T03:04:05.678Z')
const SETTINGS = {
  NA_CLOCK_CHECK: 'off',
  NA_NODE_DECISIONS: 'partners',
  NA_DECISION_RELAY_ROLES: 'role:relay',
  EVIDENCE_STORE: 'on',
  NA_RATE_LIMIT_DECISION_PER_MINUTE: '6',
  NA_RATE_LIMIT_DECISION_FAILURES_PER_MINUTE: '3',
}
const partner = foreignSovereign('PARTNER-NET')
let na: TestAuthority
let treaty: JsonObject
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: SETTINGS })
  const body = {
    subject_sovereign_id: partner.sovereign_id,
    subject_public_keys: [partner.publicKey],
    scope: { allowed_roles: ['role:client'], claims: { capabilities: ['ledger.*'] } },
  }
  treaty = accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', body), 201)
  const feed = foreignFeed(partner, 4, [], { issued_at: writeInstant(clock.now()) })
  accepted(await na.as('privileged')('POST', '/admin/sovereign-revocation-feeds/import', { feed }))
})
afterAll(() => na.stop())

const audience = (): string => na.genesis.network_authority.public_key
let addresses = 0
/** Failures are counted per address. */
const newAddress = (): string => `127.7.${Math.floor((addresses += 1) / 250)}.${(addresses % 250) + 1}`

interface Member {
  readonly node: NodeCaller
  readonly certificate: JoinCertificate
  readonly attestation_id: string
}

async function member(roles = ['role:client']): Promise<Member> {
  const node = await newNodeCaller(na.url, 'ask', clock)
  const certificate = await enroll(na, node, { roles })
  return { node, certificate, attestation_id: await attest({ subject_public_key: node.key }) }
}

async function attest(members: JsonObject = {}): Promise<string> {
  const claims = { capabilities: ['ledger.read'] }
  const body = { subject_id: 'agent-7', roles: ['role:client'], validity_hours: 24, claims, ...members }
  const issued = accepted(await na.as('privileged')('POST', '/admin/attestations', body), 201)
  return String(issued['attestation_id'])
}

const post = (node: NodeCaller, members: JsonObject, from = newAddress()): Promise<TestResponse> =>
  node.post(
    '/boundary/request',
    { action: 'boundary-request', audience: audience(), requested_capability: 'ledger.read', ...members },
    { from },
  )
const ask = ({ node, certificate, attestation_id }: Member, members: JsonObject = {}, from?: string) =>
  post(node, { cert_id: certificate.cert_id, attestation_id, ...members }, from)

function present(node: NodeCaller, changes: ForeignObject = {}, issuer = partner): JsonObject {
  const claims = { capabilities: ['ledger.read'] }
  const attestation = foreignAttestation(issuer, clock.now(), { subject_public_key: node.key, claims, ...changes })
  return { presented: { attestation: attestation, issuer_sovereign_id: issuer.sovereign_id } }
}

const refusals = async (): Promise<readonly JsonValue[]> =>
  (await na.auditEvents('boundary_request_refused')).map((event) => (event['details'] as JsonObject)['code'] ?? null)
const entries = async (): Promise<JsonValue> =>
  accepted(await na.as('standard')('GET', '/admin/evidence/status'))['entries'] ?? null

const field = (value: JsonValue): string => `:${toBase64(toUtf8(writeJson(value)))}:`

async function callerProof({ node, certificate }: Member, nonce = crypto.randomUUID()): Promise<CallerProof> {
  const request = { method: 'POST', target: '/ledger' }
  const covered = {
    'content-digest': contentDigest(toUtf8('')),
    'chancery-audience': 'https://ledger.example',
    'chancery-certificate': field(certificate),
  }
  const created = Number(clock.now() / seconds(1))
  const parameters = writeProofParameters({ created, nonce, keyId: certificate.cert_id }, PROOF_V1)
  return {
    method: request.method,
    request_target: request.target,
    content_digest: covered['content-digest'],
    audience: covered['chancery-audience'],
    certificate: covered['chancery-certificate'],
    attestation: null,
    signature_input: `node=${parameters}`,
    signature: `node=:${toBase64(await node.signer.sign(signatureBase(request, covered, parameters, PROOF_V1)))}:`,
  }
}

describe('POST /boundary/request', () => {
  describe('201', () => {
    it('decides for a node, names the caller in the context, and stores the decision', async () => {
      const one = await member()
      const answer = accepted(await ask(one, { context: { context_id: 'ctx-1' } }), 201)
      const decision = answer['decision'] as JsonObject
      const context = answer['context'] as ContextRecord
      expect(decision).toMatchObject({ authorized: true, context_id: 'ctx-1' })
      expect(context.attributes).toEqual({
        chancery_request: {
          asked_by: 'node',
          node_public_key: one.node.key,
          cert_id: one.certificate.cert_id,
          audience: null,
          relayed_by: null,
        },
      })
      expect(decision['policy_binding']).toMatchObject({ context_digest: contextDigest(context) })
      const { decision_id } = decision
      const made = await na.auditEvents('boundary_attestation_decision_made')
      expect(made.at(-1)?.['details']).toMatchObject({
        decision_id,
        asked_by: 'node',
        cert_id: one.certificate.cert_id,
        issuer_sovereign_id: 'TEST-NET',
      })
      const found = accepted(await na.as('standard')('GET', `/admin/evidence?decision_id=${String(decision_id)}`))
      expect(found['entries']).toHaveLength(2)
    })

    it('decides for a member of a partner that has no certificate here', async () => {
      const node = await newNodeCaller(na.url, 'partner', clock)
      const answer = accepted(await post(node, present(node)), 201)
      expect(answer['decision']).toMatchObject({
        authorized: true,
        attestation_binding: { issuer_sovereign_id: 'PARTNER-NET', revocation_seq_checked: 4 },
      })
      expect(answer['context']).toMatchObject({
        requester_sovereign_id: 'PARTNER-NET',
        attributes: {
          chancery_recognition: { treaty_id: treaty['treaty_id'], feed_sequence: 4 },
          chancery_request: { asked_by: 'partner_node', cert_id: null },
        },
      })
    })

    it('takes the text of a presented attestation, as it is in the signed body', async () => {
      const node = await newNodeCaller(na.url, 'text', clock)
      const claims = { capabilities: ['ledger.read'], limit: new FloatNumber(100) }
      const text = wireText(foreignAttestation(partner, clock.now(), { subject_public_key: node.key, claims }))
      const presented = { issuer_sovereign_id: partner.sovereign_id, attestation_text: text }
      const { decision, context } = accepted(await post(node, { presented }), 201)
      expect(decision).toMatchObject({ authorized: true })
      expect(writeJson(context ?? null)).toContain('100.0')
      for (const attestation_text of ['{', '{} x', {}])
        refused(await post(node, { presented: { ...presented, attestation_text } }), 400, 'invalid_attestation')
      const both = { ...presented, attestation: JSON.parse(text) as JsonObject }
      refused(await post(node, { presented: both }), 400, 'invalid_attestation')
    })

    it('decides for the caller of a relay, once per proof', async () => {
      const [relay, caller] = [await member(['role:relay']), await member()]
      const on_behalf_of = await callerProof(caller)
      const members = { attestation_id: caller.attestation_id, on_behalf_of, context: { attributes: { region: 'eu' } } }
      const answer = accepted(await ask(relay, members), 201)
      expect((answer['context'] as JsonObject)['attributes']).toMatchObject({
        region: 'eu',
        chancery_request: {
          asked_by: 'relay',
          node_public_key: caller.node.key,
          audience: 'https://ledger.example',
          relayed_by: relay.certificate.cert_id,
        },
      })
      const replayed = refused(await ask(relay, members), 422, 'caller_proof_rejected')
      expect(replayed['details']).toEqual({ reason: 'replayed' })
    })

    it('takes nothing from a caller whose proof is replayed', async () => {
      const [relay, other, caller] = [await member(['role:relay']), await member(['role:relay']), await member()]
      const named = { attestation_id: caller.attestation_id }
      const spent = { ...named, on_behalf_of: await callerProof(caller) }
      accepted(await ask(relay, spent), 201)
      for (let tries = 0; tries < 8; tries += 1) refused(await ask(relay, spent), 422, 'caller_proof_rejected')
      accepted(await ask(other, { ...named, on_behalf_of: await callerProof(caller) }), 201)
    })

    it('repeats the stored answer for an idempotency key, with the proof of a caller as well', async () => {
      const [relay, caller] = [await member(['role:relay']), await member()]
      const on_behalf_of = await callerProof(caller)
      const members = { attestation_id: caller.attestation_id, on_behalf_of, idempotency_key: 'k-1' }
      const first = await ask(relay, members)
      accepted(first, 201)
      const before = await entries()
      expect((await ask(relay, members)).text).toBe(first.text)
      expect(await entries()).toBe(before)
      refused(await ask(relay, { ...members, requested_capability: 'ledger.append' }), 409, 'conflict')
      // A refused proof leaves the key free.
      const other = { ...members, idempotency_key: 'k-2' }
      refused(await ask(relay, other), 422, 'caller_proof_rejected')
      accepted(await ask(relay, { ...other, on_behalf_of: await callerProof(caller) }), 201)
    })

    it('signs denials', async () => {
      const one = await member()
      const path = `/admin/attestations/${one.attestation_id}/revoke`
      accepted(await na.as('privileged')('POST', path, { reason: 'left' }))
      expect(accepted(await ask(one), 201)['decision']).toMatchObject({ denial_reason: 'attestation_revoked' })
      const node = await newNodeCaller(na.url, 'denied', clock)
      expect(accepted(await post(node, present(node, { roles: ['role:x'] })), 201)['decision']).toMatchObject({
        denial_reason: 'attestation_role_not_allowed',
      })
    })
  })

  describe('refusals', () => {
    it.each<[string, JsonObject, string]>([
      ['an unknown member', { extra: 1 }, 'unexpected_field'],
      ['no basis', { attestation_id: null }, 'ambiguous_basis'],
      ['no certificate', { cert_id: null }, 'missing_certificate_identity'],
      ['no capability', { requested_capability: '' }, 'missing_boundary_fields'],
      ['a number as id', { attestation_id: 5 }, 'invalid_attestation_id'],
      ['no object as presented', { attestation_id: null, presented: 5 }, 'invalid_attestation'],
      ['attributes of a node', { context: { attributes: { a: 1 } } }, 'invalid_context'],
      ['a malformed key', { idempotency_key: 'a b' }, 'invalid_input'],
      ['an empty resource', { resource_id: '' }, 'invalid_input'],
      ['another provider', { context: { provider_sovereign_id: 'x' } }, 'context_party_mismatch'],
    ])('400: %s', async (_what, members, code) => {
      refused(await ask(await member(), members), 400, code)
    })

    it('401: a proof for another authority or action, and a spent nonce', async () => {
      const one = await member()
      refused(await ask(one, { audience: one.node.key }), 401, 'node_auth_failed')
      refused(await ask(one, { action: 'renew' }), 401, 'node_auth_failed')
      const nonce = crypto.randomUUID()
      accepted(await ask(one, { nonce }), 201)
      refused(await ask(one, { nonce }), 401, 'node_auth_failed')
      const details = (await na.auditEvents('node_auth_failed')).at(-1)?.['details']
      expect(details).toMatchObject({ scope: 'boundary-request', reason: 'nonce_replay' })
    })

    it('403: the same for another key, no key and an unknown id', async () => {
      const one = await member()
      const key = (await newNodeCaller(na.url, 'other', clock)).key
      const ids = [await attest({ subject_public_key: key }), await attest(), 'unknown']
      const bodies = []
      for (const attestation_id of ids) {
        const { request_id: _id, ...rest } = refused(await ask(one, { attestation_id }), 403, 'attestation_not_bound')
        bodies.push(rest)
      }
      expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1)
      expect((await refusals()).slice(-3)).toEqual(Array.from({ length: 3 }, () => 'attestation_not_bound'))
    })

    it('403: a revoked certificate, and a relay without the role', async () => {
      const [one, caller] = [await member(), await member()]
      const on_behalf_of = await callerProof(caller)
      refused(await ask(one, { attestation_id: caller.attestation_id, on_behalf_of }), 403, 'relay_not_allowed')
      const { cert_id } = one.certificate
      accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id, reason: 'cessation_of_operation' }))
      refused(await ask(one), 403, 'certificate_revoked')
    })

    it('422: a certificate of another network in place of the own one', async () => {
      const [relay, caller, other] = [await member(['role:relay']), await member(), await member()]
      const made = (cert_id: string): JoinCertificate => ({ ...caller.certificate, network_name: 'ELSEWHERE', cert_id })
      const askFor = async (certificate: JoinCertificate, basis: JsonObject): Promise<TestResponse> =>
        ask(relay, { ...basis, on_behalf_of: await callerProof({ ...caller, certificate }) })
      const untrusted = (answer: TestResponse): void =>
        expect(refused(answer, 422, 'caller_proof_rejected')['details']).toEqual({ reason: 'certificate_untrusted' })
      const own = { attestation_id: caller.attestation_id }
      const presented = { ...present(caller.node), attestation_id: null }
      untrusted(await askFor(made('elsewhere-1'), own))
      accepted(await askFor(made('elsewhere-2'), presented), 201)
      // The id of an own certificate would stand in the decision.
      untrusted(await askFor(made(other.certificate.cert_id), presented))
      const { cert_id } = caller.certificate
      accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id, reason: 'key_compromise' }))
      untrusted(await askFor(made('elsewhere-3'), presented))
    })

    it('403: an invented attestation gets no signature and no entry', async () => {
      const node = await newNodeCaller(na.url, 'stranger', clock)
      const before = await entries()
      const forged = present(node, {}, foreignSovereign('PARTNER-NET', 'another key'))
      expect(refused(await post(node, forged), 403, 'attestation_untrusted')['details']).toEqual({
        reason: 'attestation_invalid',
      })
      const unknown = present(node, {}, foreignSovereign('NOBODY'))
      expect(refused(await post(node, unknown), 403, 'attestation_untrusted')['details']).toEqual({
        reason: 'treaty_not_found',
      })
      expect(await entries()).toBe(before)
      // With a certificate it is a signed denial.
      const one = await member()
      const asked = { ...present(one.node, {}, foreignSovereign('NOBODY')), attestation_id: null }
      expect(accepted(await ask(one, asked), 201)['decision']).toMatchObject({ denial_reason: 'treaty_not_found' })
    })

    it('429: per key, also with another certificate; another key is served', async () => {
      const [one, other] = [await member(), await member()]
      for (let index = 0; index < 6; index += 1) accepted(await ask(one), 201)
      refused(await ask(one), 429, 'rate_limit_exceeded')
      const next = accepted(await one.node.renew(one.certificate.cert_id), 201)
      refused(await ask({ ...one, certificate: next as unknown as JoinCertificate }), 429, 'rate_limit_exceeded')
      accepted(await ask(other), 201)
    })

    it('429: failures of one address; a good request is still served', async () => {
      const [one, from] = [await member(), newAddress()]
      for (let index = 0; index < 3; index += 1)
        refused(await ask(one, { action: 'renew' }, from), 401, 'node_auth_failed')
      refused(await ask(one, { action: 'renew' }, from), 429, 'rate_limit_exceeded')
      accepted(await ask(one, {}, from), 201)
    })
  })

  it('404 while it is off, before the body is read; presented needs the setting partners', async () => {
    for (const [setting, code] of [
      ['off', 'node_decisions_disabled'],
      ['own', 'invalid_json'],
    ] as const) {
      const other = await startTestAuthority({ settings: { NA_NODE_DECISIONS: setting } })
      try {
        const answer = await other.request('POST', '/boundary/request', { rawBody: '{' })
        refused(answer, setting === 'off' ? 404 : 400, code)
        const body = { presented: {} }
        refused(await other.request('POST', '/boundary/request', { body }), 404, 'node_decisions_disabled')
      } finally {
        await other.stop()
      }
    }
  })
})
