import { testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type GovernedSetup, openSetup } from './governed.suite.ts'
import { MemoryOutbox, type Outbox } from './outbox.ts'

let setup: GovernedSetup
beforeAll(async () => {
  setup = await openSetup()
})
afterAll(() => setup.close())
beforeEach(() => {
  setup.submissions = 'arrive'
  setup.steps.length = 0
})

const resource = (id: string): { resource: { id: string; action: 'rotate' } } => ({
  resource: { id, action: 'rotate' },
})

describe('an allowed action', () => {
  it('is done once, and its evidence is stored before the answer', async () => {
    const governor = await setup.open()
    let done = 0
    const result = await governor.run(setup.action(async () => (done += 1)))
    if (!result.allowed) throw new Error('denied')
    expect([result.value, result.stored, done]).toEqual([1, true, 1])
    const stored = await setup.executions({ decision_id: result.decision.decision_id })
    expect(stored).toEqual([result.evidence])
    expect(stored[0]).toMatchObject({
      outcome: 'success',
      sequence_no: 1,
      execution_parameters: { secret_version: '7' },
    })
    expect(setup.steps).toEqual([
      'decision-received',
      'decision-verified',
      'intent-stored',
      'action-done',
      'evidence-signed',
      'evidence-stored',
      'evidence-submitted',
      'evidence-removed',
    ])
    expect(await governor.pending()).toEqual([])
  })

  it('that fails is recorded as a failure by the name of its error, and thrown on', async () => {
    const governor = await setup.open()
    const failing = setup.action(() => Promise.reject(new RangeError('password=hunter2')), resource('r/fails'))
    await expect(governor.run(failing)).rejects.toThrow('hunter2')
    expect(await setup.executions({ resource_id: 'r/fails' })).toMatchObject([
      { outcome: 'failure', outcome_detail: 'RangeError' },
    ])
  })

  it('that fails after it reported partial is recorded as partial: it may have had an effect', async () => {
    const governor = await setup.open()
    const action = setup.action(() => Promise.resolve(), resource('r/partial'))
    const run = (_decision: unknown, report: (said: { outcome: 'partial' }) => void): Promise<never> => {
      report({ outcome: 'partial' })
      return Promise.reject(new RangeError('cut'))
    }
    await expect(governor.run({ ...action, run })).rejects.toThrow('cut')
    expect(await setup.executions({ resource_id: 'r/partial' })).toMatchObject([
      { outcome: 'partial', outcome_detail: 'RangeError' },
    ])
  })

  it('may say more of itself; a detail that looks like a secret is withheld, never the record', async () => {
    const governor = await setup.open()
    for (const detail of ['half of it', 'A'.repeat(200)]) {
      const action = setup.action(() => Promise.resolve(), resource('r/says'))
      await governor.run({
        ...action,
        run: (_decision, report) => Promise.resolve(report({ outcome: 'partial', detail })),
      })
    }
    const details = (await setup.executions({ resource_id: 'r/says' })).map(({ outcome_detail }) => outcome_detail)
    expect(details).toEqual(['half of it', 'withheld'])
  })
})

