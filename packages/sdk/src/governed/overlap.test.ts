import { testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { governedAction } from '../compat/governed.ts'
import { type GovernedSetup, openSetup } from './governed.suite.ts'
import { GovernedActionRunner } from './action-runner.ts'
import { type Intent, MemoryOutbox, type Outbox, type OutboxContent, type OutboxEntry } from './outbox.ts'

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

/** An action that ends on demand. */
function gate(): { readonly begun: Promise<void>; readonly end: () => void; readonly run: () => Promise<string> } {
  const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const run = async (): Promise<string> => {
    begun.resolve()
    await ended.promise
    return 'done'
  }
  return { begun: begun.promise, end: () => ended.resolve(), run }
}

const outcomesOf = async (id: string): Promise<unknown> =>
  (await setup.executions({ resource_id: id })).map(({ outcome, resource_sequence }) => [resource_sequence, outcome])

describe('an action under way', () => {
  it('stays with its runner while a second runner uses the same outbox, and its end is recorded', async () => {
    const [outbox, slow] = [new MemoryOutbox(), gate()]
    const first = (await setup.open(outbox)).run(setup.action(slow.run, resource('o/two')))
    await slow.begun
    const second = await setup.open(outbox)
    expect(await second.recover()).toBe(0)
    expect(await second.recover({ othersEnded: true })).toBe(0)
    const quick = await second.run(setup.action(() => Promise.resolve('quick'), resource('o/two')))
    slow.end()
    expect([quick, await first]).toMatchObject([{ stored: true }, { value: 'done', stored: true }])
    expect(await outcomesOf('o/two')).toEqual([
      [1, 'success'],
      [2, 'success'],
    ])
    expect(await outbox.list()).toEqual([])
  })

  it('that ends last comes last in the chain of its resource, as it was signed', async () => {
    const [outbox, slow] = [new MemoryOutbox(), gate()]
    const governor = await setup.open(outbox)
    setup.submissions = 'fail'
    const first = governor.run(setup.action(slow.run, resource('o/order')))
    await slow.begun
    const second = await governor.run(setup.action(() => Promise.resolve('quick'), resource('o/order')))
    slow.end()
    const results = [second, await first].map((each) => (each.allowed ? each.evidence : undefined))
    setup.submissions = 'arrive'
    expect(await governor.flush({ force: true })).toMatchObject({ stored: 2 })
    expect(await setup.executions({ resource_id: 'o/order' })).toEqual(results)
  })

  it('is left alone by calls of governedAction that overlap', async () => {
    const [outbox, slow] = [new MemoryOutbox(), gate()]
    const { client, clock } = setup
    const executor = { signer: await testSigner('rotator-1'), sovereignId: 'rotator' }
    const act = (run: () => Promise<string>) =>
      governedAction({
        client,
        executor,
        outbox,
        clock: () => clock.now(),
        ...setup.action(run, resource('o/calls')),
      })
    const first = act(slow.run)
    await slow.begun
    await Promise.all([act(() => Promise.resolve('a')), act(() => Promise.resolve('b'))])
    slow.end()
    await first
    expect(await outcomesOf('o/calls')).toEqual([
      [1, 'success'],
      [2, 'success'],
      [3, 'success'],
    ])
    expect(await setup.client.evidence.verify()).toMatchObject({ verified: true })
  })
})

/** A begun action as another process would have left it. */
function remaining(entry: OutboxEntry, changes: Partial<Intent> = {}): OutboxContent {
  if (entry.state !== 'started') throw new Error('nothing was begun')
  const intent = { ...entry.intent, evidence_id: crypto.randomUUID(), ...changes }
  return { state: 'started', intent, owner: 'another process' }
}

async function beginAndStop(id: string, changes: Partial<Intent> = {}): Promise<OutboxContent> {
  const outbox = new MemoryOutbox()
  const run = (await setup.open(outbox)).run(
    setup.action(async () => {
      const [entry] = await outbox.list()
      if (entry === undefined) throw new Error('no entry')
      throw remaining(entry, changes)
    }, resource(id)),
  )
  return run.then(
    () => Promise.reject(new Error('it did not throw')),
    (content: OutboxContent) => content,
  )
}

/** As a database that several processes use. */
class SharedDatabase extends MemoryOutbox implements Outbox {
  override readonly isExclusive: boolean = false
}

describe('an action that another process began', () => {
  it('is recorded as partial where the outbox detects that the process ended', async () => {
    const outbox = new MemoryOutbox()
    await outbox.add(await beginAndStop('o/dead'))
    const { owner: _none, ...before } = (await beginAndStop('o/earlier')) as { owner: string } & OutboxContent
    await outbox.add(before)
    const governor = await setup.open(outbox)
    expect(await governor.flush()).toMatchObject({ stored: 2, waiting: 0 })
    expect(await setup.executions({ resource_id: 'o/dead' })).toMatchObject([
      { outcome: 'failure' },
      { outcome: 'partial', outcome_detail: expect.stringContaining('interrupted') },
    ])
  })

  it('is left alone where it may still be doing it, until the caller says that it ended', async () => {
    const outbox = new SharedDatabase()
    await outbox.add(await beginAndStop('o/shared'))
    const governor = await setup.open(outbox)
    await governor.run(setup.action(() => Promise.resolve(), resource('o/own')))
    expect(await governor.pending()).toMatchObject([{ state: 'started', owner: 'another process' }])
    expect(await governor.recover()).toBe(0)
    expect(await governor.recover({ othersEnded: true })).toBe(1)
    expect(await governor.flush()).toMatchObject({ stored: 1, waiting: 0 })
  })

  it('is recorded once when two runners search for it at the same time', async () => {
    const outbox = new MemoryOutbox()
    await outbox.add(await beginAndStop('o/both'))
    const governors = await Promise.all([setup.open(outbox), setup.open(outbox)])
    await Promise.all(governors.map((each) => each.flush()))
    expect(await outcomesOf('o/both')).toEqual([
      [1, 'failure'],
      [2, 'partial'],
    ])
    expect(await outbox.list()).toEqual([])
  })

  it('for another executor is left to that one', async () => {
    const outbox = new MemoryOutbox()
    await outbox.add(await beginAndStop('o/foreign', { executor_sovereign_id: 'somebody-else' }))
    const governor = await setup.open(outbox)
    expect(await governor.recover()).toBe(0)
    expect(await outbox.list()).toMatchObject([{ state: 'started' }])
  })
})

it('a run of this process whose end could not be stored is recorded as partial afterwards', async () => {
  const outbox = new MemoryOutbox()
  const governor = await setup.open(outbox)
  const { update } = outbox
  outbox.update = () => Promise.reject(new Error('no space left'))
  const action = setup.action(() => Promise.resolve(), resource('o/full'))
  await expect(governor.run(action)).rejects.toMatchObject({ name: 'EvidenceNotStoredError', executed: true })
  outbox.update = update
  expect(await governor.recover()).toBe(1)
  await governor.flush()
  expect(await outcomesOf('o/full')).toEqual([[1, 'partial']])
})

it('a record is signed again by the key that signed it, whichever runner submits it', async () => {
  const outbox = new MemoryOutbox()
  const [one, two] = [await setup.open(outbox), await setup.open(outbox, 'rotator-2')]
  setup.submissions = 'fail'
  await two.run(setup.action(() => Promise.resolve(), resource('o/keys')))
  setup.submissions = 'arrive'
  await (await setup.open()).run(setup.action(() => Promise.resolve(), resource('o/keys')))
  expect(await one.flush({ force: true })).toEqual({ stored: 1, waiting: 0, deadLetters: 0 })
  const stored = await setup.executions({ resource_id: 'o/keys' })
  expect(stored.map(({ signature }) => signature?.key_id)).toEqual(['rotator-1', 'rotator-2'])
})

describe('an outbox that cannot be read for a moment', () => {
  class Shaky extends MemoryOutbox {
    readonly failing = new Set<number>()
    calls = 0
    override list(): Promise<readonly OutboxEntry[]> {
      this.calls += 1
      return this.failing.has(this.calls) ? Promise.reject(new Error('the database is restarting')) : super.list()
    }
    failIn(...calls: readonly number[]): void {
      for (const each of calls) this.failing.add(this.calls + each)
    }
  }
  const open = async (outbox: Outbox, onError: (error: unknown) => void): Promise<GovernedActionRunner> => {
    const executor = { signer: await testSigner('rotator-1'), sovereignId: 'rotator' }
    return GovernedActionRunner.open({
      client: setup.client,
      executor,
      outbox,
      onError,
      clock: () => setup.clock.now(),
    })
  }

  it('does not end the submission in the background, and is reported', async () => {
    const [outbox, logged] = [new Shaky(), [] as unknown[]]
    const governor = await open(outbox, (error) => {
      logged.push(error)
      throw new Error('and the listener fails, too')
    })
    outbox.failIn(1, 2)
    governor.start(1)
    while (outbox.calls < 8) await new Promise((resolve) => setTimeout(resolve, 5))
    await governor.stop()
    expect(logged).toMatchObject([{ message: 'the database is restarting' }, { message: 'the database is restarting' }])
  })

  it('does not make an action fail that was done: its evidence waits', async () => {
    const [outbox, logged] = [new Shaky(), [] as unknown[]]
    const governor = await open(outbox, (error) => logged.push(error))
    const action = setup.action(async () => {
      // The first call places the evidence behind what waits; the second begins the round of submissions.
      outbox.failIn(2)
      return Promise.resolve(7)
    }, resource('o/shaky'))
    expect(await governor.run(action)).toMatchObject({ value: 7, stored: false })
    expect(logged).toHaveLength(1)
    expect(await governor.flush()).toMatchObject({ stored: 1, waiting: 0 })
  })

  it('ends one round and not those after it', async () => {
    const outbox = new Shaky()
    const governor = await open(outbox, () => undefined)
    setup.submissions = 'fail'
    await governor.run(setup.action(() => Promise.resolve(7), resource('o/round')))
    setup.submissions = 'arrive'
    outbox.failIn(1)
    const rounds = await Promise.allSettled([governor.flush(), governor.flush({ force: true })])
    expect(rounds).toMatchObject([{ status: 'rejected' }, { status: 'fulfilled', value: { stored: 1, waiting: 0 } }])
    expect(await outbox.list()).toEqual([])
  })
})
