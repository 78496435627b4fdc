import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import {
  hours,
  readInstant,
  readPrivateKeyFile,
  seedSigner,
  signList,
  writeInstant,
  writeJson,
  writeSortable,
} from '@chancery/protocol'
import type { Instant, RecognitionTreaty, Signer } from '@chancery/protocol'
import pg from 'pg'

/**
 * Fills the PostgreSQL database of an authority with treaties between many networks. Seed and index determine the
 * treaties, so every run gives the same. No route stores treaties of other networks, so a large graph needs this tool.
 * The authority's own key signs each of them, because the authority ignores a row without its signature.
 *
 *   npx node --conditions=development tests/tools/seed-treaties.ts --database URL --key FILE --treaties N [--sovereigns N]
 *     [--from INDEX] [--seed TEXT] [--at INSTANT]
 *
 * The database must have been migrated by an authority; a running one sees the treaties at its next request.
 */
export interface SeedTreatiesOptions {
  readonly database: string
  /** The key of the authority. */
  readonly signer: Signer
  readonly treaties: number
  readonly sovereigns: number
  /** First index, to add to what was seeded before. */
  readonly from?: number
  readonly seed?: string
  /** Time of issue of all treaties; by default the start of this UTC day. */
  readonly at?: Instant
  readonly log?: (line: string) => void
}

export interface SeededTreaty {
  readonly treaty_id: string
  readonly from: string
  readonly to: string
  readonly isRevoked: boolean
}

const BATCH = 2000
/** Long enough that no lifecycle state changes during a measurement. */
const VALIDITY_HOURS = 8760
const REVOKED_EVERY = 50
const SUBJECT_KEY = 'FWxV5KPAG28PqQ20lCvRmUsOjMVzadpN56I1bkBPX1o='

export function seededSovereign(index: number): string {
  return `sovereign-${String(index).padStart(6, '0')}`
}

/** Returns treaty number `index` of a graph of `sovereigns` networks; no network recognises itself. */
export function seededTreaty(seed: string, index: number, sovereigns: number): SeededTreaty {
  const digest = createHash('sha256').update(`seeded/${seed}/treaty/${index}`).digest()
  const from = digest.readUInt32BE(0) % sovereigns
  const to = (from + 1 + (digest.readUInt32BE(4) % (sovereigns - 1))) % sovereigns
  const hex = digest.toString('hex', 8, 24)
  const treaty_id = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
  return {
    treaty_id,
    from: seededSovereign(from),
    to: seededSovereign(to),
    isRevoked: index % REVOKED_EVERY === REVOKED_EVERY - 1,
  }
}

export async function seedTreaties(options: SeedTreatiesOptions): Promise<void> {
  const { treaties, sovereigns, from = 0, seed = 'chancery', log = () => undefined } = options
  const at = options.at ?? startOfDay()
  const client = new pg.Client({ connectionString: options.database })
  await client.connect()
  try {
    for (let done = 0; done < treaties; done += BATCH) {
      const size = Math.min(BATCH, treaties - done)
      const batch = Array.from({ length: size }, (_, i) => seededTreaty(seed, from + done + i, sovereigns))
      await store(client, await Promise.all(batch.map((treaty) => toStored(treaty, at, options.signer))), at)
      if ((done + size) % 50_000 === 0) log(`${done + size} treaties`)
    }
    await client.query("update heads set version = version + 1 where name = 'treaties'")
    await client.query('analyze recognition_treaties')
  } finally {
    await client.end()
  }
}

interface Stored extends SeededTreaty {
  readonly text: string
}

async function toStored(treaty: SeededTreaty, at: Instant, signer: Signer): Promise<Stored> {
  return { ...treaty, text: writeJson(await signList(toRecord(treaty, at, signer), signer)) }
}

async function store(client: pg.Client, batch: readonly Stored[], at: Instant): Promise<void> {
  const revokedAt = writeSortable(at + hours(1))
  await client.query({
    name: 'seed-treaties',
    text:
      'insert into recognition_treaties (treaty_id, issuer_sovereign_id, subject_sovereign_id, treaty_json, status, revoked_at, revocation_reason, issued_at, valid_from, expires_at) ' +
      'select i, f, t, j, s, r, w, $8, $9, $10 from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[]) as u(i, f, t, j, s, r, w)',
    values: [
      batch.map(({ treaty_id }) => treaty_id),
      batch.map((treaty) => treaty.from),
      batch.map((treaty) => treaty.to),
      batch.map(({ text }) => text),
      batch.map(({ isRevoked }) => (isRevoked ? 'revoked' : 'active')),
      batch.map(({ isRevoked }) => (isRevoked ? revokedAt : null)),
      batch.map(({ isRevoked }) => (isRevoked ? 'relationship_ended' : null)),
      writeSortable(at),
      writeInstant(at),
      writeInstant(at + hours(VALIDITY_HOURS)),
    ],
  })
}

function toRecord(
  { treaty_id, from, to }: SeededTreaty,
  at: Instant,
  signer: Signer,
): Omit<RecognitionTreaty, 'signatures'> {
  const issued = writeInstant(at)
  return {
    treaty_id,
    issuer_sovereign_id: from,
    subject_sovereign_id: to,
    subject_public_keys: [SUBJECT_KEY],
    scope: { allowed_roles: ['role:client'], accepted_statuses: ['active'], claims: {} },
    status: 'active',
    issued_at: issued,
    valid_from: issued,
    expires_at: writeInstant(at + hours(VALIDITY_HOURS)),
    issued_by: signer.keyId,
    metadata: {},
  }
}

function startOfDay(): Instant {
  return readInstant(`${new Date().toISOString().slice(0, 10)}T00:00:00Z`) ?? 0n
}

async function main(): Promise<number> {
  const options = {
    database: { type: 'string' },
    key: { type: 'string' },
    treaties: { type: 'string' },
    sovereigns: { type: 'string', default: '10000' },
    from: { type: 'string', default: '0' },
    seed: { type: 'string', default: 'chancery' },
    at: { type: 'string' },
  } as const
  const { values } = parseArgs({ options })
  const at = values.at === undefined ? startOfDay() : readInstant(values.at)
  const numbers = [values.treaties ?? '', values.sovereigns, values.from]
  const [treaties = 0, sovereigns = 0, from = 0] = numbers.map(Number)
  const isGood = numbers.every((each) => /^\d{1,9}$/.test(each)) && sovereigns >= 2
  if (values.database === undefined || values.key === undefined || at === undefined || !isGood) {
    process.stderr.write(
      'seed-treaties --database URL --key FILE --treaties N [--sovereigns N] [--from N] [--seed TEXT] [--at INSTANT]\n',
    )
    return 2
  }
  const started = performance.now()
  const log = (line: string): boolean => process.stdout.write(`${line}\n`)
  const signer = await seedSigner('na-seeded', readPrivateKeyFile(await readFile(values.key, 'utf8'))?.value ?? '')
  await seedTreaties({ database: values.database, signer, treaties, sovereigns, from, seed: values.seed, at, log })
  log(`${treaties} treaties in ${((performance.now() - started) / 1000).toFixed(1)} s`)
  return 0
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) process.exitCode = await main()
