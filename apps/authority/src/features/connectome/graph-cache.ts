import type { ExplainedPath, Instant } from '@chancery/protocol'
import { SharedRead } from '@chancery/service-kit'
import { type BuiltGraph, type ConnectomeParts, GraphBuilder } from './builder.ts'
import { RecordFault } from '../../signing/record-faults.ts'
import type { Versions } from '../../database/locks/versions.ts'
import { listSignedTreaties } from './queries.ts'
import type { PathRequest } from './views.ts'

/** Number of retries without the treaties that did not verify. */
const MAX_REQUESTED = 8

interface Cached extends BuiltGraph {
  readonly version: string
  /** Clock reading before the build. If the clock is set back to before it, expired treaties may be active again. */
  readonly builtAt: Instant
}

/**
 * The recognition graph in memory. Rebuilt when a treaty or an imported revocation changed on any instance, or when
 * the next lifecycle boundary passes; never per request.
 */
export class GraphCache {
  readonly #builder = new GraphBuilder()
  #cached: Cached | undefined
  #build: SharedRead<Cached> | undefined
  readonly #verified = new WeakMap<BuiltGraph, Set<string>>()
  /** Treaties without a valid signature. Cleared when treaties change, because one may have been repaired. */
  #refused = new Set<string>()
  #refusedUnder = ''

  async current(parts: ConnectomeParts): Promise<BuiltGraph> {
    const versions = await parts.versions.read()
    const cached = this.#cached
    const isFresh =
      cached?.isAlive() === true && cached.version === versionOf(versions) && isCurrent(cached, parts.clock.now())
    if (isFresh) return cached
    // Shared by all queued callers, and started after each of them arrived.
    this.#build ??= new SharedRead(async () => {
      const builtAt = parts.clock.now()
      const before = versionOf(await parts.versions.read())
      if (this.#refusedUnder !== before) this.#refused = new Set()
      this.#refusedUnder = before
      const built = { ...(await this.#builder.build(parts, this.#refused)), version: before, builtAt }
      this.#cached = built
      return built
    })
    return this.#build.read()
  }

  /**
   * Returns a result after every treaty it depends on was verified. A treaty without a valid signature is removed from
   * the graph and the query is repeated, so that it neither counts nor hides a valid one.
   */
  async ask<Value>(
    parts: ConnectomeParts,
    question: (graph: BuiltGraph) => Promise<Value>,
    treatiesOf: (answer: Value) => readonly string[],
  ): Promise<Value> {
    for (let asked = 0; asked < MAX_REQUESTED; asked += 1) {
      const graph = await this.current(parts)
      const answer = await question(graph)
      if (await this.#areSigned(parts, graph, treatiesOf(answer))) return answer
    }
    throw new RecordFault('treaties', 'too many treaties of the graph do not verify')
  }

  /** Each treaty is verified once per version of the graph, which has the rows of its build time. */
  async #areSigned(parts: ConnectomeParts, graph: BuiltGraph, ids: readonly string[]): Promise<boolean> {
    const verified = this.#verified.get(graph) ?? new Set<string>()
    this.#verified.set(graph, verified)
    const unknown = ids.filter((id) => !verified.has(id))
    if (unknown.length === 0) return true
    const rows = new Map((await listSignedTreaties(parts.database, unknown)).map((row) => [row.treaty_id, row]))
    const before = this.#refused.size
    for (const id of unknown) {
      const row = rows.get(id)
      const treaty = row === undefined ? undefined : await parts.verifiedTreaties.read(row)
      if (treaty === undefined) this.#refused.add(id)
      else verified.add(id)
    }
    if (this.#refused.size === before) return true
    this.#cached = undefined
    return false
  }

  close(): Promise<void> {
    return this.#builder.close()
  }
}

function isCurrent({ builtAt, staleAt }: Cached, now: Instant): boolean {
  return builtAt <= now && (staleAt === undefined || now < staleAt)
}

function versionOf({ versions }: Versions): string {
  return ['treaties', 'imports', 'partners'].map((name) => versions.get(name) ?? 0).join('/')
}

/** The parts of the feature and its own state. */
export interface ConnectomeState extends ConnectomeParts {
  /** The recognition graph in memory. */
  readonly graph: GraphCache
}

/** Returns the path between two sovereigns after verifying each of its own treaties. */
export function findVerifiedPath(parts: ConnectomeState, asked: PathRequest): Promise<ExplainedPath> {
  return parts.graph.ask(
    parts,
    (graph) => graph.trustPath(asked),
    ({ path }) => path.filter(({ origin }) => origin === 'own').map((edge) => edge.treaty_id),
  )
}
