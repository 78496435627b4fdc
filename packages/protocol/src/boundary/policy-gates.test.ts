import { expect, it } from 'vitest'
import type { FactQuestion } from './engine-question.ts'
import type { AskingGate } from './gates/gate.ts'
import { CONTEXT, draft, gate } from './policies.suite.ts'
import { listQuestions, runPolicyGates } from './policy-gates.ts'
import { type ReadyPolicy, preparePolicy } from './policy-set.ts'

// Holds: which gates ask first, and that a gate that throws asks nothing, denies, and leaves the others as they are.

const FACTS = { context: CONTEXT, attestation: undefined }

const config = (path: string) => ({
  origin: 'https://opa.example',
  path,
  question: { input: { who: { fact: 'agreement_id' } } },
  answer: { path: 'result' },
})
const asking = (gate_id: string, order: number, mode: 'enforce' | 'observe') =>
  gate({ gate_id, gate_type: 'external_fact.v1', order, mode, config: config(`/${gate_id}`) })

const pathsOf = (policies: readonly ReadyPolicy[]): readonly string[] =>
  listQuestions(policies, FACTS).map(({ question }) => (question as FactQuestion).path)

it('asks for enforced gates first, also for those of later policies', () => {
  const one = draft({ policy_id: 'a', gates: [asking('a0', 0, 'observe'), asking('a1', 1, 'enforce')] })
  const two = draft({ policy_id: 'b', gates: [asking('b0', 0, 'enforce'), asking('b1', 1, 'observe')] })
  expect(pathsOf([preparePolicy(one), preparePolicy(two)])).toEqual(['/a1', '/b0', '/a0', '/b1'])
})

it('does not fail with a gate that throws', () => {
  const ready = preparePolicy(draft({ gates: [asking('good', 0, 'enforce'), asking('bad', 1, 'enforce')] }))
  const fails: AskingGate = () => {
    throw new Error('a defect')
  }
  const gates = ready.gates.map((each) =>
    each.spec.gate_id === 'bad' ? { ...each, ask: fails, run: fails as never } : each,
  )
  const policies = [{ ...ready, gates }]
  expect(pathsOf(policies)).toEqual(['/good'])
  expect(runPolicyGates(policies, FACTS).steps.map(({ reason }) => reason)).toEqual([
    'the source gave no answer: not_asked',
    'the gate could not be run',
  ])
})
