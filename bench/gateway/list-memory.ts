import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import {
  draftCrl,
  draftJoinCertificate,
  draftRevocationFeed,
  seedSigner,
  signList,
  writeInstant,
  writeJson,
  writePrivateKeyFile,
} from '@chancery/protocol'
import type { Signer } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import { HOST } from '../lib/conditions.ts'
import { measureInstall } from './lists.ts'
import { createNetwork } from '../lib/network.ts'
import type { BenchNetwork } from '../lib/network.ts'
import { round } from '../lib/statistics.ts'

/** Together just below the 64 MiB that readers take. */
const ENTRIES = 400_000
/** What a program of the command line may have at its peak, in MiB; the ratio is this over the most that one of them had. */
const MOST_MIB = 500
const BAR = 1
/** A program that is not done by then is stopped, and the benchmark fails. */
const PROGRAM_SECONDS = 120

/** What a revocation list of the largest size takes of the memory of its readers. */
export const listMemory: Bench = {
  name: 'list-memory',
  says: `peak memory of gateway, status, watch, node run and a verifier of the library with a list of almost 64 MiB; the ratio is ${MOST_MIB} MiB over the most of status, watch and node run`,
  run,
}

interface Peaks {
  readonly status: number
  readonly watch: number
  readonly node_run: number
  readonly node_run_next_list: number
  readonly node_run_kept_list: number
  readonly status_kept_list: number
  readonly followed_party: number
  readonly followed_party_next_list: number
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const network = await createNetwork(options.directory)
  const authority = await seedSigner(network.authority.keyId, network.authority.seed)
  const stand = await StandIn.open(network, authority, options)
  const entries = options.entries ?? ENTRIES
  const none = await measureReaders(stand, 0, options)
  const largest = await measureReaders(stand, entries, options)
  const gateway = await measureInstall(options, { revocations: entries, installs: 1 })
  const { followed_party: _first, followed_party_next_list: _next, ...programs } = largest
  const peak_mib = Math.max(...Object.values(programs))
  return {
    ratio: round(MOST_MIB / peak_mib),
    bar: BAR,
    peak_mib,
    entries,
    list_bytes: stand.listBytes,
    readers_mib: largest,
    readers_without_entries_mib: none,
    gateway,
  }
}

async function measureReaders(stand: StandIn, entries: number, { progress }: BenchOptions): Promise<Peaks> {
  const home = await stand.makeHome(`node-${entries}`)
  const say = (name: string, mib: number): number => {
    progress(`${entries} entries, ${name}: ${mib} MiB at the peak`)
    return mib
  }
  await stand.publish(entries)
  const status = say('status', await runOnce(stand, ['status', '--home', home]))
  const state = join(home, 'watch.json')
  const watched = ['watch', '--url', stand.url, '--genesis', stand.genesisFile, '--state', state]
  const watch = say('watch', await runOnce(stand, watched))
  const node_run = say('node run', await runNode(stand, home, () => Promise.resolve()))
  await rm(join(home, 'crl.json'))
  const node_run_next_list = say(
    'node run, then the next list',
    await runNode(stand, home, () => stand.publish(entries)),
  )
  const node_run_kept_list = say(
    'node run with a list of the run before',
    await runNode(stand, home, () => stand.publish(entries), 1),
  )
  const status_kept_list = say('status with a list of the run before', await runOnce(stand, ['status', '--home', home]))
  const followed_party = say('FollowedParty', await runParty(stand, () => Promise.resolve()))
  const followed_party_next_list = say(
    'FollowedParty, then the next list',
    await runParty(stand, () => stand.publish(entries)),
  )
  return {
    status,
    watch,
    node_run,
    node_run_next_list,
    node_run_kept_list,
    status_kept_list,
    followed_party,
    followed_party_next_list,
  }
}

/** A command that ends by itself, and well. */
async function runOnce(stand: StandIn, args: readonly string[]): Promise<number> {
  const program = start(stand, MAIN, args)
  await program.end()
  return program.peakMebibytes()
}

/** Stays until it has taken the lists: the one that is published, and with `lists` 2 the next one. */
async function runNode(stand: StandIn, home: string, next: () => Promise<void>, lists = 2): Promise<number> {
  const program = start(stand, MAIN, ['node', 'run', '--home', home])
  if (lists === 2) await program.says(`"crl_sequence":${stand.sequence},"revoked_count"`)
  const before = stand.sequence
  await next()
  if (stand.sequence !== before) await program.says(`"crl_sequence":${stand.sequence},"revoked_count"`)
  program.child.kill('SIGTERM')
  await program.end()
  return program.peakMebibytes()
}

/** The same of a program that verifies certificates with the library. */
async function runParty(stand: StandIn, next: () => Promise<void>): Promise<number> {
  const program = start(stand, PARTY, [stand.url, stand.genesisFile])
  await program.says(`list ${stand.sequence}.`)
  await next()
  await program.says(`list ${stand.sequence}.`)
  program.child.kill('SIGTERM')
  await program.end()
  return program.peakMebibytes()
}

interface Program {
  readonly child: ChildProcess
  says(text: string): Promise<void>
  end(): Promise<void>
  peakMebibytes(): Promise<number>
}

const MAIN = fileURLToPath(new URL('../../apps/cli/src/main.ts', import.meta.url))
const PARTY = fileURLToPath(new URL('./follow-lists.ts', import.meta.url))
const HOOK = new URL('../lib/peak-memory.ts', import.meta.url).href

