import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { seedSigner, writePrivateKeyFile } from '@chancery/protocol'
import { openBrowser } from '../../tests/console/browser.ts'
import { buildConsoleWhenChanged } from '../../tools/release/build-console.ts'
import { fillNodes } from '../authority/node-list.ts'
import { post } from '../authority/evaluate.ts'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import { HOST } from '../lib/conditions.ts'
import { createPostgres, createSqlite } from '../lib/databases.ts'
import type { Database } from '../lib/databases.ts'
import { createNetwork } from '../lib/network.ts'
import { startAuthority } from '../lib/servers.ts'
import { round } from '../lib/statistics.ts'
import { copyDecision } from './decisions.ts'
import { measureConsole } from './measure.ts'
import type { Figures } from './measure.ts'

const CERTIFICATES = 1_000_000
const MAX_PAINT_MS = 1000
const MAX_INTERACTION_MS = 100
const MAX_SCREENS = 3
const MAX_PAGE_BYTES = 60 * 1024
const MAX_ALL_BYTES = 110 * 1024

/** The lists of the console in Chromium, with a fifth as many decisions as certificates, on both engines. */
export const consoleMillion: Bench = {
  name: 'console-million',
  says: `lists of the console with ${CERTIFICATES} certificates (--entries) and a fifth as many decisions, in Chromium: the smallest bound over its figure (1)`,
  run,
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const certificates = options.entries ?? CERTIFICATES
  await buildConsoleWhenChanged()
  const postgres = await measure(options, await createPostgres(options.cleanup), certificates)
  const sqlite = await measure(options, createSqlite(options.directory), certificates)
  const ratio = round(Math.min(...[postgres, sqlite].map(share)))
  return { ratio, bar: 1, certificates, decisions: certificates / 5, postgres, sqlite }
}

/** The smallest bound over its figure: below 1 when a bound is exceeded. */
function share({ pages, interactions, all_bytes }: Figures): number {
  const lists = Object.values(pages)
  return Math.min(
    ...lists.map(({ paint_ms }) => MAX_PAINT_MS / paint_ms),
    ...lists.map(({ screens }) => MAX_SCREENS / screens),
    ...lists.map(({ bytes }) => MAX_PAGE_BYTES / bytes),
    ...Object.values(interactions).map(({ input_ms }) => MAX_INTERACTION_MS / input_ms),
    MAX_ALL_BYTES / all_bytes,
  )
}

async function measure(options: BenchOptions, database: Database, certificates: number): Promise<Figures> {
  const { cleanup, directory, profileDirectory, progress } = options
  const network = await createNetwork(directory)
  const settings = { EVIDENCE_STORE: 'on' }
  const { port } = await startAuthority({ network, database, profileDirectory, settings }, cleanup)
  const { keyId, seed } = network.operator
  const operator = await seedSigner(keyId, seed)
  const member = { subject_id: 'bench', roles: ['role:client'], claims: { capabilities: ['single.send'] } }
  const { attestation_id = null } = await post(port, '/admin/attestations', member, network, operator)
  const asked = { attestation_id, requested_capability: 'single.send', context: { request_parameters: { amount: 5 } } }
  await post(port, '/admin/boundary/evaluate', asked, network, operator)
  await fillNodes(database, certificates)
  await copyDecision(database, certificates / 5)
  progress(`${database.kind}: filled`)
  const keyFile = join(directory, `${database.kind}.key`)
  await writeFile(keyFile, writePrivateKeyFile(seed, keyId), { mode: 0o600 })
  const browser = await openBrowser()
  cleanup.add(() => browser.close())
  const figures = await measureConsole(browser, `http://${HOST}:${port}`, keyFile)
  progress(`${database.kind}: ${JSON.stringify(figures)}`)
  return figures
}
