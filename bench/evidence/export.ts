import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type FileHandle, open, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { seedSigner } from '@chancery/protocol'
import pg from 'pg'
import { verifyOnAllCores } from '../authority/verify-rates.ts'
import type { BenchOptions, BenchResult, Measurement } from '../lib/bench.ts'
import { processSeconds } from '../lib/cpu.ts'
import type { BenchNetwork } from '../lib/network.ts'
import { median, round } from '../lib/statistics.ts'
import { EvidenceLines } from './lines.ts'
import { seedEvidence } from './seed.ts'
import { drawSample, type EvidenceSetup, openStore } from './setup.ts'

const BAR = 0.5
const VERIFY_BAR = 0.7
const ENTRIES = 1_000_000
const PAGE = 1000
/** Pages of one slice; the bare engine and the product alternate. */
const SLICE = 25
const MEBIBYTE = 1024 * 1024
/** Average size of a decision, a justification and an execution. */
const SIGNED_BYTES = 1200

/**
 * A whole store exported page by page through the route, against one bare connection that reads the same pages by the
 * same index; then the file verified offline, against bare signature checks on all cores.
 */
export const evidenceExport: Measurement = {
  says: `GET /admin/evidence/export of a whole store against the bare engine (${BAR}), and its offline verification against bare Ed25519 on all cores (${VERIFY_BAR})`,
  run,
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const { directory, progress } = options
  const entries = options.entries ?? ENTRIES
  const { network, database, server, setup } = await openStore(options)
  const { sample, head } = await drawSample(setup, server.port)
  const authority = await seedSigner(network.authority.keyId, network.authority.seed)
  const lines = new EvidenceLines(sample, { authority, executor: setup.executor }, head)
  await seedEvidence(database.url, lines, entries - head.store_sequence, progress)

  const file = join(directory, 'store.jsonl')
  const exported = await exportAll({ setup, url: database.url, pid: server.pid, file, progress })
  const offline = await verifyOffline(network, setup, directory, file)
  return { ratio: exported.ratio, bar: BAR, entries: exported.entries, export: exported, offline_verify: offline }
}

/** Slice by slice: first the bare engine, then the product, then in reverse order. */
async function exportAll(facts: {
  readonly setup: EvidenceSetup
  readonly url: string
  readonly pid: number
  readonly file: string
  readonly progress: (line: string) => void
}) {
  const bare = new pg.Client({ connectionString: facts.url })
  await bare.connect()
  const out = await open(facts.file, 'w')
  const memory = sampleMemory(facts.pid)
  const cpuBefore = processSeconds(facts.pid)
  const ratios: number[] = []
  const rates = { product: [] as number[], bare: [] as number[] }
  try {
    await readBare(bare, 0)
    let after = 0
    for (let slice = 0; ; slice += 1) {
      const bareFirst = slice % 2 === 0 ? await timeBare(bare, after) : undefined
      const product = await timeProduct(facts.setup, out, after)
      const engine = bareFirst ?? (await timeBare(bare, after))
      after = product.after
      // The last slice is shorter than the others; a quotient of two short times has a large error.
      if (product.pages < SLICE) break
      ratios.push(engine.seconds / product.seconds)
      rates.product.push((SLICE * PAGE) / product.seconds)
      rates.bare.push((SLICE * PAGE) / engine.seconds)
      if (slice % 4 === 3)
        facts.progress(`${after} exported, ${round(median(ratios), 2)} of bare, ${memory.growth()} MiB more memory`)
    }
    return {
      entries: after,
      ratio: round(median(ratios)),
      rows_per_second: Math.round(median(rates.product)),
      bare_rows_per_second: Math.round(median(rates.bare)),
      server_cpu_us_per_row: round(((processSeconds(facts.pid) - cpuBefore) * 1_000_000) / after, 1),
      memory_growth_mib: memory.growth(),
      memory_mib: memory.most(),
    }
  } finally {
    memory.stop()
    await out.close()
    await bare.end()
  }
}

