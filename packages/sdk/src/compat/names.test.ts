import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testSigner } from '@chancery/testkit'
import { EvidenceSender } from '../governed/evidence-sender.ts'
import { type GovernedSetup, openSetup } from '../governed/governed.suite.ts'
import { MemoryOutbox } from '../governed/outbox.ts'
import { withExistingNames } from './names.ts'

let setup: GovernedSetup
beforeAll(async () => {
  setup = await openSetup()
})
afterAll(() => setup.close())

/** protocol/gateway 22.2 and 22.4 as they are written there. */
const NAMES = {
  agreement: 'offer counter accept verify',
  boundary: 'decide evaluate verify',
  policy: 'validate publish list active history activate deactivate verify',
  evidence: 'build verify',
  evidenceStore:
    'submit enqueue flushPending pendingHead search iterate status verify resourceHistory vendorHistory resourceHead resourceStates exportText export exportAll listExecutorKeys registerExecutorKey retireExecutorKey applyRetention latestCheckpoint',
  attestation: 'issue revoke get list verify savePolicy getPolicy revocationFeed',
  disclosure: 'commit prove nullifier verify',
  consensus: 'vote proof verify',
  dataUsage: 'createPolicy createIntent getPolicy verify',
  health: 'liveness readiness health endpoints',
  enrollment: 'join heartbeat renew',
  discovery: 'register list get delete',
  treaties: 'issue revoke get list verify verifyAttestation importFeed graph connectome trustPath',
  admin: 'invite revokeCertificate revokeOperatorKey publishPolicy policyHistory rollbackPolicy',
  network: 'genesis sovereign policy crl nodes dashboard atlas',
}

describe('existing names', () => {
  it('are all there', () => {
    const found = withExistingNames(setup.client) as unknown as Record<string, Record<string, unknown>>
    for (const [area, methods] of Object.entries(NAMES))
      for (const name of methods.split(' '))
        expect([`${area}.${name}`, typeof found[area]?.[name]]).toEqual([`${area}.${name}`, 'function'])
  })

  it('reach the store: states of resources, events one by one, text, and the outbox', async () => {
    const governor = await setup.open()
    for (const id of ['r/1', 'r/2', 'r/1'])
      await governor.run(setup.action(() => Promise.resolve(), { resource: { id, action: 'rotate' } }))
    const outbox = new MemoryOutbox()
    const executor = { signer: await testSigner('rotator-1'), sovereignId: 'rotator' }
    const sender = new EvidenceSender({
      client: setup.client,
      executor,
      outbox,
      clock: () => setup.clock.now(),
      observe: () => undefined,
    })
    const { evidenceStore, network } = withExistingNames(setup.client, sender)
    const states = await evidenceStore.resourceStates()
    expect([...states].map(([id, { resource_sequence }]) => [id, resource_sequence])).toEqual([
      ['r/1', 2],
      ['r/2', 1],
    ])
    const events = []
    for await (const event of evidenceStore.iterate({ limit: 2 })) events.push(event)
    expect((await evidenceStore.exportText()).split('\n')).toHaveLength(events.length + 1)
    expect(await evidenceStore.latestCheckpoint()).toBeUndefined()
    const [record] = await setup.executions({ resource_id: 'r/2' })
    if (record === undefined) throw new Error('no record')
    await evidenceStore.enqueue(record)
    expect(await evidenceStore.pendingHead('r/2')).toMatchObject({ sequence: 1 })
    expect(await evidenceStore.flushPending()).toEqual({ stored: 1, waiting: 0, deadLetters: 0 })
    expect(await network.genesis()).toEqual(setup.na.genesis)
  })
})
