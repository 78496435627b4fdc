import { readFileSync, readdirSync } from 'node:fs'

/** The processes that this process started, without those that they started. Linux only. */
export function childPids(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => parentOf(pid) === parent)
}

/** False also for a process that has ended and that its parent did not read yet. */
export function isRunning(pid: number): boolean {
  const [state] = statFields(pid)
  return state !== undefined && state !== 'Z' && state !== 'X'
}

/** Undefined when the process has ended. */
export function parentOf(pid: number): number | undefined {
  const [, parent] = statFields(pid)
  return parent === undefined ? undefined : Number(parent)
}

/** Fields of /proc/PID/stat from the state on; none when the process has ended. */
function statFields(pid: number): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}
