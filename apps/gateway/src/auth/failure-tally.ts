/** Failed authentications by route since the last look: one audit row a minute, whatever strangers send. */
export class FailureTally {
  readonly #counts = new Map<string, number>()

  note(route: string): void {
    this.#counts.set(route, (this.#counts.get(route) ?? 0) + 1)
  }

  take(): readonly { readonly route: string; readonly count: number }[] {
    const taken = [...this.#counts].map(([route, count]) => ({ route, count }))
    this.#counts.clear()
    return taken
  }
}
