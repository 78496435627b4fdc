import { availableParallelism } from 'node:os'
import { type Finding, good, warn } from '../checks.ts'

const WINDOW_MS = 600_000
/** So many within the window are no single fault. */
const REPEATED = 3

/** In the warnings of a readiness document. */
export const WORKERS_RESTART = 'workers_restart'

/** When workers ended although nothing stopped them, by the monotonic clock of the machine, which processes share. */
export class Restarts {
  #timesMs: readonly number[]

  constructor(timesMs: readonly number[] = []) {
    this.#timesMs = timesMs
  }

  get timesMs(): readonly number[] {
    return this.#timesMs
  }

  /** In the supervisor: a worker ended. */
  add(nowMs: number = machineMs()): void {
    this.#timesMs = [...this.#timesMs, nowMs].slice(-REPEATED)
  }

  /** In a worker: what the supervisor says. */
  replace(timesMs: readonly number[]): void {
    this.#timesMs = timesMs
  }

  areRepeated(nowMs: number = machineMs()): boolean {
    return this.#timesMs.filter((time) => nowMs - time < WINDOW_MS).length >= REPEATED
  }
}

function machineMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n)
}

/** What a doctor says about the workers of a service. Nothing about a service without workers. */
export function checkWorkers(
  { setting, workers, warnings }: { readonly setting: string; readonly workers: number; readonly warnings: unknown },
  cores: number = availableParallelism(),
): readonly Finding[] {
  if (workers === 1) return []
  const findings: Finding[] = []
  if (workers > cores)
    findings.push(
      warn(
        'workers',
        `${setting} starts ${workers} workers on a machine with ${cores} ${cores === 1 ? 'core' : 'cores'}`,
        `Set ${setting}=auto, or a number of at most ${cores}.`,
        { effect: 'Workers wait for each other, and each needs memory.' },
      ),
    )
  if (Array.isArray(warnings) && warnings.includes(WORKERS_RESTART))
    findings.push(
      warn(
        'workers',
        `workers ended ${REPEATED} times or more within 10 minutes, and were started again`,
        'Read the log lines with "alarm" and "worker": they have the exit code or signal, and the fault before it.',
        { effect: 'Open requests of a worker fail when it ends.' },
      ),
    )
  return findings.length === 0 ? [good('workers', `${workers} on ${cores} cores`)] : findings
}
