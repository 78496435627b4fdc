type Step = () => Promise<void> | void

/** What must be undone at the end, last made first, whatever happened in between. */
export class Cleanup {
  readonly #steps: Step[] = []

  add(step: Step): void {
    this.#steps.push(step)
  }

  /** One failing step does not keep the others from running. */
  async run(): Promise<void> {
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await step()
      } catch (error) {
        process.stderr.write(`bench: cleaning up failed: ${String(error)}\n`)
      }
    }
  }
}
