import type { Step } from './tiers.ts'

type Ordered = Pick<Step, 'name' | 'isPaired' | 'after'>

/** Runs the steps in their order: paired ones two at a time, each other one alone. A step waits for the one it reads. */
export async function runSteps<S extends Ordered, R>(
  steps: readonly S[],
  run: (step: S) => Promise<R>,
): Promise<readonly R[]> {
  const ended = new Map<string, Promise<R>>()
  const waiting = [...steps]
  const runNext = async (): Promise<void> => {
    const step = waiting.shift()
    if (step === undefined) return
    const before = ended.get(step.after ?? '')
    const result = before === undefined ? run(step) : before.then(() => run(step))
    ended.set(step.name, result)
    await result
  }
  const runPaired = async (): Promise<void> => {
    while (waiting[0]?.isPaired === true) await runNext()
  }
  while (waiting.length > 0) {
    await Promise.all([runPaired(), runPaired()])
    await runNext()
  }
  return Promise.all(ended.values())
}
