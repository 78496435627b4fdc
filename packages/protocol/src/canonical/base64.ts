const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const VALUES: Int8Array = new Int8Array(128).fill(-1)
for (let i = 0; i < ALPHABET.length; i += 1) VALUES[ALPHABET.charCodeAt(i)] = i

/** RFC 4648 base64 with `+`, `/` and padding. */
export function toBase64(bytes: Uint8Array): string {
  let out = ''
  for (let i = 0; i < bytes.length; i += 3) {
    const left = bytes.length - i
    const group = ((bytes[i] ?? 0) << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0)
    out += ALPHABET.charAt(group >> 18) + ALPHABET.charAt((group >> 12) & 63)
    out += left > 1 ? ALPHABET.charAt((group >> 6) & 63) : '='
    out += left > 2 ? ALPHABET.charAt(group & 63) : '='
  }
  return out
}

/**
 * Bytes of a base64 text, or undefined. Strict (protocol/core 1.5): the text must be the one that encoding its bytes
 * gives, so no two texts name the same key: no missing padding, url alphabet, white space or stray bits.
 */
export function fromBase64(text: string): Uint8Array | undefined {
  if (text.length % 4 !== 0) return undefined
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  const digits = text.length - padding
  const bytes = new Uint8Array((text.length / 4) * 3 - padding)
  let buffer = 0
  let bits = 0
  let at = 0
  for (let i = 0; i < digits; i += 1) {
    const code = text.charCodeAt(i)
    const value = code < 128 ? (VALUES[code] ?? -1) : -1
    if (value < 0) return undefined
    buffer = ((buffer << 6) | value) & 0xffffff
    bits += 6
    if (bits >= 8) {
      bits -= 8
      bytes[at] = (buffer >> bits) & 0xff
      at += 1
    }
  }
  const stray = buffer & ((1 << bits) - 1)
  return stray === 0 ? bytes : undefined
}

/** RFC 4648 base64url without padding, as JOSE writes it. */
export function toBase64Url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

/** Bytes of a base64url text without padding, or undefined. Strict, as {@link fromBase64}. */
export function fromBase64Url(text: string): Uint8Array | undefined {
  if (/[^\w-]/.test(text)) return undefined
  const padding = '='.repeat((4 - (text.length % 4)) % 4)
  return fromBase64(text.replaceAll('-', '+').replaceAll('_', '/') + padding)
}
