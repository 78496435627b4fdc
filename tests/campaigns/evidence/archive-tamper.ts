import { rm } from 'node:fs/promises'
import {
  AnchorChecker,
  ArchiveChain,
  compareWithStore,
  fromHex,
  fromUtf8,
  hashChildren,
  hashLeaf,
  manifestName,
  readEventLine,
  readReceived,
  retentionCheckpointForm,
  verifyLine,
} from '@chancery/protocol'
import type {
  ArchiveManifest,
  ArchiveTrust,
  GenesisBlock,
  JsonValue,
  LogCheckpoint,
  NodeReader,
  RetentionCheckpoint,
  StoreKeys,
  VerifiedLine,
} from '@chancery/protocol'
import { ManualClock, operatorCaller, startTestAuthority, testSigner } from '@chancery/testkit'
import type { Backend, TestAuthority } from '@chancery/testkit'
import type { ArchiveFiles } from '../../../apps/cli/src/commands/evidence/archive-files/files.ts'
import { verifyArchive } from '../../../apps/cli/src/commands/evidence/archive-files/verify.ts'
import { ArchiveWriter } from '../../../apps/cli/src/commands/evidence/archive-files/write.ts'
import { type CampaignOptions, type CampaignResult, tryWays } from '../lib/campaign.ts'
import { seededRandom } from '../lib/random.ts'
import { type ArchiveContent, tamperArchive } from './archive-changes.ts'
import { foundNetwork } from './found-network.ts'
import { decisionOf, EvidenceScenario, objectOf, servedHere } from './scenario.ts'

/** An archive, and what its readers trust and compare it with. */
interface Prepared {
  readonly content: ArchiveContent
  readonly trust: ArchiveTrust
  readonly keys: StoreKeys
  /** The checkpoint and all lines of the living store. */
  readonly checkpoint: LogCheckpoint
  readonly lines: readonly string[]
  /** Verdicts on lines, so that unchanged ones are verified once. */
  readonly verified: Map<string, VerifiedLine | null>
}

/** Bytes, segments, manifests and whole tails changed, removed, exchanged, doubled or mixed, digests recomputed or not. */
export async function run(options: CampaignOptions): Promise<CampaignResult> {
  const random = seededRandom(options.seed)
  // Another log of the same authority, and another network, give the parts that are mixed in.
  const archives = [
    await prepare('sqlite', { isRetained: false, settings: {} }),
    await prepare('postgres', { isRetained: true, settings: { NA_LOG_ORIGIN: 'log.example/other' } }),
    await prepare('sqlite', { isRetained: false, settings: {}, network: 'OTHER-NET' }),
  ]
  let late = 0
  const result = await tryWays(options, async (index) => {
    const whole = archives[index % archives.length] as Prepared
    const other = archives[(index + 1 + random.below(archives.length - 1)) % archives.length] as Prepared
    const { way, content } = await tamperArchive(whole.content, other.content, random)
    const detected = await detect(whole, content)
    if (detected === 'with the store') late += 1
    return { way, problem: detected === 'not at all' ? 'not detected' : undefined }
  })
  options.log(`${late} are detected only with the living store`)
  return result
}

type Detection = 'alone' | 'with the store' | 'not at all'

/**
 * An older archive, and one of another log of the same authority, are valid alone: only the living store shows that
 * they are not the current one. A file that no manifest names counts as detected, because the report names it.
 */
async function detect(whole: Prepared, content: ArchiveContent): Promise<Detection> {
  const { isDamaged, isOther, isCurrent } = await examine(whole, content)
  if (isDamaged) return 'alone'
  return isOther || !isCurrent ? 'with the store' : 'not at all'
}

async function examine(
  { trust, keys, checkpoint, lines, verified }: Prepared,
  content: ArchiveContent,
): Promise<{ readonly isDamaged: boolean; readonly isOther: boolean; readonly isCurrent: boolean }> {
  const verify = async (line: string): Promise<VerifiedLine | null> => {
    const known = verified.get(line) ?? (await verifyLine(line, keys)) ?? null
    if (lines.includes(line)) verified.set(line, known)
    return known
  }
  const report = await verifyArchive(new ArchiveInMemory(content), {
    trust,
    keys,
    anchors: await AnchorChecker.open([], trust.keys, trust.network),
    examine: (block) => Promise.all((fromUtf8(block) ?? '').split('\n').slice(0, -1).map(verify)),
    blocks: 1,
    update: () => undefined,
  })
  const { end, findings, store, otherFiles } = report
  const living = { checkpoint, read: nodesOf(lines), lastSequence: lines.length }
  const compared =
    end === undefined
      ? undefined
      : await compareWithStore(end, { ...living, lines: lines.slice(end.last - 1, end.last + 1) })
  const isDamaged = findings.length + store.failures.length + otherFiles.length > 0
  return {
    isDamaged,
    isOther: compared?.difference !== undefined,
    isCurrent: compared?.entriesAfter === 0,
  }
}

class ArchiveInMemory implements ArchiveFiles {
  readonly content: Map<string, Uint8Array>

  constructor(content: ArchiveContent = new Map()) {
    this.content = new Map(content)
  }

  async list(): Promise<readonly string[]> {
    return [...this.content.keys()].toSorted()
  }

  async read(name: string, maxBytes: number): Promise<Uint8Array | undefined> {
    return this.content.get(name)?.subarray(0, maxBytes + 1)
  }

  async create(name: string, bytes: Uint8Array): Promise<boolean> {
    const isNew = !this.content.has(name)
    if (isNew) this.content.set(name, bytes)
    return isNew
  }
}

const SIZES = { entriesPerSegment: 4, segmentsPerManifest: 2 }
const DAY = 86_400

