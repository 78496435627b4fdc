import { mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type GenesisBlock, type Instant, type Signer, seedSigner, sha256, toBase64, toUtf8 } from '@chancery/protocol'
import { MemoryNodeStore, type NetworkNode, type NodeDocument, type NodeStore } from '@chancery/sdk'
import type { AgentFacts, Client } from '@chancery/sdk/authority'
import { openNode } from '@chancery/sdk/internal'

/** Data of the demo. It is the same every time, including the keys, so the network must not be exposed. */
export const NETWORK = 'DEMO-HARBOUR'

export interface Partner {
  readonly name: string
  readonly validityHours: number
  readonly roles: readonly string[]
  /** Revoked after it was issued, for this reason. */
  readonly endedBecause?: string
  /** Members whose attestations the partner revoked. */
  readonly withdrew: readonly string[]
}

export const PARTNERS: readonly Partner[] = [
  {
    name: 'MERIDIAN-HEALTH',
    validityHours: 2160,
    roles: ['role:client', 'role:service'],
    withdrew: ['meridian-member-0042'],
  },
  {
    name: 'NORTHWIND-FREIGHT',
    validityHours: 720,
    roles: ['role:client'],
    withdrew: ['northwind-member-0007', 'northwind-member-0311'],
  },
  { name: 'FJORD-BANK', validityHours: 1440, roles: ['role:client'], withdrew: [] },
  // Ends within 72 hours on purpose, so that the console shows its warning.
  { name: 'OSPREY-GRID', validityHours: 30, roles: ['role:service'], withdrew: [] },
  {
    name: 'OLD-LIGHTHOUSE',
    validityHours: 720,
    roles: ['role:client'],
    endedBecause: 'relationship_ended',
    withdrew: [],
  },
]

const NODE_ROLES: readonly (readonly string[])[] = [['role:client'], ['role:client', 'role:service'], ['role:service']]

const CAPABILITIES: readonly string[] = ['quote.freight', 'pay.invoice', 'read.manifest', 'book.berth', 'weigh.cargo']

/** Derives the key seed from the name, so that every demo has the same keys. */
export function demoSeed(name: string): string {
  return toBase64(sha256(toUtf8(`chancery demo, known to everybody: ${name}`)))
}

export function demoSigner(keyId: string, name: string = keyId): Promise<Signer> {
  return seedSigner(keyId, demoSeed(name))
}

/** A limit on single amounts, as a typical first policy. */
export function spendingPolicy(validFrom: string, validUntil: string, max: number): Record<string, string | object> {
  return {
    policy_id: 'spending',
    valid_from: validFrom,
    valid_until: validUntil,
    gates: [
      { gate_id: 'amount', gate_type: 'max_value.v1', order: 0, config: { path: 'request_parameters.amount', max } },
    ],
  }
}

/** One in this many nodes has an agent. */
const AGENT_EVERY = 5
/** One in this many nodes has a certificate for one hour, up to ten nodes, so that a demo shows renewals. */
const SHORT_EVERY = 20
const SHORT_BELOW = 200

export function nodeName(index: number): string {
  return `berth-${String(index + 1).padStart(4, '0')}`
}

export function nodeRoles(index: number): readonly string[] {
  return NODE_ROLES[index % NODE_ROLES.length] ?? []
}

/** Describes the agent of a node. One in five nodes has one. */
export function agentOf(index: number): Omit<AgentFacts, 'network_name'> | undefined {
  if (index % AGENT_EVERY !== 0) return undefined
  const name = nodeName(index)
  return {
    agent_id: `agent-${name}`,
    capabilities: [CAPABILITIES[(index / AGENT_EVERY) % CAPABILITIES.length] ?? 'read.manifest'],
    endpoint: { host: `${name}.demo.example`, port: 443, scheme: 'https' },
    lifetimeSeconds: 86_400,
  }
}

export function isShortLived(index: number): boolean {
  return index < SHORT_BELOW && index % SHORT_EVERY === 9
}

