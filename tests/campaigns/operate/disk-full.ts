import { spawnSync } from 'node:child_process'
import { chmod, chown, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { inspect } from 'node:util'
import { createTestNetwork, startAuthorityProcess, startTemporaryPostgres } from '@chancery/testkit'
import type { AuthorityProcess, TestDatabase } from '@chancery/testkit'
import pg from 'pg'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { type Random, seededRandom } from '../lib/random.ts'
import { mountSmallDisk, type SmallDisk } from '../lib/small-disk.ts'
import { DiskCase, type DiskCaseParts } from './disk-case.ts'
import { Findings } from './tools.ts'

export const summary =
  'fills a disk of 60 MB, by callers and by others, on both engines: revocations are always stored, and nothing acknowledged is lost'
/** Each on SQLite and on PostgreSQL. */
export const defaultCount = 20

const MEGABYTES = 60
/** The first case of each engine; the others revoke some dozens. */
const MANY = 1000
const SETTINGS = {
  EVIDENCE_STORE: 'on',
  NA_NODE_DECISIONS: 'own',
  LOG_LEVEL: 'warn',
  ...Object.fromEntries(
    ['ADMIN', 'REVOCATION', 'OPERATOR_READ', 'JOIN', 'NODE', 'NODE_KEY', 'DECISION', 'DECISION_ADDRESS'].map((name) => [
      `NA_RATE_LIMIT_${name}_PER_MINUTE`,
      '1000000',
    ]),
  ),
}

export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  if (!canMount()) {
    log('disk-full: not run, because this needs root, mount and the user postgres. It does not count as passed')
    return { cases: 0, violations: 1 }
  }
  let [violations, revocations] = [0, 0]
  for (let index = 0; index < count; index += 1)
    for (const engine of ['sqlite', 'postgres'] as const) {
      const found = await onSmallDisk(engine, seededRandom(seed + index), index === 0).catch((error: unknown) => ({
        violations: [`it ended early: ${inspect(error)}`],
        revocations: 0,
      }))
      revocations += found.revocations
      violations += found.violations.length
      for (const each of found.violations) log(`${engine}, seed ${seed + index}: ${each}`)
      log(`${engine}, seed ${seed + index}: ${found.revocations} revocations, ${found.violations.length} violations`)
    }
  return { cases: 2 * count, violations, figures: { revocations } }
}

async function onSmallDisk(engine: 'sqlite' | 'postgres', random: Random, isFirst: boolean): Promise<Found> {
  const disk = await mountSmallDisk(MEGABYTES)
  const revocations = isFirst ? MANY : 20 + random.below(60)
  try {
    const place = engine === 'sqlite' ? onDisk(disk) : await inTablespace(disk)
    try {
      return await runCase(
        disk,
        place.settings,
        (parts) => new DiskCase({ ...parts, random, revocations, isFilled: isFirst }),
      )
    } finally {
      await disk.free()
      await place.drop()
    }
  } finally {
    await disk.remove()
  }
}

function canMount(): boolean {
  return (
    process.getuid?.() === 0 &&
    spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0 &&
    spawnSync('id', ['postgres']).status === 0
  )
}

function onDisk(disk: SmallDisk): TestDatabase {
  return { settings: { DB_PATH: join(disk.folder, 'authority.db') }, drop: () => Promise.resolve() }
}

/** The write-ahead log is on another disk: PostgreSQL stops without room for it (docs/operate/incidents.md). */
async function inTablespace(disk: SmallDisk): Promise<TestDatabase> {
  const folder = join(disk.folder, 'tables')
  await mkdir(folder)
  const [uid, gid] = ['-u', '-g'].map((flag) => Number(spawnSync('id', [flag, 'postgres']).stdout))
  await chown(folder, uid ?? 0, gid ?? 0)
  await chmod(folder, 0o700)
  const server = await startTemporaryPostgres()
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  await client.query(`create tablespace small location '${folder}'`)
  await client.query('create database authority tablespace small')
  await client.end()
  const url = new URL(server.url)
  url.pathname = '/authority'
  return { settings: { DATABASE_URL: url.href }, drop: () => server.remove() }
}

interface Found {
  readonly violations: readonly string[]
  readonly revocations: number
}

async function runCase(
  disk: SmallDisk,
  place: TestDatabase['settings'],
  open: (parts: Pick<DiskCaseParts, 'disk' | 'findings' | 'process' | 'network' | 'settings'>) => DiskCase,
): Promise<Found> {
  const network = await createTestNetwork('DISK-NET')
  const startOnce = (): Promise<AuthorityProcess> =>
    startAuthorityProcess({ network, settings: { ...SETTINGS, ...place } })
  // Again where a loaded machine needs longer than a start may take.
  const start = (): Promise<AuthorityProcess> => startOnce().catch(startOnce).catch(startOnce)
  const findings = new Findings()
  const process = new CaseProcess(await start(), start)
  try {
    const one = open({ disk, findings, process, network, settings: place })
    await one.run()
    return { violations: findings.violations, revocations: one.revoked }
  } finally {
    await disk.free()
    await process.current.kill()
    await network.remove()
  }
}

/** The authority of a case, which a kill replaces. */
export class CaseProcess {
  current: AuthorityProcess
  readonly #start: () => Promise<AuthorityProcess>

  constructor(first: AuthorityProcess, start: () => Promise<AuthorityProcess>) {
    this.current = first
    this.#start = start
  }

  async killAndStart(): Promise<void> {
    await this.current.kill()
    // The kernel may still hold its files for a moment.
    await pause(50)
    this.current = await this.#start()
  }
}
