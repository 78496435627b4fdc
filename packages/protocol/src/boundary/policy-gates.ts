import type { GateSpec } from '../artifacts/boundary-policy.ts'
import type { GateEvaluation } from '../artifacts/decision-bindings.ts'
import type { JsonObject } from '../canonical/utf8.ts'
import type { AskedQuestion, EngineQuestion } from './engine-question.ts'
import type { Facts } from './facts.ts'
import type { GateStep } from './agreement-gates.ts'
import { type AskingGate, GATE_OUTCOMES, type GateReading, type GateSituation, type ReadyGate } from './gates/gate.ts'
import type { PreparedGate, ReadyPolicy } from './policy-set.ts'

export interface PolicyRun {
  readonly steps: readonly GateStep[]
  readonly evaluations: readonly GateEvaluation[]
}

export function gateName(policy_id: string, gate_id: string): string {
  return `${policy_id}/${gate_id}`
}

/** The denial reason of an enforced gate that does not pass. */
export function denialOf(gate_name: string): string {
  return `policy gate '${gate_name}' failed`
}

/**
 * Runs every gate of every applied policy, without stopping: a decision shows all that speaks against it (5.7). Gates
 * that ask a person run after all others, and know whether one of these denies. The results keep their places.
 */
export function runPolicyGates(applied: readonly ReadyPolicy[], facts: Facts): PolicyRun {
  const steps: GateStep[] = []
  const evaluations: GateEvaluation[] = []
  const readings = runInPhases(applied, facts)
  for (const { policy, gates } of applied) {
    for (const gate of gates) {
      const { spec } = gate
      const reading = readings.get(gate) ?? GATE_ERROR
      const passed = reading.outcome === 'pass'
      const named = { policy_id: policy.policy_id, policy_version: policy.version, gate_id: spec.gate_id }
      const { gate_type, order, mode } = spec
      const gate_name = gateName(policy.policy_id, spec.gate_id)
      evaluations.push({ ...named, gate_type, order, mode, passed, outcome: reading.outcome })
      steps.push({
        gate_name,
        gate_type,
        passed,
        reason: reading.text,
        inputs: inputsOf(reading, spec.disclose_input),
        metadata: { ...named, order, mode, outcome: reading.outcome },
        denial: mode === 'enforce' && !passed ? denialOf(gate_name) : undefined,
        isObserved: mode === 'observe',
      })
    }
  }
  return { steps, evaluations }
}

function runInPhases(applied: readonly ReadyPolicy[], facts: Facts): ReadonlyMap<PreparedGate, GateReading> {
  const readings = new Map<PreparedGate, GateReading>()
  const runAll = (runsLast: boolean, isDenied: boolean): void => {
    for (const { policy, gates } of applied)
      for (const gate of gates.filter((each) => (each.runsLast === true) === runsLast))
        readings.set(gate, runGate(gate.run, facts, situationOf(policy.policy_id, gate.spec, isDenied)))
  }
  runAll(false, false)
  runAll(
    true,
    [...readings].some(([{ spec }, { outcome }]) => spec.mode === 'enforce' && outcome !== 'pass'),
  )
  return readings
}

function situationOf(policy_id: string, { gate_id, mode }: GateSpec, isDenied: boolean): GateSituation {
  const named = { gate_name: gateName(policy_id, gate_id), isDenied }
  return mode === 'observe' ? { ...named, isObserved: true } : named
}

/**
 * What the gates of the applied policies ask other systems about a request. Enforced gates come first: calls are
 * limited, and a gate in observe mode must not use up those of a gate that denies.
 */
export function listQuestions(applied: readonly ReadyPolicy[], facts: Facts): readonly AskedQuestion[] {
  const ofMode = (wanted: GateSpec['mode']): readonly AskedQuestion[] =>
    applied.flatMap(({ policy, gates }) =>
      gates.flatMap(({ spec, ask }) => {
        const question = ask === undefined || spec.mode !== wanted ? undefined : askGate(ask, facts)
        return question === undefined ? [] : [{ gate_name: gateName(policy.policy_id, spec.gate_id), question }]
      }),
    )
  return [...ofMode('enforce'), ...ofMode('observe')]
}

/** A gate that throws asks nothing. It throws again when it runs, and does not pass. */
function askGate(ask: AskingGate, facts: Facts): EngineQuestion | undefined {
  try {
    return ask(facts)
  } catch {
    return undefined
  }
}

const GATE_ERROR: GateReading = {
  outcome: 'gate_error',
  text: 'the gate could not be run',
  path: '',
  type: 'other',
  value: undefined,
  condition: {},
}

/** A gate that throws, or answers with something else than an outcome, has not passed. */
function runGate(run: ReadyGate, facts: Facts, situation: GateSituation): GateReading {
  try {
    const reading = run(facts, situation)
    return GATE_OUTCOMES.includes(reading.outcome) ? reading : GATE_ERROR
  } catch {
    // Fails closed, and as a value: an exception here would be a request without a signed answer.
    return GATE_ERROR
  }
}

/** What the proof shows. A fact value only when the author of the policy asked for it: proofs travel. */
function inputsOf(reading: GateReading, isDisclosed: boolean): JsonObject {
  const { path, type, value, condition, isPublic, inputs } = reading
  const shown = value !== undefined && (isDisclosed || isPublic === true) ? { value } : {}
  if (inputs !== undefined) return { ...inputs, ...shown }
  return { path, present: type !== 'missing', value_type: type, ...shown, condition }
}
