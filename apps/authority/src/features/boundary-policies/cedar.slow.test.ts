import { monitorEventLoopDelay } from 'node:perf_hooks'
import { afterAll, describe, expect, it } from 'vitest'
import { type CedarQuestion, type JsonObject, MAX_POLICY_TEXT_BYTES, digestOf } from '@chancery/protocol'
import { authorOf } from './author.suite.ts'
import { openCedarEngine } from './cedar.ts'

// Holds: that Cedar texts of the largest size do not hold the event loop, neither at publication nor in a decision, and
// that the next question is answered. CHANCERY_SHOW_MEASURED=on prints the times. Holds also: that a text that passes
// publication can be used.

const engine = openCedarEngine()
afterAll(() => engine.close())

const AUTHOR = authorOf('one')

const SCHEMA = `entity Member; entity Printer;
action print appliesTo { principal: Member, resource: Printer, context: { copies: Long } };`
const RULES = 'permit(principal, action, resource) when { context.copies <= 5 };'

function ask(context: JsonObject, policySet = RULES): ReturnType<typeof engine.ask> {
  const request = {
    principal: { type: 'Member', id: 'beta' },
    action: { type: 'Action', id: 'print' },
    resource: { type: 'Printer', id: 'p1' },
    context,
  }
  const digests = { policy_set_digest: digestOf(policySet), schema_digest: digestOf(SCHEMA) }
  const question: CedarQuestion = { kind: 'cedar', digest: '', ...digests, entities: [], request }
  return engine.ask(question, { policySet, schema: SCHEMA }, 'one')
}

const fill = (part: string, around: (parts: string) => string): string => {
  const room = MAX_POLICY_TEXT_BYTES - around('').length
  return around(part.repeat(Math.floor(room / part.length)))
}
const when = (condition: string): string => `permit(principal, action, resource) when { ${condition} };`

/** Texts of the largest size that make Cedar work as much as we know of. */
const MALICIOUS: readonly (readonly [string, string])[] = [
  ['nested brackets', when('('.repeat(30_000) + 'true' + ')'.repeat(30_000))],
  ['a chain of and', fill('true && ', (parts) => when(`${parts}true`))],
  ['negations', fill('!', (parts) => when(`${parts}true`))],
  ['many small policies', fill('permit(principal,action,resource);', (parts) => parts)],
  ['nested conditions', fill('if true then ', (parts) => when(`${parts}true`))],
  ['products of sets', fill('[1,2,3].containsAll([1,2,3]) && ', (parts) => when(`${parts}true`))],
  ['a pattern of stars', when(`"${'a'.repeat(30_000)}" like "${'*a'.repeat(15_000)}b"`)],
  ['a large set', when(`[${Array.from({ length: 12_000 }, (_, n) => n).join(',')}].contains(context.copies)`)],
]

describe('a malicious text of the largest size', () => {
  it.each(MALICIOUS)(
    'does not hold the event loop: %s',
    async (name, text) => {
      expect(text.length).toBeLessThanOrEqual(MAX_POLICY_TEXT_BYTES)
      const delay = monitorEventLoopDelay({ resolution: 5 })
      delay.enable()
      const began = performance.now()
      const [problems = []] = await engine.check([{ policySet: text, schema: SCHEMA, entities: [] }], AUTHOR)
      const checked = performance.now()
      // As if it had been stored before the limit existed.
      const answer = await ask({ copies: 1 }, text)
      const asked = performance.now()
      delay.disable()
      const measured = {
        check: Math.round(checked - began),
        ask: Math.round(asked - checked),
        loop: Math.round(delay.max / 1e6),
        problems: problems.length,
        answer: answer.kind === 'cedar' ? answer.decision : answer.failure,
      }
      if (process.env['CHANCERY_SHOW_MEASURED'] === 'on') process.stderr.write(`${name} ${JSON.stringify(measured)}\n`)
      // 100 ms is the promise; a loaded build machine adds its own pauses.
      expect(delay.max / 1e6).toBeLessThan(500)
      expect(asked - checked).toBeLessThan(10_000)
      expect(await ask({ copies: 2 })).toMatchObject({ decision: 'allow' })
    },
    40_000,
  )
})

/** An engine that needs this time to check texts, and as long to prepare them. */
function slowEngine(ms: number): string {
  return `data:text/javascript,${encodeURIComponent(`
    const wait = () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${ms})
    export const getCedarVersion = () => '0.0.0'
    export const policySetTextToParts = () => ({ type: 'success', policies: [], policy_templates: [] })
    export const preparseSchema = () => ({ type: 'success' })
    export const checkParseEntities = () => ({ type: 'success' })
    export const validate = () => {
      wait()
      return { type: 'success', validationErrors: [] }
    }
    export const preparsePolicySet = () => {
      wait()
      return { type: 'success' }
    }
    export const statefulIsAuthorized = () =>
      ({ type: 'success', response: { decision: 'allow', diagnostics: { reason: [], errors: [] } } })
  `)}`
}

describe('a text that Cedar reads slowly', () => {
  const gate = { policySet: RULES, schema: SCHEMA, entities: [] }
  const digests = { policy_set_digest: 'a', schema_digest: 'b' }
  const question: CedarQuestion = { kind: 'cedar', digest: '', ...digests, entities: [], request: {} }

  it.each([
    ['passes publication and its first use in 2050 ms', 2050, [], 'cedar'],
    [
      'is refused at publication in 3500 ms, because its first use would take too long',
      3500,
      ['the texts of the gate take longer than 3000 ms to check'],
      'none',
    ],
  ] as const)(
    '%s',
    async (_name, ms, problems, kind) => {
      const slow = openCedarEngine(slowEngine(ms))
      try {
        expect(await slow.check([gate], AUTHOR)).toEqual([problems])
        expect((await slow.ask(question, gate, 'one')).kind).toBe(kind)
      } finally {
        await slow.close()
      }
    },
    30_000,
  )
})
