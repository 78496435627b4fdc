/**
 * Running actions of this process, by the id of their evidence. Stored in the global object, not in this module: a program
 * may have loaded the library twice, and both copies need the list.
 */
const KEY = Symbol.for('@chancery/sdk: actions under way')
const running: Set<string> = ((globalThis as { [KEY]?: Set<string> })[KEY] ??= new Set())

/** This process among those that may use an outbox one after the other. */
export const THIS_PROCESS: string = crypto.randomUUID()

export function beginRun(evidenceId: string): void {
  running.add(evidenceId)
}

export function endRun(evidenceId: string): void {
  running.delete(evidenceId)
}

export function isRunning(evidenceId: string): boolean {
  return running.has(evidenceId)
}