/** Like an exporter: two pages are on their way while one is written. */
async function timeProduct({ operator }: EvidenceSetup, out: FileHandle, from: number) {
  const ask = (page: number): Promise<Uint8Array> =>
    operator.getBytes('/admin/evidence/export', { since_sequence: String(from + page * PAGE), limit: String(PAGE) })
  const start = performance.now()
  let pages = 0
  let written: Promise<unknown> = Promise.resolve()
  const asked = [ask(0), ask(1)]
  while (pages < SLICE) {
    const bytes = await asked.shift()
    if (bytes === undefined || bytes.length === 0) break
    pages += 1
    if (pages + asked.length < SLICE) asked.push(ask(pages + asked.length))
    await written
    written = out.appendFile(bytes)
  }
  await Promise.all([written, ...asked])
  return { seconds: (performance.now() - start) / 1000, after: from + pages * PAGE, pages }
}

async function timeBare(client: pg.Client, from: number): Promise<{ readonly seconds: number }> {
  const start = performance.now()
  for (let page = 0; page < SLICE; page += 1) await readBare(client, from + page * PAGE)
  return { seconds: (performance.now() - start) / 1000 }
}

function readBare(client: pg.Client, after: number): Promise<unknown> {
  const text = 'select line from evidence_entries where store_sequence > $1 order by store_sequence limit $2'
  return client.query({ name: 'bare-page', text, values: [after, PAGE] })
}

/** The installed command: built, in a separate process. */
async function verifyOffline(network: BenchNetwork, setup: EvidenceSetup, directory: string, file: string) {
  const root = join(import.meta.dirname, '..', '..')
  await promisify(execFile)(join(root, 'node_modules/.bin/tsc'), ['-b', 'tsconfig.build.json'], { cwd: root })
  const keys = join(directory, 'executor-keys.json')
  await writeFile(keys, await setup.operator.getText('/admin/evidence/executor-keys'))
  const before = await verifyOnAllCores(SIGNED_BYTES, 2000)
  const args = ['verify', file, '--json', '--executor-keys', keys]
  const trust = ['--authority-key', network.authority.publicKey, '--network', network.name]
  const start = performance.now()
  const child = spawn(process.execPath, [join(root, 'apps/cli/bin/chancery.mjs'), ...args, ...trust], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const memory = sampleMemory(child.pid ?? 0)
  let cpu = 0
  const cpuTimer = setInterval(() => {
    cpu = Math.max(cpu, processSeconds(child.pid ?? 0))
  }, 200)
  let answer = ''
  child.stdout.on('data', (bytes: Buffer) => {
    answer += bytes.toString()
  })
  await once(child, 'exit')
  clearInterval(cpuTimer)
  memory.stop()
  const seconds = (performance.now() - start) / 1000
  const after = await verifyOnAllCores(SIGNED_BYTES, 2000)
  const { verified, checked_entries } = JSON.parse(answer) as { verified: boolean; checked_entries: number }
  if (!verified) throw new Error('the export does not verify')
  const bare = (before + after) / 2
  const rate = checked_entries / seconds
  return {
    ratio: round(rate / bare),
    bar: VERIFY_BAR,
    entries_per_second: Math.round(rate),
    bare_per_second: Math.round(bare),
    seconds: round(seconds, 1),
    cpu_us_per_entry: round((cpu * 1_000_000) / checked_entries, 1),
    cores_used: round(cpu / seconds, 2),
    memory_mib: memory.most(),
  }
}

/** Resident memory of a process, read ten times a second. */
function sampleMemory(pid: number): { growth(): number; most(): number; stop(): void } {
  let [first, most] = [0, 0]
  const read = async (): Promise<void> => {
    const status = await readFile(`/proc/${pid}/status`, 'latin1').catch(() => '')
    const resident = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024
    if (first === 0) first = resident
    most = Math.max(most, resident)
  }
  void read()
  const timer = setInterval(() => void read(), 100)
  return {
    growth: () => Math.round((most - first) / MEBIBYTE),
    most: () => Math.round(most / MEBIBYTE),
    stop: () => clearInterval(timer),
  }
}
