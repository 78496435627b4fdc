import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readJoinCertificate, readJson } from '@chancery/protocol'
import type { GenesisBlock, JoinCertificate } from '@chancery/protocol'
import { MemoryNodeStore, Node } from '@chancery/sdk'
import type { Random } from './random.ts'
import { CLI, chancery } from './succession-commands.ts'

interface LibraryNode {
  readonly store: MemoryNodeStore
  node: Node
}

interface CommandNode {
  readonly home: string
  process: ChildProcess
}

/** So small a part of the usual spread that a round takes a minute. */
const SPREAD = 0.1
const JOINING_AT_ONCE = 8

/** Nodes of the library in this process, and nodes of the command line in their own. */
export class Fleet {
  readonly found: string[] = []
  readonly #library: LibraryNode[] = []
  readonly #commands: CommandNode[] = []
  readonly #random: Random
  #isStopping = false

  constructor(random: Random) {
    this.#random = random
  }

  get size(): number {
    return this.#library.length + this.#commands.length
  }

  async join(url: string, genesis: GenesisBlock, count: number, invite: () => Promise<string>): Promise<void> {
    let left = count
    const joinSome = async (): Promise<void> => {
      while (left > 0) {
        left -= 1
        const store = new MemoryNodeStore()
        const one: LibraryNode = { store, node: await this.#start(url, genesis, store, invite) }
        this.#library.push(one)
      }
    }
    await Promise.all(Array.from({ length: JOINING_AT_ONCE }, joinSome))
  }

  async joinByCommand(
    url: string,
    genesisFile: string,
    folder: string,
    count: number,
    invite: () => Promise<string>,
  ): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      const home = join(folder, `node-${index}`)
      const tokenFile = join(folder, `token-${index}`)
      await writeFile(tokenFile, await invite(), { mode: 0o600 })
      const words = ['--home', home, '--url', url, '--genesis', genesisFile, '--token-file', tokenFile]
      await chancery({}, 'join', ...words)
      this.#commands.push({ home, process: this.#runCommand(home) })
    }
  }

  /** Ends some nodes as a crash would, and starts them again from what they kept. */
  async restartSome(url: string, genesis: GenesisBlock): Promise<void> {
    const one = this.#library[this.#random.below(this.#library.length)]
    if (one !== undefined) {
      await one.node.stop()
      one.node = await this.#start(url, genesis, one.store, () =>
        Promise.reject(new Error('a second invite is asked for')),
      )
    }
    const other = this.#commands[this.#random.below(Math.max(this.#commands.length, 1))]
    if (other === undefined) return
    other.process.kill('SIGKILL')
    await once(other.process, 'exit')
    other.process = this.#runCommand(other.home)
  }

  /** `chancery renew` beside a running node: it takes the certificate up from the disk. */
  async renewCommands(): Promise<void> {
    for (const { home } of this.#commands) await chancery({}, 'renew', '--home', home)
  }

  async certificates(): Promise<readonly JoinCertificate[]> {
    const kept = await Promise.all(
      this.#commands.map(async ({ home }) =>
        readJoinCertificate(readJson(await readFile(join(home, 'certificate.json'), 'utf8'))),
      ),
    )
    return [...this.#library.map(({ node }) => node.certificate), ...kept]
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#library.map(({ node }) => node.stop()))
    for (const { process } of this.#commands) process.kill('SIGKILL')
  }

  async #start(
    url: string,
    genesis: GenesisBlock,
    store: MemoryNodeStore,
    invite: () => Promise<string>,
  ): Promise<Node> {
    const random = (): number => SPREAD * (this.#random.next() / 2 ** 32)
    const node = await Node.join({ url, genesis, store, invite, random })
    node.on('stopped', ({ error }) => {
      if (error !== undefined && !this.#isStopping) this.found.push(`a node is lost: ${error.message}`)
    })
    node.on('unfollowed', ({ reason }) => this.found.push(`a node does not follow: ${reason}`))
    return node
  }

  #runCommand(home: string): ChildProcess {
    const child = spawn(process.execPath, ['--conditions=development', CLI, 'node', 'run', '--home', home], {
      stdio: ['ignore', 'ignore', 'ignore'],
    })
    child.on('exit', (code) => {
      if (code !== null && code !== 0 && !this.#isStopping) this.found.push(`node run of ${home} ended with ${code}`)
    })
    return child
  }
}