function start({ directory, cleanup }: StandIn, file: string, args: readonly string[]): Program {
  const peakFile = join(directory, 'peak')
  const env = { ...process.env, BENCH_PEAK_FILE: peakFile, HOME: directory }
  const child = spawn(process.execPath, [...process.execArgv, '--import', HOOK, file, ...args], {
    env,
    cwd: directory,
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: PROGRAM_SECONDS * 1000,
  })
  cleanup.add(() => void child.kill('SIGKILL'))
  const ended = once(child, 'close')
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
  const isOver = (): boolean => child.exitCode !== null || child.signalCode !== null
  return {
    child,
    async says(text) {
      while (!said.includes(text)) {
        if (isOver()) throw new Error(`${args.join(' ')} ended before it said ${text}: ${said}`)
        await pause(50)
      }
    },
    async end() {
      await ended
      if (child.exitCode !== 0) throw new Error(`${args.join(' ')} ended with ${child.exitCode}: ${said}`)
    },
    async peakMebibytes() {
      return Math.round(Number(await readFile(peakFile, 'utf8')) / 1024)
    },
  }
}

/** Serves what the readers ask an authority for. */
class StandIn {
  readonly directory: string
  readonly cleanup: BenchOptions['cleanup']
  readonly genesisFile: string
  readonly #network: BenchNetwork
  readonly #authority: Signer
  #list = Buffer.alloc(0)
  #feed = ''
  url = ''
  sequence = 0
  listBytes = 0

  private constructor(network: BenchNetwork, authority: Signer, { directory, cleanup }: BenchOptions) {
    this.#network = network
    this.#authority = authority
    this.directory = directory
    this.cleanup = cleanup
    this.genesisFile = network.genesisFile
  }

  static async open(network: BenchNetwork, authority: Signer, options: BenchOptions): Promise<StandIn> {
    const stand = new StandIn(network, authority, options)
    const feed = draftRevocationFeed({
      feed_id: 'feed-1',
      issuer_sovereign_id: network.name,
      sequence: 1,
      issued_at: writeInstant(systemClock.now()),
      issued_by: authority.keyId,
      reasons: new Map(),
    })
    stand.#feed = writeJson(await signList(feed, authority))
    const server = createServer((request, response) => {
      request.resume().on('end', () => stand.#answer(request.url ?? '', response))
    })
    await new Promise<void>((done) => server.listen(0, HOST, done))
    options.cleanup.add(() => {
      server.closeAllConnections()
      server.close()
    })
    stand.url = `http://${HOST}:${(server.address() as AddressInfo).port}`
    return stand
  }

  /** The next list, with so many entries. */
  async publish(entries: number): Promise<void> {
    const sequence = this.sequence + 1
    const now = systemClock.now()
    const [issuer, revoked_at] = [this.#authority.keyId, writeInstant(now)]
    const draft = draftCrl({
      crl_id: `crl-${sequence}`,
      sequence,
      issuer,
      now,
      entries: Array.from({ length: entries }, (_, n) => ({
        certificate_id: idOf(n + sequence),
        revoked_at,
        reason: 'cessation_of_operation',
        issuer,
      })),
    })
    const text = writeJson(await signList(draft, this.#authority))
    this.listBytes = text.length
    this.#list = gzipSync(text, { level: 1 })
    this.sequence = sequence
  }

  /** A node that has joined. */
  async makeHome(name: string): Promise<string> {
    const home = join(this.directory, name)
    const seed = Buffer.alloc(32, 7).toString('base64')
    const draft = draftJoinCertificate({
      cert_id: 'cert-of-the-bench',
      node_public_key: (await seedSigner('node', seed)).publicKey,
      network_name: this.#network.name,
      roles: ['role:client'],
      issued_by: this.#authority.keyId,
      now: systemClock.now(),
      validityHours: 168,
    })
    await mkdir(home)
    await copyFile(this.genesisFile, join(home, 'genesis.json'))
    await writeFile(join(home, 'certificate.json'), writeJson(await signList(draft, this.#authority)))
    await writeFile(join(home, 'node.key'), writePrivateKeyFile(seed, 'node'), { mode: 0o600 })
    const paths = ['home = "."', 'genesis = "genesis.json"', 'node_private_key = "node.key"']
    const lines = [`[network]\nna_endpoint = "${this.url}"\n[paths]`, ...paths, 'node_certificate = "certificate.json"']
    await writeFile(join(home, 'chancery.toml'), `${lines.join('\n')}\n`)
    return home
  }

  #answer(path: string, response: ServerResponse): void {
    switch (path) {
      case '/crl':
        response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': this.#list.length }).end(this.#list)
        return
      case '/sovereign-revocation-feed':
        response.end(this.#feed)
        return
      case '/healthz':
        response.end('{"status":"ok"}')
        return
      case '/heartbeat': {
        const server_time = writeInstant(systemClock.now())
        response.end(
          writeJson({
            status: 'ok',
            server_time,
            next_heartbeat_seconds: 1,
            crl_sequence: this.sequence,
            policy_id: null,
          }),
        )
        return
      }
      default:
        response
          .writeHead(404)
          .end('{"error":{"code":"not_found","message":"There is no such thing.","details":{},"request_id":"r-1"}}')
    }
  }
}

/** As long as those of an authority. */
function idOf(n: number): string {
  return `cert-${(n * 2_654_435_761).toString(16).padStart(32, '0')}`
}
