/** Encoding classes of every platform; the compiler's own library does not list them. */
interface TextPlatform {
  readonly TextEncoder: new () => {
    encode(text: string): Uint8Array<ArrayBuffer>
    encodeInto(text: string, into: Uint8Array): { readonly read: number; readonly written: number }
  }
  readonly TextDecoder: new (
    label: 'utf-8',
    options: { fatal: true; ignoreBOM: true },
  ) => { decode(bytes: Uint8Array): string }
}

const platform = globalThis as unknown as TextPlatform
const encoder = new platform.TextEncoder()
// A byte order mark stays in the text, where the reader refuses it.
const decoder = new platform.TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function toUtf8(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text)
}

/** Writes the text into these bytes, which must have three for each of its units; returns how many were written. */
export function putUtf8(text: string, into: Uint8Array): number {
  return encoder.encodeInto(text, into).written
}

/** The text of well-formed UTF-8 bytes, or undefined. */
export function fromUtf8(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}

const scratch = new Uint8Array(16_384)
// oxlint-disable-next-line no-control-regex -- every unit below 0x80
const ASCII = /^[\u0000-\u007f]*$/

/** True when every unit is below 0x80. The encoder finds out several times quicker than a pattern. */
export function isAscii(text: string): boolean {
  if (text.length > scratch.length) return ASCII.test(text)
  // Both numbers: where the room ends before the text, as many bytes may be written as the text has units.
  const { read, written } = encoder.encodeInto(text, scratch)
  return read === text.length && written === text.length
}
