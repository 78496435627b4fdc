import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { seedSigner } from '@chancery/protocol'
import type { BenchOptions, BenchResult, Measurement } from '../lib/bench.ts'
import { createNetwork } from '../lib/network.ts'
import { round } from '../lib/statistics.ts'
import { ListServer } from './list-server.ts'
import { measureInstall } from './install.ts'

/** Together just below the 64 MiB that readers accept. */
const ENTRIES = 400_000
/** Maximum memory of a program of the command line, in MiB. The ratio is this over the largest measured value. */
const MOST_MIB = 500
const BAR = 1
/** A program that has not ended by then is stopped, and the benchmark fails. */
const PROGRAM_SECONDS = 120

/** Memory that readers need for a revocation list of the largest size. */
export const listMemory: Measurement = {
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
  const lists = await ListServer.open(network, authority, options)
  const entries = options.entries ?? ENTRIES
  const none = await measureReaders(lists, 0, options)
  const largest = await measureReaders(lists, entries, options)
  const gateway = await measureInstall(options, { revocations: entries, installs: 1 })
  const { followed_party: _first, followed_party_next_list: _next, ...programs } = largest
  const peak_mib = Math.max(...Object.values(programs))
  return {
    ratio: round(MOST_MIB / peak_mib),
    bar: BAR,
    peak_mib,
    entries,
    list_bytes: lists.listBytes,
    readers_mib: largest,
    readers_without_entries_mib: none,
    gateway,
  }
}

async function measureReaders(lists: ListServer, entries: number, { progress }: BenchOptions): Promise<Peaks> {
  const home = await lists.makeHome(`node-${entries}`)
  const say = (name: string, mib: number): number => {
    progress(`${entries} entries, ${name}: ${mib} MiB at the peak`)
    return mib
  }
  await lists.publish(entries)
  const status = say('status', await runOnce(lists, ['status', '--home', home]))
  const state = join(home, 'watch.json')
  const watched = ['watch', '--url', lists.url, '--genesis', lists.genesisFile, '--state', state]
  const watch = say('authority watch', await runOnce(lists, watched))
  const node_run = say('node run', await runNode(lists, home, () => Promise.resolve()))
  await rm(join(home, 'crl.json'))
  const node_run_next_list = say(
    'node run, then the next list',
    await runNode(lists, home, () => lists.publish(entries)),
  )
  const node_run_kept_list = say(
    'node run with a list of the run before',
    await runNode(lists, home, () => lists.publish(entries), 1),
  )
  const status_kept_list = say('status with a list of the run before', await runOnce(lists, ['status', '--home', home]))
  const followed_party = say('FollowedParty', await runParty(lists, () => Promise.resolve()))
  const followed_party_next_list = say(
    'FollowedParty, then the next list',
    await runParty(lists, () => lists.publish(entries)),
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

/** Runs a command that must end with exit code 0. */
async function runOnce(lists: ListServer, args: readonly string[]): Promise<number> {
  const program = start(lists, MAIN, args)
  await program.end()
  return program.peakMebibytes()
}

/** Runs until it has the lists: the published one, and with `count` 2 the next one. */
async function runNode(lists: ListServer, home: string, next: () => Promise<void>, count = 2): Promise<number> {
  const program = start(lists, MAIN, ['node', 'run', '--crl', '--home', home])
  if (count === 2) await program.says(`"crl_sequence":${lists.sequence},"revoked_count"`)
  const before = lists.sequence
  await next()
  if (lists.sequence !== before) await program.says(`"crl_sequence":${lists.sequence},"revoked_count"`)
  program.child.kill('SIGTERM')
  await program.end()
  return program.peakMebibytes()
}

/** The same measurement for a program that verifies certificates with the library. */
async function runParty(lists: ListServer, next: () => Promise<void>): Promise<number> {
  const program = start(lists, PARTY, [lists.url, lists.genesisFile])
  await program.says(`list ${lists.sequence}.`)
  await next()
  await program.says(`list ${lists.sequence}.`)
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

function start({ directory, cleanup }: ListServer, file: string, args: readonly string[]): Program {
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
