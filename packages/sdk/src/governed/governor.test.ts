import { testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openWorld } from './governed.suite.ts'
import type { GovernedWorld } from './governed.suite.ts'
import { MemoryOutbox } from './outbox.ts'
import type { Outbox } from './outbox.ts'

let world: GovernedWorld
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())
beforeEach(() => {
  world.submissions = 'arrive'
  world.steps.length = 0
})

const resource = (id: string): { resource: { id: string; action: 'rotate' } } => ({
  resource: { id, action: 'rotate' },
})

describe('an allowed action', () => {
  it('is done once, and its evidence is stored before the answer', async () => {
    const governor = await world.open()
    let done = 0
    const result = await governor.run(world.action(async () => (done += 1)))
    if (!result.authorized) throw new Error('denied')
    expect([result.value, result.stored, done]).toEqual([1, true, 1])
    const stored = await world.executions({ decision_id: result.decision.decision_id })
    expect(stored).toEqual([result.evidence])
    expect(stored[0]).toMatchObject({
      outcome: 'success',
      sequence_no: 1,
      execution_parameters: { secret_version: '7' },
    })
    expect(world.steps).toEqual([
      'decision-received',
      'decision-verified',
      'intent-kept',
      'action-done',
      'evidence-signed',
      'evidence-kept',
      'evidence-submitted',
      'evidence-removed',
    ])
    expect(await governor.pending()).toEqual([])
  })

  it('that fails is recorded as a failure by the name of its error, and thrown on', async () => {
    const governor = await world.open()
    const failing = world.action(() => Promise.reject(new RangeError('password=hunter2')), resource('r/fails'))
    await expect(governor.run(failing)).rejects.toThrow('hunter2')
    expect(await world.executions({ resource_id: 'r/fails' })).toMatchObject([
      { outcome: 'failure', outcome_detail: 'RangeError' },
    ])
  })

  it('may say more of itself; a detail that looks like a secret is withheld, never the record', async () => {
    const governor = await world.open()
    for (const detail of ['half of it', 'A'.repeat(200)]) {
      const action = world.action(() => Promise.resolve(), resource('r/says'))
      await governor.run({
        ...action,
        run: (_decision, report) => Promise.resolve(report({ outcome: 'partial', detail })),
      })
    }
    const details = (await world.executions({ resource_id: 'r/says' })).map(({ outcome_detail }) => outcome_detail)
    expect(details).toEqual(['half of it', 'withheld'])
  })
})

describe('nothing is done', () => {
  it('on a denial, which is a result', async () => {
    const governor = await world.open()
    const request = { attestation_id: world.attestation.attestation_id, requested_capability: 'secret.read' }
    const result = await governor.run(world.action(() => Promise.reject(new Error('done')), { request }))
    expect(result).toMatchObject({ authorized: false, decision: { authorized: false } })
  })

  it.each([
    [
      'a key that is not pinned',
      async () => ({ authorityKeys: [(await testSigner('stranger')).publicKey] }),
      'invalid_signature',
    ],
    [
      'policies that were not expected',
      () => Promise.resolve({ expectedPolicies: [{ policy_id: 'p', version: 1, policy_digest: 'd' }] }),
      'policy_binding',
    ],
    [
      'another attestation than expected',
      () =>
        Promise.resolve({
          expectedAttestation: {
            attestation_id: 'x',
            subject_id: 's',
            issuer_sovereign_id: 'i',
            attestation_digest: 'd',
          },
        }),
      'attestation_binding_mismatch',
    ],
  ])('on %s', async (_name, more, reason) => {
    const governor = await world.open()
    const action = world.action(() => Promise.reject(new Error('done')), await more())
    await expect(governor.run(action)).rejects.toThrow(reason)
    expect(await governor.pending()).toEqual([])
  })

  it('on an attestation nobody pinned', async () => {
    const governor = await world.open()
    const { expectedAttestation: _none, ...action } = world.action(() => Promise.reject(new Error('done')))
    await expect(governor.run(action)).rejects.toMatchObject({ reason: 'attestation_not_pinned' })
  })

  it('with parameters that look like a secret: nobody is even asked', async () => {
    const governor = await world.open()
    const action = world.action(() => Promise.reject(new Error('done')), { parameters: { api_key: 'x' } })
    await expect(governor.run(action)).rejects.toMatchObject({ name: 'MetadataRefusedError' })
    expect(world.steps).toEqual([])
  })

  it('when the outbox does not take the intent', async () => {
    const full: Outbox = new MemoryOutbox()
    full.add = () => Promise.reject(new Error('no space left'))
    const governor = await world.open(full)
    const action = world.action(() => Promise.reject(new Error('done')))
    await expect(governor.run(action)).rejects.toMatchObject({ name: 'EvidenceNotKeptError', executed: false })
  })
})

