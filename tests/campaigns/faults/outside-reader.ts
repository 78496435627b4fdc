import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { isJsonObject, type JsonObject, readJson } from '@chancery/protocol'
import {
  accepted,
  createTestDatabase,
  createTestNetwork,
  foreignFeed,
  foreignSovereign,
  startAuthorityProcess,
  wireText,
} from '@chancery/testkit'
import type { AuthorityProcess, TestDatabase, TestNetwork } from '@chancery/testkit'
import { createLoad } from '../enrollment/kills.ts'
import { type CampaignOptions, type CampaignResult, conclude } from '../lib/campaign.ts'
import { type Random, seededRandom } from '../lib/random.ts'
import { Acks, text, withRows } from '../lib/rows.ts'

export const summary =
  'other programs read the SQLite file of an authority that is killed; nothing acknowledged is lost'
export const defaultCount = 40

const KILLS_PER_DATABASE = 5
const LOAD_SECONDS = 20
const [LEAST_MS, SPREAD_MS] = [300, 1500]
/** More facts than the authority handles without a thread. */
const FOREIGN_IDS = 1500

/**
 * A program and its arguments; `{file}` is replaced by the path of the database. A copy may be made, but is not usable.
 */
const READERS: readonly [readonly string[], ...(readonly string[])[]] = [
  ['sqlite3', '-cmd', '.timeout 3000', '{file}', 'select count(*) from issued_certs'],
  ['sqlite3', '-cmd', '.timeout 3000', '{file}', '.backup {file}.copy'],
  ['sqlite3', '-cmd', '.timeout 3000', '{file}', 'pragma quick_check'],
  [
    process.execPath,
    '-e',
    `const file = new (require('node:sqlite').DatabaseSync)(process.argv[1], { timeout: 3000 })
     file.prepare('select count(*) from crl_entries').all()
     file.close()`,
    '{file}',
  ],
  ['cp', '{file}', '{file}.copy'],
  ['cp', '{file}-wal', '{file}.copy'],
]

export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const random = seededRandom(seed)
  const network = await createTestNetwork('READ-NET')
  const violations: string[] = []
  try {
    for (let done = 0; done < count; done += KILLS_PER_DATABASE) {
      const found = await readOneDatabase(network, random, Math.min(KILLS_PER_DATABASE, count - done))
      violations.push(...found)
      log(`${Math.min(done + KILLS_PER_DATABASE, count)} kills, ${violations.length} violations`)
    }
  } finally {
    await network.remove()
  }
  return conclude(log, count, violations)
}

async function readOneDatabase(network: TestNetwork, random: Random, kills: number): Promise<string[]> {
  const database = await createTestDatabase('sqlite')
  const acks = new Acks()
  const violations: string[] = []
  let process: AuthorityProcess | undefined
  try {
    for (let kill = 0; kill <= kills; kill += 1) {
      process = await startAuthorityProcess({ network, settings: database.settings })
      violations.push(...(await checkAcks(process, database, acks)))
      if (kill === 0) await fillGraph(process)
      // Each response comes from a thread with a separate connection.
      for (const path of ['/recognition-graph', '/connectome.json']) accepted(await process.request('GET', path))
      if (kill < kills) violations.push(...(await killWhileReading(process, database, acks, random)))
      await process.kill()
    }
    return violations
  } finally {
    await process?.kill()
    await rm(`${fileOf(database)}.copy`, { force: true })
    await database.drop()
  }
}

async function killWhileReading(
  process: AuthorityProcess,
  database: TestDatabase,
  acks: Acks,
  random: Random,
): Promise<readonly string[]> {
  const load = createLoad(process, acks, random)
  const isDead = { value: false }
  const reading = readUntil(isDead, fileOf(database), random)
  const killing = pause(LEAST_MS + random.below(SPREAD_MS)).then(() => process.kill())
  await load.run(LOAD_SECONDS)
  await killing
  isDead.value = true
  await reading
  return load.violations
}

/** Runs one program after another. Most of them end, and so close the file, while the authority writes. */
async function readUntil(isDead: { readonly value: boolean }, file: string, random: Random): Promise<void> {
  while (!isDead.value) {
    const [program = '', ...rest] = random.pick(READERS).map((part) => part.replaceAll('{file}', file))
    // The program may find the file busy, or no log to copy.
    await new Promise<void>((resolve) => {
      execFile(program, rest, { timeout: 10_000 }, (error) => {
        if (error?.code === 'ENOENT') throw new Error(`the program ${program} is not installed`)
        resolve()
      })
    })
  }
}

async function checkAcks(process: AuthorityProcess, database: TestDatabase, acks: Acks): Promise<string[]> {
  const found = await withRows(database, (rows) => acks.check(rows))
  const list = accepted(await process.request('GET', '/crl'))
  const entries = list['revoked_certificates']
  const listed = new Set(
    (Array.isArray(entries) ? entries : []).map((entry) => (isJsonObject(entry) ? text(entry, 'certificate_id') : '')),
  )
  for (const id of acks.revocations.keys())
    if (!listed.has(id)) found.push(`the list ${text(list, 'sequence')} does not name ${id}`)
  return found
}

async function fillGraph(process: AuthorityProcess): Promise<void> {
  const partner = foreignSovereign('READ-PARTNER')
  const operator = process.as('privileged')
  const treaty = {
    subject_sovereign_id: partner.sovereign_id,
    subject_public_keys: [partner.publicKey],
    scope: { allowed_roles: ['role:client'] },
  }
  accepted(await operator('POST', '/admin/recognition-treaties', treaty), 201)
  const ids = Array.from({ length: FOREIGN_IDS }, (_, index) => `a-${String(index).padStart(5, '0')}`)
  const feed = readJson(wireText(foreignFeed(partner, 1, ids))) as JsonObject
  accepted(await operator('POST', '/admin/sovereign-revocation-feeds/import', { feed }))
}

function fileOf(database: TestDatabase): string {
  return database.settings['DB_PATH'] ?? ''
}
