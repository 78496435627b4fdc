import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import fc from 'fast-check'
import { asJson, canonicalJson, digestOf } from '@chancery/protocol'
import type { CedarAnswer, CedarQuestion, JsonObject, NoAnswer } from '@chancery/protocol'
import { authorOf } from './author.suite.ts'
import { CedarMissingError } from './cedar-threads.ts'
import { type CedarTexts, openCedarEngine } from './cedar.ts'

// Holds: what Cedar answers through the engine, that its answers are the same in every run, that an error of one policy
// is reported with the answer, that an answer that does not come in time, or no engine, denies, and that no caller stops
// others.

const engine = openCedarEngine()
afterAll(() => engine.close())

const AUTHOR = authorOf('one')

const SCHEMA = `entity Member; entity Printer;
action print appliesTo { principal: Member, resource: Printer, context: { copies: Long, limit?: Long, words?: Set<Long> } };`
const RULES = `@id("few") permit(principal, action == Action::"print", resource) when { context.copies <= 5 };
@id("never") forbid(principal, action, resource) when { context has limit && context.copies > context.limit };`

function ask(context: JsonObject, policySet = RULES, schema = SCHEMA): ReturnType<typeof engine.ask> {
  const request = {
    principal: { type: 'Member', id: 'beta' },
    action: { type: 'Action', id: 'print' },
    resource: { type: 'Printer', id: 'p1' },
    context,
  }
  const digests = { policy_set_digest: digestOf(policySet), schema_digest: digestOf(schema) }
  const question: CedarQuestion = { kind: 'cedar', digest: '', ...digests, entities: [], request }
  return engine.ask(question, { policySet, schema }, 'one')
}

async function check(texts: CedarTexts, entities: readonly JsonObject[] = []): Promise<readonly string[]> {
  const [problems = []] = await engine.check([{ ...texts, entities }], AUTHOR)
  return problems
}

describe('Cedar', () => {
  it('answers with the names of its rules', async () => {
    expect(await ask({ copies: 2 })).toMatchObject({ decision: 'allow', reason: ['few'], errors: [] })
    expect(await ask({ copies: 2, limit: 1 })).toMatchObject({ decision: 'deny', reason: ['never'], errors: [] })
    expect(await ask({ copies: 9 })).toMatchObject({ decision: 'deny', reason: [], errors: [] })
  })

  it.each([
    ['a type that differs from the schema', { copies: 'two' }],
    ['a member that the schema does not have', { copies: 1, other: 1 }],
    ['a member that is missing', {}],
    ['a name of the language', { copies: 1, ['__proto__']: 1 }],
  ])('refuses a request with %s', async (_name, context) => {
    expect(await ask(context)).toMatchObject({ kind: 'none', failure: 'request_refused' })
  })

  it('reports the policy that could not be evaluated, although Cedar allows', async () => {
    const overflow = `${RULES} @id("sum") forbid(principal, action, resource) when { context.copies + 9223372036854775807 > 0 };`
    expect(await check({ policySet: overflow, schema: SCHEMA })).toEqual([])
    expect(await ask({ copies: 2 }, overflow)).toMatchObject({ decision: 'allow', errors: ['sum'] })
  })

  it('gives names that a proof can contain', async () => {
    const long = `@id("${'x'.repeat(127)}\u{1F600}") permit(principal, action, resource);`
    const answer = await ask({ copies: 1 }, long)
    expect(answer).toMatchObject({ decision: 'allow', reason: [`${'x'.repeat(127)}\ufffd`] })
    expect(() => canonicalJson(asJson(answer))).not.toThrow()
  })

  it('gives the same bytes for the same question, also after a restart', async () => {
    const many = Array.from({ length: 12 }, (_, n) => `@id("r${n}") permit(principal, action, resource);`).join('\n')
    const first = JSON.stringify(await ask({ copies: 1 }, many))
    expect(first).toContain('"reason":["r0","r1","r10","r11","r2"')
    const other = openCedarEngine()
    try {
      const digests = { policy_set_digest: digestOf(many), schema_digest: digestOf(SCHEMA) }
      const request = {
        principal: { type: 'Member', id: 'beta' },
        action: { type: 'Action', id: 'print' },
        resource: { type: 'Printer', id: 'p1' },
        context: { copies: 1 },
      }
      const question: CedarQuestion = { kind: 'cedar', digest: '', ...digests, entities: [], request }
      expect(JSON.stringify(await other.ask(question, { policySet: many, schema: SCHEMA }, 'one'))).toBe(first)
    } finally {
      await other.close()
    }
  })

  it('gives the same answer twice for any request', async () => {
    const contexts = fc.dictionary(fc.constantFrom('copies', 'limit', 'x'), fc.oneof(fc.integer(), fc.string()))
    await fc.assert(
      fc.asyncProperty(contexts, async (context) => {
        expect(await ask(context)).toEqual(await ask(context))
      }),
      { numRuns: 50 },
    )
  })
})

