import type { Instant } from '@chancery/protocol'
import { SharedRead } from '@chancery/service-kit'
import type { ConnectomeParts } from './parts.ts'
import { RecordFault } from '../../signing/record-faults.ts'
import type { Versions } from '../../database/database.ts'
import { GraphBuilder } from './builder.ts'
import type { BuiltGraph } from './builder.ts'
import { listSignedTreaties } from './queries.ts'

/** So often a question is asked again without the treaties that did not verify. */
const MAX_REQUESTED = 8

interface Cached extends BuiltGraph {
  readonly stamp: string
  /** What the clock showed before it was built: set back behind that, what had ended may be in force. */
  readonly builtAt: Instant
}

/**
 * The recognition graph in memory. Rebuilt when a treaty or an imported revocation changed on any instance, or when
 * the next lifecycle boundary passes; never per request.
 */
export class GraphCache {
  readonly #builder = new GraphBuilder()
  #held: Cached | undefined
  #build: SharedRead<Cached> | undefined
  readonly #verified = new WeakMap<BuiltGraph, Set<string>>()
  /** Treaties that were found not to be signed. Asked again when treaties changed: one may have been put right. */
  #refused = new Set<string>()
  #refusedUnder = ''

  async current(parts: ConnectomeParts): Promise<BuiltGraph> {
    const versions = await parts.versions.read()
    const held = this.#held
    const isFresh = held?.isAlive() === true && held.stamp === versionOf(versions) && isCurrent(held, parts.clock.now())
    if (isFresh) return held
    // Shared by all who wait, and started after each of them asked.
    this.#build ??= new SharedRead(async () => {
      const builtAt = parts.clock.now()
      const before = versionOf(await parts.versions.read())
      if (this.#refusedUnder !== before) this.#refused = new Set()
      this.#refusedUnder = before
      const built = { ...(await this.#builder.build(parts, this.#refused)), stamp: before, builtAt }
      this.#held = built
      return built
    })
    return this.#build.read()
  }

  /**
   * An answer that rests on treaties, of which each was verified. One that is not signed by this authority is taken out
   * of the graph, and the question is asked again: it must neither count nor hide one that does.
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

  /** Each treaty once for each version of the graph: it holds what the rows said when it was built. */
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
    this.#held = undefined
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
  return `${versions.get('treaties') ?? 0}/${versions.get('imports') ?? 0}`
}
