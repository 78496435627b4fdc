import { sha256, toBase64, toUtf8 } from '@chancery/protocol'

/** 256 random bits, then four bytes of a digest over them (protocol/gateway 4). */
const OURS = /^(gw1_[A-Za-z0-9_-]{43})_([A-Za-z0-9_-]{6})$/
const MIN_CHARACTERS = 32
const CHECKSUM_BYTES = 4

/** Returns the problem of a malformed token without sending it, or undefined. */
export function findMistype(token: string): string | undefined {
  if (!/^[!-~]+$/.test(token)) return 'A token is one word of visible ASCII characters.'
  if (token.length < MIN_CHARACTERS) return `A token has at least ${MIN_CHARACTERS} characters; some are missing.`
  if (!token.startsWith('gw1_')) return undefined
  const [, head = '', checksum = ''] = OURS.exec(token) ?? []
  if (checksum !== '' && checksumOf(head) === checksum) return undefined
  return 'The checksum of this token does not match: a character is wrong or missing. It was not sent.'
}

function checksumOf(head: string): string {
  return toBase64(sha256(toUtf8(head)).subarray(0, CHECKSUM_BYTES))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}
