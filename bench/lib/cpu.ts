import { existsSync, readdirSync, readFileSync } from 'node:fs'

/** Ticks per second of /proc on every Linux this runs on. */
const TICKS = 100

/**
 * Processor seconds that the machine has used; time that a hypervisor took away counts, because it was not available.
 */
export function machineSeconds(): number {
  const [line = ''] = readFileSync('/proc/stat', 'latin1').split('\n', 1)
  const [, user = 0, nice = 0, system = 0, , , interrupt = 0, softInterrupt = 0, stolen = 0] = line
    .split(/\s+/)
    .map(Number)
  return (user + nice + system + interrupt + softInterrupt + stolen) / TICKS
}

/** Processor seconds of one process with all its threads; 0 when it has ended. */
export function processSeconds(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) / TICKS
  } catch {
    return 0
  }
}

/** Resident memory of one process in mebibytes; not-a-number when it has ended. */
export function residentMiB(pid: number): number {
  const file = `/proc/${pid}/status`
  const text = existsSync(file) ? readFileSync(file, 'latin1') : ''
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(text)?.[1] ?? Number.NaN) / 1024
}

/**
 * Processes of the PostgreSQL server for this benchmark: the back ends of its databases, and the server's own (writers,
 * checkpointer), which mostly follow its writes.
 */
export function postgresPids(databases: readonly string[]): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      const title = commandLine(pid)
      if (!title.startsWith('postgres:')) return false
      return /(?:writer|checkpointer)\s*$/.test(title) || databases.some((name) => title.includes(` ${name} `))
    })
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ')
  } catch {
    return ''
  }
}

/** Cores that other processes used between two readings. */
export class OtherLoad {
  readonly #own: () => readonly number[]
  #at = 0
  #machine = 0
  #ours = new Map<number, number>()

  /** `own` returns the current processes of this benchmark. */
  constructor(own: () => readonly number[]) {
    this.#own = own
  }

  start(): void {
    this.#ours = this.#readOwn()
    this.#machine = machineSeconds()
    this.#at = performance.now()
  }

  cores(): number {
    const seconds = (performance.now() - this.#at) / 1000
    const machine = machineSeconds() - this.#machine
    let ours = 0
    for (const [pid, used] of this.#readOwn()) ours += used - (this.#ours.get(pid) ?? 0)
    return Math.max(0, (machine - ours) / seconds)
  }

  #readOwn(): Map<number, number> {
    return new Map(this.#own().map((pid) => [pid, processSeconds(pid)]))
  }
}
