import { type JsonObject, writeJson } from '@chancery/protocol'
import type { DeniedAnswer } from '@chancery/sdk'
import { describe, expect, it } from 'vitest'
import { type AskedCall, FactQuestions } from './fact-questions.ts'

// Holds: how much open questions keep in memory, that no caller removes the questions of another, and that two guards in
// a row can both ask.

const META = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } }

/** A denial because a policy needs the argument, with the members that a question uses. */
function denialFor(name: string): Pick<DeniedAnswer, 'decision' | 'missing'> {
  return { decision: { authorized: false } as unknown as DeniedAnswer['decision'], missing: [name] }
}

const callOf = (members: Partial<AskedCall> = {}): AskedCall => ({
  caller: 'a',
  tool: 'print',
  arguments: {},
  input: {},
  ...members,
})

/** Returns the request state of the question; undefined when none is asked. */
function ask(questions: FactQuestions, members: Partial<AskedCall> = {}, name = 'copies'): string | undefined {
  const tool = { digest: '', headers: new Map(), types: new Map([[name, 'integer']]) }
  const asked = questions.ask(denialFor(name), callOf(members), { tool, named: [name], meta: META })
  return asked?.['requestState'] as string | undefined
}

function answerOf(state: string | undefined, name = 'copies'): JsonObject {
  return {
    requestState: state ?? '',
    inputResponses: { 'chancery-facts': { action: 'accept', content: { [name]: 2 } } },
  }
}

/** Takes an answer to the question. */
function stateAfter(questions: FactQuestions, state: string | undefined, caller = 'a'): string | undefined {
  return questions.take(callOf({ caller, input: answerOf(state) }))?.state
}

describe('open questions', () => {
  it('are asked for an input of 64 KiB, and not for a larger one', () => {
    const questions = new FactQuestions()
    const around = writeJson({ requestState: '' }).length
    const inputOf = (bytes: number): JsonObject => ({ requestState: 'x'.repeat(bytes - around) })
    expect(ask(questions, { input: inputOf(65_536) })).toBeDefined()
    expect(ask(questions, { input: inputOf(65_537) })).toBeUndefined()
  })

  it('are at most 20 of one caller: the next one replaces the oldest of that caller only', () => {
    const questions = new FactQuestions()
    const other = ask(questions, { caller: 'b' })
    const own = Array.from({ length: 21 }, () => ask(questions))
    expect(own.map((state) => stateAfter(questions, state))).toEqual([
      'unknown',
      ...Array.from({ length: 20 }, () => 'answered'),
    ])
    expect(stateAfter(questions, other, 'b')).toBe('answered')
  })

  it('are at most 1000: then no further one is asked, and none of another caller is removed', () => {
    const questions = new FactQuestions()
    const callers = Array.from({ length: 1000 }, (_, index) => `caller ${index % 50}`)
    const states = callers.map((caller) => ask(questions, { caller }))
    expect(ask(questions, { caller: 'late' })).toBeUndefined()
    // A caller with 20 still replaces its own.
    expect(ask(questions, { caller: 'caller 0' })).toBeDefined()
    const outcomes = states.map((state, index) => stateAfter(questions, state, callers[index]))
    expect(outcomes).toEqual(['unknown', ...Array.from({ length: 999 }, () => 'answered')])
    expect(ask(questions, { caller: 'late' })).toBeDefined()
  })

  it('are removed after five minutes by the next question', () => {
    let now = 0
    const questions = new FactQuestions(() => now)
    const askAll = (): readonly (string | undefined)[] =>
      Array.from({ length: 1000 }, (_, index) => ask(questions, { caller: `caller ${index}` }))
    askAll()
    now = 300_000
    expect(ask(questions, { caller: 'late' })).toBeUndefined()
    now = 300_001
    expect(askAll()).not.toContain(undefined)
  })
})

describe('two guards in a row', () => {
  it('both ask: each takes the states of its own questions, and passes others on', () => {
    const [outer, inner] = [new FactQuestions(), new FactQuestions()]
    // The outer guard lets the call pass, and the inner one asks.
    const inside = answerOf(ask(inner, { caller: 'outer' }))
    expect(outer.take(callOf({ input: inside }))).toBeUndefined()
    // The outer guard asks, too, for another argument. What it passes on after that is the answer for the inner one.
    const input = answerOf(ask(outer, { input: inside }, 'pages'), 'pages')
    const taken = outer.take(callOf({ input }))
    expect(taken).toEqual({ state: 'answered', arguments: { pages: 2 }, input: inside })
    expect(inner.take(callOf({ caller: 'outer', input: inside }))).toMatchObject({
      state: 'answered',
      arguments: { copies: 2 },
    })
  })

  it('pass on a state that only looks like one of theirs', () => {
    const questions = new FactQuestions()
    const [name = '', instance = ''] = (ask(questions) ?? '').split('.')
    expect([name, instance.length]).toEqual(['chancery-guard', 16])
    for (const state of ['chancery-guard.x', `chancery-guard.${'A'.repeat(16)}.x`, `${name}.${instance}`])
      expect(stateAfter(questions, state)).toBeUndefined()
    expect(stateAfter(questions, `${name}.${instance}.x`)).toBe('unknown')
  })
})
