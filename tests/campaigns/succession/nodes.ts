import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type JoinCertificate, readJoinCertificate, readJson } from '@chancery/protocol'
import { COMPILE_CACHE } from '@chancery/testkit'
import { chancery, CLI } from '../lib/command.ts'
import type { Random } from '../lib/random.ts'
import type { NodeFigures, NodesMessage, NodesTask } from './nodes-process.ts'
import { RefusedCalls } from './watch.ts'

const PROCESS_FILE = fileURLToPath(new URL('nodes-process.ts', import.meta.url))
const QUICK = ['--conditions=development', '--import', new URL('../lib/quick-node.ts', import.meta.url).href]
const JOINING_AT_ONCE = 2

interface Crew {
  readonly task: NodesTask
  process: ChildProcess
  /** Counts of the running process; those of killed ones are in `past`. */
  figures: NodeFigures | undefined
}

interface CommandNode {
  readonly home: string
  process: ChildProcess
}

interface NodesParts {
  readonly url: string
  /** The first block of every node. */
  readonly genesisFile: string
  readonly folder: string
  readonly random: Random
  readonly invite: () => Promise<string>
}

/**
 * Nodes of the library in a few processes, and nodes of the command line in one process each. All are killed sometimes.
 */
export class Fleet {
  readonly found: string[] = []
  readonly #parts: NodesParts
  readonly #crews: Crew[] = []
  readonly #commands: CommandNode[] = []
  readonly #certificates = new Map<string, JoinCertificate>()
  readonly #calls = new RefusedCalls()
  #past: NodeFigures = { heartbeats: 0, renewals: 0, refusals: 0, longestRefusedMs: 0 }
  #commandHeartbeats = 0
  #kills = 0
  #size = 0
  #isStopping = false

  constructor(parts: NodesParts) {
    this.#parts = parts
  }

  get size(): number {
    return this.#size
  }