describe('the check of texts', () => {
  it.each([
    ['a policy that is none', 'permit(', SCHEMA],
    ['a schema that is none', RULES, 'entity'],
    [
      'an attribute that the schema does not have',
      'permit(principal, action, resource) when { context.pages > 1 };',
      SCHEMA,
    ],
    [
      'an optional attribute that is not tested',
      'forbid(principal, action, resource) when { context.limit > 1 };',
      SCHEMA,
    ],
    ['a template', 'permit(principal == ?principal, action, resource);', SCHEMA],
    [
      'one @id twice',
      '@id("a") permit(principal, action, resource); @id("a") permit(principal, action, resource);',
      SCHEMA,
    ],
  ])('finds %s', async (_name, policySet, schema) => {
    expect((await check({ policySet, schema })).length).toBeGreaterThan(0)
  })

  it('finds entities that do not fit the schema', async () => {
    const uid = { type: 'Member', id: 'beta' }
    const texts = { policySet: RULES, schema: SCHEMA }
    expect(await check(texts, [{ uid, attrs: {}, parents: [] }])).toEqual([])
    expect(await check(texts, [{ uid, attrs: { age: 1 }, parents: [] }])).not.toEqual([])
  })
})

describe('the check of a policy with several gates', () => {
  const gate = { policySet: RULES, schema: SCHEMA, entities: [] }

  it('reports the problems of each gate in order', async () => {
    const wrong = { ...gate, policySet: 'permit(' }
    const found = await engine.check([gate, wrong, gate], AUTHOR)
    expect(found.map((problems) => problems.length > 0)).toEqual([false, true, false])
    expect(await engine.check([], AUTHOR)).toEqual([])
  })

  it('has one time limit for all gates', async () => {
    // On a clock ten times as fast, each check of 300 ms takes 3 s.
    const fast = (): number => performance.now() * 10
    const slow = openCedarEngine(`data:text/javascript,${encodeURIComponent(SLOW_CHECK)}`, fast)
    const began = performance.now()
    const found = await slow.check(
      Array.from({ length: 64 }, () => gate),
      AUTHOR,
    )
    const took = performance.now() - began
    await slow.close()
    const late = found.findIndex((problems) => problems.length > 0)
    expect([late >= 1, late <= 7]).toEqual([true, true])
    expect(found[late]).toEqual(['the texts of the policy take longer than 5000 ms to check'])
    expect(new Set(found.slice(late + 1).flat())).toEqual(
      new Set(['not checked, because the check of another gate failed']),
    )
    expect(found).toHaveLength(64)
    // 64 checks of 300 ms are 19 s. The start of the thread is not part of the limit.
    expect(took).toBeLessThan(15_000)
  }, 20_000)
})

describe('without the package', () => {
  it('says so when it is probed', async () => {
    const [missing, failing] = [
      openCedarEngine('@cedar-policy/not-installed'),
      openCedarEngine('data:text/javascript,throw 1'),
    ]
    expect([await engine.probe(), await missing.probe(), await failing.probe()]).toEqual(['ready', 'missing', 'failed'])
    // A start that failed is not tried again at once.
    expect([await missing.probe(), await failing.probe()]).toEqual(['missing', 'failed'])
    await Promise.all([missing.close(), failing.close()])
  })

  it('refuses to check, and denies', async () => {
    const missing = openCedarEngine('@cedar-policy/not-installed')
    await expect(missing.check([{ policySet: RULES, schema: SCHEMA, entities: [] }], AUTHOR)).rejects.toThrow(
      CedarMissingError,
    )
    expect(await missing.ask(QUESTION, TEXTS, 'one')).toEqual({ kind: 'none', failure: 'engine_unavailable' })
    await missing.close()
  })
})

