type Step = () => Promise<void> | void

/** Steps to undo at the end, in reverse order, also after a failure. */
export class Cleanup {
  readonly #steps: Step[] = []

  add(step: Step): void {
    this.#steps.push(step)
  }

  /** A failing step does not stop the others. */
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
