import { HOUR, readJson, writeInstant, writeJson } from '@chancery/protocol'
import type { Attestation, JoinCertificate, JsonObject } from '@chancery/protocol'
import {
  FloatNumber,
  ManualClock,
  accepted,
  canonicalText,
  createInvite,
  foreignAttestation,
  foreignFeed,
  foreignSovereign,
  startTestAuthority,
  testSigner,
} from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createClient } from '../client.ts'
import { MemoryNonceStore } from '../request-proof/nonces.ts'
import { callerBasis } from '../request-proof/caller-basis.ts'
import { type NodeCaller, attestedProofs, verifyRequest } from '../request-proof/verify.ts'
import { signRequest } from '../request-proof/sign.ts'
import { requireNodeDecision } from './ask.ts'
import { Node } from './node.ts'
import { MemoryNodeStore } from './followed.ts'

const clock = new ManualClock('2026-03-01T00:00:00Z')
const AUDIENCE = 'https://ledger.example'
const partner = foreignSovereign('PARTNER-NET')
let na: TestAuthority
let relay: Node
let member: Node
let own: Attestation
/** Changes a response to a request for a decision, as a proxy could. */
let between: (text: string) => string
beforeAll(async () => {
  const settings = { NA_NODE_DECISIONS: 'partners', NA_DECISION_RELAY_ROLES: 'role:relay' }
  na = await startTestAuthority({ clock, backend: 'sqlite', settings })
  const scope = { allowed_roles: ['role:client'], claims: { capabilities: ['ledger.*'] } }
  const treaty = { subject_sovereign_id: 'PARTNER-NET', subject_public_keys: [partner.publicKey], scope }
  accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', treaty), 201)
  const feed = foreignFeed(partner, 1, [], { issued_at: writeInstant(clock.now()) })
  accepted(await na.as('privileged')('POST', '/admin/sovereign-revocation-feeds/import', { feed }))
  relay = await joinNode(['role:relay'])
  member = await joinNode(['role:client'])
  const operator = { signer: await testSigner('op-privileged'), audience: na.genesis.network_authority.public_key }
  own = await createClient({ url: na.url, operator, clock: () => clock.now() }).attestations.issue({
    subject_id: 'agent-7',
    subject_public_key: member.publicKey,
    roles: ['role:client'],
    claims: { capabilities: ['ledger.read'] },
  })
})
afterAll(async () => {
  await Promise.all([relay.stop(), member.stop()])
  await na.stop()
})
beforeEach(() => {
  between = (text) => text
})

async function joinNode(roles: readonly string[]): Promise<Node> {
  return Node.join({
    url: na.url,
    genesis: na.genesis,
    store: new MemoryNodeStore(),
    invite: () => createInvite(na, { roles: [...roles] }),
    clock: () => clock.now(),
    fetch: async (url, init) => {
      const response = await fetch(url, init)
      if (!url.endsWith('/boundary/request') || response.status !== 201) return response
      return new Response(between(await response.text()), { status: 201 })
    },
  })
}

/** The caller of a service, as a middleware shows it. */
async function readCaller(headers: Readonly<Record<string, string | undefined>>): Promise<NodeCaller> {
  const field = (name: string): readonly string[] => (headers[name] === undefined ? [] : [headers[name]])
  const verdict = await verifyRequest(
    { method: 'GET', target: '/ledger', field, body: new Uint8Array() },
    {
      audience: AUDIENCE,
      // What a service decides about the certificate of a partner is not the subject here.
      evaluate: async () => ({ trusted: true }) as unknown as NodeCaller['decision'],
      nonces: new MemoryNonceStore(),
      attested: attestedProofs,
      now: clock.now(),
    },
  )
  if (!verdict.ok) throw new Error(verdict.reason)
  return verdict.node
}

/** A node of the own network as caller. */
async function ownCaller(attestation: Attestation | undefined): Promise<NodeCaller> {
  let seen: NodeCaller | undefined
  const send = member.fetchAs(AUDIENCE, {
    ...(attestation === undefined ? {} : { attestation }),
    fetch: async (_url, init) => {
      seen = await readCaller(Object.fromEntries(new Headers(init.headers)))
      return new Response('')
    },
  })
  await send(`${AUDIENCE}/ledger`)
  if (seen === undefined) throw new Error('no request')
  return seen
}

/** A member of the partner, with a number in its claims that keeps its form. */
async function partnerCaller(): Promise<NodeCaller> {
  const signer = await testSigner('member of the partner')
  const record = foreignAttestation(partner, clock.now(), {
    subject_public_key: signer.publicKey,
    claims: { capabilities: ['ledger.read'], limit: new FloatNumber(90) },
  })
  const certificate: JoinCertificate = {
    cert_id: 'cert-of-partner',
    node_public_key: signer.publicKey,
    network_name: 'PARTNER-NET',
    roles: ['role:client'],
    issued_at: writeInstant(clock.now()),
    expires_at: writeInstant(clock.now() + HOUR),
    issued_by: 'na-partner-net',
    signatures: [],
  }
  const attestation = readJson(canonicalText(record)) as unknown as Attestation
  const request = { method: 'GET', url: '/ledger', audience: AUDIENCE, now: clock.now() }
  return readCaller(await signRequest(request, { signer, certificate, attestation }))
}