  async joinByLibrary(count: number, processes: number): Promise<void> {
    const { url, genesisFile, folder } = this.#parts
    const folders = Array.from({ length: count }, (_, index) => join(folder, `library-${index}`))
    for (const each of folders) {
      await mkdir(each, { recursive: true })
      await writeFile(join(each, 'invite'), await this.#parts.invite())
    }
    for (let at = 0; at < processes; at += 1) {
      const own = folders.filter((_, index) => index % processes === at)
      const task = { url, genesisFile, folders: own }
      this.#crews.push({ task, process: await this.#startCrew(task), figures: undefined })
    }
    this.#size += count
  }

  async joinByCommand(count: number): Promise<void> {
    const { url, genesisFile, folder } = this.#parts
    let left = count
    const joinSome = async (): Promise<void> => {
      while (left > 0) {
        left -= 1
        const home = join(folder, `command-${left}`)
        const tokenFile = join(folder, `command-${left}.token`)
        await writeFile(tokenFile, await this.#parts.invite(), { mode: 0o600 })
        const words = ['--home', home, '--url', url, '--genesis', genesisFile, '--token-file', tokenFile]
        await chancery({}, 'join', ...words)
        this.#commands.push({ home, process: this.#runCommand(home) })
      }
    }
    await Promise.all(Array.from({ length: JOINING_AT_ONCE }, joinSome))
    this.#size += count
  }

  /** Kills one process with its many nodes; they continue from their files. */
  async killCrew(): Promise<void> {
    const crew = this.#crews[this.#parts.random.below(this.#crews.length)]
    if (crew === undefined) return
    await this.#kill(crew.process)
    this.#past = addFigures(this.#past, crew.figures)
    crew.figures = undefined
    crew.process = await this.#startCrew(crew.task)
  }

  async killCommand(): Promise<void> {
    const one = this.#commands[this.#parts.random.below(Math.max(this.#commands.length, 1))]
    if (one === undefined) return
    await this.#kill(one.process)
    one.process = this.#runCommand(one.home)
  }

  /** Runs `chancery node renew` next to a running node, which reads the new certificate from the disk. */
  async renewOneByCommand(): Promise<void> {
    const one = this.#commands[this.#parts.random.below(Math.max(this.#commands.length, 1))]
    if (one !== undefined) await chancery({}, 'renew', '--home', one.home)
  }

  async certificates(): Promise<readonly JoinCertificate[]> {
    const kept = await Promise.all(
      this.#commands.map(async ({ home }) =>
        readJoinCertificate(readJson(await readFile(join(home, 'certificate.json'), 'utf8'))),
      ),
    )
    return [...this.#certificates.values(), ...kept]
  }

  figures(): NodeFigures & { readonly command_heartbeats: number; readonly node_kills: number } {
    const { refusals, longestRefusedMs } = this.#calls
    const ofCommands = { heartbeats: this.#commandHeartbeats, renewals: 0, refusals, longestRefusedMs }
    const library = this.#crews.reduce((sum, { figures }) => addFigures(sum, figures), this.#past)
    const all = addFigures(library, ofCommands)
    return { ...all, command_heartbeats: this.#commandHeartbeats, node_kills: this.#kills }
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    const running = [...this.#crews, ...this.#commands].map(({ process }) => process)
    await Promise.all(running.filter((each) => each.exitCode === null && each.signalCode === null).map(end))
  }

  async #kill(child: ChildProcess): Promise<void> {
    this.#kills += 1
    child.removeAllListeners('exit')
    await end(child)
  }

  async #startCrew(task: NodesTask): Promise<ChildProcess> {
    const child = fork(PROCESS_FILE, [JSON.stringify(task)], {
      execArgv: QUICK,
      env: { ...COMPILE_CACHE, PATH: process.env['PATH'] },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    child.on('exit', (code, signal) => this.#noteEnd(`a process of ${task.folders.length} nodes`, code ?? signal))
    await new Promise<void>((started, failed) => {
      child.once('exit', () => failed(new Error('the process of nodes ended at its start')))
      child.on('message', (message: NodesMessage) => {
        if (message.kind === 'started') started()
        else if (message.kind === 'certificate') this.#certificates.set(message.folder, message.certificate)
        else if (message.kind === 'found') this.found.push(message.text)
        else this.#noteFigures(task, message.figures)
      })
    })
    return child
  }

  #noteFigures(task: NodesTask, figures: NodeFigures): void {
    const crew = this.#crews.find((each) => each.task === task)
    if (crew !== undefined) crew.figures = figures
  }

  #runCommand(home: string): ChildProcess {
    const child = spawn(process.execPath, [...QUICK, CLI, 'node', 'run', '--home', home], {
      env: { ...COMPILE_CACHE, PATH: process.env['PATH'] },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    child.on('exit', (code, signal) => this.#noteEnd(`node run of ${home}`, code ?? signal))
    if (child.stdout !== null) createInterface(child.stdout).on('line', (line) => this.#noteLine(home, line))
    return child
  }

  /** Output of `node run`: one JSON line for each event. */
  #noteLine(home: string, line: string): void {
    const { event, code, action } = JSON.parse(line) as { event: string; code?: string; action?: string }
    if (event === 'heartbeat') {
      this.#commandHeartbeats += 1
      this.#calls.accepted(home)
    } else if (event === 'unfollowed') this.found.push(`node run: ${line}`)
    else if (event === 'failed' && code !== 'unreachable') {
      const tooLong = this.#calls.refused(home)
      if (tooLong !== undefined) this.found.push(`${action} of node run is refused for ${tooLong} ms: ${code}`)
    }
  }

  #noteEnd(who: string, ending: string | number | null): void {
    if (!this.#isStopping) this.found.push(`${who} ended with ${ending}`)
  }
}

async function end(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

function addFigures(a: NodeFigures, b: NodeFigures | undefined): NodeFigures {
  if (b === undefined) return a
  return {
    heartbeats: a.heartbeats + b.heartbeats,
    renewals: a.renewals + b.renewals,
    refusals: a.refusals + b.refusals,
    longestRefusedMs: Math.max(a.longestRefusedMs, b.longestRefusedMs),
  }
}
