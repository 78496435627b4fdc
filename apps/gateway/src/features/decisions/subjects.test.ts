import { type JsonObject, readJson } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { accepted, foreignAgreement, foreignSovereign, signAgreed, testClient, wireText } from '@chancery/testkit'
import type { GatewayResponse } from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { checkConfiguration } from '../../commands/check-configuration.ts'
import { expectRefusal } from '../../test-gateway.suite.ts'
import { type DecidingGateway, startDecidingGateway } from './deciding-gateway.suite.ts'

// Holds: an agreement as the basis, an earlier decision under a newer revocation list, and what --check-config reports.

const bolt = foreignSovereign('bolt-net')
const cedar = foreignSovereign('cedar-net')
const slow = testClient('slow', ['TEST-NET'], { decisions: true, decisions_per_minute: 20 })

let setup: DecidingGateway
beforeAll(async () => {
  setup = await startDecidingGateway({ kind: 'operator', clients: [slow] })
  for (const { sovereign_id, publicKey } of [bolt, cedar]) {
    const scope = { allowed_roles: ['role:client'] }
    const body = { subject_sovereign_id: sovereign_id, subject_public_keys: [publicKey], scope }
    accepted(await setup.na.as('privileged')('POST', '/admin/recognition-treaties', body), 201)
  }
})
beforeEach(() => {
  setup.asked.length = 0
})
afterAll(() => setup.stop())

function agreement(signers = [bolt, cedar]): JsonObject {
  const record = foreignAgreement({ offerer: 'bolt-net', responder: 'cedar-net' }, setup.clock.now())
  return readJson(wireText(signAgreed(record, ...signers))) as JsonObject
}

function askOn(given: JsonObject, id = 'cedar-net', action = 'ledger.read'): Promise<GatewayResponse> {
  const subject = { type: 'sovereign', id }
  const context = { chancery: { agreement: given } }
  return setup.ask({ subject, action: { name: action }, resource: { type: 'ledger', id: 'l1' }, context })
}

it('decides on an agreement for its responder, and denies what the agreement does not name', async () => {
  const given = agreement()
  const allowed = await askOn(given)
  expect(allowed.body).toMatchObject({ decision: true })
  expect(allowed.body['context']).toHaveProperty(['chancery', 'decision', 'agreement_id'], given['agreement_id'])
  expect((await askOn(given, 'cedar-net', 'ledger.erase')).body['decision']).toBe(false)
})

it('refuses a subject that is not the responder, and an agreement that one party did not sign', async () => {
  const other = await askOn(agreement(), 'bolt-net')
  expectRefusal(other, 400, 'invalid_request', 'question_invalid')
  expect([other.body['details'], setup.asked]).toEqual([{ path: 'subject.id' }, []])
  const half = await askOn(agreement([bolt]))
  expectRefusal(half, 400, 'invalid_request', 'question_refused')
  expect(half.body['details']).toEqual({ code: 'agreement_untrusted' })
})

it('does not use an earlier decision for a certificate that a newer list revokes', async () => {
  const { relayCertificate: certificate } = setup
  const subjects = { [`node:${certificate.cert_id}`]: await setup.attest() }
  await setup.gateway.reload(await setup.policy({ subjects }))
  const subject = { type: 'node', id: certificate.cert_id, properties: { certificate: { ...certificate } } }
  const question = { subject, action: { name: 'print' }, resource: { type: 'printer', id: 'p1' } } as JsonObject
  for (let i = 0; i < 2; i += 1) expect((await setup.ask(question)).body['decision']).toBe(true)
  expect(setup.asked).toHaveLength(1)
  const body = { cert_id: certificate.cert_id, reason: 'cessation_of_operation' }
  accepted(await setup.na.as('privileged')('POST', '/admin/revoke', body))
  await setup.gateway.reload(await setup.policy({ subjects }))
  expect((await setup.ask(question)).body).toEqual({
    decision: false,
    context: { reason: 'certificate_untrusted' },
  })
  expect(setup.asked).toHaveLength(1)
})

it('--check-config accepts the decision point, and warns of a quota below a full batch', async () => {
  const { settings } = setup.gateway
  const options = { online: false, clock: { ...systemClock, now: () => setup.clock.now() } }
  const { problems, warnings } = await checkConfiguration({ values: settings, problems: [], notes: [] }, options)
  expect(problems).toEqual([])
  expect(warnings).toContain('client slow may ask 20 of 128 questions in a batch (decisions_per_minute)')
  expect(warnings.filter((each) => each.includes('questions'))).toHaveLength(1)
})
