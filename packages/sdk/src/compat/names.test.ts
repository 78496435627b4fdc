import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '@chancery/protocol'
import { testSigner } from '@chancery/testkit'
import { createAuthorityClient } from '../authority/client.ts'
import type { Client } from '../client.ts'
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

/** Requests of a client, which are all refused. */
async function recordedClient(): Promise<{ readonly client: Client; readonly sent: string[] }> {
  const sent: string[] = []
  const fetch = (url: string, { body, signal }: RequestInit): Promise<Response> => {
    const isEnded = signal?.aborted === true ? ' ended' : ''
    const text = body instanceof Uint8Array ? new TextDecoder().decode(body) : ''
    sent.push(`${url.slice('http://na'.length)} ${text}${isEnded}`.trim())
    return Promise.resolve(new Response('no', { status: 400 }))
  }
  const signer = await testSigner('ops')
  return {
    client: createAuthorityClient({ url: 'http://na', fetch, operator: { signer, audience: signer.publicKey } }),
    sent,
  }
}

describe('existing names', () => {
  it('send versions, limits and filters as before', async () => {
    const { client, sent } = await recordedClient()
    const { dataUsage, evidenceStore, policy, treaties } = withExistingNames(client)
    const signal = new AbortController().signal
    await policy.activate('p', 1).catch(() => undefined)
    await evidenceStore.applyRetention(30, undefined, { through_sequence: 7 }).catch(() => undefined)
    await treaties.graph({ signal }).catch(() => undefined)
    await dataUsage.getPolicy({ licensee_sovereign_id: 'BETA', signal }).catch(() => undefined)
    expect(sent).toEqual([
      '/admin/boundary-policies/p/activate {"version":1}',
      '/admin/evidence/retention/apply {"older_than_days":30,"through_sequence":7}',
      '/recognition-graph',
      '/data-usage/policy?licensee_sovereign_id=BETA',
    ])
  })

  it('send no withdrawal with an undefined member, and no policy', async () => {
    const { client, sent } = await recordedClient()
    const limit = { older_than_days: 30, through_sequence: undefined } as unknown as {
      readonly older_than_days: number
    }
    await expect(client.evidence.retention(limit)).rejects.toThrow('through_sequence is undefined')
    const intent = { policy_id: 'p', selector: { capabilities: undefined } } as unknown as JsonObject
    await expect(client.boundaryPolicies.publish(intent)).rejects.toThrow(TypeError)
    expect(sent).toEqual([])
  })

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
