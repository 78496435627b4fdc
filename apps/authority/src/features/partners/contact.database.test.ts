import { type JsonObject, writeInstant } from '@chancery/protocol'
import { accepted, foreignAttestation, foreignFeed, foreignSovereign } from '@chancery/testkit'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { withLease } from '../../database/locks/leases.ts'
import { openPartnerCalls } from './partner-calls.suite.ts'
import type { StubPartner } from './stub-partner.suite.ts'

// Holds: the time since the last contact with a partner and the age of its signed feed are two limits, and an operator
// learns of a silent partner and of a key that a partner announces.

const calls = openPartnerCalls({ NA_PARTNER_CONTACT_MAX_AGE_SECONDS: '3600' })
const { clock } = calls

// A pull of the job would be a contact that the test does not know: the test holds the lease of the job.
beforeAll(async () => {
  const parts = { database: calls.na.core.database, clock, instance: 'test' }
  const forever = new Promise<void>(() => undefined)
  let isHeld = false
  while (!isHeld) {
    const held = withLease(parts, 'partner-pull', 864_000, () => {
      isHeld = true
      return forever
    })
    await Promise.race([held, sleep(50)])
  }
})

async function recognise(name: string, publicKey: string): Promise<string> {
  const scope = { allowed_roles: ['role:client'], claims: { capabilities: ['ledger.*'] } }
  const body = { subject_sovereign_id: name, subject_public_keys: [publicKey], scope }
  return String(
    accepted(await calls.na.as('privileged')('POST', '/admin/recognition-treaties', body), 201)['treaty_id'],
  )
}

async function newPartner(changes: JsonObject = {}): Promise<StubPartner> {
  const stub = await calls.newPartner({ interval_seconds: 300, ...changes })
  await recognise(stub.name, stub.key.publicKey)
  return stub
}

async function decide(key: StubPartner['key']): Promise<unknown> {
  const claims = { capabilities: ['ledger.read'] }
  const expires_at = writeInstant(clock.now() + 86_400_000_000n)
  const attestation = foreignAttestation(key, clock.now(), { claims, expires_at })
  const presented = { attestation, issuer_sovereign_id: key.sovereign_id }
  const asked = { presented, requested_capability: 'ledger.read' }
  const { decision } = accepted(await calls.na.as('standard')('POST', '/admin/boundary/evaluate', asked), 201)
  return (decision as JsonObject)['denial_reason']
}

async function findingsOn(name: string, check: string): Promise<readonly JsonObject[]> {
  const { findings } = accepted(await calls.na.as('standard')('GET', '/admin/findings'))
  return (findings as JsonObject[]).filter((each) => each['check'] === check && each['about'] === name)
}

describe('a partner that is silent', () => {
  it('is a finding after 15 minutes, and its members are refused at the limit, whatever the age of its feed', async () => {
    const stub = await newPartner()
    const issued_at = writeInstant(clock.now() - 7_200_000_000n)
    stub.show('/sovereign-revocation-feed', stub.feed(1, [], { issued_at }))
    expect(await calls.pull(stub)).toMatchObject({ outcome: 'ok' })
    // Signed two hours ago, read now.
    expect(await decide(stub.key)).toBeNull()
    expect(await findingsOn(stub.name, 'partner-contact')).toEqual([])
    clock.advance(901)
    expect(await findingsOn(stub.name, 'partner-contact')).toMatchObject([
      { status: 'warn', found: `No contact with ${stub.name} for 15 minutes` },
    ])
    expect(await decide(stub.key)).toBeNull()
    clock.advance(2700)
    expect(await decide(stub.key)).toBe('insufficient freshness')
    // The same feed again: it is not newer, and the contact is.
    expect(await calls.pull(stub)).toMatchObject({ outcome: 'unchanged' })
    expect(await decide(stub.key)).toBeNull()
    expect(await findingsOn(stub.name, 'partner-contact')).toEqual([])
  })

  it('has no contact by a failed pull, nor by a pull that imports nothing', async () => {
    const [failing, other] = [await newPartner(), await newPartner({ import_feeds: 'off' })]
    await calls.pull(failing)
    failing.show('/sovereign-revocation-feed', {})
    clock.advance(3601)
    expect(await calls.pull(failing)).toMatchObject({ outcome: 'malformed' })
    expect(await decide(failing.key)).toBe('insufficient freshness')
    await calls.pull(other)
    expect(await decide(other.key)).toBe('insufficient freshness')
  })

  it('has one by an import of an operator', async () => {
    const partner = foreignSovereign('BY-HAND')
    await recognise('BY-HAND', partner.publicKey)
    const importFeed = async (): Promise<void> => {
      const feed = foreignFeed(partner, 1, [], { issued_at: writeInstant(clock.now()) })
      // The same sequence again is 409, and confirms what is stored.
      await calls.na.as('privileged')('POST', '/admin/sovereign-revocation-feeds/import', { feed })
    }
    await importFeed()
    expect(await decide(partner)).toBeNull()
    clock.advance(3601)
    expect(await decide(partner)).toBe('insufficient freshness')
    await importFeed()
    expect(await decide(partner)).toBeNull()
  })
})

describe('a partner that announces its next key', () => {
  const next = foreignSovereign('NEXT')
  const announce = (stub: StubPartner, root = stub.root, key = next.publicKey): void => {
    const network_authority = {
      public_key: key,
      valid_from: '2026-01-01T00:00:00Z',
      valid_to: '2027-01-01T00:00:00Z',
    }
    stub.show('/key-succession', { phase: 'announced', genesis: stub.genesis(root, { network_authority }) })
    stub.show('/sovereign.json', { ...stub.metadata(), supported_surfaces: { key_succession: 'not used' } })
  }

  it('is a finding until every treaty with it names the key', async () => {
    const stub = await newPartner()
    await calls.pull(stub)
    expect(await findingsOn(stub.name, 'partner-key')).toEqual([])
    announce(stub)
    expect(await calls.pull(stub)).toMatchObject({
      outcome: 'ok',
      partner: { reasons: ['clock_offset', 'key_announced'] },
    })
    const [finding] = await findingsOn(stub.name, 'partner-key')
    expect(finding).toMatchObject({ status: 'warn', found: `${stub.name} announces its next key ${next.publicKey}` })
    expect(finding?.['fix']).toContain(` --key ${stub.key.publicKey} --key ${next.publicKey}.`)
    // An authority that cannot say whether a key is announced changes nothing.
    stub.show('/sovereign.json', (_request, response) => void response.writeHead(503).end('{}'))
    await calls.pull(stub)
    expect(await findingsOn(stub.name, 'partner-key')).toHaveLength(1)
    stub.show('/sovereign.json', stub.metadata())
    await calls.pull(stub)
    expect(await findingsOn(stub.name, 'partner-key')).toEqual([])
    announce(stub)
    stub.show('/key-succession', (_request, response) => void response.writeHead(404).end('{}'))
    await calls.pull(stub)
    expect(await findingsOn(stub.name, 'partner-key')).toEqual([])
  })

  it('is none when the root did not sign the block, or the key is in force', async () => {
    const stub = await newPartner()
    announce(stub, foreignSovereign(stub.name, `${stub.name}-thief`))
    expect(await calls.pull(stub)).toMatchObject({ outcome: 'ok', partner: { reasons: ['clock_offset'] } })
    announce(stub, stub.root, stub.key.publicKey)
    expect(await calls.pull(stub)).toMatchObject({ outcome: 'unchanged', partner: { reasons: ['clock_offset'] } })
  })
})