describe('node.ask', () => {
  it('returns a verified decision on the own attestation, and a denial as a result', async () => {
    const { decision, context } = await member.ask('ledger.read', { attestation_id: own.attestation_id })
    expect(decision).toMatchObject({ authorized: true, agreement_id: own.attestation_id })
    expect(context.attributes['chancery_request']).toMatchObject({
      asked_by: 'node',
      node_public_key: member.publicKey,
      cert_id: member.certificate.cert_id,
    })
    const denied = await member.ask('vault.open', { attestation_id: own.attestation_id })
    expect(denied.decision).toMatchObject({ authorized: false, denial_reason: 'capability out of scope' })
  })

  it('refuses a genuine decision on an earlier, equal question', async () => {
    const question = { attestation_id: own.attestation_id, context: { request_parameters: { amount: 100 } } }
    let first = ''
    between = (text) => (first = text)
    await member.ask('ledger.read', question)
    between = () => first
    await expect(member.ask('ledger.read', question)).rejects.toMatchObject({ reason: 'context_mismatch' })
  })

  it('with an idempotency key a repeat returns the first decision', async () => {
    const question = { attestation_id: own.attestation_id, idempotency_key: 'payment-1' }
    const first = await member.ask('ledger.read', question)
    const second = await member.ask('ledger.read', question)
    expect(second.decision.decision_id).toBe(first.decision.decision_id)
  })

  it.each<[string, string, string, string]>([
    ['the subject', '"subject_id":"agent-7"', '"subject_id":"agent-8"', 'signature'],
    [
      'a parameter',
      '"request_parameters":{"amount":100}',
      '"request_parameters":{"amount":900}',
      'context_digest_mismatch',
    ],
    ['the trace', '"trace_id":"', '"trace_id":"0', 'justification_'],
  ])('refuses a response in which %s was changed', async (_what, from, to, reason) => {
    between = (text) => {
      expect(text).toContain(from)
      return text.replace(from, to)
    }
    const question = { attestation_id: own.attestation_id, context: { request_parameters: { amount: 100 } } }
    await expect(member.ask('ledger.read', question)).rejects.toMatchObject({
      reason: expect.stringContaining(reason),
    })
  })
})

describe('node.ask of a relay', () => {
  it('returns a verified decision about a caller of a partner', async () => {
    const one = await partnerCaller()
    const { decision, context } = await relay.ask('ledger.read', callerBasis(one))
    expect(decision).toMatchObject({
      authorized: true,
      attestation_binding: { attestation_id: one.attestation?.attestation_id, issuer_sovereign_id: 'PARTNER-NET' },
    })
    expect(context.attributes['chancery_request']).toEqual({
      asked_by: 'relay',
      node_public_key: one.publicKey,
      cert_id: 'cert-of-partner',
      audience: AUDIENCE,
      relayed_by: relay.certificate.cert_id,
    })
  })

  it('returns a verified decision about a caller of the own network, with attributes of the relay', async () => {
    const attested = await ownCaller(own)
    const options = { context: { attributes: { shift: 'night' } } }
    const { decision, context } = await relay.ask('ledger.read', { ...callerBasis(attested), ...options })
    expect(decision).toMatchObject({ authorized: true, agreement_id: own.attestation_id })
    expect(context.attributes).toMatchObject({ shift: 'night', chancery_request: { asked_by: 'relay' } })
    const bare = await ownCaller(undefined)
    const basis = callerBasis(bare, { attestation_id: own.attestation_id })
    expect((await relay.ask('ledger.read', basis)).decision.authorized).toBe(true)
  })

  it('refuses a genuine decision about another caller', async () => {
    const about = await ownCaller(own)
    let first = ''
    between = (text) => (first = text)
    await relay.ask('ledger.read', { ...callerBasis(about), context: { context_id: 'ctx-1' } })
    between = () => first
    const other = await partnerCaller()
    await expect(
      relay.ask('ledger.read', { ...callerBasis(other), context: { context_id: 'ctx-1' } }),
    ).rejects.toMatchObject({ reason: 'context_mismatch' })
  })

  it('the authority refuses a proof that was used before', async () => {
    const one = await partnerCaller()
    await relay.ask('ledger.read', callerBasis(one))
    await expect(relay.ask('ledger.read', callerBasis(one))).rejects.toMatchObject({
      code: 'caller_proof_rejected',
      details: { reason: 'replayed' },
    })
  })
})

it('takes the text of an attestation, and sends it as it is', async () => {
  const one = await partnerCaller()
  const { presented, on_behalf_of } = callerBasis(one)
  const text = writeJson(presented?.attestation as unknown as JsonObject)
  expect(text).toContain('90.0')
  const basis = { presented: { attestation: text, issuer_sovereign_id: 'PARTNER-NET' }, on_behalf_of }
  expect((await relay.ask('ledger.read', basis)).decision.authorized).toBe(true)
})

it('requireNodeDecision refuses an attestation of other content', async () => {
  const one = await partnerCaller()
  const basis = callerBasis(one)
  const response = await relay.ask('ledger.read', basis)
  const { presented } = basis
  if (presented === undefined) throw new Error('not presented')
  const asked = {
    request: {
      ...basis,
      presented: { ...presented, attestation: { ...presented.attestation, subject_id: 'other' } },
      requested_capability: 'ledger.read',
      cert_id: relay.certificate.cert_id,
    },
    publicKey: relay.publicKey,
    authorityKeys: relay.keys,
    now: clock.now(),
  }
  await expect(requireNodeDecision(response, asked)).rejects.toMatchObject({ reason: 'basis_mismatch' })
})
