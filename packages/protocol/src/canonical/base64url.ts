import { fromBase64, toBase64 } from './base64.ts'

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
