import { existsSync } from 'node:fs'
import { mkdtemp, rmdir, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Instant, instantOf, writeInstant } from '@chancery/protocol'
import { type PortProblem, findPortProblem } from '../../connection/ports.ts'

/** Result of one check, in the form of `doctor`. */
export interface MachineFinding {
  readonly check: string
  readonly status: 'good' | 'warn' | 'bad'
  readonly found: string
  readonly fix?: string
}

export interface MachineInputs {
  readonly home: string
  readonly host: string
  readonly port: number
  readonly now: Instant
  /** For tests: the versions of Node.js and the file that a time service writes. */
  readonly nodeVersion?: string
  readonly timeSyncFile?: string
}

/** The range of `engines` in package.json; a test compares the two. */
export const NODE_RANGE = '^24.19.0 || >=26.5.0'
/** Older than this program: a clock that shows an earlier time is wrong. */
const EARLIEST = instantOf('2026-01-01T00:00:00Z')
const MIB = 1024 * 1024
const DISK_BAD = 256 * MIB
const DISK_WARN = 2048 * MIB

/** Checks the machine before anything is created. Changes nothing that lasts. */
export async function checkMachine(inputs: MachineInputs): Promise<readonly MachineFinding[]> {
  const parent = await existingParent(inputs.home)
  return [
    checkNode(inputs.nodeVersion ?? process.versions.node),
    await checkPort(inputs),
    await checkDisk(parent),
    checkClock(inputs),
    await checkWrite(parent),
  ]
}

function checkNode(version: string): MachineFinding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isSupported = (major === 24 && minor >= 19) || (major === 26 && minor >= 5) || major > 26
  if (isSupported) return { check: 'node.js', status: 'good', found: version }
  const fix = 'Install Node.js 26.5 or newer, or 24.19 or newer of version 24.'
  return { check: 'node.js', status: 'bad', found: `${version} is not supported`, fix }
}

const PORT_FIXES: Readonly<Record<PortProblem, readonly [string, string]>> = {
  in_use: ['is used by another program', 'Stop that program, or choose another port with --port.'],
  not_permitted: ['is not permitted for this user', 'Choose a port of 1024 or higher with --port.'],
  no_such_address: ['is not an address of this machine', 'Choose an address of this machine with --host.'],
  not_usable: ['cannot be used', 'Choose another address or port with --host and --port.'],
}

async function checkPort({ host, port }: MachineInputs): Promise<MachineFinding> {
  const problem = await findPortProblem(host, port)
  const address = `${host}:${port}`
  if (problem === undefined) return { check: 'port', status: 'good', found: `${address} is free` }
  const [found, fix] = PORT_FIXES[problem]
  return { check: 'port', status: 'bad', found: `${address} ${found}`, fix }
}

async function checkDisk(folder: string): Promise<MachineFinding> {
  const { bavail, bsize } = await statfs(folder)
  const bytes = bavail * bsize
  const found = `${Math.floor(bytes / MIB)} MiB free at ${folder}`
  if (bytes >= DISK_WARN) return { check: 'disk', status: 'good', found }
  const fix = 'Free disk space, or choose a folder on another disk with --home. The database and its backups grow.'
  return { check: 'disk', status: bytes < DISK_BAD ? 'bad' : 'warn', found, fix }
}

/** Signatures have times. A wrong clock makes valid certificates look expired. */
function checkClock({ now, timeSyncFile = '/run/systemd/timesync/synchronized' }: MachineInputs): MachineFinding {
  const fix = 'Run a time service (systemd-timesyncd or chrony), and check it with timedatectl or chronyc tracking.'
  const time = writeInstant(now - (now % 1_000_000n))
  if (now < EARLIEST) return { check: 'clock', status: 'bad', found: `${time} is in the past`, fix }
  if (existsSync(timeSyncFile)) return { check: 'clock', status: 'good', found: `${time}, synchronised` }
  return { check: 'clock', status: 'warn', found: `${time}; no time service was found`, fix }
}

async function checkWrite(folder: string): Promise<MachineFinding> {
  try {
    await rmdir(await mkdtemp(join(folder, '.chancery-up-')))
    return { check: 'write', status: 'good', found: folder }
  } catch {
    const fix = 'Choose a folder of this user with --home, or give this user the right to write there.'
    return { check: 'write', status: 'bad', found: `${folder} cannot be written`, fix }
  }
}

/** Returns the nearest folder that exists: the home itself, or a parent. */
async function existingParent(path: string): Promise<string> {
  for (let at = path; ; at = dirname(at)) {
    const isFolder = await stat(at).then(
      (found) => found.isDirectory(),
      () => false,
    )
    if (isFolder || at === dirname(at)) return at
  }
}
