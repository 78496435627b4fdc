/** Repeatable random numbers: a violation is reported with its seed. Not for secrets. */
export interface Random {
  /** 0 to 2^32 - 1. */
  next(): number
  /** 0 to bound - 1. */
  below(bound: number): number
  /** True in `percent` of a hundred cases. */
  chance(percent: number): boolean
  pick<Item>(items: readonly [Item, ...Item[]]): Item
}

/** Mulberry32. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
  const below = (bound: number): number => Math.floor((next() / 2 ** 32) * bound)
  return {
    next,
    below,
    chance: (percent) => below(100) < percent,
    pick: (items) => items[below(items.length)] ?? items[0],
  }
}
