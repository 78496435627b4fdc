import { type BoundaryDecision, seconds, writeInstant } from '@chancery/protocol'
import { ManualClock } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { DecisionCache, type FoundDecision, type Question, type VerifiedDecision } from './decision-cache.ts'

/**
 * Holds: identical questions are asked once; those that wait for the first one wait for a second at most, and ask at the
 * same time when it gets no decision.
 */
const WAITERS = 12
const KEY = '{}'
const clock = new ManualClock('2026-01-02T03:04:05.678Z')
/** The cache uses the network of a question only as a name. */
const question = { network: {} } as unknown as Question

function decisionOf(id: string, ageSeconds = 0, gates: Partial<BoundaryDecision> = {}): VerifiedDecision {
  const madeAt = clock.now() - seconds(ageSeconds)
  const decision = {
    decision_id: id,
    decision_made_at: writeInstant(madeAt),
    decision_valid_until: writeInstant(madeAt + seconds(300)),
    gate_results: [],
    ...gates,
  }
  return { decision, wire: {}, justification: {} } as unknown as VerifiedDecision
}

/** One cache, and the questions to the authority in the order in which they were asked. Each ends when a test says so. */
function open() {
  const cache = new DecisionCache(clock)
  const asked: ReturnType<typeof Promise.withResolvers<VerifiedDecision>>[] = []
  const request = (checkDeadline: () => void = () => undefined): Promise<FoundDecision> =>
    cache.findOrAsk('client', question, KEY, {
      checkDeadline,
      ask: () => {
        const answer = Promise.withResolvers<VerifiedDecision>()
        asked.push(answer)
        return answer.promise
      },
    })
  const requests = (): Promise<FoundDecision>[] => Array.from({ length: WAITERS }, () => request())
  return { asked, request, requests }
}

const FAILURE = new Error('no decision')
const failureOf = (found: Promise<FoundDecision>): Promise<unknown> =>
  found.then(
    () => undefined,
    (error: unknown) => error,
  )
const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0)
const reusedOf = async (found: readonly Promise<FoundDecision>[]): Promise<readonly boolean[]> =>
  (await Promise.all(found)).map(({ reused }) => reused)

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => vi.useRealTimers())

describe('identical questions at the same time', () => {
  it('are asked once, and leave no timer', async () => {
    const { asked, requests } = open()
    const found = requests()
    await settle()
    expect(asked).toHaveLength(1)
    asked[0]?.resolve(decisionOf('one'))
    expect(await reusedOf(found)).toEqual([false, ...Array.from({ length: WAITERS - 1 }, () => true)])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('wait a second for the first one, and then ask at the same time', async () => {
    const { asked, request, requests } = open()
    const first = request()
    const found = requests()
    await vi.advanceTimersByTimeAsync(999)
    expect(asked).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(asked).toHaveLength(1 + WAITERS)
    for (const answer of asked.slice(1)) answer.resolve(decisionOf('own'))
    expect(new Set(await reusedOf(found))).toEqual(new Set([false]))
    expect((await request()).reused).toBe(true)
    asked[0]?.resolve(decisionOf('late'))
    expect((await first).verified.decision.decision_id).toBe('late')
  })

  it('all ask at the same time after the first one got no decision', async () => {
    const { asked, request, requests } = open()
    const first = failureOf(request())
    const found = requests()
    await settle()
    expect(asked).toHaveLength(1)
    asked[0]?.reject(FAILURE)
    expect(await first).toBe(FAILURE)
    await settle()
    expect(asked).toHaveLength(1 + WAITERS)
    const failed = Promise.allSettled(found)
    for (const answer of asked.slice(1)) answer.reject(FAILURE)
    expect(new Set((await failed).map(({ status }) => status))).toEqual(new Set(['rejected']))
    expect(asked).toHaveLength(1 + WAITERS)
  })

  it('do not ask after the end of their own time', async () => {
    const { asked, request } = open()
    const first = failureOf(request())
    const ended = new Error('deadline')
    const late = failureOf(
      request(() => {
        throw ended
      }),
    )
    asked[0]?.reject(FAILURE)
    expect(await Promise.all([first, late])).toEqual([FAILURE, ended])
    expect(asked).toHaveLength(1)
  })

  it('wait for a question that began after a hung one, also when the hung one ends', async () => {
    const { asked, request, requests } = open()
    const hung = failureOf(request())
    await vi.advanceTimersByTimeAsync(1000)
    const next = request()
    asked[0]?.reject(FAILURE)
    expect(await hung).toBe(FAILURE)
    const found = requests()
    await settle()
    expect(asked).toHaveLength(2)
    asked[1]?.resolve(decisionOf('next'))
    expect([(await next).reused, new Set(await reusedOf(found))]).toEqual([false, new Set([true])])
  })
})

describe('a decision for one use', () => {
  const binding = (type: string): Partial<BoundaryDecision> => ({
    policy_binding: { registry_gate_types: [type] } as unknown as NonNullable<BoundaryDecision['policy_binding']>,
  })
  const treaty = { gate_results: [{ gate_name: 'treaty_budget/monthly', passed: true, detail: 'within budget' }] }
  it.each([
    ['budget.v1', binding('budget.v1'), false],
    ['approval.v1', binding('approval.v1'), false],
    ['a treaty budget', treaty, false],
    ['another gate type', binding('max_value.v1'), true],
  ])('with %s: whether it is used again', async (_name, gates, isReused) => {
    const { asked, request } = open()
    const [first, waiting] = [request(), request()]
    await settle()
    asked[0]?.resolve(decisionOf('one', 0, gates))
    await first
    await settle()
    asked[1]?.resolve(decisionOf('two', 0, gates))
    expect((await waiting).reused).toBe(isReused)
    const next = request()
    await settle()
    asked.at(-1)?.resolve(decisionOf('next', 0, gates))
    expect((await next).reused).toBe(isReused)
  })
})

it('keeps the decision that was made last, when an earlier one comes late', async () => {
  const { asked, request } = open()
  const hung = request()
  await vi.advanceTimersByTimeAsync(1000)
  const next = request()
  asked[1]?.resolve(decisionOf('new'))
  await next
  asked[0]?.resolve(decisionOf('old', 5))
  await hung
  expect((await request()).verified.decision.decision_id).toBe('new')
})
