import { randomBytes, randomUUID } from 'node:crypto'

/** New random values. Injected, so that a test can choose them. */
export interface Ids {
  /** A random UUID in lower case. */
  uuid(): string
  /** 32 random bytes as base64url without padding. 256 bits cannot be guessed, so attempts need no limit. */
  token(): string
  /** That many random lower-case hex digits. */
  hex(digits: number): string
}

export const systemIds: Ids = {
  uuid: () => randomUUID(),
  token: () => randomBytes(32).toString('base64url'),
  hex: (digits) => {
    if (!Number.isInteger(digits) || digits < 1) throw new RangeError('a positive number of digits is needed')
    return randomBytes(Math.ceil(digits / 2))
      .toString('hex')
      .slice(0, digits)
  },
}
