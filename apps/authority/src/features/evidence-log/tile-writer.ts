import { HASH_BYTES, TILE_WIDTH, type TileName, foldHashes, hashLeaf, widthInTree } from '@chancery/protocol'
import type { Reader, Transaction } from '../../database/database.ts'
import { findTile, storeTile } from './queries.ts'

/** A tile that the last checkpoint covers is missing or too short. */
export class TileMissingError extends Error {
  override readonly name = 'TileMissingError'
}

/** A tile with space for all its hashes. The first `width` of them are set. */
interface OpenTile {
  readonly level: number
  readonly tile: number
  readonly room: Uint8Array
  width: number
}

/** The last tile of each level while leaves are added. A full tile adds its hash to the level above. */
export class TileWriter {
  readonly #reader: Reader
  readonly #tiles = new Map<string, OpenTile>()
  /** Tiles as read from the database. Each is read once, so that the verified tile is the one that is used. */
  readonly #stored = new Map<string, Promise<Uint8Array | undefined>>()
  #size: number

  constructor(reader: Reader, size: number) {
    this.#reader = reader
    this.#size = size
  }

  get size(): number {
    return this.#size
  }

  async add(leaves: readonly Uint8Array[]): Promise<void> {
    for (const leaf of leaves) {
      let [level, index, hash] = [0, this.#size, hashLeaf(leaf)]
      for (;;) {
        const [tile, place] = [Math.floor(index / TILE_WIDTH), index % TILE_WIDTH]
        const open = this.#tiles.get(`${level}/${tile}`) ?? (await this.#open(level, tile, place))
        open.room.set(hash, place * HASH_BYTES)
        open.width = place + 1
        if (open.width < TILE_WIDTH) break
        hash = foldHashes(open.room, 0, TILE_WIDTH)
        index = tile
        level += 1
      }
      this.#size += 1
    }
  }

  /** Returns a tile in its current state, for proofs and the root. */
  async read({ level, tile, width }: TileName): Promise<Uint8Array> {
    const open = this.#tiles.get(`${level}/${tile}`)
    const stored = open === undefined ? await this.#load(level, tile) : hashesOf(open)
    if (stored === undefined || stored.length < width * HASH_BYTES)
      throw new TileMissingError('a tile of the log is missing')
    return stored
  }

  async write(tx: Transaction): Promise<void> {
    for (const open of this.#tiles.values()) await storeTile(tx, open.level, open.tile, hashesOf(open))
  }

  #load(level: number, tile: number): Promise<Uint8Array | undefined> {
    const name = `${level}/${tile}`
    const known = this.#stored.get(name) ?? findTile(this.#reader, level, tile)
    this.#stored.set(name, known)
    return known
  }

  /** Returns the part of a tile that the last checkpoint covers. Later hashes in a row were never signed. */
  async #open(level: number, tile: number, place: number): Promise<OpenTile> {
    const open = { level, tile, room: new Uint8Array(TILE_WIDTH * HASH_BYTES), width: place }
    this.#tiles.set(`${level}/${tile}`, open)
    if (place === 0) return open
    const stored = await this.#load(level, tile)
    const isEnough = stored !== undefined && stored.length >= place * HASH_BYTES
    if (!isEnough || widthInTree(this.#size, level, tile) < place)
      throw new TileMissingError('a tile of the log is missing')
    open.room.set(stored.subarray(0, place * HASH_BYTES))
    return open
  }
}

function hashesOf({ room, width }: OpenTile): Uint8Array {
  return room.subarray(0, width * HASH_BYTES)
}
