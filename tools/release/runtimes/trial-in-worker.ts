import { type TrialInput, runTrial } from './trial.ts'

/** The trial in workerd: `workerd test` calls it. The line before this module sets the input. */

declare global {
  var trialInput: TrialInput
}

export const worker = {
  async test(): Promise<void> {
    console.log(JSON.stringify(await runTrial(globalThis.trialInput)))
  },
}
