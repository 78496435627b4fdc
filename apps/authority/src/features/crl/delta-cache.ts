import { MAX_DELTA_BYTES } from '@chancery/protocol'
import { type CachedDocument, FairQueue } from '@chancery/service-kit'

/** Deltas of one list that are cached, and their size together. */
const [MAX_CACHED, MAX_CACHED_BYTES] = [4096, 4 * MAX_DELTA_BYTES]
/** Most readers have a recent list and need a small delta, so large ones leave room for them. */
const [SMALL_BYTES, MAX_LARGE_BYTES] = [262_144, 3 * MAX_DELTA_BYTES]
/**
 * A large delta takes milliseconds of the event loop, and those of all earlier lists together do not fit the cache. So an
 * address gets at most a tenth of the time.
 */
const TURNS = { atOnce: 1, shortMs: 2, restFactor: 9, restMaxMs: 3000 }

/** `none`: the full list is to be read. */
export type ComputedDelta = CachedDocument | 'none'

interface Cached {
  readonly deltas: Map<number, CachedDocument>
  /** Lists without a delta. Counted separately: anyone can ask for many numbers. */
  readonly none: Set<number>
  bytes: number
}

/** The deltas to a list, by the sequence that they begin with. They end with the list. */
export class DeltaCache {
  readonly #lists = new WeakMap<CachedDocument, Cached>()
  readonly #turns = new FairQueue(TURNS)

  /** Callers of several addresses compute in turn. They do not share a turn: that of one address may come late. */
  async read(
    list: CachedDocument,
    from: number,
    address: string,
    compute: () => Promise<ComputedDelta>,
  ): Promise<ComputedDelta> {
    const cached = this.#lists.get(list) ?? { deltas: new Map(), none: new Set(), bytes: 0 }
    this.#lists.set(list, cached)
    const known = find(cached, from)
    if (known !== undefined) return known
    const turn = this.#turns.take(address)
    try {
      await turn.granted
      const found = find(cached, from) ?? (await compute())
      keep(cached, from, found)
      return found
    } finally {
      turn.end()
    }
  }
}

function find({ deltas, none }: Cached, from: number): ComputedDelta | undefined {
  return none.has(from) ? 'none' : deltas.get(from)
}

function keep(cached: Cached, from: number, found: ComputedDelta): void {
  const { deltas, none } = cached
  if (found === 'none') {
    if (none.size < MAX_CACHED) none.add(from)
    return
  }
  const { length } = found.bytes
  const room = length > SMALL_BYTES ? MAX_LARGE_BYTES : MAX_CACHED_BYTES
  if (deltas.has(from) || deltas.size >= MAX_CACHED || cached.bytes + length > room) return
  deltas.set(from, found)
  cached.bytes += length
}
