import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writePrivateKeyFile } from '@chancery/protocol'
import { openBrowser } from '../../tests/console/browser.ts'
import { buildConsoleWhenChanged } from '../../tools/release/build-console.ts'
import { PAGE_LIMITS } from '../../tools/release/page-sizes.ts'
import { putInForce } from '../authority/evaluate.ts'
import { fillNodes } from '../authority/lists.ts'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import { Cleanup } from '../lib/cleanup.ts'
import { HOST } from '../lib/conditions.ts'
import { createPostgres, createSqlite, type Database } from '../lib/databases.ts'
import { type BenchOperator, operatorOf } from '../lib/operator.ts'
import { openAuthority } from '../lib/servers.ts'
import { round } from '../lib/statistics.ts'
import { newSigner } from '../lib/trust-records.ts'
import { copyDecision } from './decisions.ts'
import { map } from './map.ts'
import { joinNodes } from './joined-nodes.ts'
import { type Figures, measureConsole } from './measure.ts'

const CERTIFICATES = 1_000_000
/** More than a page of each. */
const POLICIES = 60
const PARTNERS = 60
const MAX_PAINT_MS = 1000
const MAX_INTERACTION_MS = 100
const MAX_SCREENS = 3

/** The pages of the console in Chromium, with a fifth as many decisions as certificates, on both engines. */
export const consoleMillion: Bench = {
  name: 'console-million',
  says: `pages of the console with ${CERTIFICATES} certificates (--entries) and a fifth as many decisions, in Chromium: the smallest bound over its figure (1)`,
  run,
  cases: { map },
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const certificates = options.entries ?? CERTIFICATES
  await buildConsoleWhenChanged()
  const postgres = await measure(options, certificates, createPostgres)
  const sqlite = await measure(options, certificates, () => createSqlite(options.directory))
  const ratio = round(Math.min(...[postgres, sqlite].map(share)))
  return { ratio, bar: 1, certificates, decisions: certificates / 5, postgres, sqlite }
}

/** The smallest bound over its figure: below 1 when a bound is exceeded. */
function share({ pages, public_pages, interactions }: Figures): number {
  const console = Object.values(pages)
  const all = [...console, ...Object.values(public_pages)]
  return Math.min(
    ...all.map(({ paint_ms }) => MAX_PAINT_MS / paint_ms),
    ...all.map(({ screens, phone_screens }) => MAX_SCREENS / Math.max(screens, phone_screens)),
    ...console.map(({ bytes }) => PAGE_LIMITS.page / bytes),
    ...Object.values(interactions).map(({ input_ms }) => MAX_INTERACTION_MS / input_ms),
  )
}

/** The authority and the browser end before the next engine is measured: its jobs would take processor time. */
async function measure(
  options: BenchOptions,
  certificates: number,
  createDatabase: (cleanup: Cleanup) => Database | Promise<Database>,
): Promise<Figures> {
  const cleanup = new Cleanup()
  try {
    const database = await createDatabase(cleanup)
    const { url, keyFile } = await prepare({ ...options, cleanup }, database, certificates)
    const browser = await openBrowser()
    cleanup.add(() => browser.close())
    const figures = await measureConsole(browser, url, keyFile)
    options.progress(`${database.kind}: ${JSON.stringify(figures)}`)
    return figures
  } finally {
    await cleanup.run()
  }
}

/** An authority with the rows, and the key file that unlocks its console. */
async function prepare(
  options: BenchOptions,
  database: Database,
  certificates: number,
): Promise<{ readonly url: string; readonly keyFile: string }> {
  const { directory, progress } = options
  const { network, server } = await openAuthority(options, { database, settings: { EVIDENCE_STORE: 'on' } })
  const { port } = server
  const operator = await operatorOf(network, port)
  for (let index = 0; index < POLICIES; index += 1) await putInForce(operator, index)
  for (let index = 0; index < PARTNERS; index += 1) await recognise(operator, index)
  const member = { subject_id: 'bench', roles: ['role:client'], claims: { capabilities: ['single.send'] } }
  const { attestation_id = null } = await operator.post('/admin/attestations', member)
  const asked = { attestation_id, requested_capability: 'single.send', context: { request_parameters: { amount: 5 } } }
  await operator.post('/admin/boundary/evaluate', asked)
  await joinNodes(port, network, database, operator)
  progress(`${database.kind}: ${POLICIES} policies, ${PARTNERS} partners and the first nodes`)
  await fillNodes(database, certificates)
  await copyDecision(database, certificates / 5)
  progress(`${database.kind}: filled`)
  const { keyId, seed } = network.operator
  const keyFile = join(directory, `${database.kind}.key`)
  await writeFile(keyFile, writePrivateKeyFile(seed, keyId), { mode: 0o600 })
  return { url: `http://${HOST}:${port}`, keyFile }
}

async function recognise(operator: BenchOperator, index: number): Promise<void> {
  const { publicKey } = await newSigner(`partner-${index}`)
  await operator.post('/admin/recognition-treaties', {
    subject_sovereign_id: `PARTNER-${index}`,
    subject_public_keys: [publicKey],
    scope: { allowed_roles: ['role:client'] },
    validity_hours: 24 + index * 24,
  })
}
