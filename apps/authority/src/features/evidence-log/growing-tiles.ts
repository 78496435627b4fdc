import { HASH_BYTES, TILE_WIDTH, foldHashes, hashLeaf, widthInTree } from '@chancery/protocol'
import type { TileName } from '@chancery/protocol'
import type { Tx } from '../../store/database.ts'
import { findTile, keepTile } from './store.ts'

/** The last tile of each level while leaves are added; a full one gives its hash to the level above. */
export class GrowingTiles {
  readonly #tx: Tx
  readonly #tiles = new Map<string, { readonly level: number; readonly tile: number; bytes: Uint8Array }>()
  #size: number

  constructor(tx: Tx, size: number) {
    this.#tx = tx
    this.#size = size
  }

  get size(): number {
    return this.#size
  }

  async add(leaf: Uint8Array): Promise<void> {
    await this.#append(0, this.#size, hashLeaf(leaf))
    this.#size += 1
  }

  /** A tile as it is now, for proofs and the root. */
  async read({ level, tile, width }: TileName): Promise<Uint8Array> {
    const held = this.#tiles.get(`${level}/${tile}`)?.bytes ?? (await findTile(this.#tx, level, tile))
    if (held === undefined || held.length < width * HASH_BYTES) throw new Error('a tile of the log is missing')
    return held
  }

  async keep(): Promise<void> {
    for (const { level, tile, bytes } of this.#tiles.values()) await keepTile(this.#tx, level, tile, bytes)
  }

  async #append(level: number, index: number, hash: Uint8Array): Promise<void> {
    const tile = Math.floor(index / TILE_WIDTH)
    const place = index % TILE_WIDTH
    const name = `${level}/${tile}`
    const held = this.#tiles.get(name) ?? { level, tile, bytes: await this.#open(level, tile, place) }
    const bytes = new Uint8Array((place + 1) * HASH_BYTES)
    bytes.set(held.bytes.subarray(0, place * HASH_BYTES))
    bytes.set(hash, place * HASH_BYTES)
    this.#tiles.set(name, { ...held, bytes })
    if (place === TILE_WIDTH - 1) await this.#append(level + 1, tile, foldHashes(bytes, 0, TILE_WIDTH))
  }

  /** What the tree of the last checkpoint had of a tile; whatever a row holds beyond it was never signed. */
  async #open(level: number, tile: number, place: number): Promise<Uint8Array> {
    if (place === 0) return new Uint8Array()
    const held = await findTile(this.#tx, level, tile)
    const isEnough = held !== undefined && held.length >= place * HASH_BYTES
    if (!isEnough || widthInTree(this.#size, level, tile) < place) throw new Error('a tile of the log is missing')
    return held
  }
}
