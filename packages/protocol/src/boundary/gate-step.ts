import type { JsonObject } from '../canonical/json-value.ts'

/** One gate that ran, with what its result and its trace entry say. */
export type GateStep = {
  readonly gate_name: string
  readonly gate_type: string
  readonly passed: boolean
  /** Without the mark of observe mode. */
  readonly reason: string
  readonly inputs: JsonObject
  readonly metadata: JsonObject
  /** Set when this step denies the request: the reason if it is the first to do so. */
  readonly denial: string | undefined
  readonly isObserved: boolean
}

/** A built-in gate: always enforced, reports only its inputs. */
export function builtInStep(
  gate: { readonly gate_name: string; readonly gate_type: string; readonly inputs: JsonObject },
  verdict: { readonly denial: string; readonly reason: string } | undefined,
): GateStep {
  const passed = verdict === undefined
  return { ...gate, passed, reason: verdict?.reason ?? 'ok', metadata: {}, denial: verdict?.denial, isObserved: false }
}

/** Runs built-in gates until one denies: nothing after it could change the answer (protocol/trust-operations 4.2). */
export function runInOrder(gates: readonly (() => GateStep)[]): readonly GateStep[] {
  const steps: GateStep[] = []
  for (const gate of gates) {
    const step = gate()
    steps.push(step)
    if (!step.passed) break
  }
  return steps
}

/** What the gates came to. */
export interface GateRun {
  readonly authorized: boolean
  /** Null exactly when authorized. */
  readonly denial_reason: string | null
  /** The first gate that denied. */
  readonly short_circuited_at: string | null
  readonly steps: readonly GateStep[]
}

/** The first denial counts; without one the request is granted. */
export function concludeRun(steps: readonly GateStep[]): GateRun {
  const first = steps.find((step) => step.denial !== undefined)
  return {
    authorized: first === undefined,
    denial_reason: first?.denial ?? null,
    short_circuited_at: first?.gate_name ?? null,
    steps,
  }
}
