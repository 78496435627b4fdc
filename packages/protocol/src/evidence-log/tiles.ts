import { HASH_BYTES, type NodeReader, hashChildren } from './tree.ts'

/** Hashes of a full tile, and levels of the tree one tile spans (C2SP tlog-tiles). */
export const TILE_WIDTH = 256
const TILE_HEIGHT = 8

/** One tile, whole or the beginning of one. */
export interface TileName {
  readonly level: number
  readonly tile: number
  readonly width: number
}

/** `0/x001/x234/067.p/12`: three digits a step, so that no folder grows without bound. */
export function tilePath({ level, tile, width }: TileName): string {
  return `${level}/${indexPath(tile)}${width === TILE_WIDTH ? '' : `.p/${width}`}`
}

function indexPath(index: number): string {
  const steps = [String(index % 1000).padStart(3, '0')]
  for (let rest = Math.floor(index / 1000); rest > 0; rest = Math.floor(rest / 1000))
    steps.unshift(`x${String(rest % 1000).padStart(3, '0')}`)
  return steps.join('/')
}

const INDEX = /^((?:x\d{3}\/)*\d{3})(?:\.p\/([1-9]\d{0,2}))?$/

/** Place and width of a tile path without its level; undefined for any other spelling than the one above. */
export function readIndexPath(text: string): { readonly tile: number; readonly width: number } | undefined {
  const match = INDEX.exec(text)
  if (match?.[1] === undefined) return undefined
  const digits = match[1].replaceAll(/[x/]/g, '')
  const width = match[2] === undefined ? TILE_WIDTH : Number(match[2])
  const tile = Number(digits)
  const isKnown = Number.isSafeInteger(tile) && indexPath(tile) === match[1] && width <= TILE_WIDTH
  if (!isKnown || (match[2] !== undefined && width === TILE_WIDTH)) return undefined
  return { tile, width }
}

/** Level, place and width of a hash tile path; undefined for any other spelling. */
export function readTilePath(text: string): TileName | undefined {
  const match = /^(0|[1-9]\d?)\/(.+)$/.exec(text)
  const index = readIndexPath(match?.[2] ?? '')
  return match === null || index === undefined ? undefined : { level: Number(match[1]), ...index }
}

/** How many hashes of a tile exist in a tree of this size; 0 when the tile does not exist. */
export function widthInTree(size: number, level: number, tile: number): number {
  const hashes = Math.floor(size / TILE_WIDTH ** level) - tile * TILE_WIDTH
  return Math.min(Math.max(hashes, 0), TILE_WIDTH)
}

/** The hashes of one tile, one behind the other; at least `width` of them. */
export type TileReader = (name: TileName) => Promise<Uint8Array>

/** Nodes of the tree out of its tiles, each tile read once. */
export function nodesFromTiles(size: number, readTile: TileReader): NodeReader {
  const tiles = new Map<string, Promise<Uint8Array>>()
  const load = (level: number, tile: number): Promise<Uint8Array> => {
    const name = { level, tile, width: widthInTree(size, level, tile) }
    const path = tilePath(name)
    const known = tiles.get(path) ?? readTile(name)
    tiles.set(path, known)
    return known
  }
  return async (level, index) => {
    const tileLevel = Math.floor(level / TILE_HEIGHT)
    // 2^above hashes of the tile lie under the node.
    const above = level % TILE_HEIGHT
    const first = index * 2 ** above
    const tile = Math.floor(first / TILE_WIDTH)
    const bytes = await load(tileLevel, tile)
    return foldHashes(bytes, first - tile * TILE_WIDTH, 2 ** above)
  }
}

/** The node above `count` (a power of two) neighbouring hashes. */
export function foldHashes(bytes: Uint8Array, first: number, count: number): Uint8Array {
  if (count === 1) {
    const hash = bytes.subarray(first * HASH_BYTES, (first + 1) * HASH_BYTES)
    if (hash.length !== HASH_BYTES) throw new RangeError('a tile is too short')
    return hash
  }
  const middle = count / 2
  return hashChildren(foldHashes(bytes, first, middle), foldHashes(bytes, first + middle, middle))
}