interface Wishes {
  /** Entries are removed before the archive begins. */
  readonly isRetained: boolean
  readonly settings: Readonly<Record<string, string>>
  /** Another network with other keys. */
  readonly network?: string
}

/** Three runs with segments of up to four entries. */
async function prepare(backend: Backend, { isRetained, settings, network }: Wishes): Promise<Prepared> {
  const clock = new ManualClock('2030-01-02T03:00:00Z')
  const founded = network === undefined ? undefined : await foundNetwork(network, clock)
  const fixed = {
    EVIDENCE_STORE: 'on',
    NA_ANCHOR_INTERVAL_SECONDS: '0',
    NA_CLOCK_CHECK: 'off',
    NA_GENESIS_WINDOW: 'warn',
  }
  const na = await startTestAuthority({ backend, clock, settings: { ...fixed, ...founded?.settings, ...settings } })
  try {
    const store = await ArchivedStore.open(na, founded?.genesis ?? na.genesis)
    if (isRetained) {
      await store.grow(3)
      clock.advance(3 * DAY)
      await store.retain()
    }
    for (const rounds of [4, 3, 2]) {
      await store.grow(rounds)
      await store.archive()
    }
    const prepared = await store.prepared()
    const { isDamaged, isOther, isCurrent } = await examine(prepared, prepared.content)
    if (isDamaged || isOther || !isCurrent) throw new Error('the archive is not sound')
    return prepared
  } finally {
    await na.stop()
    if (founded !== undefined) await rm(founded.folder, { recursive: true })
  }
}

/** An authority, and the archive that is written from it. */
class ArchivedStore {
  readonly #na: TestAuthority
  readonly #operator: Operator
  readonly #files = new ArchiveInMemory()
  readonly #trust: ArchiveTrust
  /** Every line that the store ever had, also the removed ones. */
  readonly #lines: string[] = []
  #scenario: EvidenceScenario
  #boundary: RetentionCheckpoint | undefined

  private constructor(na: TestAuthority, genesis: GenesisBlock, operator: Operator, scenario: EvidenceScenario) {
    this.#na = na
    this.#operator = operator
    this.#scenario = scenario
    this.#trust = { keys: [genesis.network_authority.public_key], network: genesis.network_name }
  }

  static async open(na: TestAuthority, genesis: GenesisBlock): Promise<ArchivedStore> {
    const { public_key } = genesis.network_authority
    const operator = operatorCaller(na.url, await testSigner('op-privileged'), public_key, () => na.core.clock.now())
    return new ArchivedStore(na, genesis, operator, await EvidenceScenario.open(servedHere(na, operator)))
  }

  async grow(rounds: number): Promise<void> {
    for (let round = 0; round < rounds; round += 1)
      await this.#scenario.execute(decisionOf(await this.#scenario.decide()))
    await this.#readNew()
  }

  async retain(): Promise<void> {
    const { checkpoint } = objectOf(await this.#scenario.retain())
    this.#boundary = readReceived(retentionCheckpointForm, checkpoint as JsonValue).record
    // The attestation of the first scenario has expired.
    this.#scenario = await EvidenceScenario.open(servedHere(this.#na, this.#operator))
    await this.#readNew()
  }

  async archive(): Promise<void> {
    const identity = objectOf(await this.#na.request('GET', '/evidence-log'))['log_identity']
    const lines = this.#lines
    const removed = this.#boundary?.removed_through_sequence ?? 0
    const source = {
      checkpoint: (await this.#na.request('GET', '/evidence-log/checkpoint')).text,
      identity: identity as unknown as ArchiveManifest['log_identity'],
      read: nodesOf(lines),
      async *lines(after: number): AsyncGenerator<string> {
        yield* lines.slice(Math.max(after, removed))
      },
      boundary: async () => this.#boundary,
    }
    const chain = await this.#openChain()
    await new ArchiveWriter(this.#files, chain, { trust: this.#trust, source, size: SIZES }).write()
  }

  async prepared(): Promise<Prepared> {
    const { checkpoint } = await this.#openChain()
    if (checkpoint === undefined) throw new Error('the archive is empty')
    const { keyId, publicKey } = this.#scenario.executorKey
    const key = { public_key: publicKey, executor_sovereign_id: 'rotator' }
    const keys = { authority: this.#trust.keys, executor: (id: string) => (id === keyId ? key : undefined) }
    const content = this.#files.content
    return { content, trust: this.#trust, keys, checkpoint, lines: this.#lines, verified: new Map() }
  }

  async #readNew(): Promise<void> {
    await this.#na.features.evidenceLog.append()
    const after = `/admin/evidence/export?since_sequence=${this.#lines.length}`
    this.#lines.push(...(await this.#operator('GET', after)).text.split('\n').slice(0, -1))
  }

  async #openChain(): Promise<ArchiveChain> {
    const { content } = this.#files
    const chain = new ArchiveChain(this.#trust)
    for (let number = 1; content.has(manifestName(number)); number += 1) {
      const refusal = await chain.add(fromUtf8(content.get(manifestName(number)) ?? new Uint8Array()) ?? '')
      if (refusal !== undefined) throw new Error(refusal)
    }
    return chain
  }
}

type Operator = ReturnType<typeof operatorCaller>

/** The tree over the digests of the lines. */
function nodesOf(lines: readonly string[]): NodeReader {
  const read: NodeReader = async (level, index) =>
    level === 0
      ? hashLeaf(fromHex(readEventLine(lines[index] ?? '')?.entryDigest ?? '') ?? new Uint8Array())
      : hashChildren(await read(level - 1, index * 2), await read(level - 1, index * 2 + 1))
  return read
}