describe('nothing is done', () => {
  it('on a denial, which is a result', async () => {
    const governor = await setup.open()
    const request = { attestation_id: setup.attestation.attestation_id, requested_capability: 'secret.read' }
    const result = await governor.run(setup.action(() => Promise.reject(new Error('done')), { request }))
    expect(result).toMatchObject({ allowed: false, decision: { authorized: false } })
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
    const governor = await setup.open()
    const action = setup.action(() => Promise.reject(new Error('done')), await more())
    await expect(governor.run(action)).rejects.toThrow(reason)
    expect(await governor.pending()).toEqual([])
  })

  it('on an attestation that is not pinned', async () => {
    const governor = await setup.open()
    const { expectedAttestation: _none, ...action } = setup.action(() => Promise.reject(new Error('done')))
    await expect(governor.run(action)).rejects.toMatchObject({ reason: 'attestation_not_pinned' })
  })

  it('with parameters that look like a secret: no request is sent', async () => {
    const governor = await setup.open()
    const action = setup.action(() => Promise.reject(new Error('done')), { parameters: { api_key: 'x' } })
    await expect(governor.run(action)).rejects.toMatchObject({ name: 'UsageError', reason: 'metadata_refused' })
    expect(setup.steps).toEqual([])
  })

  it('when the outbox does not take the intent', async () => {
    const full: Outbox = new MemoryOutbox()
    full.add = () => Promise.reject(new Error('no space left'))
    const governor = await setup.open(full)
    const action = setup.action(() => Promise.reject(new Error('done')))
    await expect(governor.run(action)).rejects.toMatchObject({ name: 'EvidenceNotStoredError', executed: false })
  })
})

describe('while submissions fail', () => {
  it.each(['fail', 'lost'] as const)(
    '(%s) evidence waits, chained from the pending head, and is stored once',
    async (how) => {
      const governor = await setup.open()
      const id = `r/${how}`
      setup.submissions = how
      for (let count = 0; count < 3; count += 1) {
        const result = await governor.run(setup.action(() => Promise.resolve(count), resource(id)))
        expect(result).toMatchObject({ allowed: true, value: count, stored: false })
      }
      const waiting = await governor.pending()
      expect(waiting.map((entry) => entry.state)).toEqual(['pending', 'pending', 'pending'])
      setup.submissions = 'arrive'
      expect(await governor.flush()).toEqual({ stored: 0, waiting: 3, deadLetters: 0 })
      setup.clock.advance(5)
      expect((await governor.flush()).stored).toBeGreaterThanOrEqual(1)
      expect(await governor.flush({ force: true })).toMatchObject({ waiting: 0, deadLetters: 0 })
      const stored = await setup.executions({ resource_id: id })
      expect(stored.map(({ resource_sequence }) => resource_sequence)).toEqual([1, 2, 3])
      expect(await setup.client.evidence.verify()).toMatchObject({ verified: true })
    },
  )

  it('signs the record again when another executor used its sequence', async () => {
    const [mine, other] = [await setup.open(), await setup.open(new MemoryOutbox(), 'rotator-2')]
    setup.submissions = 'fail'
    for (let count = 0; count < 2; count += 1)
      await mine.run(setup.action(() => Promise.resolve(), resource('r/shared')))
    setup.submissions = 'arrive'
    await other.run(setup.action(() => Promise.resolve(), resource('r/shared')))
    expect(await mine.flush({ force: true })).toEqual({ stored: 2, waiting: 0, deadLetters: 0 })
    const stored = await setup.executions({ resource_id: 'r/shared' })
    expect(stored.map(({ resource_sequence, signature }) => [resource_sequence, signature?.key_id])).toEqual([
      [1, 'rotator-2'],
      [2, 'rotator-1'],
      [3, 'rotator-1'],
    ])
  })

  it('stores a permanently refused record, and its successors continue without it', async () => {
    const governor = await setup.open()
    setup.submissions = 'fail'
    const { evidence } = (await governor.run(setup.action(() => Promise.resolve(), resource('r/dead')))) as {
      evidence: { evidence_id: string }
    }
    await governor.run(setup.action(() => Promise.resolve(), resource('r/dead')))
    await setup.client.evidence.retireKey('rotator-1')
    setup.submissions = 'arrive'
    expect(await governor.flush({ force: true })).toEqual({ stored: 0, waiting: 1, deadLetters: 1 })
    const [dead] = await governor.pending()
    expect(dead).toMatchObject({ state: 'dead_letter', code: 'evidence_unknown_executor', record: evidence })
    await governor.retryDeadLetters()
    expect((await governor.pending()).map(({ state }) => state)).toEqual(['pending', 'pending'])
  })
})
