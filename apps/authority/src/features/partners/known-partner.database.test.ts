import { type JsonObject, readJson } from '@chancery/protocol'
import {
  accepted,
  detailsOf,
  eventsOf,
  foreignAttestation,
  foreignJustification,
  foreignSovereign,
  refused,
  wireText,
} from '@chancery/testkit'
import type { ForeignSovereign, TestResponse } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import { openPartnerCalls } from './partner-calls.suite.ts'
import type { StubPartner } from './stub-partner.suite.ts'

const calls = openPartnerCalls()
const { clock } = calls

const post = (path: string, body: JsonObject): Promise<TestResponse> => calls.na.as('privileged')('POST', path, body)
const voteOn = (issuer: ForeignSovereign): Promise<TestResponse> =>
  calls.na.as('standard')('POST', '/admin/consensus/vote', {
    vote: true,
    justification_proof: readJson(wireText(foreignJustification(issuer, clock.now()))) as JsonObject,
  })

describe('votes on a proof of a partner', () => {
  it('accepts the key that the pinned root signed, and its successor after a pull', async () => {
    const stub = await calls.newPartner()
    const answer = await voteOn(stub.key)
    accepted(answer, 201)
    expect(detailsOf((await eventsOf(calls.na, answer))[0])).toMatchObject({ trust_basis: 'partner_pinned_keys' })
    const next = foreignSovereign(stub.name, `${stub.name}-next`)
    refused(await voteOn(next), 422, 'justification_untrusted')
    const network_authority = {
      public_key: next.publicKey,
      valid_from: '2026-01-02T00:00:00Z',
      valid_to: '2027-01-02T00:00:00Z',
    }
    stub.show('/genesis', stub.genesis(stub.root, { network_authority }))
    await calls.pull(stub)
    accepted(await voteOn(next), 201)
    // Without a key history the former key counts for no date.
    refused(await voteOn(stub.key), 422, 'justification_untrusted')
  })

  it('knows no key of a sovereign that was removed', async () => {
    const stub = await calls.newPartner()
    accepted(await voteOn(stub.key), 201)
    accepted(await calls.admin('POST', `/${stub.name}/remove`, { reason: 'ended' }))
    refused(await voteOn(stub.key), 422, 'justification_untrusted')
  })
})

describe('the age of a feed in decisions', () => {
  async function denial(stub: StubPartner): Promise<unknown> {
    const record = foreignAttestation(stub.key, clock.now(), { claims: { capabilities: ['ledger.read'] } })
    const answer = await calls.na.as('standard')('POST', '/admin/boundary/evaluate', {
      presented: { attestation: readJson(wireText(record)), issuer_sovereign_id: stub.name },
      requested_capability: 'ledger.read',
    })
    return (accepted(answer, 201)['decision'] as JsonObject)['denial_reason']
  }
  const recognise = async (stub: StubPartner): Promise<unknown> =>
    accepted(
      await post('/admin/recognition-treaties', {
        subject_sovereign_id: stub.name,
        subject_public_keys: [stub.key.publicKey],
        scope: { allowed_roles: ['role:client'], claims: { capabilities: ['ledger.*'] } },
      }),
      201,
    )

  it('is the value of the partner where it has one', async () => {
    const stub = await calls.newPartner({ import_feeds: 'off' })
    await recognise(stub)
    expect(await denial(stub)).toBe('insufficient freshness')
    accepted(await calls.admin('POST', `/${stub.name}`, { max_feed_age_seconds: 0 }))
    expect(await denial(stub)).toBeNull()
    accepted(await calls.admin('POST', `/${stub.name}`, { max_feed_age_seconds: 60, import_feeds: 'on' }))
    await calls.pull(stub)
    expect(await denial(stub)).toBeNull()
    clock.advance(61)
    expect(await denial(stub)).toBe('insufficient freshness')
    accepted(await calls.admin('POST', `/${stub.name}`, { max_feed_age_seconds: null }))
    expect(await denial(stub)).toBeNull()
  })

  it('falls when the same ids are signed again, and never rises', async () => {
    const stub = await calls.newPartner({ max_feed_age_seconds: 60 })
    await recognise(stub)
    stub.show('/sovereign-revocation-feed', stub.feed(4, ['gone']))
    await calls.pull(stub)
    const first = stub.feed(4, ['gone'])
    clock.advance(61)
    expect(await denial(stub)).toBe('insufficient freshness')
    stub.show('/sovereign-revocation-feed', stub.feed(4, ['gone']))
    const before = await importedEvents(stub)
    await calls.pull(stub)
    expect(await denial(stub)).toBeNull()
    // Nothing was imported: the audit log has no further event.
    expect(await importedEvents(stub)).toBe(before)
    stub.show('/sovereign-revocation-feed', first)
    await calls.pull(stub)
    expect(await denial(stub)).toBeNull()
  })

  async function importedEvents(stub: StubPartner): Promise<number> {
    const events = await calls.na.core.database.read
      .selectFrom('audit_events')
      .selectAll()
      .where('event_type', '=', 'sovereign_revocation_feed_imported')
      .execute()
    return events.filter((event) => JSON.stringify(event).includes(stub.name)).length
  }
})

describe('the list of partners', () => {
  it('refuses a cursor that no database can compare with', async () => {
    const cursor = Buffer.from('1|STUB\0').toString('base64url')
    refused(await calls.admin('GET', `?cursor=${cursor}`), 400, 'invalid_page')
  })
})