/** The part of an engine that takes any texts. */
const PREPARES = `
  export const getCedarVersion = () => '0.0.0'
  export const policySetTextToParts = () => ({ type: 'success', policies: [], policy_templates: [] })
  export const preparseSchema = () => ({ type: 'success' })
  export const preparsePolicySet = () => ({ type: 'success' })
`
const LOOPS = `data:text/javascript,${encodeURIComponent(`
  ${PREPARES}
  export const validate = () => { for (;;) {} }
  export const statefulIsAuthorized = ({ context }) => {
    if (context.throws) throw new Error('unreachable')
    for (;;) {}
  }
`)}`

/** Takes 300 ms for each question. */
const SLOW = `
  ${PREPARES}
  export const statefulIsAuthorized = () => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
    return { type: 'success', response: { decision: 'allow', diagnostics: { reason: [], errors: [] } } }
  }
`
/** Takes 300 ms to check the texts of a gate. */
const SLOW_CHECK = `
  ${PREPARES}
  export const validate = () => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
    return { type: 'success', validationErrors: [] }
  }
  export const checkParseEntities = () => ({ type: 'success' })
`
const QUESTION: CedarQuestion = {
  kind: 'cedar',
  digest: '',
  policy_set_digest: 'a',
  schema_digest: 'b',
  entities: [],
  request: {},
}
const TEXTS = { policySet: RULES, schema: SCHEMA }
const outcomeOf = (answer: CedarAnswer | NoAnswer): string => (answer.kind === 'cedar' ? 'answer' : answer.failure)

describe('callers with many questions', () => {
  it('do not stop others, and wait for a second at most', async () => {
    const slow = openCedarEngine(`data:text/javascript,${encodeURIComponent(SLOW)}`)
    const many = Array.from({ length: 150 }, async () => outcomeOf(await slow.ask(QUESTION, TEXTS, 'many')))
    const other = slow.ask(QUESTION, TEXTS, 'other')
    expect(outcomeOf(await other)).toBe('answer')
    const outcomes = await Promise.all(many)
    expect(outcomes[0]).toBe('answer')
    const dropped = outcomes.filter((each) => each === 'overloaded').length
    expect([dropped >= 140, new Set(outcomes)]).toEqual([true, new Set(['answer', 'overloaded'])])
    await slow.close()
    expect(outcomeOf(await slow.ask(QUESTION, TEXTS, 'one'))).toBe('engine_unavailable')
  })
})

describe('an engine that cannot be started', () => {
  let folder = ''
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'cedar-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  it('is tried again after 30 seconds', async () => {
    const file = join(folder, 'engine.mjs')
    await writeFile(file, `throw new Error('too many open files')`)
    let now = 0
    const failing = openCedarEngine(pathToFileURL(file).href, () => now)
    expect(outcomeOf(await failing.ask(QUESTION, TEXTS, 'one'))).toBe('engine_unavailable')
    await writeFile(file, SLOW)
    now = 29_999
    expect(outcomeOf(await failing.ask(QUESTION, TEXTS, 'one'))).toBe('engine_unavailable')
    now = 30_000
    expect(outcomeOf(await failing.ask(QUESTION, TEXTS, 'one'))).toBe('answer')
    await failing.close()
  })

  it('is not tried again when it is not installed', async () => {
    const file = join(folder, 'engine.mjs')
    let now = 0
    const missing = openCedarEngine(pathToFileURL(file).href, () => now)
    expect(outcomeOf(await missing.ask(QUESTION, TEXTS, 'one'))).toBe('engine_unavailable')
    await writeFile(file, SLOW)
    now = 1_000_000
    expect(outcomeOf(await missing.ask(QUESTION, TEXTS, 'one'))).toBe('engine_unavailable')
    await missing.close()
  })
})

describe('an engine that does not end', () => {
  const asked = (context: JsonObject): CedarQuestion => ({ ...QUESTION, request: { context } })

  it('is ended after its time limit, and the event loop continues meanwhile', async () => {
    const looping = openCedarEngine(LOOPS)
    let turns = 0
    const counter = setInterval(() => (turns += 1), 10)
    expect(await looping.ask(asked({}), TEXTS, 'one')).toEqual({ kind: 'none', failure: 'time_limit' })
    expect(await looping.ask(asked({ throws: true }), TEXTS, 'one')).toEqual({
      kind: 'none',
      failure: 'engine_unavailable',
    })
    clearInterval(counter)
    expect(turns).toBeGreaterThan(10)
    await looping.close()
  })
})