describe('while submissions fail', () => {
  it.each(['fail', 'lost'] as const)(
    '(%s) evidence waits, chained from the pending head, and is stored once',
    async (how) => {
      const governor = await world.open()
      const id = `r/${how}`
      world.submissions = how
      for (let count = 0; count < 3; count += 1) {
        const result = await governor.run(world.action(() => Promise.resolve(count), resource(id)))
        expect(result).toMatchObject({ authorized: true, value: count, stored: false })
      }
      const waiting = await governor.pending()
      expect(waiting.map((entry) => entry.state)).toEqual(['pending', 'pending', 'pending'])
      world.submissions = 'arrive'
      expect(await governor.flush()).toEqual({ stored: 0, waiting: 3, deadLetters: 0 })
      world.clock.advance(5)
      expect((await governor.flush()).stored).toBeGreaterThanOrEqual(1)
      expect(await governor.flush({ force: true })).toMatchObject({ waiting: 0, deadLetters: 0 })
      const stored = await world.executions({ resource_id: id })
      expect(stored.map(({ resource_sequence }) => resource_sequence)).toEqual([1, 2, 3])
      expect(await world.client.evidence.verify()).toMatchObject({ verified: true })
    },
  )

  it('another executor may take the place: the record is signed anew behind it', async () => {
    const [mine, other] = [await world.open(), await world.open(new MemoryOutbox(), 'rotator-2')]
    world.submissions = 'fail'
    for (let count = 0; count < 2; count += 1)
      await mine.run(world.action(() => Promise.resolve(), resource('r/shared')))
    world.submissions = 'arrive'
    await other.run(world.action(() => Promise.resolve(), resource('r/shared')))
    expect(await mine.flush({ force: true })).toEqual({ stored: 2, waiting: 0, deadLetters: 0 })
    const stored = await world.executions({ resource_id: 'r/shared' })
    expect(stored.map(({ resource_sequence, signature }) => [resource_sequence, signature?.key_id])).toEqual([
      [1, 'rotator-2'],
      [2, 'rotator-1'],
      [3, 'rotator-1'],
    ])
  })

  it('a record the authority refuses for good is kept, and its successors go on without it', async () => {
    const governor = await world.open()
    world.submissions = 'fail'
    const { evidence } = (await governor.run(world.action(() => Promise.resolve(), resource('r/dead')))) as {
      evidence: { evidence_id: string }
    }
    await governor.run(world.action(() => Promise.resolve(), resource('r/dead')))
    await world.client.evidence.retireKey('rotator-1')
    world.submissions = 'arrive'
    expect(await governor.flush({ force: true })).toEqual({ stored: 0, waiting: 1, deadLetters: 1 })
    const [dead] = await governor.pending()
    expect(dead).toMatchObject({ state: 'dead_letter', code: 'evidence_unknown_executor', record: evidence })
    await governor.revive()
    expect((await governor.pending()).map(({ state }) => state)).toEqual(['pending', 'pending'])
  })
})
