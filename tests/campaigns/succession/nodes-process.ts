import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readGenesisBlock, readJson, seedSigner, toBase64 } from '@chancery/protocol'
import type { GenesisBlock, JoinCertificate, Signer } from '@chancery/protocol'
import { RefusedError, joinNetwork } from '@chancery/sdk'
import type { NetworkNode, NodeDocument, NodeEvent, NodeStore } from '@chancery/sdk'
import { RefusedCalls } from './watch.ts'

/** First argument of the process. */
export interface NodesTask {
  readonly url: string
  /** The first block. Nodes must follow all later ones. */
  readonly genesisFile: string
  /** A folder for each node, with its invite. */
  readonly folders: readonly string[]
}

/** Messages to the campaign. */
export type NodesMessage =
  | { readonly kind: 'started' }
  | { readonly kind: 'certificate'; readonly folder: string; readonly certificate: JoinCertificate }
  | { readonly kind: 'found'; readonly text: string }
  | { readonly kind: 'figures'; readonly figures: NodeFigures }

export interface NodeFigures {
  readonly heartbeats: number
  readonly renewals: number
  readonly refusals: number
  readonly longestRefusedMs: number
}

const STARTING_AT_ONCE = 8
const FIGURES_EVERY_MS = 2000

/** The files of one node. A file is replaced atomically. Writes of a killed process stay in the page cache. */
class FolderStore implements NodeStore {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  async signer(): Promise<Signer> {
    const kept = await this.#read('seed')
    if (kept !== undefined) return seedSigner('node', kept)
    const seed = toBase64(crypto.getRandomValues(new Uint8Array(32)))
    await this.#write('seed', seed)
    return seedSigner('node', seed)
  }

  read(document: NodeDocument): Promise<string | undefined> {
    return this.#read(`${document}.json`)
  }

  write(document: NodeDocument, text: string): Promise<void> {
    return this.#write(`${document}.json`, text)
  }

  #read(name: string): Promise<string | undefined> {
    return readFile(join(this.#folder, name), 'utf8').catch(() => undefined)
  }

  async #write(name: string, text: string): Promise<void> {
    const path = join(this.#folder, name)
    await writeFile(`${path}.new`, text)
    await rename(`${path}.new`, path)
  }
}

class NodesProcess {
  readonly #task: NodesTask
  readonly #genesis: GenesisBlock
  readonly #calls = new RefusedCalls()
  #heartbeats = 0
  #renewals = 0

  constructor(task: NodesTask, genesis: GenesisBlock) {
    this.#task = task
    this.#genesis = genesis
  }

  async start(): Promise<void> {
    const folders = [...this.#task.folders]
    const startSome = async (): Promise<void> => {
      for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) await this.#startOne(folder)
    }
    await Promise.all(Array.from({ length: STARTING_AT_ONCE }, startSome))
    tell({ kind: 'started' })
    setInterval(() => this.#tellFigures(), FIGURES_EVERY_MS)
  }

  async #startOne(folder: string): Promise<void> {
    await mkdir(folder, { recursive: true })
    const invite = (): Promise<string> => readFile(join(folder, 'invite'), 'utf8')
    try {
      const node = await joinNetwork({
        url: this.#task.url,
        genesis: this.#genesis,
        store: new FolderStore(folder),
        invite,
      })
      this.#watch(folder, node)
    } catch (error) {
      tell({ kind: 'found', text: `a node is lost at its start: ${String(error)}` })
    }
  }

  #watch(folder: string, node: NetworkNode): void {
    const show = (): void => tell({ kind: 'certificate', folder, certificate: node.certificate })
    const found = (text: string): void => tell({ kind: 'found', text })
    show()
    const onEvent = (event: NodeEvent): void => {
      if (event.type === 'renewed') {
        this.#renewals += 1
        show()
      }
      if (event.type === 'heartbeat') {
        this.#heartbeats += 1
        this.#calls.accepted(folder)
      }
      if (event.type === 'failed' && event.error instanceof RefusedError) {
        const tooLong = this.#calls.refused(folder)
        if (tooLong !== undefined) found(`${event.action} of a node is refused for ${tooLong} ms: ${event.error.code}`)
      }
      if (event.type === 'keys_refused') found(`a node does not follow: ${event.reason}`)
      // A node that missed the lists of an undone key only detects that the root names another key. It waits for that
      // list.
      if (event.type === 'list_refused' && event.reason !== 'not_signed')
        found(`a node refuses a list: ${JSON.stringify(event)}`)
    }
    void node.run({ onEvent }).then((end) => {
      found(`a node is lost: ${end.reason === 'stopped' ? 'it stopped' : end.error.message}`)
    })
  }

  #tellFigures(): void {
    const { refusals, longestRefusedMs } = this.#calls
    const figures = { heartbeats: this.#heartbeats, renewals: this.#renewals, refusals, longestRefusedMs }
    tell({ kind: 'figures', figures })
  }
}

function tell(message: NodesMessage): void {
  process.send?.(message)
}

// The campaign has ended, so this process ends, too.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
const task = JSON.parse(process.argv[2] ?? '') as NodesTask
const genesis = readGenesisBlock(readJson(await readFile(task.genesisFile, 'utf8')))
await new NodesProcess(task, genesis).start()
