import { afterEach, describe, expect, it } from 'vitest'
import type { CedarQuestion, JsonObject } from '@chancery/protocol'
import { authorOf } from './author.suite.ts'
import type { Author } from './cedar-authoring.ts'
import { type CedarEngine, openCedarEngine } from './cedar.ts'

// Holds: that checks and simulations share no queue and no thread with decisions, that they end with their request, and
// that no operator key waits for the work of another tier (docs/architecture.md, rules of a true answer).

/** Allows a quick question, and never ends with another one. Checks a text of `slow` without end. */
const ENGINE = `data:text/javascript,${encodeURIComponent(`
  export const getCedarVersion = () => '0.0.0'
  export const policySetTextToParts = () => ({ type: 'success', policies: [], policy_templates: [] })
  export const preparseSchema = () => ({ type: 'success' })
  export const preparsePolicySet = () => ({ type: 'success' })
  export const checkParseEntities = () => ({ type: 'success' })
  export const validate = ({ schema }) => {
    while (schema === 'slow');
    return { type: 'success', validationErrors: [] }
  }
  export const statefulIsAuthorized = ({ context }) => {
    while (!context.quick);
    return { type: 'success', response: { decision: 'allow', diagnostics: { reason: [], errors: [] } } }
  }
`)}`
const TEXTS = { policySet: '', schema: '' }
const SLOW = { ...TEXTS, schema: 'slow', entities: [] }
const QUICK = { ...TEXTS, entities: [] }

function questionOf(context: JsonObject): CedarQuestion {
  const digests = { policy_set_digest: 'a', schema_digest: 'b' }
  return { kind: 'cedar', digest: '', ...digests, entities: [], request: { context } }
}

const engines: CedarEngine[] = []
const ends: AbortController[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) end.abort()
  await Promise.all(engines.splice(0).map((engine) => engine.close()))
})

function open(): CedarEngine {
  const engine = openCedarEngine(ENGINE)
  engines.push(engine)
  return engine
}

function author(
  key_id: string,
  tier?: Author['operator']['tier'],
): { readonly who: Author; readonly leave: () => void } {
  const end = new AbortController()
  ends.push(end)
  return { who: authorOf(key_id, tier, end.signal), leave: () => end.abort() }
}

const REFUSED = { code: 'service_unavailable', details: { reason: 'deadline' } }
const refusalOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'done',
    (error: unknown) => error,
  )
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

describe('while operators check and simulate slow texts', () => {
  it('every decision is answered', async () => {
    const engine = open()
    const work = ['a', 'b', 'c', 'd'].flatMap((key) => {
      const { who } = author(key)
      return [engine.check([SLOW], who), engine.simulate(who).ask(questionOf({}), TEXTS)].map(refusalOf)
    })
    await pause(300)
    for (let n = 0; n < 20; n += 1)
      expect(await engine.ask(questionOf({ quick: true }), TEXTS, 'node')).toMatchObject({ decision: 'allow' })
    for (const end of ends.splice(0)) end.abort()
    await Promise.all(work)
  }, 20_000)

  it('a privileged key waits for no standard key, and a policy without Cedar for no key', async () => {
    const engine = open()
    const ended: string[] = []
    const slow = ['a', 'b', 'c', 'd'].map(async (key) => {
      await refusalOf(engine.check([SLOW], author(key).who))
      ended.push(key)
    })
    // Two of them run, and each has 3 s.
    await pause(100)
    expect(await engine.check([], author('e').who)).toEqual([])
    expect(await engine.check([QUICK], author('f', 'privileged').who)).toEqual([[]])
    expect(ended).toEqual([])
    for (const end of ends.splice(0)) end.abort()
    await Promise.all(slow)
  }, 20_000)
})

describe('a request that is over', () => {
  it('ends its simulation, and the next one begins at once', async () => {
    const engine = open()
    const { who, leave } = author('a')
    const [first, second] = [engine.simulate(who), engine.simulate(author('a').who)]
    const running = refusalOf(first.ask(questionOf({}), TEXTS))
    await pause(300)
    const waiting = second.ask(questionOf({ quick: true }), TEXTS)
    const began = performance.now()
    leave()
    expect(await running).toMatchObject(REFUSED)
    expect(await waiting).toMatchObject({ decision: 'allow' })
    expect(performance.now() - began).toBeLessThan(5000)
    await second.close()
    // A simulation that is over gets no other answer.
    expect(await refusalOf(first.ask(questionOf({ quick: true }), TEXTS))).toMatchObject(REFUSED)
  }, 20_000)

  it('leaves the queue, and says nothing about the texts', async () => {
    const engine = open()
    const [running, waiting] = [author('a'), author('a')]
    const first = refusalOf(engine.check([SLOW], running.who))
    const second = refusalOf(engine.check([QUICK], waiting.who))
    await pause(100)
    waiting.leave()
    expect(await second).toMatchObject(REFUSED)
    running.leave()
    expect(await first).toMatchObject(REFUSED)
    expect(await engine.check([QUICK], author('a').who)).toEqual([[]])
  }, 20_000)

  it('does not begin', async () => {
    const { who, leave } = author('a')
    leave()
    expect(await refusalOf(open().check([QUICK], who))).toMatchObject(REFUSED)
  })
})