/** Certificates of the demo nodes, one file for each node in use. Their keys follow from their names. */
export class NodesFolder {
  readonly #folder: string

  constructor(home: string) {
    this.#folder = join(home, 'nodes')
  }

  /** Indexes of the nodes with a certificate. */
  async list(): Promise<readonly number[]> {
    const names = await readdir(this.#folder).catch(() => [])
    const found = names.flatMap((name) => /^berth-(\d+)\.json$/.exec(name)?.[1] ?? [])
    return found.map((digits) => Number(digits) - 1).toSorted((a, b) => a - b)
  }

  async store(index: number): Promise<NodeStore> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    return new DemoNodeStore(join(this.#folder, `${nodeName(index)}.json`), await demoSigner(nodeName(index)))
  }

  /** A node that an operator revoked is not started again. */
  remove(index: number): Promise<void> {
    return rm(join(this.#folder, `${nodeName(index)}.json`), { force: true })
  }
}

/** Only the certificate is on disk. It is not synced: a node whose file is lost in a crash joins again. */
class DemoNodeStore implements NodeStore {
  readonly #file: string
  readonly #memory: MemoryNodeStore

  constructor(file: string, signer: Signer) {
    this.#file = file
    this.#memory = new MemoryNodeStore(signer)
  }

  signer(): Promise<Signer> {
    return this.#memory.signer()
  }

  read(document: NodeDocument): Promise<string | undefined> {
    if (document !== 'certificate') return this.#memory.read(document)
    return readFile(this.#file, 'utf8').catch(() => undefined)
  }

  async write(document: NodeDocument, text: string): Promise<void> {
    if (document !== 'certificate') return this.#memory.write(document, text)
    await writeFile(`${this.#file}.new`, `${text}\n`)
    await rename(`${this.#file}.new`, this.#file)
  }

  writeBytes(document: NodeDocument, pieces: readonly Uint8Array[]): Promise<void> {
    return this.#memory.writeBytes(document, pieces)
  }
}

export interface RunNodesOptions {
  readonly url: string
  readonly genesis: GenesisBlock
  readonly operator: Client
  readonly folder: NodesFolder
  readonly note: (text: string) => void
  readonly clock?: () => Instant
  readonly sleep?: (ms: number, signal: AbortSignal | undefined) => Promise<void>
}

export interface RunningNodes {
  readonly find: (index: number) => NetworkNode | undefined
  stop(): Promise<void>
}

const TOGETHER = 16

/**
 * Runs all nodes of the folder: they send heartbeats, renew their certificates and register their agents. A node whose
 * certificate ended while the demo was stopped joins again.
 */
export async function runNodes(options: RunNodesOptions): Promise<RunningNodes> {
  const { folder, note } = options
  const running = new Map<number, NetworkNode>()
  const indexes = await folder.list()
  const start = async (index: number): Promise<void> => {
    const node = await startNode(options, index)
    running.set(index, node)
    const agent = agentOf(index)
    void node.run(agent === undefined ? {} : { agent }).then(async (end) => {
      running.delete(index)
      if (end.reason === 'stopped') return
      await folder.remove(index)
      note(`${nodeName(index)} stopped: ${end.error.message}`)
    })
  }
  for (let at = 0; at < indexes.length; at += TOGETHER) await Promise.all(indexes.slice(at, at + TOGETHER).map(start))
  return {
    find: (index) => running.get(index),
    stop: async () => {
      await Promise.all([...running.values()].map((node) => node.stop()))
    },
  }
}

async function startNode(
  { url, genesis, operator, folder, clock, sleep }: RunNodesOptions,
  index: number,
): Promise<NetworkNode> {
  return openNode({
    url,
    genesis,
    store: await folder.store(index),
    invite: async () => {
      const invite = await operator.enrollment.invite({ roles: nodeRoles(index), label: nodeName(index) })
      return invite.token_id
    },
    ...(isShortLived(index) ? { validityHours: 1 } : {}),
    ...(clock === undefined ? {} : { clock }),
    ...(sleep === undefined ? {} : { sleep }),
  })
}
